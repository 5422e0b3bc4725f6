package table

import (
	"strings"
	"testing"
)

func text(t *testing.T, table *Table, out *strings.Builder) string {
	t.Helper()
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestColumnsStandBeneathTheirHeads(t *testing.T) {
	for _, c := range []struct {
		name string
		fill func(*strings.Builder) *Table
		want string
	}{
		{"left", func(w *strings.Builder) *Table {
			a := New(w, "HOST\tSHARDS\tREMARK")
			a.Row("%s\t%d\t%s", "a1", 12, "")
			a.Row("%s\t%d\t%s", "a-long-name", 3, "full")
			return a
		}, "HOST         SHARDS  REMARK\na1           12\na-long-name  3       full\n"},
		{"figures", func(w *strings.Builder) *Table {
			a := Figures(w, "step\tIOPS")
			a.Row("%s\t%d", "READ", 120000)
			a.Row("%s\t%d", "W", 3)
			return a
		}, "  step    IOPS\n  READ  120000\n     W       3\n"},
		{"a short row runs on below the heads", func(w *strings.Builder) *Table {
			a := New(w, "A\tB\tC")
			a.Row("%s\t%s", "x", "the server does not answer")
			a.Row("%s\t%s\t%s", "y", "1", "2")
			return a
		}, "A  B  C\nx  the server does not answer\ny  1  2\n"},
		{"wide characters and accents", func(w *strings.Builder) *Table {
			a := New(w, "NAME\tN")
			a.Row("%s\t%d", "東京", 1)
			a.Row("%s\t%d", "Zu\u0308rich", 2)
			a.Row("%s\t%d", "Köln", 3)
			return a
		}, "NAME    N\n東京    1\nZu\u0308rich  2\nKöln    3\n"},
		{"an argument cannot make a cell or a line", func(w *strings.Builder) *Table {
			a := New(w, "STATEMENT\tN")
			a.Row("%s\t%d", "SELECT\t1\nFROM\x1b[31m", 7)
			a.Cells("a\tb", "8")
			return a
		}, "STATEMENT           N\nSELECT 1 FROM [31m  7\na b                 8\n"},
		{"no rows", func(w *strings.Builder) *Table { return New(w, "HOST\tSHARDS") }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			if got := text(t, c.fill(&out), &out); got != c.want {
				t.Errorf("got\n%q\nwant\n%q", got, c.want)
			}
		})
	}
}

func TestFlushEmptiesTheTable(t *testing.T) {
	var out strings.Builder
	a := New(&out, "A\tB")
	a.Row("%s\t%s", "1", "2")
	once := text(t, a, &out)
	if again := text(t, a, &out); again != once {
		t.Errorf("a second Flush wrote rows again: %q", again)
	}
}
