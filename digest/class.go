package digest

// class is all events with one fingerprint (or one group, see Options.GroupBy). Every field is exact and merges in any
// order: sums add, extremes take the extreme, histograms and blocks add, the example is the greatest in a total order.
type class struct {
	fingerprint string   // at most maxFingerprint bytes of it
	id          [16]byte // MD5 of the whole fingerprint
	hash        uint64   // of the whole fingerprint, for lookup
	length      int      // of the whole fingerprint

	count   uint64
	untimed uint64 // of count: events whose time is not known (general log, headers without Query_time)

	queryTime    wide // nanoseconds
	lockTime     wide
	engineTime   wide
	least, most  uint64 // query time, nanoseconds; valid when count > untimed
	rowsSent     wide
	rowsExamined wide
	rowsAffected wide
	bytesSent    wide
	queryBytes   wide
	flags        [flagCount]uint64 // how many events had each flag

	first, last int64 // microseconds since the epoch; 0 when no event told its time

	latency histogram
	series  series

	users, hosts, dbs, tables tally
	perEventTables            bool // table names hold digits that the fingerprint folds: they differ from event to event

	oneTable    bool   // how to find the table of the next event; not part of the result
	beforeTable string // see Builder.countTables

	example example
}

// example is the slowest event of a class. Ties are broken by time, then by text, so that merging in any order keeps the
// same one.
type example struct {
	ns           uint64
	at           int64
	text         string // at most Options.MaxExample bytes
	cut          bool
	user, host   string
	db           string
	rowsSent     uint64
	rowsExamined uint64
	lockTime     uint64
	tables       []string
	valid        bool
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
	for i := range c.flags {
		c.flags[i] += from.flags[i]
	}
	c.seen(from.first)
	c.seen(from.last)
	c.latency.merge(&from.latency)
	c.series.join(&from.series)
	c.users.merge(&from.users)
	c.hosts.merge(&from.hosts)
	c.dbs.merge(&from.dbs)
	c.tables.merge(&from.tables)
	if from.example.valid && c.example.beats(from.example.ns, from.example.at, from.example.text) {
		c.example = from.example
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
		return c.example.tables
	}
	out := []string{}
	for _, n := range c.tables.ranked() {
		out = append(out, n.name)
	}
	return out
}
