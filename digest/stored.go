package digest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"

	"github.com/klauspost/compress/zstd"
)

// A stored digest is the eight bytes of storedMagic, whose last is the version, and a zstd frame of unsigned and signed
// variable-length numbers and counted strings, in the order of encode below. Equal digests give equal bytes. Version 2 added
// sums, behind the example of each class, and the cell of summed events in blocks of time; version 3 samples, version 4 probes of the
// host behind each input, version 5 when its first and its last event were. All are still read.
const (
	storedMagic   = "STOWDIG\x05"
	storedWindow  = 1 << 20
	storedMaximum = 1 << 30 // bytes of an unpacked digest: far above any, so that a bad file cannot fill the memory
)

// ErrNotStored says that what was read is no stored digest, so that a caller can try to read it as a capture.
var ErrNotStored = errors.New("not a stored digest")

// IsStored says whether a file that begins with these bytes (eight suffice) is a stored digest of any version.
func IsStored(head []byte) bool { return bytes.HasPrefix(head, []byte(storedMagic[:7])) }

// Encode writes the digest in its stored form.
func (d *Digest) Encode(w io.Writer) error {
	if _, err := io.WriteString(w, storedMagic); err != nil {
		return fmt.Errorf("write digest: %w", err)
	}
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBetterCompression),
		zstd.WithWindowSize(storedWindow), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return fmt.Errorf("write digest: %w", err)
	}
	p := packer{w: z}
	d.encode(&p)
	p.flush()
	if err := cmp.Or(p.err, z.Close()); err != nil {
		return fmt.Errorf("write digest: %w", err)
	}
	return nil
}

// Decode reads what Encode wrote. Other content gives ErrNotStored, a newer version an error that says so.
func Decode(r io.Reader) (*Digest, error) {
	head := make([]byte, len(storedMagic))
	if _, err := io.ReadFull(r, head); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("read digest: %w", err)
	}
	if !IsStored(head) {
		return nil, fmt.Errorf("read digest: %w", ErrNotStored)
	}
	if head[7] == 0 || head[7] > storedMagic[7] {
		return nil, fmt.Errorf("read digest: it has format version %d, this program reads 1 to %d", head[7], storedMagic[7])
	}
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(storedMaximum))
	if err != nil {
		return nil, fmt.Errorf("read digest: %w", err)
	}
	defer z.Close()
	u := unpacker{r: io.LimitReader(z, storedMaximum), version: head[7]}
	d := decode(&u)
	if u.need(1); u.err == nil && len(u.in) > 0 {
		u.err = errors.New("bytes behind the end")
	}
	if u.err != nil {
		return nil, fmt.Errorf("read digest: %w", u.err)
	}
	return d, nil
}

func (d *Digest) encode(p *packer) {
	d.settle()
	p.text(string(d.rules))
	p.text(string(d.groupBy))
	p.number(d.events)
	p.wide(d.queryTime)
	p.number(uint64(d.level))
	p.number(d.folded)
	p.number(uint64(len(d.inputs)))
	for i := range d.inputs {
		d.inputs[i].encode(p)
	}
	classes := d.sorted()
	sort.Slice(classes, func(i, j int) bool { return bytes.Compare(classes[i].id[:], classes[j].id[:]) < 0 })
	p.number(uint64(len(classes)))
	for _, c := range classes {
		c.encode(p)
		p.drain()
	}
}

func decode(u *unpacker) *Digest {
	d := newDigest(RuleSet(u.text()), GroupBy(u.text()))
	d.events = u.number()
	d.queryTime = u.wide()
	d.level = uint(u.number())
	if d.level > maxLevel {
		u.fail("blocks of time too long")
		return d
	}
	d.folded = u.number()
	for range u.size() {
		d.inputs = append(d.inputs, decodeInput(u))
	}
	for range u.size() {
		c := decodeClass(u)
		if u.err != nil {
			break
		}
		if d.find(c) != nil {
			u.fail("a class comes twice")
			break
		}
		d.place(c)
	}
	return d
}

func (in *input) encode(p *packer) {
	p.text(in.name)
	p.text(in.kind)
	p.text(in.dialect)
	p.number(uint64(in.bytes))
	p.number(in.events)
	p.number(in.left)
	for _, rs := range [][]remark{in.skipped, in.notes} {
		p.number(uint64(len(rs)))
		for _, r := range rs {
			p.text(r.reason)
			p.number(r.count)
			p.number(uint64(r.bytes))
			p.number(uint64(r.offset))
		}
	}
	p.number(in.probes)
	p.number(in.probe)
	p.number(uint64(in.from))
	p.number(uint64(in.to))
}

func decodeInput(u *unpacker) input {
	in := input{name: u.text(), kind: u.text(), dialect: u.text()}
	in.bytes, in.events, in.left = int64(u.number()), u.number(), u.number()
	for _, rs := range []*[]remark{&in.skipped, &in.notes} {
		for range u.size() {
			*rs = append(*rs, remark{u.text(), u.number(), int64(u.number()), int64(u.number())})
		}
	}
	if u.version >= 4 {
		in.probes, in.probe = u.number(), u.number()
	}
	if u.version >= 5 {
		in.from, in.to = int64(u.number()), int64(u.number())
	}
	return in
}

