package swing

import (
	"math"
	"time"

	"stowage/mysql"
)

// Limits say when the clients of a side that came back are served worse than those of its twin in the same seconds.
type Limits struct {
	// Latency and Floor: a statement takes more than Latency times as long as on the twin, and Floor more.
	Latency float64
	Floor   time.Duration
	// Errors is how much larger the share of statements that fail may be than on the twin, 0 to 1.
	Errors float64
	// Statements are what a verdict rests on at least, of the whole share; on the twin a quarter.
	Statements int
	// Longest is how long a share is watched until it has had as many; then it passes without a verdict.
	Longest time.Duration
}

// span is a part of a soak: what two servers counted in the same seconds, and how long they took to answer us.
type span struct {
	here, twin mysql.Served
	answers
}

// A verdict rests on so many spans in a row: a lock that was waited for, a burst, the first statements of new connections make one of
// them slow, or two. Errors are counted over all of them, and have to be in more than one.
const inARow = 3

// leastOfSpan is how few statements a span may have whose time is up. They say something only where all of them are slow.
const leastOfSpan = 5

// A side is worse whatever few statements it had when they take ten times as long as on the twin and a quarter of a second more: far
// outside of noise, well inside of what a user notices. Or when half of them fail, beyond those that fail on the twin.
const (
	worseFactor = 10
	worseFloor  = 250 * time.Millisecond
	worseErrors = 0.5
)

// waitFloor is how much longer than on the twin our questions may wait in the mean. Servers do not count the time until they have read a statement:
// where CPU is short most of the waiting is there.
const waitFloor = 5 * time.Millisecond

// verdict is what spans say.
type verdict struct {
	latency, errors bool // worse by that
	waiting         bool // or by how long they take to answer us
	enough          bool // spans and statements to say that it is not
	doubt           bool // the last span, or most of the last, are over a limit
	measured             // of the spans that are worse, or of all
}

// measured is how statements fared, here and on the twin, where they can be compared.
type measured struct {
	statements, onTwin uint64
	here, twin         time.Duration // of one statement: a mean by the kinds of here, or around the 95th percentile
	failed, failedTwin float64       // shares, by the kinds of here
	waits, waitsTwin   time.Duration // of our questions, longer than the quickest
	worst              string        // the kind that adds most to the difference in time; "" where kinds are not known
	failing            string        // the kind with the most errors
}

// judge compares what clients felt with the limits. It is pure.
func (l Limits) judge(spans []span) verdict {
	all := span{}
	for _, s := range spans {
		all = all.plus(s)
	}
	v := verdict{measured: all.measure(all.twin)}
	counted := l.isEnough(v.measured)
	v.enough = len(spans) >= inARow && counted
	if len(spans) == 0 {
		return v
	}
	recent := spans[max(0, len(spans)-inARow):]
	var slow, gross, failing, waiting int
	together := span{}
	for _, s := range recent {
		m := s.measure(all.twin)
		isSlow := l.isSlow(s.here.Source, m)
		slow, gross = slow+one(isSlow), gross+one(isSlow && m.here > m.twin*worseFactor+worseFloor)
		isFailing := m.failed > m.failedTwin+l.Errors
		failing += one(isFailing)
		isWaiting := s.answers.here.beyond(all.answers.here.least) > time.Duration(float64(all.answers.twin.beyond(all.answers.twin.least))*l.Latency)+waitFloor
		waiting += one(isWaiting)
		v.doubt = isSlow || isFailing || isWaiting
		together = together.plus(s)
	}
	v.doubt = v.doubt || slow == inARow-1 || failing == inARow-1 || waiting == inARow-1
	if len(recent) < inARow {
		return v
	}
	m := together.measure(all.twin)
	v.latency = gross == inARow || slow == inARow && counted
	v.errors = failing >= inARow-1 && l.isFailing(m) && (counted || m.failed > m.failedTwin+worseErrors)
	v.waiting = waiting == inARow
	if v.latency || v.errors || v.waiting {
		m.waits, m.waitsTwin = together.answers.here.beyond(all.answers.here.least), together.answers.twin.beyond(all.answers.twin.least)
		v.measured = m
	}
	return v
}

