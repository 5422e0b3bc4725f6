package digest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Summary is what a server has added up of one class of statements, as performance_schema does: how many there were and
// how long they took together, but not how long each of them took.
type Summary struct {
	DB, ID string // the server's class: an ID of its own in a database
	Text   string // a statement of it, or the server's normalised text
	Sample *Statement

	Counters
	HasExtremes      bool   // Shortest and Longest are known
	Shortest         uint64 // picoseconds
	Longest          uint64
	First, Last      time.Time
	Bins             []Bin // how the times are distributed, ascending, where the server tells; else nil
	countedElsewhere bool  // Bins only: the events have been counted already
}

// Counters only ever grow, until the server's table is truncated or the server starts again.
type Counters struct {
	Count         uint64
	Time, Lock    uint64 // picoseconds; the server's own sums go round at 2^64 ps, 213 days
	RowsSent      uint64
	RowsExamined  uint64
	RowsAffected  uint64
	Errors        uint64 // statements that failed
	FullScans     uint64 // statements that used no index
	Warnings      uint64
	FullJoins     uint64 // joins, not statements
	TmpTables     uint64 // tables, not statements
	TmpDiskTables uint64
}

// Bin is how many statements took from Low to High picoseconds.
type Bin struct{ Low, High, Count uint64 }

func (c *Counters) fields() []*uint64 {
	return []*uint64{&c.Count, &c.Time, &c.Lock, &c.RowsSent, &c.RowsExamined, &c.RowsAffected, &c.Errors, &c.FullScans,
		&c.Warnings, &c.FullJoins, &c.TmpTables, &c.TmpDiskTables}
}

// minus is what was added since before. The subtraction is modulo 2^64, as the server's addition is.
func (c Counters) minus(before Counters) Counters {
	theirs := before.fields()
	for i, mine := range c.fields() {
		*mine -= *theirs[i]
	}
	return c
}

// Window turns readings of ever growing sums into what happened between them. The zero value is ready.
type Window struct {
	before map[summaryKey]mark
	begun  bool
}

type summaryKey struct{ db, id string }

// mark is what the next reading is compared with. The statements, most of a reading's bytes, are not kept.
type mark struct {
	Counters
	first time.Time
	bins  []Bin
}

// Next is what happened since the reading before: nothing for the first one. Where a class has become smaller, or is
// gone, somebody truncated the table or the server was started again: it is counted from there, and truncated says that
// something before that is lost.
func (w *Window) Next(reading []Summary) (grown []Summary, truncated bool) {
	now := make(map[summaryKey]mark, len(reading))
	found := 0
	for _, s := range reading {
		key := summaryKey{s.DB, s.ID}
		now[key] = mark{s.Counters, s.First, s.Bins}
		before, known := w.before[key]
		if known {
			found++
		}
		if known && (s.Count < before.Count || !s.First.Equal(before.first)) {
			known, truncated = false, true
		}
		if known {
			s.Counters = s.Counters.minus(before.Counters)
			s.Bins = binsSince(s.Bins, before.bins)
		}
		s.HasExtremes = false // they are of all time
		if w.begun && s.Count > 0 {
			grown = append(grown, s)
		}
	}
	truncated = truncated || found < len(w.before)
	w.before, w.begun = now, true
	return grown, truncated
}

// binsSince is what was added to bins. A bin that was empty before may have been left out.
func binsSince(bins, before []Bin) (out []Bin) {
	for _, b := range bins {
		i := slices.IndexFunc(before, func(x Bin) bool { return x.Low == b.Low })
		if i >= 0 && before[i].Count <= b.Count {
			b.Count -= before[i].Count
		}
		if b.Count > 0 {
			out = append(out, b)
		}
	}
	return out
}

// CheckSums says what in the options cannot be answered from sums: they know neither users nor single times.
func (o Options) CheckSums() error {
	if o.GroupBy == ByUser || o.GroupBy == ByHost {
		return fmt.Errorf("check digest options: sums of performance_schema do not say which %s a statement came from", o.GroupBy)
	}
	if o.Filter != nil {
		for _, f := range o.Filter.fields {
			if !slices.Contains(summedFields, f) {
				return fmt.Errorf("check digest options: the filter asks for %s, and sums of performance_schema only know %s", f, strings.Join(summedFields, ", "))
			}
		}
	}
	if !o.Since.IsZero() || !o.Until.IsZero() {
		return fmt.Errorf("check digest options: sums of performance_schema cannot be cut by since or until")
	}
	return nil
}

