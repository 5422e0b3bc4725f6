package digest

// class is all events with one fingerprint (or one group, see Options.GroupBy). Every field is exact and merges in any
// order: sums add, extremes take the extreme, histograms and blocks add, the example is the greatest in a total order.
type class struct {
	fingerprint string   // at most maxFingerprint bytes of it
	id          [16]byte // MD5 of the whole fingerprint
	hash        uint64   // of the whole fingerprint, for lookup
	length      int32    // of the whole fingerprint

	perEventTables bool // table names hold digits that the fingerprint folds: they differ from event to event

	count   uint64
	untimed uint64 // of count: events whose own time is not known (general log, headers without Query_time, sums.n)

	queryTime    wide // nanoseconds
	lockTime     wide
	engineTime   wide
	least, most  uint64 // query time, nanoseconds; valid when count > untimed
	rowsSent     wide
	rowsExamined wide
	rowsAffected wide
	bytesSent    wide
	queryBytes   wide
	flags        *flagCounts // nil: all zero

	first, last int64 // microseconds since the epoch; 0 when no event told its time

	times timing

	people people
	tables *tally // nil, unless perEventTables
	sums   *sums  // what came added up, see summary.go; nil: nothing

	example example
	more    *sampleSet // other statements of it; nil: none
}

// flagCounts is how many events had each flag.
type flagCounts [flagCount]uint64

func (c *class) addFlag(flag int, n uint64) {
	if n == 0 {
		return
	}
	if c.flags == nil {
		c.flags = new(flagCounts)
	}
	c.flags[flag] += n
}

func (c *class) flagCounts() flagCounts {
	if c.flags == nil {
		return flagCounts{}
	}
	return *c.flags
}

// tableTally is where tables are counted by event.
func (c *class) tableTally() *tally {
	if c.tables == nil {
		c.tables = new(tally)
	}
	return c.tables
}

// summed is what came added up.
func (c *class) summed() sums {
	if c.sums == nil {
		return sums{}
	}
	return *c.sums
}

// ownSums is where to add to it.
func (c *class) ownSums() *sums {
	if c.sums == nil {
		c.sums = new(sums)
	}
	return c.sums
}

// example is the slowest event of a class. Ties are broken by time, then by text, so that merging in any order keeps the
// same one.
type example struct {
	ns           uint64
	at           int64
	text         string // at most Options.MaxExample bytes
	cut          bool
	valid        bool
	who          *who
	rowsSent     uint64
	rowsExamined uint64
	lockTime     uint64
	tables       *[]string // of the whole statement; nil: those in text
	plan         uint8     // the flags that tell how it ran, see sampleSet
}

func (x *example) ranBy() who {
	if x.who == nil {
		return who{}
	}
	return *x.who
}

// tableNames are the tables of the example.
func (x *example) tableNames() []string {
	if x.tables != nil {
		return *x.tables
	}
	return texts(tablesOf(nil, []byte(x.text)))
}

func texts(names [][]byte) (out []string) {
	for _, n := range names {
		out = append(out, string(n))
	}
	return out
}

// beats says whether an event with these values replaces the example. The text decides last and is compared by less.
func (x *example) beats(ns uint64, at int64, text string) bool {
	switch {
	case !x.valid:
		return true
	case ns != x.ns:
		return ns > x.ns
	case at != x.at:
		return at < x.at
	}
	return text < x.text
}

func (c *class) merge(from *class) {
	c.mergeSamples(from)
	if from.example.valid && c.example.beats(from.example.ns, from.example.at, from.example.text) {
		c.example = from.example
	}
	if from.tables != nil {
		c.tableTally().merge(from.tables)
	}
	c.addUp(from)
	c.times.merge(&from.times)
}

// addUp adds the figures of another class: all that is the same whatever the statements were, but for their times.
func (c *class) addUp(from *class) {
	if from.count > from.untimed {
		if c.count == c.untimed {
			c.least, c.most = from.least, from.most
		}
		c.least, c.most = min(c.least, from.least), max(c.most, from.most)
	}
	c.count += from.count
	c.untimed += from.untimed
	c.queryTime.add(from.queryTime)
	c.lockTime.add(from.lockTime)
	c.engineTime.add(from.engineTime)
	c.rowsSent.add(from.rowsSent)
	c.rowsExamined.add(from.rowsExamined)
	c.rowsAffected.add(from.rowsAffected)
	c.bytesSent.add(from.bytesSent)
	c.queryBytes.add(from.queryBytes)
	for i, n := range from.flagCounts() {
		c.addFlag(i, n)
	}
	c.seen(from.first)
	c.seen(from.last)
	c.people.merge(&from.people)
	if from.sums != nil {
		c.ownSums().merge(from.sums)
	}
}

func (c *class) seen(at int64) {
	if at == 0 {
		return
	}
	if c.first == 0 || at < c.first {
		c.first = at
	}
	if c.last == 0 || at > c.last {
		c.last = at
	}
}

// tableNames is what the class touches: counted by event where the names hold digits, else read from the example.
func (c *class) tableNames() []string {
	if !c.perEventTables {
		return c.example.tableNames()
	}
	out := []string{}
	if c.tables != nil {
		for _, n := range c.tables.ranked() {
			out = append(out, n.name.text)
		}
	}
	return out
}
