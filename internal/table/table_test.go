package table

import (
	"fmt"
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

// Names and figures stay whole, however narrow it is; free text gives way, the widest first.
func TestFreeTextGivesWay(t *testing.T) {
	long := strings.Repeat("a", 60) + ".example.com"
	for _, c := range []struct {
		name  string
		width int
		fill  func(*Table)
		want  string
	}{
		{"wide enough", 40, func(a *Table) { a.Row("%s\t%s\t%d", "a1", "nothing to say", 3) }, "HOST  REMARK          N\na1    nothing to say  3\n"},
		{"one remark", 30, func(a *Table) {
			a.Row("%s\t%s\t%d", "a1", "its clock is a minute behind", 120000)
			a.Row("%s\t%s\t%d", "a2", "fine", 3)
		}, "HOST  REMARK           N\na1    its clock is a…  120000\na2    fine             3\n"},
		{"a name of 72 letters", 80, func(a *Table) { a.Row("%s\t%s\t%d", long, "its clock is a minute behind", 3) },
			"HOST" + strings.Repeat(" ", 70) + "REMARK        N\n" + long + "  its clock i…  3\n"},
		{"a short row is about all of it", 20, func(a *Table) { a.Row("%s\t%s", "a1", "it does not answer at 10.0.0.1") },
			"HOST  REMARK  N\na1    it does not answer at 10.0.0.1\n"},
		{"wide characters", 24, func(a *Table) { a.Row("%s\t%s\t%d", "a1", "東京東京東京東京東京", 3) }, "HOST  REMARK           N\na1    東京東京東京東…  3\n"},
		{"without limit", 0, func(a *Table) { a.Row("%s\t%s\t%d", "a1", "its clock is a minute behind", 3) }, "HOST  REMARK                        N\na1    its clock is a minute behind  3\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			a := New(Narrow(&out, c.width), "HOST\tREMARK\tN").Cut("REMARK")
			c.fill(a)
			if got := text(t, a, &out); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
	var out strings.Builder
	a := New(Narrow(&out, 40), "NAME\tLEFT\tRIGHT").Cut("LEFT", "RIGHT")
	a.Row("%s\t%s\t%s", "x", strings.Repeat("l", 40), strings.Repeat("r", 20))
	for line := range strings.Lines(text(t, a, &out)) {
		if n := columns(strings.TrimSuffix(line, "\n")); n > 40 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(out.String(), strings.Repeat("r", 15)) {
		t.Errorf("the narrower column gave way more than it had to:\n%s", &out)
	}
}

// Names give way last, in their middle, and stay apart.
func TestNamesLoseTheirMiddle(t *testing.T) {
	name := func(n int) string { return fmt.Sprintf("db-shard-%03d-%s.example.com", n, strings.Repeat("x", 36)) }
	for _, c := range []struct {
		what  string
		width int
		names []string
		want  string
	}{
		{"wide enough", 80, []string{name(1)}, "HOST" + strings.Repeat(" ", 59) + "N\n" + name(1) + "  7\n"},
		{"one name", 40, []string{name(1)}, "HOST" + strings.Repeat(" ", 35) + "N\ndb-shard-001-xxxxxxxxxxx….example.com  7\n"},
		{"two that differ in the twelfth letter", 20, []string{name(1), name(2)}, "HOST                 N\ndb-shard-001…le.com  7\ndb-shard-002…le.com  7\n"},
		{"without limit", 0, []string{name(1)}, "HOST" + strings.Repeat(" ", 59) + "N\n" + name(1) + "  7\n"},
		{"wide characters", 16, []string{"東京東京東京東京東京"}, "HOST           N\n東京東京…東京  7\n"},
	} {
		var out strings.Builder
		a := New(Narrow(&out, c.width), "HOST\tN").Names("HOST")
		for _, n := range c.names {
			a.Row("%s\t%d", n, 7)
		}
		if got := text(t, a, &out); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.what, got, c.want)
		}
	}
	var out strings.Builder
	a := New(Narrow(&out, 60), "HOST\tREMARK").Cut("REMARK").Names("HOST")
	a.Row("%s\t%s", "db001.example.com", "its clock is a minute behind the clock of this machine")
	if !strings.Contains(text(t, a, &out), "db001.example.com  its") {
		t.Errorf("a name gave way before free text:\n%s", &out)
	}
}
