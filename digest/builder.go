package digest

import (
	"bytes"
	"crypto/md5"
	"sort"
)

// Builder folds events into classes. It is not safe for concurrent use: one Builder per goroutine, and Digest.Merge.
type Builder struct {
	options      Options
	since, until int64 // microseconds; 0: no bound
	d            *Digest
	scratch      []byte
	names        [][]byte // scratch
}

// New makes a Builder. Options are taken as they are; call Options.Check first where they come from a person.
func New(o Options) *Builder {
	o = o.withDefaults()
	b := &Builder{options: o, d: newDigest(o.Rules, o.GroupBy)}
	if !o.Since.IsZero() {
		b.since = o.Since.UnixMicro()
	}
	if !o.Until.IsZero() {
		b.until = o.Until.UnixMicro()
	}
	return b
}

// Digest is what has been read so far. The Builder must not be used afterwards.
func (b *Builder) Digest() *Digest {
	b.d.settle()
	return b.d
}

// add counts one event, in as many classes as its group says.
func (b *Builder) add(in *input, e *event) {
	if b.since != 0 && e.at < b.since || b.until != 0 && (e.at >= b.until || e.at == 0) {
		in.left++
		return
	}
	if f := b.options.Filter; f != nil && !f.root(&candidate{e, b}) {
		in.left++
		return
	}
	in.events++
	b.d.events++
	if e.timed {
		b.d.queryTime.add(e.queryTime)
	}
	b.group(e)
}

// fingerprint is the text by which an event finds its class.
func (b *Builder) fingerprint(e *event) []byte {
	if e.fingerprint != nil {
		return e.fingerprint
	}
	if b.options.Rules == RulesLexer {
		b.scratch = lexerFingerprint(b.scratch[:0], e.text, b.names)
		return b.scratch
	}
	if out, ok := ptqdFast(b.scratch, e.text); ok {
		b.scratch = out[:0]
		return out
	}
	b.scratch = ptqdSlow(b.scratch[:0], e.text)
	return b.scratch
}

func (b *Builder) count(key []byte, e *event) {
	c := b.class(key, e)
	c.count++
	if e.timed {
		b.time(c, e)
	} else {
		c.untimed++
	}
	c.rowsSent.addSmall(e.rowsSent)
	c.rowsExamined.addSmall(e.rowsExamined)
	c.rowsAffected.addSmall(e.rowsAffected)
	c.bytesSent.addSmall(e.bytesSent)
	c.queryBytes.addSmall(uint64(len(e.text)))
	if e.flags != 0 {
		for i := range c.flags {
			c.flags[i] += uint64(e.flags >> i & 1)
		}
	}
	if len(e.user.text) > 0 {
		c.users.add(e.user.hash, e.user.text)
	}
	if len(e.host.text) > 0 {
		c.hosts.add(e.host.hash, e.host.text)
	}
	if len(e.db.text) > 0 {
		c.dbs.add(e.db.hash, e.db.text)
	}
	if c.perEventTables {
		b.countTables(c, e.text)
	}
	c.seen(e.at)
	b.exemplify(c, e)
}

// time counts the latency of an event.
func (b *Builder) time(c *class, e *event) {
	ns := e.queryTime.saturated()
	c.queryTime.add(e.queryTime)
	c.lockTime.addSmall(e.lockTime)
	c.engineTime.addSmall(e.engineTime)
	if c.count == c.untimed+1 {
		c.least, c.most = ns, ns
	}
	c.least, c.most = min(c.least, ns), max(c.most, ns)
	bucket := bucketOf(ns)
	c.latency.add(bucket, 1)
	if e.at != 0 {
		if n := c.series.add(floorSeconds(e.at)>>b.d.level, bucket, ns); n > 0 {
			b.d.grew(n)
		}
	}
}

// countTables counts the tables of one event. Where the class has but one table, it remembers the text in front of the
// name: the next event of the class nearly always begins with the same bytes.
func (b *Builder) countTables(c *class, text []byte) {
	if n := len(c.beforeTable); n > 0 && len(text) > n && string(text[:n]) == c.beforeTable {
		end := n
		for end < len(text) && isName(text[end]) {
			end++
		}
		if end > n && (end == len(text) || text[end] == ' ') {
			c.tables.add(hashBytes(text[n:end]), text[n:end])
			return
		}
	}
	b.names = tablesOf(b.names[:0], text)
	for _, t := range b.names {
		c.tables.add(hashBytes(t), t)
	}
	if c.oneTable && len(b.names) == 1 {
		if at := bytes.Index(text, b.names[0]); at > 0 && text[at-1] == ' ' && bytes.Count(text, b.names[0]) == 1 {
			c.beforeTable = string(text[:at])
		}
	}
}