// summedFields are the fields of a filter that are the same for all statements of a server's class, or nearly so.
var summedFields = []string{"db", "query", "fingerprint", "id", "verb", "table"}

// sum counts the statements of a summary. from and to are when they ran, or zero.
func (b *Builder) sum(in *input, s *Summary, from, to time.Time) {
	e := event{text: []byte(s.Text), db: named1([]byte(s.DB))}
	if !from.IsZero() {
		in.saw(from.UnixMicro())
		in.saw(to.UnixMicro() - 1)
	}
	if f := b.options.Filter; f != nil && !f.root(&candidate{&e, b}) {
		in.left += s.Count
		return
	}
	if !s.countedElsewhere {
		in.events += s.Count
		in.bytes += int64(len(s.Text))
		b.d.events += s.Count
		b.d.queryTime.addSmall(s.Time / 1000)
	}
	b.eachSumKey(&e, func(key []byte) {
		c := b.class(key, &e)
		if !s.countedElsewhere {
			c.addSum(s)
			b.sumNames(c, &e, s)
			b.sumBlocks(c, s, from, to)
		}
		c.spreadOut(s)
	})
}

// eachSumKey is group for events that have no user and no host.
func (b *Builder) eachSumKey(e *event, visit func(key []byte)) {
	key := []byte(noGroup)
	switch b.options.GroupBy {
	case ByFingerprint:
		key = slices.Clone(b.fingerprint(e))
	case ByDB:
		key = e.db.text
	case ByShard:
		key = b.shard(e)
	case ByTable:
		tables := tablesOf(nil, e.text)
		for _, t := range tables {
			if !slices.Contains(t, '.') && len(e.db.text) > 0 {
				t = append(append(slices.Clone(e.db.text), '.'), t...)
			}
			visit(t)
		}
		if len(tables) > 0 {
			return
		}
	}
	if len(key) == 0 {
		key = []byte(noGroup)
	}
	visit(key)
}

func (b *Builder) sumNames(c *class, e *event, s *Summary) {
	if len(e.db.text) > 0 {
		c.people.add(b.crowd.find(e), s.Count)
	}
	b.names = tablesOf(b.names[:0], e.text)
	if c.perEventTables {
		for _, t := range b.names {
			c.tableTally().insert(b.crowd.book.find(hashBytes(t), t), s.Count)
		}
	}
	if s.Sample != nil {
		var scratch event
		b.exemplify(c, s.Sample.event(&scratch))
		return
	}
	if !c.perEventTables && !c.example.valid {
		c.example.valid = true
		tables := texts(b.names)
		c.example.tables = &tables
	}
}

// sumBlocks puts the statements into the block of time they ran in. A reading that came late covers several: they get
// even shares.
func (b *Builder) sumBlocks(c *class, s *Summary, from, to time.Time) {
	if from.IsZero() {
		c.ownSums().loose += s.Count
		c.seen(microOf(s.First))
		c.seen(microOf(s.Last))
		return
	}
	c.seen(from.UnixMicro())
	c.seen(to.UnixMicro())
	first := floorSeconds(from.UnixMicro()) >> b.d.level
	last := max(first, floorSeconds(to.UnixMicro()-1)>>b.d.level)
	count, time := s.Count, s.Time/1000
	for number := first; number <= last; number++ {
		shares := uint64(last - number + 1)
		n, ns := count/shares, time/shares
		count, time = count-n, time-ns
		if n > 0 || ns > 0 {
			series := &c.times.full().series
			series.flush()
			series.pack(&timeBlock{number: number, sum: ns, cells: []cell{{summedCell, n}}})
			b.d.grew(1)
		}
	}
}

func microOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// summedCell is the cell of a block of time that holds the events whose single times are not known.
const summedCell = bucketCount >> coarseBits

// sums is the part of a class that came added up. It merges like the rest of the class. Events in n are among
// class.untimed, as they have no time of their own; their time is in class.queryTime.
type sums struct {
	n           uint64
	bare        uint64 // events (in n, or from Bins) whose shortest and longest are not known
	loose       uint64 // events in no block of time
	bounded     uint64 // events that least and most cover
	least, most uint64 // nanoseconds; valid when bounded > 0

	warnings, fullJoins, tmpTables, tmpDiskTables uint64
}

func (s *sums) isZero() bool { return *s == sums{} }

func (s *sums) merge(from *sums) {
	if from.bounded > 0 {
		s.bound(from.least, from.most, from.bounded)
	}
	s.n += from.n
	s.bare += from.bare
	s.loose += from.loose
	s.warnings += from.warnings
	s.fullJoins += from.fullJoins
	s.tmpTables += from.tmpTables
	s.tmpDiskTables += from.tmpDiskTables
}

