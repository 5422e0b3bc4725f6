package digest

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// The one-pass form must agree with the rule-by-rule form wherever it dares to answer, and it must dare for the
// statements that captures consist of.
func TestPtqdFastAgreesWithRules(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	n, dared := 200000, 0
	var buf []byte
	for range n {
		q := []byte(oracleQuery(r))
		out, ok := ptqdFast(buf, q)
		buf = out[:0]
		if !ok {
			continue
		}
		dared++
		if want := ptqdSlow(nil, q); !bytes.Equal(out, want) {
			t.Fatalf("query %q\n got %q\nwant %q", q, out, want)
		}
	}
	if dared < n/20 {
		t.Errorf("one-pass form answered %d of %d odd queries only", dared, n)
	}
}

func TestPtqdFastDaresCommonStatements(t *testing.T) {
	for _, q := range []string{
		"SELECT c FROM sbtest1 WHERE id=4711",
		"SELECT DISTINCT c FROM sbtest12 WHERE id BETWEEN 1 AND 99 ORDER BY c",
		"INSERT INTO sbtest4 (id, k, c, pad) VALUES (24963, 25011, '12-34-56', '9-8')",
		"INSERT INTO t VALUES (1,'a'),(2,'b')",
		"UPDATE `shop`.`orders` SET state='paid' WHERE id IN (1,2,3) LIMIT 5",
		"COMMIT", "BEGIN",
	} {
		out, ok := ptqdFast(nil, []byte(q))
		if want := ptqdSlow(nil, []byte(q)); !ok || !bytes.Equal(out, want) {
			t.Errorf("%s: ok=%v\n got %q\nwant %q", q, ok, out, want)
		}
	}
}

func FuzzPtqd(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		f.Add([]byte(oracleQuery(r)))
	}
	f.Fuzz(func(t *testing.T, q []byte) {
		want := ptqdSlow(nil, q)
		if out, ok := ptqdFast(nil, q); ok && !bytes.Equal(out, want) {
			t.Fatalf("query %q\n got %q\nwant %q", q, out, want)
		}
	})
}
