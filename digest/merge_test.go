package digest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"stowage/digest/internal/gen"
	"stowage/internal/turns"
)

// shardLogs is one log cut into n at the ends of events, the way hosts of a farm would write their parts of the traffic.
func shardLogs(t *testing.T, events, n int) (whole []byte, parts [][]byte) {
	t.Helper()
	for i := range n {
		var b bytes.Buffer
		s := gen.SlowLog{Seed: uint64(i), Events: events / n, PerSecond: 40, Tables: 64, Start: 1795300000 + int64(i%7)*900}
		if _, err := s.Write(&b); err != nil {
			t.Fatal(err)
		}
		parts = append(parts, b.Bytes())
		whole = append(whole, b.Bytes()...)
	}
	return whole, parts
}

func digestOf(t *testing.T, log []byte) *Digest {
	t.Helper()
	b := New(Options{})
	if err := b.ReadSlowLog("log", bytes.NewReader(log)); err != nil {
		t.Fatal(err)
	}
	return b.Digest()
}

// stored is the bytes of a digest without its inputs: one file or 64 is the one thing that may differ.
func stored(t *testing.T, d *Digest) []byte {
	t.Helper()
	inputs := d.inputs
	d.inputs = nil
	defer func() { d.inputs = inputs }()
	var b bytes.Buffer
	if err := d.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestMergeEqualsOnePass(t *testing.T) {
	whole, parts := shardLogs(t, 64*1500, 64)
	once := digestOf(t, whole)
	wantBytes := stored(t, once)
	r := rand.New(rand.NewPCG(4, 4))
	for round := range 3 {
		order := r.Perm(len(parts))
		merged := digestOf(t, parts[order[0]])
		for _, i := range order[1:] {
			part := digestOf(t, parts[i])
			if round == 1 { // through its stored form
				var b bytes.Buffer
				if err := part.Encode(&b); err != nil {
					t.Fatal(err)
				}
				var err error
				if part, err = Decode(&b); err != nil {
					t.Fatal(err)
				}
			}
			if err := merged.Merge(part); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(stored(t, merged), wantBytes) {
			t.Fatalf("round %d: 64 merged digests differ from one pass over everything", round)
		}
	}
	if once.Events() != 64*1500 || len(once.byHash) != 11 {
		t.Errorf("%d events, %d classes", once.Events(), len(once.byHash))
	}
}

// So many blocks that they must be made longer: the length is a property of the data, not of the order of merging.
func TestMergeAgreesOnBlockLength(t *testing.T) {
	turns.One(t, 6)
	build := func(from, to int) *Digest {
		b := New(Options{})
		in := input{name: "made up"}
		r := rand.New(rand.NewPCG(uint64(from), 1))
		for s := from; s < to; s++ {
			for k := range 24 {
				e := event{at: int64(1e9+s) * 1e6, timed: true, queryTime: narrow(1000 * uint64(1+r.IntN(1<<(k%20+1)))), fingerprint: fmt.Appendf(nil, "q%d", k%3)}
				b.add(&in, &e)
			}
		}
		return b.Digest()
	}
	whole := build(0, 0)
	var parts []*Digest
	for i := range 6 {
		parts = append(parts, build(i*12000, (i+1)*12000))
		if err := whole.Merge(build(i*12000, (i+1)*12000)); err != nil {
			t.Fatal(err)
		}
	}
	a, b := parts[5], parts[0]
	for _, p := range []*Digest{parts[3], parts[1]} {
		if err := a.Merge(p); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []*Digest{parts[4], parts[2]} {
		if err := b.Merge(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Merge(b); err != nil {
		t.Fatal(err)
	}
	if whole.level == 0 {
		t.Fatal("the blocks were never made longer: the test has no teeth")
	}
	if a.level != whole.level || !bytes.Equal(stored(t, a), stored(t, whole)) {
		t.Errorf("blocks of %d s and %d s, depending on the order", a.BlockSeconds(), whole.BlockSeconds())
	}
	extra := 0
	for _, c := range whole.byHash {
		extra += c.times.extra()
	}
	if extra > maxCells || extra < maxCells/4 {
		t.Errorf("%d cells for time, allowed %d", extra, maxCells)
	}
}

func TestMergeRefusesOtherRules(t *testing.T) {
	a, b := New(Options{}).Digest(), New(Options{Rules: RulesLexer}).Digest()
	if err := a.Merge(b); err == nil {
		t.Error("digests of different rules were merged")
	}
}

func TestTallyKeepsExactCounts(t *testing.T) {
	var whole, left, right tally
	var book nameBook
	r := rand.New(rand.NewPCG(1, 1))
	counts := map[string]uint64{}
	for range 20000 {
		n := fmt.Sprintf("host%d", r.IntN(200))
		counts[n]++
		whole.add(&book, hashBytes([]byte(n)), []byte(n))
		if r.IntN(3) == 0 {
			left.add(&book, hashBytes([]byte(n)), []byte(n))
		} else {
			right.add(&book, hashBytes([]byte(n)), []byte(n))
		}
	}
	left.merge(&right)
	for i, n := range whole.names() {
		if n.n != counts[n.name.text] {
			t.Errorf("%s: %d, want %d", n.name.text, n.n, counts[n.name.text])
		}
		if left.names()[i] != n {
			t.Errorf("merged %+v, in one pass %+v", left.names()[i], n)
		}
	}
	if !whole.more() || !left.more() || len(whole.names()) != tallySize {
		t.Errorf("%d names, more %v", len(whole.names()), whole.more())
	}
}

func TestStoredForm(t *testing.T) {
	log, _ := shardLogs(t, 3000, 3)
	d := digestOf(t, append(log, "garbage at the end"...))
	var b bytes.Buffer
	if err := d.Encode(&b); err != nil {
		t.Fatal(err)
	}
	text := b.Bytes()
	if !IsStored(text) {
		t.Error("IsStored does not know its own")
	}
	back, err := Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := fmt.Sprintf("%+v", d.Report()), fmt.Sprintf("%+v", back.Report()); len(a) != len(b) || back.Events() != d.Events() {
		t.Errorf("report of the stored digest differs:\n%s\n%s", b, a)
	}
	var again bytes.Buffer
	if err := back.Encode(&again); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Bytes(), text) {
		t.Error("stored again, it has other bytes")
	}
	for n := range len(text) {
		if _, err := Decode(bytes.NewReader(text[:n])); err == nil {
			t.Fatalf("the first %d of %d bytes pass for a digest", n, len(text))
		}
	}
	if _, err := Decode(strings.NewReader("# Time: 071015 21:43:52\n")); !errors.Is(err, ErrNotStored) {
		t.Errorf("a slow log: %v", err)
	}
	newer := append([]byte(nil), text...)
	newer[7]++
	if _, err := Decode(bytes.NewReader(newer)); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("version %d", newer[7])) {
		t.Errorf("a newer version: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, d := range []*Digest{New(Options{}).Digest(), traffic{seed: 1, seconds: 5, perSec: 20}.digest(nil)} {
		p := packer{}
		d.encode(&p)
		f.Add(p.out)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		u := unpacker{in: payload}
		d := decode(&u)
		if u.err == nil {
			d.Report()
			Compare(d, d, CompareOptions{})
		}
	})
}

func TestQuantilesAreWithinTheStatedError(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for _, n := range []int{1, 2, 3, 10, 1000, 50000} {
		var h histogram
		values := make([]uint64, n)
		for i := range values {
			values[i] = uint64(r.ExpFloat64() * float64(uint64(1)<<r.IntN(40)))
			h.add(bucketOf(values[i]), 1)
		}
		slices.Sort(values)
		for _, q := range []float64{0.01, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 1} {
			rank := int(q*float64(n)+0.9999999) - 1
			exact := float64(values[max(0, min(rank, n-1))])
			got := float64(h.quantile(q, uint64(n), values[0], values[n-1]))
			if got < exact*(1-relativeError) || got > exact*(1+relativeError) {
				t.Errorf("quantile %v of %d values: %v, exact %v", q, n, got, exact)
			}
		}
	}
}

func TestBuckets(t *testing.T) {
	last := -1
	for _, v := range []uint64{0, 1, 127, 128, 255, 256, 257, 258, 1000, 12345, 1 << 20, 1<<40 + 7, 1<<63 + 9, 1<<64 - 1} {
		b := bucketOf(v)
		if b <= last && v > 258 || b >= bucketCount {
			t.Errorf("bucket of %d is %d, the one before %d", v, b, last)
		}
		last = b
		lower, width := bucketLower(b), bucketWidth(b)
		if v < lower || v-lower >= width {
			t.Errorf("%d is not in its bucket [%d, +%d)", v, lower, width)
		}
		if x := bucketValue(b); x < lower || x-lower >= width {
			t.Errorf("the value %d of bucket %d is outside of it", x, b)
		}
	}
}