func floorSeconds(at int64) int64 {
	s := at / 1e6
	if at%1e6 < 0 {
		s--
	}
	return s
}

// exemplify keeps the event as the example of its class when it is the slowest so far.
func (b *Builder) exemplify(c *class, e *event) {
	ns := e.queryTime.saturated()
	x := &c.example
	if x.valid && ns < x.ns {
		return
	}
	text, cut := e.text, false
	if len(text) > b.options.MaxExample {
		text, cut = text[:b.options.MaxExample], true
	}
	if x.valid && ns == x.ns && (e.at > x.at || e.at == x.at && string(text) >= x.text) {
		return
	}
	*x = example{
		ns: ns, at: e.at, text: string(text), cut: cut, user: string(e.user.text), host: string(e.host.text),
		db: string(e.db.text), rowsSent: e.rowsSent, rowsExamined: e.rowsExamined, lockTime: e.lockTime, valid: true,
	}
	if !c.perEventTables {
		b.names = tablesOf(b.names[:0], e.text)
		for _, t := range b.names {
			x.tables = append(x.tables, string(t))
		}
	}
}

// class finds the class of a key, or makes it.
func (b *Builder) class(key []byte, e *event) *class {
	h := hashBytes(key)
	for probe := h; ; probe++ {
		c := b.d.byHash[probe]
		if c == nil {
			return b.newClass(key, h, probe, e)
		}
		if c.hash == h && c.length == len(key) && string(key[:len(c.fingerprint)]) == c.fingerprint {
			return c
		}
	}
}

func (b *Builder) newClass(key []byte, hash, slot uint64, e *event) *class {
	if len(b.d.byHash) >= b.options.MaxClasses {
		b.d.foldSmallest(b.options.MaxClasses * 3 / 4)
		for slot = hash; b.d.byHash[slot] != nil; slot++ {
		}
	}
	c := &class{id: md5.Sum(key), hash: hash, length: len(key)}
	c.fingerprint = string(key[:min(len(key), maxFingerprint)])
	if b.options.GroupBy == ByFingerprint && len(key) <= maxFingerprint {
		b.names = tablesOf(b.names[:0], key)
		for _, t := range b.names {
			if bytes.IndexByte(t, '?') >= 0 {
				c.perEventTables = true
			}
		}
		c.oneTable = len(b.names) == 1
	}
	b.d.byHash[slot] = c
	return c
}

// foldSmallest keeps the classes with the most query time and puts the others into one, named foldedName. What was
// folded is counted; a Digest in which something was folded no longer merges exactly.
func (d *Digest) foldSmallest(keep int) {
	all := d.sorted()
	if len(all) <= keep {
		return
	}
	rest := newClassNamed(foldedName)
	for _, c := range all[keep:] {
		if c.fingerprint != foldedName {
			d.folded++
		}
		c.series.rewrite(0)
		rest.merge(c)
	}
	rest.example, rest.tables = example{}, tally{}
	rest.series.rewrite(0)
	d.byHash = make(map[uint64]*class, keep)
	for _, c := range append(all[:keep:keep], rest) {
		if c.fingerprint == foldedName && c != rest {
			rest.merge(c)
			continue
		}
		d.place(c)
	}
}

const foldedName = "(folded: rare classes)"

func newClassNamed(s string) *class {
	key := []byte(s)
	return &class{fingerprint: s, id: md5.Sum(key), hash: hashBytes(key), length: len(key)}
}

// place puts a class where Builder.class finds it.
func (d *Digest) place(c *class) {
	slot := c.hash
	for d.byHash[slot] != nil {
		slot++
	}
	d.byHash[slot] = c
}

// sorted is the classes by total query time, largest first, then by count, then by fingerprint.
func (d *Digest) sorted() []*class {
	out := make([]*class, 0, len(d.byHash))
	for _, c := range d.byHash {
		out = append(out, c)
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i], out[j]
		switch {
		case a.queryTime != b.queryTime:
			return b.queryTime.less(a.queryTime)
		case a.count != b.count:
			return a.count > b.count
		case a.fingerprint != b.fingerprint:
			return a.fingerprint < b.fingerprint
		}
		return bytes.Compare(a.id[:], b.id[:]) < 0
	})
	return out
}
