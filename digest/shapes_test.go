package digest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// checkShape adds a statement to the tree, or holds what the tree says about it against the long way. known says that the
// tree knew it. Of a text that has the end of a statement inside, the tree may know what is before that: those who
// ask look at what follows, and go the long way unless it is the end.
func checkShape(t *testing.T, tree *shapes, seen map[*knownStatement]string, q []byte) (known bool) {
	t.Helper()
	fast, closed := ptqdFast(nil, q)
	want := string(fast)
	if tree.inNames {
		want = string(lexerFingerprint(nil, q, nil))
	}
	var ends [maxShapeGaps + 1]int
	text := append(append(bytes.Clone(q), ";\n"...), "# User@Host: ...................."...)
	k, end := tree.match(text, &ends)
	if k == nil {
		if closed && bytes.IndexByte(q, '\n') < 0 {
			if k := tree.add(q); k != nil {
				seen[k] = want
			}
		}
		return false
	}
	if end < len(q) && bytes.HasPrefix(q[end:], []byte(";\n")) {
		return checkShape(t, tree, seen, q[:end])
	}
	if !closed || end != len(q) {
		t.Fatalf("%q is known up to %d, but it ends at %d, closed %v", q, end, len(q), closed)
	}
	if seen[k] != want {
		t.Fatalf("%q\n has %q\nwant %q", q, seen[k], want)
	}
	if k.spotted {
		got, tables := k.appendTables(nil, q, &ends), tablesOf(nil, q)
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", tables) {
			t.Fatalf("%q touches %q, want %q", q, got, tables)
		}
	}
	return true
}

// alike changes the numbers and literals of a statement, and now and then something else.
func alike(r *rand.Rand, q []byte) []byte {
	var out []byte
	for i := 0; i < len(q); {
		c := q[i]
		switch {
		case isDigit(c):
			for i < len(q) && isDigit(q[i]) {
				i++
			}
			out = fmt.Appendf(out, "%0*d", r.IntN(12), r.IntN(3)*r.IntN(1_000_000))
			continue
		case (c == '\'' || c == '"') && r.IntN(8) > 0:
			if end := bytes.IndexByte(q[i+1:], c); end >= 0 {
				fill := []string{"", "a", "12", "x y", "a;b", "ab(c", "1,2", "#", "a*/", "\\", "--", "äö", "'", "\""}[r.IntN(14)]
				out = append(append(append(out, c), fill...), c)
				i += end + 2
				continue
			}
		case r.IntN(300) == 0:
			c = "x.;'0`-"[r.IntN(7)]
		}
		out = append(out, c)
		i++
	}
	return out
}

// What the tree of shapes knows about a statement is what reading it says, under both rule sets.
func TestShapesEqualReading(t *testing.T) {
	for _, inNames := range []bool{false, true} {
		r := rand.New(rand.NewPCG(5, 6))
		known := 0
		for range 400 {
			tree := shapes{inNames: inNames}
			seen := map[*knownStatement]string{}
			var family [][]byte
			for range 5 {
				family = append(family, []byte(oracleQuery(r)), []byte(joinedQuery(r)), []byte(joinedQuery(r)))
			}
			for range 300 {
				if checkShape(t, &tree, seen, alike(r, family[r.IntN(len(family))])) {
					known++
				}
			}
		}
		if known < 3_000 {
			t.Errorf("%d statements were known", known)
		}
	}
}

// joinedQuery is a statement of a few tables whose names differ in digits only, which is where being equal matters.
func joinedQuery(r *rand.Rand) string {
	table := func() string {
		return []string{"t1", "t2", "db1.t1", "users_7", "`t1`", "a", "t1 x1", "t2 as y"}[r.IntN(8)]
	}
	switch r.IntN(4) {
	case 0:
		return fmt.Sprintf("SELECT t1.c, t2.c FROM %s, %s WHERE t1.id = 5 AND x = 'a'", table(), table())
	case 1:
		return fmt.Sprintf("SELECT 1, 'a b' FROM %s JOIN %s ON t1.id = t2.id WHERE n IN (1, 2) LIMIT 5", table(), table())
	case 2:
		return fmt.Sprintf("UPDATE %s SET a = 5, b = 'x' WHERE c = 1.5 AND d = - 7 OR t1 . 5 = 6", table())
	}
	return fmt.Sprintf("INSERT INTO %s (a, b) VALUES (1, 'x'), (2, 'y')", table())
}

// A tree that is full goes on to know what it knows, and makes room when what fills it does not come again.
func TestShapesStayBounded(t *testing.T) {
	tree := shapes{}
	word := func(i int) []byte {
		return fmt.Appendf(nil, "select %c%c%c%c from t", 'a'+i%26, 'a'+i/26%26, 'a'+i/676%26, 'a'+i/17576%26)
	}
	for i := range 18 * maxShapes {
		if tree.add(word(i)); tree.leaves > maxShapes {
			t.Fatalf("%d shapes", tree.leaves)
		}
	}
	if tree.leaves == maxShapes {
		t.Error("it never made room")
	}
}

func FuzzShapes(f *testing.F) {
	f.Add([]byte("SELECT c FROM t1 WHERE id=5"), []byte("SELECT c FROM t12 WHERE id=55"), false)
	f.Add([]byte("SELECT c FROM t1, t1 WHERE id='a'"), []byte("SELECT c FROM t1, t2 WHERE id='b'"), true)
	f.Add([]byte("INSERT INTO t VALUES (1,'a')"), []byte("INSERT INTO t VALUES (1,'a'),(2,'b')"), false)
	f.Add([]byte("SELECT c FROM t1 WHERE id=5"), []byte("SELECT c FROM t1 WHERE id=5;\nx"), false) // the end of one inside of another
	f.Add([]byte(""), []byte(";\n"), true)
	f.Add([]byte("*@*/00"), []byte("*@*/0"), true) // a comment between a name and its digits
	f.Fuzz(func(t *testing.T, a, b []byte, inNames bool) {
		tree := shapes{inNames: inNames}
		seen := map[*knownStatement]string{}
		checkShape(t, &tree, seen, a)
		checkShape(t, &tree, seen, b)
		checkShape(t, &tree, seen, a)
	})
}

// TestMayUpsetSeesEachByte holds the look at eight bytes at once against the table.
func TestMayUpsetSeesEachByte(t *testing.T) {
	for c := range 256 {
		for at := range 8 {
			word := []byte("abcdefgh")
			word[at] = byte(c)
			if literalUpset[c] && !mayUpset(le64(word)) {
				t.Errorf("byte %q at %d is not seen", byte(c), at)
			}
			literal := append([]byte("'"), word...)
			literal = append(literal, "tail'    "...)
			want := 0
			if n := strings.IndexFunc(string(literal[1:]), func(r rune) bool { return r < 256 && literalUpset[byte(r)] }); literal[1+n] == '\'' {
				want = n + 2
			}
			if got := plainEnd(literal, 0); got != want {
				t.Errorf("%q ends at %d, not at %d", literal, got, want)
			}
		}
	}
	if mayUpset(le64([]byte("ab-c+d_9"))) {
		t.Error("plain bytes are looked at one by one")
	}
}
