package digest

import (
	"math/bits"
	"slices"
)

// sampleSet is statements of a class beside its slowest, which is its example: the fastest, one taken at random, and the slowest
// of each way in which a server says it ran them (its flags: full scan, temporary table, sort), which is how different plans show
// in a log. They are the same in whatever order digests are merged: each is the least or the greatest of all events in a total
// order. A class of one event has none: they would all be its example.
type sampleSet struct {
	fastest, random sample
	plans           []sample // ascending by plan; nil: all events ran as the example did
}

// sample is one statement. It is kept shorter than an example, because there are several.
type sample struct {
	ns   uint64
	at   int64
	who  *who
	text string
	cut  bool
	plan uint8
	lot  uint64 // of all, the one that drew the least is the one taken at random
}

const (
	planFlags  = 1<<flagFullScan | 1<<flagFullJoin | 1<<flagTmpTable | 1<<flagTmpDisk | 1<<flagFilesort | 1<<flagFilesortDisk
	mostPlans  = 4 // of more ways those with the heaviest flags are kept
	sampleSize = 4 // of an example's size, which part a sample may have
)

// lot is what an event draws: one in so many has the least, whatever its class and its time.
func lot(ns uint64, at int64) uint64 {
	h, l := bits.Mul64(ns^0x9e3779b97f4a7c15, uint64(at)^0xd1b54a32d192ed03)
	h, l = bits.Mul64(h^l^0x8ebc6af09c88c6e3, 0x2545f4914f6cdd1d)
	return h ^ l
}

// isEvent says whether the example is an event: where there are only sums it may be no more than names of tables.
func (x *example) isEvent() bool { return x.valid && (x.text != "" || x.at != 0 || x.ns != 0) }

// sample is the example as a sample.
func (x *example) sample(most int) sample {
	text, cut := x.text, x.cut
	if len(text) > most {
		text, cut = text[:most], true
	}
	return sample{x.ns, x.at, x.who, text, cut, x.plan, lot(x.ns, x.at)}
}

// sampled looks at one more event. It is called before the event becomes the example.
func (b *Builder) sampled(c *class, e *event, ns uint64) {
	most := b.options.MaxExample / sampleSize
	if c.more == nil {
		if !c.example.isEvent() {
			return // the first
		}
		c.more = c.example.samples(most)
	}
	m := c.more
	s := sample{ns: ns, at: e.at, plan: uint8(e.flags & planFlags), lot: lot(ns, e.at)}
	isPlan := m.plans != nil || s.plan != c.example.plan
	if ns > m.fastest.ns && s.lot > m.random.lot && !isPlan {
		return // nearly all
	}
	text := e.text
	if s.cut = len(text) > most; s.cut {
		text = text[:most]
	}
	keep := func(in *sample) {
		s.text, s.who = string(text), b.crowd.find(e)
		*in = s
	}
	if s.isFaster(&m.fastest, text) {
		keep(&m.fastest)
	}
	if s.drawsLess(&m.random, text) {
		keep(&m.random)
	}
	if !isPlan {
		return
	}
	if m.plans == nil {
		m.plans = []sample{c.example.sample(most)}
	}
	if i, known := m.plan(s.plan); !known || s.isSlower(&m.plans[i], text) {
		keep(&s)
		m.addPlan(s)
	}
}

func (x *example) samples(most int) *sampleSet {
	s := x.sample(most)
	return &sampleSet{fastest: s, random: s}
}

// less orders two samples of equal figures.
func (s *sample) less(than *sample, text []byte) bool {
	if s.at != than.at {
		return s.at < than.at
	}
	return string(text) < than.text
}

func (s *sample) isFaster(than *sample, text []byte) bool {
	return s.ns < than.ns || s.ns == than.ns && s.less(than, text)
}

func (s *sample) isSlower(than *sample, text []byte) bool {
	return s.ns > than.ns || s.ns == than.ns && s.less(than, text)
}

func (s *sample) drawsLess(than *sample, text []byte) bool {
	return s.lot < than.lot || s.lot == than.lot && s.isSlower(than, text)
}

// plan is where the sample of a way to run is, or would be.
func (m *sampleSet) plan(flags uint8) (at int, known bool) {
	return slices.BinarySearchFunc(m.plans, flags, func(s sample, flags uint8) int { return int(s.plan) - int(flags) })
}