// isEnough: a mean of the twin rests on a quarter of what is asked of the side, because it is the one that is not doubted.
func (l Limits) isEnough(m measured) bool {
	return m.statements >= uint64(l.Statements) && 4*m.onTwin >= uint64(l.Statements)
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// isSlow: userstat has all kinds in one, and a side with a tenth of its clients may have others than its twin. So it has to be far worse.
func (l Limits) isSlow(by mysql.ServedSource, m measured) bool {
	factor, floor := l.Latency, l.Floor
	if by == mysql.UserStatistics {
		factor, floor = max(factor, worseFactor), max(floor, worseFloor)
	}
	return m.statements > 0 && m.here > time.Duration(float64(m.twin)*factor)+floor
}

// isFailing: more errors than the limit, and than three standard deviations of a count that chance could make of it.
func (l Limits) isFailing(m measured) bool {
	n := float64(m.statements)
	expected := m.failedTwin * n
	return m.failed*n > expected+l.Errors*n+3*math.Sqrt(expected+1)
}

func (s span) plus(t span) span {
	return span{s.here.Plus(t.here), s.twin.Plus(t.twin), answers{s.answers.here.plus(t.answers.here), s.answers.twin.plus(t.answers.twin)}}
}

// measure compares kind with kind: the twin's figures are what the statements of here would have taken there, for a side with a tenth of its
// clients has other statements than its twin. A kind that the twin has hardly had in this span is compared with its whole soak, and left out
// where that says nothing either.
func (s span) measure(soak mysql.Served) measured {
	if len(s.here.Times) > 0 {
		return s.measureTimes()
	}
	const says = 10 // statements of a kind on the twin
	var m measured
	var here, twin, slower float64
	var failed, failedTwin, mostFailed float64
	for kind, k := range s.here.Kinds {
		t := s.twin.Kinds[kind]
		m.onTwin += t.Statements
		if t.Statements < says {
			t = soak.Kinds[kind]
		}
		if t.Statements < says {
			continue
		}
		n := float64(k.Statements)
		there := float64(t.Time) / float64(t.Statements) * n
		m.statements += k.Statements
		here, twin = here+float64(k.Time), twin+there
		if d := float64(k.Time) - there; d > slower {
			slower, m.worst = d, kind
		}
		e := float64(k.Errors)
		failed, failedTwin = failed+e, failedTwin+float64(t.Errors)/float64(t.Statements)*n
		if e > mostFailed {
			mostFailed, m.failing = e, kind
		}
	}
	if n := float64(m.statements); n > 0 {
		m.here, m.twin = time.Duration(here/n), time.Duration(twin/n)
		m.failed, m.failedTwin = failed/n, failedTwin/n
	}
	return m
}

func (s span) measureTimes() measured {
	m := measured{here: around95(s.here.Times), twin: around95(s.twin.Times)}
	for _, t := range s.here.Times {
		m.statements += t.Statements
	}
	for _, t := range s.twin.Times {
		m.onTwin += t.Statements
	}
	return m
}

// around95 is the mean of the statements between the 90th and the 98th percentile. The plugin's histogram has one line for each power of
// ten: the 95th itself would jump from one to the next where a twentieth of the statements is beyond a border, and the slowest of fifty is
// chance.
func around95(times []mysql.ServedTimes) time.Duration {
	var all float64
	for _, t := range times {
		all += float64(t.Statements)
	}
	if all == 0 {
		return 0
	}
	from, to := 0.90*all, 0.98*all
	var sum, before float64
	for _, t := range times {
		n := float64(t.Statements)
		if n == 0 {
			continue
		}
		within := max(0, min(before+n, to)-max(before, from))
		sum += within * float64(t.Time) / n
		before += n
	}
	return time.Duration(sum / (to - from))
}
