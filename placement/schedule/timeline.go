package schedule

import (
	"math"
	"slices"
)

// Rates say how fast bytes travel. Zero: no limit of this kind, and when all are zero moves take Fixed alone.
type Rates struct {
	Stream float64 // bytes a second of one move
	Host   float64 // of all moves from or to one host
	Rack   float64 // of all moves into or out of one rack
	Fixed  float64 // seconds every move takes besides its bytes
}

// Span is when a move runs, in seconds from the first.
type Span struct {
	Begin, Seconds float64
	// After is the step whose end let this one begin, or -1; Why says what it had to give back.
	After int
	Why   string
}

// Timeline is the whole in time.
type Timeline struct {
	Spans    []Span // as the steps
	Seconds  float64
	Bound    float64 // no schedule under these rules is shorter
	Critical []int   // steps, each waiting for the one before; the last ends last
}

// Time says how long steps take when each begins as soon as its stage, its pair, a place among the parallel ones, and
// the streams of its hosts and racks let it. A host that can feed n streams at full rate feeds n, the next one waits: so
// every move runs at the rate of one stream.
func Time(steps []Step, moves []Move, hosts []Host, r Rules, rates Rates) Timeline {
	t := newTimer(steps, moves, hosts, r, rates)
	for i := range steps {
		t.place(i)
	}
	out := Timeline{Spans: t.spans, Bound: t.bound()}
	last := -1
	for i, s := range t.spans {
		if end := s.Begin + s.Seconds; end > out.Seconds || last < 0 {
			out.Seconds, last = end, i
		}
	}
	for i := last; i >= 0; i = t.spans[i].After {
		out.Critical = append(out.Critical, i)
	}
	slices.Reverse(out.Critical)
	return out
}

// slots are equal places of which each is free from some moment on.
type slots struct {
	free []float64
	last []int // the step that had it
	why  string
}

func newSlots(n int, why string) *slots {
	s := &slots{free: make([]float64, n), last: make([]int, n), why: why}
	for i := range s.last {
		s.last[i] = -1
	}
	return s
}

// first is the place that is free first.
func (s *slots) first() int {
	best := 0
	for i, at := range s.free {
		if at < s.free[best] {
			best = i
		}
	}
	return best
}

type timer struct {
	steps []Step
	moves []Move
	hosts []Host
	rates Rates
	spans []Span

	all      *slots
	in, out  []*slots // by host
	rackIn   map[string]*slots
	rackOut  map[string]*slots
	pairs    map[int]int // the step that had the pair last
	stage    int
	stageEnd int // the step that ended the stage before, or -1
	longest  int // of the present stage, the step that ends last
}

func newTimer(steps []Step, moves []Move, hosts []Host, r Rules, rates Rates) *timer {
	t := &timer{
		steps: steps, moves: moves, hosts: hosts, rates: rates, spans: make([]Span, 0, len(steps)),
		all: newSlots(max(1, r.Parallel), "a place among the parallel moves"), rackIn: map[string]*slots{}, rackOut: map[string]*slots{},
		pairs: map[int]int{}, stageEnd: -1, longest: -1,
	}
	perHost := max(1, r.PerHost)
	for _, h := range hosts {
		t.in = append(t.in, newSlots(min(perHost, t.streams(rates.Host)), "a stream into "+h.Name))
		t.out = append(t.out, newSlots(t.streams(rates.Host), "a stream out of "+h.Name))
		if h.Rack != "" && t.rackIn[h.Rack] == nil {
			t.rackIn[h.Rack] = newSlots(t.streams(rates.Rack), "a stream into rack "+h.Rack)
			t.rackOut[h.Rack] = newSlots(t.streams(rates.Rack), "a stream out of rack "+h.Rack)
		}
	}
	return t
}

// streams is how many streams at full rate fit into a rate; more than there are parallel moves need not be distinguished.
func (t *timer) streams(rate float64) int {
	most := len(t.all.free)
	if rate <= 0 || t.rates.Stream <= 0 {
		return most
	}
	return int(math.Max(1, math.Min(float64(most), rate/t.rates.Stream)))
}

// seconds is how long one move takes. A stream that is wider than its host's or rack's rate runs at theirs.
func (t *timer) seconds(m Move) float64 {
	rate := t.rates.Stream
	for _, limit := range []float64{t.rates.Host, t.rates.Rack} {
		if limit > 0 && (rate <= 0 || limit < rate) {
			rate = limit
		}
	}
	if rate <= 0 {
		return t.rates.Fixed
	}
	return t.rates.Fixed + float64(m.Bytes)/rate
}

// place gives step i its span.
func (t *timer) place(i int) {
	s, m := t.steps[i], t.moves[t.steps[i].Move]
	if s.Stage != t.stage {
		t.stage, t.stageEnd = s.Stage, t.longest
	}
	span := Span{Seconds: t.seconds(m), After: -1}
	later := func(at float64, after int, why string) {
		if after >= 0 && at > span.Begin {
			span.Begin, span.After, span.Why = at, after, why
		}
	}
	if t.stageEnd >= 0 {
		later(t.end(t.stageEnd), t.stageEnd, "room that only the end of the stage before gives")
	}
	if before, ok := t.pairs[m.Pair]; ok {
		later(t.end(before), before, "the other side of its pair")
	}
	taken := []*slots{t.all, t.in[m.To], t.out[m.From]}
	if in, out := t.hosts[m.To].Rack, t.hosts[m.From].Rack; in != out {
		if in != "" {
			taken = append(taken, t.rackIn[in])
		}
		if out != "" {
			taken = append(taken, t.rackOut[out])
		}
	}
	places := make([]int, len(taken))
	for n, s := range taken {
		places[n] = s.first()
		later(s.free[places[n]], s.last[places[n]], s.why)
	}
	t.spans = append(t.spans, span)
	for n, s := range taken {
		s.free[places[n]], s.last[places[n]] = t.end(i), i
	}
	t.pairs[m.Pair] = i
	if t.longest < 0 || t.end(i) > t.end(t.longest) {
		t.longest = i
	}
}

func (t *timer) end(i int) float64 { return t.spans[i].Begin + t.spans[i].Seconds }

// bound is the largest of: all work through all places, each host's work through its streams, each pair's sides.
func (t *timer) bound() float64 {
	total := 0.0
	in, out, pair := map[int]float64{}, map[int]float64{}, map[int]float64{}
	best := 0.0
	for i, s := range t.steps {
		m, seconds := t.moves[s.Move], t.spans[i].Seconds
		total += seconds
		in[m.To] += seconds / float64(len(t.in[m.To].free))
		out[m.From] += seconds / float64(len(t.out[m.From].free))
		pair[m.Pair] += seconds
		best = max(best, in[m.To], out[m.From], pair[m.Pair])
	}
	return max(best, total/float64(len(t.all.free)))
}