// addPlan keeps the slower one of each way.
func (m *sampleSet) addPlan(s sample) {
	i, known := m.plan(s.plan)
	switch {
	case !known:
		m.plans = slices.Insert(m.plans, i, s)
	case s.isSlower(&m.plans[i], []byte(s.text)):
		m.plans[i] = s
	}
	if len(m.plans) > mostPlans {
		m.plans = m.plans[1:]
	}
}

// mergeSamples is called before the examples are merged.
func (c *class) mergeSamples(from *class) {
	mine, theirs := c.allSamples(), from.allSamples()
	switch {
	case theirs == nil:
		return
	case mine == nil:
		c.more = from.more
		return
	}
	if f := &theirs.fastest; f.isFaster(&mine.fastest, []byte(f.text)) {
		mine.fastest = *f
	}
	if r := &theirs.random; r.drawsLess(&mine.random, []byte(r.text)) {
		mine.random = *r
	}
	if mine.plans != nil || theirs.plans != nil || c.example.plan != from.example.plan {
		mine.plans = c.ways(mine)
		for _, s := range from.ways(theirs) {
			mine.addPlan(s)
		}
	}
	c.more = mine
}

// allSamples are the samples, also of a class of one event.
func (c *class) allSamples() *sampleSet {
	if c.more == nil && c.example.isEvent() {
		return c.example.samples(defaultExample / sampleSize)
	}
	return c.more
}

// ways are the samples of each way to run.
func (c *class) ways(m *sampleSet) []sample {
	if m.plans != nil {
		return m.plans
	}
	return []sample{c.example.sample(defaultExample / sampleSize)}
}

// Sample is a statement of a class beside its slowest one.
type Sample struct {
	Why   string   `json:"why"`   // fastest, random, or plan: the slowest that ran with these flags
	Flags []string `json:"flags"` // what its server said of how it ran: full_scan, filesort ..
	Example
}

func (c *class) reportSamples() []Sample {
	out := []Sample{}
	if c.more == nil {
		return out
	}
	slowest := c.example.sample(len(c.example.text))
	shown := []sample{slowest}
	add := func(why string, s sample) {
		same := func(x sample) bool { return x.ns == s.ns && x.at == s.at && x.plan == s.plan }
		if s.text == "" || slices.ContainsFunc(shown, same) {
			return
		}
		shown = append(shown, s)
		x := example{ns: s.ns, at: s.at, who: s.who, text: s.text, cut: s.cut}
		out = append(out, Sample{why, s.flags(), x.report()})
	}
	if c.more.fastest.ns == c.least && c.count > c.untimed {
		add("fastest", c.more.fastest)
	}
	add("random", c.more.random)
	for _, s := range c.more.plans {
		if s.plan != c.example.plan {
			add("plan", s)
		}
	}
	return out
}

func (s *sample) flags() []string {
	out := []string{}
	for i, name := range flagNames {
		if 1<<i&planFlags != 0 && s.plan>>i&1 != 0 {
			out = append(out, name)
		}
	}
	return out
}

func (m *sampleSet) encode(p *packer) {
	p.flag(m != nil)
	if m == nil {
		return
	}
	p.number(uint64(len(m.plans)))
	for _, s := range append([]sample{m.fastest, m.random}, m.plans...) {
		p.number(s.ns)
		p.signed(s.at)
		p.flag(s.cut)
		p.number(uint64(s.plan))
		w := (&example{who: s.who}).ranBy()
		for _, t := range []string{s.text, w.user.String(), w.host.String(), w.db.String()} {
			p.text(t)
		}
	}
}

func decodeSamples(u *unpacker) *sampleSet {
	if !u.flag() {
		return nil
	}
	m := &sampleSet{}
	plans := u.size()
	if plans > mostPlans {
		u.fail("a class with too many samples")
		return nil
	}
	m.fastest, m.random = decodeSample(u), decodeSample(u)
	for range plans {
		m.addPlan(decodeSample(u))
	}
	return m
}

func decodeSample(u *unpacker) sample {
	s := sample{ns: u.number(), at: u.signed(), cut: u.flag(), plan: uint8(u.number() & planFlags)}
	s.text, s.lot = u.text(), lot(s.ns, s.at)
	var by event
	for _, n := range []*name{&by.user, &by.host, &by.db} {
		*n = named1(u.take(u.size()))
	}
	s.who = u.crowd.find(&by)
	return s
}
