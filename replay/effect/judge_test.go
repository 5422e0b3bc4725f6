package effect

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
)

// judged is what statements do, from testdata/judged.txt: a line is the text, its
// kind, and parts of the reason and of the chance that must be said. No chance says
// that the answer may be compared.
func judged(t testing.TB) (out []judgedLine) {
	t.Helper()
	text, err := os.ReadFile("testdata/judged.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "//") {
			continue
		}
		var f [4]string
		var l judgedLine
		if err := errors.Join(json.Unmarshal([]byte(line), &f), l.kind.UnmarshalText([]byte(f[1]))); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		l.text, l.reason, l.chance = f[0], f[2], f[3]
		out = append(out, l)
	}
	return out
}

type judgedLine struct {
	text           string
	kind           Kind
	reason, chance string
}

func TestJudge(t *testing.T) {
	for _, tt := range judged(t) {
		j := Judge([]byte(tt.text), Mode{})
		if j.Kind != tt.kind || !strings.Contains(j.Reason, tt.reason) {
			t.Errorf("%q is %s (%s), want %s (%s)", tt.text, j.Kind, j.Reason, tt.kind, tt.reason)
		}
		if tt.kind == Read && (tt.chance == "") != (j.Chance == "") || !strings.Contains(j.Chance, tt.chance) {
			t.Errorf("%q may answer differently because of %q, want %q", tt.text, j.Chance, tt.chance)
		}
	}
}

// TestJudgeByMode: what a text says depends on how the session reads it.
func TestJudgeByMode(t *testing.T) {
	for _, tt := range []struct {
		text string
		mode Mode
		kind Kind
	}{
		{`SELECT '\' ; DELETE FROM t -- '`, Mode{}, Read},
		{`SELECT '\' ; DELETE FROM t -- '`, Mode{NoBackslashEscapes: true}, Write},
		{`SELECT "sleep"(5)`, Mode{AnsiQuotes: true}, Write},
		{`SELECT "a" "b"`, Mode{}, Read},
	} {
		if j := Judge([]byte(tt.text), tt.mode); j.Kind != tt.kind {
			t.Errorf("%q under %+v is %s (%s), want %s", tt.text, tt.mode, j.Kind, j.Reason, tt.kind)
		}
	}
}

func TestJudgeTellsWhatItSaw(t *testing.T) {
	if j := Judge([]byte("SELECT a FROM t WHERE b = ? AND c = '?' /* ? */ ORDER BY a"), Mode{}); j.Params != 1 || !j.IsOrdered {
		t.Errorf("%+v", j)
	}
	if j := Judge([]byte("SELECT a FROM (SELECT b FROM t ORDER BY b) x"), Mode{}); j.IsOrdered {
		t.Error("an ORDER BY inside does not order the whole")
	}
	if j := Judge([]byte("USE `Shop`"), Mode{}); j.Database != "Shop" {
		t.Errorf("%+v", j)
	}
	if j := Judge([]byte("CREATE TEMPORARY TABLE IF NOT EXISTS shop.`x` (a INT)"), Mode{}); j.Temporary != "x" {
		t.Errorf("%+v", j)
	}
	if j := Judge([]byte("SET SESSION sql_mode = 'ANSI'"), Mode{}); !j.SetsMode {
		t.Errorf("%+v", j)
	}
	for text, want := range map[string]bool{"WITH x AS (SELECT 1) SELECT * FROM x": true, "SELECT @a FROM t": true, "SHOW TABLES": false, "EXPLAIN SELECT 1": false,
		"SET STATEMENT max_statement_time=9 FOR SELECT 1": false} {
		if j := Judge([]byte(text), Mode{}); j.IsQuery != want || j.Variables != (strings.Contains(text, "@") || strings.Contains(text, "STATEMENT")) {
			t.Errorf("%q: a query %v, variables %v", text, j.IsQuery, j.Variables)
		}
	}
	if j := Judge([]byte("SELECT 1 ; SELECT ';' -- x\n;"), Mode{}); len(j.Parts) != 2 || string(j.Parts[0]) != "SELECT 1 " || !strings.HasPrefix(string(j.Parts[1]), "SELECT ';'") {
		t.Errorf("%q", j.Parts)
	}
}

// FuzzJudge: a read never holds a reserved word of a write at top level, and
// stays a read when it is judged again as one of several.
func FuzzJudge(f *testing.F) {
	for _, tt := range judged(f) {
		f.Add(tt.text, false, false)
	}
	f.Add(`SELECT '\' ; DELETE FROM t -- '`, true, false)
	f.Add("SET FOR a. FOR UPDATE", false, false)
	f.Fuzz(func(t *testing.T, text string, noEscapes, ansi bool) {
		m := Mode{noEscapes, ansi}
		j := Judge([]byte(text), m)
		if j.Kind != Read && j.Kind != Session {
			return
		}
		l := lex([]byte(text), m)
		for i, x := range l.tokens {
			c := clause{l.tokens}
			if x.kind != aWord || c.symbol(i-1) == "." || c.symbol(i+1) == "(" || c.is(i-1, "show", "create") {
				continue
			}
			switch x.text {
			case "insert", "update", "delete", "replace", "drop", "alter", "grant", "revoke", "load", "call", "outfile", "dumpfile", "create":
				t.Errorf("%q is a %s, and says %s", text, j.Kind, x.text)
			}
		}
		if twice := Judge([]byte(text+"\n; DELETE FROM t"), m); len(l.tokens) > 0 && twice.Kind < Write {
			t.Errorf("%q hides what follows it: %s", text, twice.Kind)
		}
	})
}