func (s *sums) bound(least, most, n uint64) {
	if s.bounded == 0 {
		s.least, s.most = least, most
	}
	s.least, s.most = min(s.least, least), max(s.most, most)
	s.bounded += n
}

func (c *class) addSum(s *Summary) {
	c.count += s.Count
	c.untimed += s.Count
	sums := c.ownSums()
	sums.n += s.Count
	c.queryTime.addSmall(s.Time / 1000)
	c.lockTime.addSmall(s.Lock / 1000)
	c.rowsSent.addSmall(s.RowsSent)
	c.rowsExamined.addSmall(s.RowsExamined)
	c.rowsAffected.addSmall(s.RowsAffected)
	c.addFlag(flagError, s.Errors)
	c.addFlag(flagFullScan, s.FullScans)
	sums.warnings += s.Warnings
	sums.fullJoins += s.FullJoins
	sums.tmpTables += s.TmpTables
	sums.tmpDiskTables += s.TmpDiskTables
	if s.HasExtremes {
		sums.bound(s.Shortest/1000, s.Longest/1000, s.Count)
	} else {
		sums.bare += s.Count
	}
}

// spreadOut gives events that were only added up their place in the histogram, where the server has kept one.
func (c *class) spreadOut(s *Summary) {
	left := min(s.Count, c.summed().n) // a reading of the bins can be a moment younger than that of the sums
	for _, b := range s.Bins {
		n := min(b.Count, left)
		if n == 0 {
			continue
		}
		left -= n
		ns := uint64(math.Sqrt(float64(max(b.Low, 1))) * math.Sqrt(float64(max(b.High, 1))) / 1000)
		low, high := b.Low/1000, b.High/1000
		if s.HasExtremes {
			low, high = s.Shortest/1000, s.Longest/1000
			ns = min(max(ns, low), high)
		}
		if c.count == c.untimed {
			c.least, c.most = low, high
		}
		c.least, c.most = min(c.least, low), max(c.most, high)
		c.times.full().latency.add(bucketOf(ns), n)
		c.untimed -= n
		c.ownSums().n -= n
	}
}

// latenciesOfSums are the latencies of a class that came added up, or in part. What is not known is no number.
func (c *class) latenciesOfSums() Latency {
	n, sums := c.count-c.untimed, c.summed()
	l := Latency{Sum: c.queryTime.seconds(), Summed: sums.n, P50: math.NaN(), P95: math.NaN(), P99: math.NaN(), Stddev: math.NaN(), Min: math.NaN(), Max: math.NaN()}
	l.Avg = l.Sum / float64(max(n+sums.n, 1))
	if n > 0 {
		latency := &c.times.view().latency
		q := func(q float64) float64 { return narrow(latency.quantile(q, n, c.least, c.most)).seconds() }
		l.P50, l.P95, l.P99 = q(0.50), q(0.95), q(0.99)
		if sums.n == 0 {
			l.Stddev = latency.stddev() / 1e9
		}
	}
	if sums.bare > 0 {
		return l
	}
	least, most := c.least, c.most
	switch {
	case sums.bounded > 0 && n > 0:
		least, most = min(least, sums.least), max(most, sums.most)
	case sums.bounded > 0:
		least, most = sums.least, sums.most
	}
	l.Min, l.Max = narrow(least).seconds(), narrow(most).seconds()
	return l
}

// SumCounts are sums that only a server's summary knows.
type SumCounts struct {
	Warnings      uint64 `json:"warnings"`
	FullJoins     uint64 `json:"full_joins"`
	TmpTables     uint64 `json:"tmp_tables"`
	TmpDiskTables uint64 `json:"tmp_disk_tables"`
}

func (s *sums) report() *SumCounts {
	if s.bounded+s.bare == 0 {
		return nil
	}
	return &SumCounts{s.warnings, s.fullJoins, s.tmpTables, s.tmpDiskTables}
}

func (s *sums) encode(p *packer) {
	p.flag(!s.isZero())
	if s.isZero() {
		return
	}
	for _, n := range s.fields() {
		p.number(*n)
	}
}

func (s *sums) decode(u *unpacker) {
	if !u.flag() {
		return
	}
	for _, n := range s.fields() {
		*n = u.number()
	}
}

func (s *sums) fields() []*uint64 {
	return []*uint64{&s.n, &s.bare, &s.loose, &s.bounded, &s.least, &s.most, &s.warnings, &s.fullJoins, &s.tmpTables, &s.tmpDiskTables}
}
