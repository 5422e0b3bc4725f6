package load

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stowage/farm"
)

func write(n int64) entry {
	return entry{client: "client-01", shard: "etsy_shard_0001", seq: n, side: farm.A, address: "127.0.10.1:23306", at: time.Unix(0, 1479762311123456789)}
}

// TestLedgerCutAnywhere cuts a ledger after each of its bytes, as a full disk
// would, and goes on: what was whole is read, what was cut is counted, and the
// next line is not glued to it.
func TestLedgerCutAnywhere(t *testing.T) {
	dir := t.TempDir()
	l, _, _, err := openLedger(dir, "client-01")
	if err != nil {
		t.Fatal(err)
	}
	for n := range int64(3) {
		if err := l.append(write(n + 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	path := ledgerPath(dir, "client-01")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range raw {
		if err := os.WriteFile(path, raw[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		l, last, torn, err := openLedger(dir, "client-01")
		if err != nil {
			t.Fatal(err)
		}
		wholeLines := int64(strings.Count(string(raw[:cut]), "\n"))
		if got := last["etsy_shard_0001"]; got != wholeLines && got != wholeLines+1 {
			t.Errorf("cut at %d: highest %d of %d whole lines", cut, got, wholeLines)
		}
		if torn > 1 {
			t.Errorf("cut at %d: %d torn lines", cut, torn)
		}
		if err := l.append(write(9)); err != nil {
			t.Fatal(err)
		}
		l.close()
		seen := []int64{}
		if _, err := readLedger(path, func(e entry) { seen = append(seen, e.seq) }); err != nil {
			t.Fatal(err)
		}
		if int64(len(seen)) < wholeLines+1 || seen[len(seen)-1] != 9 {
			t.Errorf("cut at %d: read %v after continuing with 9", cut, seen)
		}
	}
}

func TestLedgerLine(t *testing.T) {
	dir := t.TempDir()
	l, _, _, err := openLedger(dir, "client-01")
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	if err := l.append(write(42)); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "ledger", "client-01.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "client-01\tetsy_shard_0001\t42\tA\t127.0.10.1:23306\t1479762311123456789\n"; string(raw) != want {
		t.Errorf("line %q, want %q", raw, want)
	}
	var got entry
	if torn, err := readLedger(ledgerPath(dir, "client-01"), func(e entry) { got = e }); err != nil || torn != 0 || got != write(42) {
		t.Errorf("read back %+v, torn %d, %v", got, torn, err)
	}
}

// TestSpans against a plain set.
func TestSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOf(rapid.Int64Range(1, 40)).Draw(t, "numbers")
		s, set := &spans{}, map[int64]bool{}
		for _, n := range numbers {
			s.add(n)
			set[n] = true
		}
		if s.count() != int64(len(set)) {
			t.Fatalf("count %d, want %d", s.count(), len(set))
		}
		for n := int64(0); n <= 41; n++ {
			if s.has(n) != set[n] {
				t.Fatalf("has(%d) = %v", n, s.has(n))
			}
		}
		last := int64(-1)
		for _, r := range s.ranges {
			if r.from <= last+1 || r.to < r.from {
				t.Fatalf("ranges %v are not sorted and apart", s.ranges)
			}
			last = r.to
		}
		visited := int64(0)
		s.each(func(n int64) {
			visited++
			if !set[n] {
				t.Fatalf("each gave %d", n)
			}
		})
		if visited != s.count() {
			t.Fatalf("each gave %d of %d", visited, s.count())
		}
	})
	if (*spans)(nil).has(1) {
		t.Error("a nil set holds something")
	}
}
