package digest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/klauspost/compress/zstd"
)

// A stored digest is the eight bytes of storedMagic, whose last is the version, and a zstd frame of unsigned and signed
// variable-length numbers and counted strings, in the order of encode below. Equal digests give equal bytes.
const (
	storedMagic   = "STOWDIG\x01"
	storedMaximum = 1 << 30 // bytes of an unpacked digest: far above any, so that a bad file cannot fill the memory
)

// ErrNotStored says that what was read is no stored digest, so that a caller can try to read it as a capture.
var ErrNotStored = errors.New("not a stored digest")

// IsStored says whether a file that begins with these bytes (eight suffice) is a stored digest of any version.
func IsStored(head []byte) bool { return bytes.HasPrefix(head, []byte(storedMagic[:7])) }

// Encode writes the digest in its stored form.
func (d *Digest) Encode(w io.Writer) error {
	p := packer{}
	d.encode(&p)
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBetterCompression))
	if err != nil {
		return fmt.Errorf("write digest: %w", err)
	}
	defer z.Close()
	if _, err := w.Write(z.EncodeAll(p.out, []byte(storedMagic))); err != nil {
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
	if head[7] != storedMagic[7] {
		return nil, fmt.Errorf("read digest: it has format version %d, this program reads %d", head[7], storedMagic[7])
	}
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(storedMaximum))
	if err != nil {
		return nil, fmt.Errorf("read digest: %w", err)
	}
	defer z.Close()
	payload, err := io.ReadAll(io.LimitReader(z, storedMaximum))
	if err != nil {
		return nil, fmt.Errorf("read digest: %w", err)
	}
	u := unpacker{in: payload}
	d := decode(&u)
	if u.err == nil && len(u.in) > 0 {
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
}

func decodeInput(u *unpacker) input {
	in := input{name: u.text(), kind: u.text(), dialect: u.text()}
	in.bytes, in.events, in.left = int64(u.number()), u.number(), u.number()
	for _, rs := range []*[]remark{&in.skipped, &in.notes} {
		for range u.size() {
			*rs = append(*rs, remark{u.text(), u.number(), int64(u.number()), int64(u.number())})
		}
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
	for _, n := range c.flags {
		p.number(n)
	}
	p.signed(c.first)
	p.signed(c.last)
	buckets, at := 0, 0
	c.latency.each(func(int, uint64) bool { buckets++; return true })
	p.number(uint64(buckets))
	c.latency.each(func(b int, n uint64) bool {
		p.number(uint64(b - at))
		p.number(n)
		at = b
		return true
	})
	p.text(string(c.series.packed))
	for _, t := range []*tally{&c.users, &c.hosts, &c.dbs, &c.tables} {
		t.encode(p)
	}
	p.flag(c.perEventTables)
	c.example.encode(p)
}

func decodeClass(u *unpacker) *class {
	c := &class{}
	copy(c.id[:], u.take(len(c.id)))
	c.fingerprint = u.text()
	c.hash, c.length, c.count, c.untimed = u.number(), int(u.number()), u.number(), u.number()
	for _, w := range []*wide{&c.queryTime, &c.lockTime, &c.engineTime, &c.rowsSent, &c.rowsExamined, &c.rowsAffected, &c.bytesSent, &c.queryBytes} {
		*w = u.wide()
	}
	c.least, c.most = u.number(), u.number()
	for i := range c.flags {
		c.flags[i] = u.number()
	}
	c.first, c.last = u.signed(), u.signed()
	at := uint64(0)
	for range u.size() {
		at += u.number()
		n := u.number()
		if at >= bucketCount {
			u.fail("a histogram bucket out of range")
			return c
		}
		c.latency.add(int(at), n)
	}
	blocks, err := unpackBlocks([]byte(u.text()))
	if err != nil && u.err == nil {
		u.err = err
	}
	for i := range blocks {
		c.series.pack(&blocks[i])
	}
	for _, t := range []*tally{&c.users, &c.hosts, &c.dbs, &c.tables} {
		t.decode(u)
	}
	c.perEventTables = u.flag()
	c.example = decodeExample(u)
	if c.untimed > c.count || c.least > c.most {
		u.fail("a class whose numbers contradict each other")
	}
	return c
}

func (t *tally) encode(p *packer) {
	p.flag(t.more)
	p.number(uint64(len(t.names)))
	for _, n := range t.names {
		p.number(n.hash)
		p.number(n.n)
		p.text(n.name)
	}
}

func (t *tally) decode(u *unpacker) {
	more := u.flag()
	for range u.size() {
		t.insert(named{u.number(), u.number(), u.text()})
	}
	t.more = t.more || more
}

func (x *example) encode(p *packer) {
	p.flag(x.valid)
	if !x.valid {
		return
	}
	p.number(x.ns)
	p.signed(x.at)
	p.flag(x.cut)
	for _, s := range []string{x.text, x.user, x.host, x.db} {
		p.text(s)
	}
	p.number(x.rowsSent)
	p.number(x.rowsExamined)
	p.number(x.lockTime)
	p.number(uint64(len(x.tables)))
	for _, t := range x.tables {
		p.text(t)
	}
}

func decodeExample(u *unpacker) (x example) {
	if x.valid = u.flag(); !x.valid {
		return x
	}
	x.ns, x.at, x.cut = u.number(), u.signed(), u.flag()
	for _, s := range []*string{&x.text, &x.user, &x.host, &x.db} {
		*s = u.text()
	}
	x.rowsSent, x.rowsExamined, x.lockTime = u.number(), u.number(), u.number()
	for range u.size() {
		x.tables = append(x.tables, u.text())
	}
	return x
}
