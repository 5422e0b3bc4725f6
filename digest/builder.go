package digest

import (
	"bytes"
	"crypto/md5"
	"math/bits"
	"sort"
)

// Builder folds events into classes. It is not safe for concurrent use: one Builder per goroutine, and Digest.Merge.
type Builder struct {
	options      Options
	since, until int64 // microseconds; 0: no bound
	d            *Digest
	scratch      []byte
	names        [][]byte // scratch
	crowd        crowd
	sink         func(*event) // takes the events instead of the classes, see Statements
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
	in.saw(e.at)
	if f := b.options.Filter; f != nil && !f.root(&candidate{e, b}) {
		in.left++
		return
	}
	in.events++
	if b.sink != nil {
		b.sink(e)
		return
	}
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

// countStatement counts an event in the class of its fingerprint, which is at hand when statements of its shape came before.
func (b *Builder) countStatement(e *event) {
	k := e.known
	if k != nil && k.class != nil && k.folds == b.d.folds {
		b.countIn(k.class, e)
		return
	}
	key := b.fingerprint(e)
	c := b.class(key, e)
	if k != nil {
		k.class, k.folds = c, b.d.folds
		if k.fingerprint == nil {
			k.fingerprint = bytes.Clone(key)
		}
	}
	b.countIn(c, e)
}

// countIn counts an event in a class.
func (b *Builder) countIn(c *class, e *event) {
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
		for f := e.flags & (1<<flagCount - 1); f != 0; f &= f - 1 {
			c.addFlag(bits.TrailingZeros32(f), 1)
		}
	}
	c.people.add(b.crowd.find(e), 1)
	if c.perEventTables {
		b.countTables(c, e)
	}
	c.seen(e.at)
	b.exemplify(c, e)
}

// roomyClasses is how many classes may each take some ten kilobytes to be counted faster.
const roomyClasses = 256

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
	t := eventTime{ns: ns, dated: e.at != 0}
	if t.dated {
		t.number = floorSeconds(e.at) >> b.d.level
	}
	if n := c.times.add(t, len(b.d.byHash) <= roomyClasses); n > 0 {
		b.d.grew(n)
	}
}

// countTables counts the tables of one event.
func (b *Builder) countTables(c *class, e *event) {
	switch {
	case e.known == nil || !e.known.spotted:
		b.names = tablesOf(b.names[:0], e.text)
	case len(e.known.tables) == 1:
		t := e.known.tables[0].in(e.text, e.gaps)
		c.tableTally().add(&b.crowd.book, hashBytes(t), t)
		return
	default:
		b.names = e.known.appendTables(b.names[:0], e.text, e.gaps)
	}
	for _, t := range b.names {
		c.tableTally().add(&b.crowd.book, hashBytes(t), t)
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
	if x.valid {
		b.sampled(c, e, ns)
	}
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
		ns: ns, at: e.at, text: string(text), cut: cut, who: b.crowd.find(e),
		rowsSent: e.rowsSent, rowsExamined: e.rowsExamined, lockTime: e.lockTime, valid: true, plan: uint8(e.flags & planFlags),
	}
	if cut && !c.perEventTables {
		tables := texts(tablesOf(nil, e.text))
		x.tables = &tables
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
		if c.hash == h && int(c.length) == len(key) && string(key[:len(c.fingerprint)]) == c.fingerprint {
			return c
		}
	}
}

func (b *Builder) newClass(key []byte, hash, slot uint64, e *event) *class {
	if len(b.d.byHash) >= b.options.MaxClasses {
		b.d.foldSmallest(b.options.MaxClasses / 2)
		for slot = hash; b.d.byHash[slot] != nil; slot++ {
		}
	}
	c := b.d.blankClass()
	c.id, c.hash, c.length = md5.Sum(key), hash, int32(len(key))
	c.fingerprint = string(key[:min(len(key), maxFingerprint)])
	if b.options.GroupBy == ByFingerprint && len(key) <= maxFingerprint && foldsNames(key) {
		b.names = tablesOf(b.names[:0], key)
		for _, t := range b.names {
			if bytes.IndexByte(t, '?') >= 0 {
				c.perEventTables = true
			}
		}
	}
	b.d.byHash[slot] = c
	return c
}

// foldsNames says whether a fingerprint can have a name with a question mark in it: one that stands alone is a value.
func foldsNames(key []byte) bool {
	part := func(at int) bool {
		if at < 0 || at >= len(key) {
			return false
		}
		switch c := key[at]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c >= 0x80:
			return true
		default:
			return bytes.IndexByte([]byte("_$.`\"'@-?"), c) >= 0
		}
	}
	for i, c := range key {
		if c == '?' && (part(i-1) || part(i+1)) {
			return true
		}
	}
	return false
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
	sort.Slice(out, func(i, j int) bool { return out[i].outweighs(out[j]) })
	return out
}

// outweighs is the order of sorted, which is total.
func (c *class) outweighs(b *class) bool {
	switch {
	case c.queryTime != b.queryTime:
		return b.queryTime.less(c.queryTime)
	case c.count != b.count:
		return c.count > b.count
	case c.fingerprint != b.fingerprint:
		return c.fingerprint < b.fingerprint
	}
	return bytes.Compare(c.id[:], b.id[:]) < 0
}
