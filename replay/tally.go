package replay

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"sort"
	"strings"
	"sync"
	"time"

	"stowage/bench/stat"
	"stowage/digest"
	"stowage/mysql"
	"stowage/replay/effect"
)

// tally gathers what happens during a run. It is safe for several goroutines.
type tally struct {
	o         Options
	roundTrip time.Duration // taken off where the recording's times are the server's own

	mu                     sync.Mutex
	began                  time.Time
	first, last            time.Time // of the recording
	seen                   uint64    // statements
	sent                   map[effect.Kind]uint64
	skips                  map[skipKey]*Skip
	unsent, gone, timeouts uint64
	goneOriginal           uint64
	firstGone              string
	codes                  map[uint16]*ErrorCount
	databases              map[string]string // that are not there
	sessions               uint64
	crowds                 uint64
	compared               Compared
	examples               []Example
	classes                map[string]*classTally
	folded                 uint64
	latest                 time.Duration
	late, own              stat.Times
	was, is, total         stat.Times
	before, after, due     *digest.Builder
	narrowTo               int // connections the server gave; 0: as many as were wanted
	failing                int
	failingSince           time.Time
}

type skipKey struct {
	kind   effect.Kind
	reason string
}

// classTally is what is known of one class.
type classTally struct {
	fingerprint                     string
	sent, errors, different, chance uint64
	kinds                           map[string]uint64
	examples                        int
}

const (
	maxSkips        = 200
	maxClasses      = 20_000
	maxExamples     = 50
	examplesOfClass = 3
	maxStatement    = 2 << 10 // of an example
)

func newTally(o Options) *tally {
	d := digest.Options{Rules: o.Digest.Rules}
	return &tally{
		o: o, sent: map[effect.Kind]uint64{}, skips: map[skipKey]*Skip{}, codes: map[uint16]*ErrorCount{}, databases: map[string]string{},
		classes: map[string]*classTally{}, before: digest.New(d), after: digest.New(d), due: digest.New(d),
	}
}

func (t *tally) begin(at, first time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.began, t.first = at, first
}

// read counts what comes out of the recording.
func (t *tally) read(s *Statement) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.Command == Say {
		t.seen++
	}
	if end := s.end(); end.After(t.last) {
		t.last = end
	}
}

// skip counts a statement that is not sent.
func (t *tally) skip(s *Statement, k effect.Kind, reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := skipKey{k, reason}
	if t.skips[key] == nil {
		if len(t.skips) >= maxSkips {
			key.reason = "other reasons"
		}
		if t.skips[key] == nil {
			t.skips[key] = &Skip{Kind: k, Reason: key.reason, Example: effect.Clip(string(s.Query), 200)}
		}
	}
	t.skips[key].Count++
}

func (t *tally) notSent(_ *Statement, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unsent++
	if t.firstGone == "" {
		t.firstGone = err.Error()
	}
}

// lost counts a statement whose connection broke.
func (t *tally) lost(s *Statement, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if errors.Is(err, context.DeadlineExceeded) {
		t.timeouts++
	} else {
		t.gone++
	}
	if t.firstGone == "" {
		t.firstGone = err.Error()
	}
	c := t.class(s)
	c.sent++
	c.errors++
	t.example(c, s, []Difference{{"error", "an answer", "none: " + effect.Clip(err.Error(), 200)}})
}

func (t *tally) originalLost(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.goneOriginal++
	if t.firstGone == "" {
		t.firstGone = err.Error()
	}
}

func (t *tally) noDatabase(name, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.databases) < 100 {
		t.databases[name] = text
	}
}

// crowded counts the statements whose reading had to wait for the candidate.
func (t *tally) crowded() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.crowds++
}

func (t *tally) narrowed(to int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.narrowTo = to
}

const (
	giveUpAfter = 10 * time.Second
	giveUpTimes = 5
)

// connected notes how an attempt to connect went; true when it is time to
// give up.
func (t *tally) connected(ok bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case ok:
		t.failing = 0
	case t.failing == 0:
		t.failing, t.failingSince = 1, time.Now()
	default:
		t.failing++
	}
	return t.failing >= giveUpTimes && time.Since(t.failingSince) >= giveUpAfter
}