func (c *class) encode(p *packer) {
	p.out = append(p.out, c.id[:]...)
	p.text(c.fingerprint)
	p.number(c.hash)
	p.number(uint64(c.length))
	p.number(c.count)
	p.number(c.untimed)
	for _, w := range []wide{c.queryTime, c.lockTime, c.engineTime, c.rowsSent, c.rowsExamined, c.rowsAffected, c.bytesSent, c.queryBytes} {
		p.wide(w)
	}
	p.number(c.least)
	p.number(c.most)
	for _, n := range c.flagCounts() {
		p.number(n)
	}
	p.signed(c.first)
	p.signed(c.last)
	buckets, at := 0, 0
	times := c.times.view()
	times.latency.each(func(int, uint64) bool { buckets++; return true })
	p.number(uint64(buckets))
	times.latency.each(func(b int, n uint64) bool {
		p.number(uint64(b - at))
		p.number(n)
		at = b
		return true
	})
	p.text(string(times.series.packed))
	tables := c.tables
	if tables == nil {
		tables = &tally{}
	}
	by := c.people.view()
	for _, t := range []*tally{&by.users, &by.hosts, &by.dbs, tables} {
		t.encode(p)
	}
	p.flag(c.perEventTables)
	c.example.encode(p, !c.perEventTables)
	sums := c.summed()
	sums.encode(p)
	p.number(uint64(c.example.plan))
	c.more.encode(p)
}

func decodeClass(u *unpacker) *class {
	c := &class{}
	copy(c.id[:], u.take(len(c.id)))
	c.fingerprint = u.text()
	c.hash, c.length, c.count, c.untimed = u.number(), int32(min(u.number(), math.MaxInt32)), u.number(), u.number()
	for _, w := range []*wide{&c.queryTime, &c.lockTime, &c.engineTime, &c.rowsSent, &c.rowsExamined, &c.rowsAffected, &c.bytesSent, &c.queryBytes} {
		*w = u.wide()
	}
	c.least, c.most = u.number(), u.number()
	for i := range flagCount {
		c.addFlag(i, u.number())
	}
	c.first, c.last = u.signed(), u.signed()
	times, at := c.times.full(), uint64(0)
	for range u.size() {
		at += u.number()
		n := u.number()
		if at >= bucketCount {
			u.fail("a histogram bucket out of range")
			return c
		}
		times.latency.add(int(at), n)
	}
	blocks, err := unpackBlocks([]byte(u.text()))
	if err != nil && u.err == nil {
		u.err = err
	}
	for i := range blocks {
		times.series.pack(&blocks[i])
	}
	var tables tally
	var by peopleApart
	for _, t := range []*tally{&by.users, &by.hosts, &by.dbs, &tables} {
		t.decode(u)
	}
	c.people = u.crowd.people(&by)
	if tables.names() != nil || tables.more() {
		c.tables = &tables
	}
	c.perEventTables = u.flag()
	c.example = decodeExample(u, !c.perEventTables)
	var sums sums
	if u.version >= 2 {
		sums.decode(u)
	}
	if u.version >= 3 {
		c.example.plan = uint8(u.number() & planFlags)
		c.more = decodeSamples(u)
	}
	if !sums.isZero() {
		c.sums = &sums
	}
	if c.untimed > c.count || sums.n > c.untimed || sums.least > sums.most || c.least > c.most {
		u.fail("a class whose numbers contradict each other")
	}
	return c
}

func (t *tally) encode(p *packer) {
	p.flag(t.more())
	p.number(uint64(len(t.names())))
	for _, n := range t.names() {
		p.number(n.name.hash)
		p.number(n.n)
		p.text(n.name.text)
	}
}

func (t *tally) decode(u *unpacker) {
	more := u.flag()
	for range u.size() {
		hash, n := u.number(), u.number()
		t.insert(u.crowd.book.find(hash, u.take(u.size())), n)
	}
	if more {
		t.setMore()
	}
}

func (x *example) encode(p *packer, withTables bool) {
	p.flag(x.valid)
	if !x.valid {
		return
	}
	p.number(x.ns)
	p.signed(x.at)
	p.flag(x.cut)
	w := x.ranBy()
	for _, s := range []string{x.text, w.user.String(), w.host.String(), w.db.String()} {
		p.text(s)
	}
	p.number(x.rowsSent)
	p.number(x.rowsExamined)
	p.number(x.lockTime)
	var tables []string
	if withTables {
		tables = x.tableNames()
	}
	p.number(uint64(len(tables)))
	for _, t := range tables {
		p.text(t)
	}
}

func decodeExample(u *unpacker, withTables bool) (x example) {
	if x.valid = u.flag(); !x.valid {
		return x
	}
	x.ns, x.at, x.cut = u.number(), u.signed(), u.flag()
	x.text = u.text()
	var by event
	for _, n := range []*name{&by.user, &by.host, &by.db} {
		*n = named1(u.take(u.size()))
	}
	x.who = u.crowd.find(&by)
	x.rowsSent, x.rowsExamined, x.lockTime = u.number(), u.number(), u.number()
	var tables []string
	for range u.size() {
		tables = append(tables, u.text())
	}
	if withTables && !slices.Equal(tables, x.tableNames()) {
		x.tables = &tables
	}
	return x
}