// class finds the class of a statement. The lock is held.
func (t *tally) class(s *Statement) *classTally {
	f := t.before.Fingerprint(&s.Statement)
	if c := t.classes[string(f)]; c != nil {
		return c
	}
	key := string(f)
	if len(t.classes) >= maxClasses {
		t.folded++
		key = "(rare classes)"
		if c := t.classes[key]; c != nil {
			return c
		}
	}
	c := &classTally{fingerprint: key, kinds: map[string]uint64{}}
	t.classes[key] = c
	return c
}

// said counts a statement that was sent and answered.
func (t *tally) said(e *exchange) {
	differences, told := e.compare()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failing = 0
	t.sent[e.j.Kind]++
	if e.is.Code != 0 {
		t.failed(e)
	}
	if t.o.Speed > 0 {
		t.latest = e.late
		t.late.Add(e.late)
		if e.own >= 0 {
			t.own.Add(e.own)
		}
	}
	c := t.class(e.st)
	c.sent++
	if e.is.Code != 0 {
		c.errors++
	}
	t.times(e)
	if e.j.Kind == effect.Session && len(differences) == 0 {
		return
	}
	switch {
	case len(differences) > 0 && e.j.Chance != "" && !hasKind(differences, "error"):
		t.compared.Chance++
		c.chance++
	case len(differences) > 0:
		t.compared.Different++
		c.different++
		for _, d := range differences {
			c.kinds[d.Kind]++
		}
		t.example(c, e.st, differences)
	case told:
		t.compared.Equal++
	default:
		t.compared.Untold++
	}
}

func hasKind(ds []Difference, kind string) bool {
	for _, d := range ds {
		if d.Kind == kind {
			return true
		}
	}
	return false
}

func (t *tally) failed(e *exchange) {
	n := t.codes[e.is.Code]
	if n == nil {
		n = &ErrorCount{Code: e.is.Code, Text: effect.Clip(e.is.Text, 200)}
		t.codes[e.is.Code] = n
	}
	n.Count++
	if e.st.Code != 0 && (e.st.Code == e.is.Code || e.st.Code == 1) {
		n.AsRecorded++
	}
}

// times counts latencies, where both sides are known.
func (t *tally) times(e *exchange) {
	if e.is.Code != 0 {
		return
	}
	was, is, at := e.st.Time, e.is.Took, e.st.Start
	switch {
	case e.was != nil:
		was, at = e.was.Took, e.began
	case !e.st.Timed:
		return
	case !e.st.onWire:
		is = max(time.Microsecond, is-t.roundTrip)
	}
	t.was.Add(was)
	t.is.Add(is)
	one := e.st.Statement
	one.Timed = true
	one.At, one.Time = at, was
	t.before.Add("recorded", &one)
	one.At, one.Time = e.began, is
	one.RowsSent, one.RowsAffected, one.BytesSent = e.is.Rows, e.is.Affected, e.is.Bytes
	one.LockTime, one.RowsExamined = 0, 0
	t.after.Add("replayed", &one)
	if t.o.Speed > 0 {
		t.total.Add(e.total)
		one.Time = e.total
		t.due.Add("from the time it was due", &one)
	}
}

// example keeps the first differences of each class.
func (t *tally) example(c *classTally, s *Statement, ds []Difference) {
	if len(t.examples) >= maxExamples || c.examples >= examplesOfClass {
		return
	}
	c.examples++
	t.examples = append(t.examples, Example{
		At: s.Start, Thread: s.Thread, Database: s.DB, Statement: effect.Clip(string(s.Query), maxStatement), Values: valuesText(s.Values), Differences: ds,
	})
}

func (t *tally) progress() Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := Progress{Different: t.compared.Different, Late: t.latest, Elapsed: max(0, time.Since(t.began))}
	for _, n := range t.sent {
		p.Sent += n
	}
	p.Errors = t.gone + t.timeouts
	for _, c := range t.codes {
		p.Errors += c.Count
	}
	return p
}

// skipped is what was not sent, the most frequent first.
func (t *tally) skipped() []Skip {
	out := []Skip{}
	for _, s := range t.skips {
		out = append(out, *s)
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Count != out[j].Count {
			return out[i].Count > out[j].Count
		}
		return out[i].Reason < out[j].Reason
	})
	return out
}

// id32 is by what package digest knows a class.
func (c *classTally) id32() string {
	sum := md5.Sum([]byte(c.fingerprint))
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}

// isTooMany says whether a server has no connection left for us.
func isTooMany(err error) bool {
	code := mysql.CodeOf(err)
	return code == 1040 || code == 1203 || code == 1226
}
