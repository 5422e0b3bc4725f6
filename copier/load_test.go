package copier

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
)

// loadable is the table of every type without the columns that lines of LOAD DATA cannot hold, beside one whose values are
// made of every byte and of what lines are made of.
func loadable() []string {
	out := append(wideWithoutAddresses(), "ALTER TABLE wide DROP KEY gv, DROP COLUMN gv, DROP COLUMN f, DROP COLUMN g, DROP COLUMN fm, DROP COLUMN b1, DROP COLUMN b9, DROP COLUMN b64, DROP COLUMN y, DROP COLUMN e, DROP COLUMN st, DROP COLUMN st64, DROP COLUMN j, DROP COLUMN ge, DROP COLUMN po, DROP COLUMN i6, DROP COLUMN i4",
		"CREATE TABLE made (id INT PRIMARY KEY, b VARBINARY(600) NOT NULL, l VARCHAR(600) CHARACTER SET latin1, u TEXT)")
	all := make([]string, 256)
	for b := range all {
		all[b] = fmt.Sprintf("%02x", b)
	}
	text := strings.Join(all, "")
	out = append(out, fmt.Sprintf("INSERT INTO made VALUES (1, x'%s', x'%s', NULL), (2, x'%s', '', '')", text, text, strings.Repeat("0a5c09", 200)))
	for i, s := range []string{`\N`, `\\N`, `\`, `\\`, `a\`, "\t", "\n", "\r\n", "\\\t", "\\\n", "N", "NULL", `"`, "'", ",", "\x00", "\x1a", `\0`, `\t`, "x\ty\nz", " a ", "☃\t😀\\"} {
		out = append(out, fmt.Sprintf("INSERT INTO made VALUES (%d, x'%x', CONVERT(x'%x' USING latin1), CONVERT(x'%x' USING utf8mb4))", i+10, s, s, s))
	}
	return out
}

// loads is how many statements a server has answered that load lines.
func loads(t *testing.T, i *mariadbtest.Instance, l mariadbtest.Line) int {
	t.Helper()
	query := "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'Com_load'"
	if l.MySQL {
		query = "SELECT COUNT_STAR FROM performance_schema.events_statements_summary_global_by_event_name WHERE EVENT_NAME = 'statement/sql/load'"
	}
	n, err := strconv.Atoi(i.Value(t, query))
	must(t, err)
	return n
}

// TestLoaded: rows that go as lines arrive as they are, byte by byte.
func TestLoaded(t *testing.T) {
	turns.One(t, 8)
	t.Parallel() // it mostly waits
	for _, name := range []string{mariadbtest.MariaDB10, mariadbtest.MySQL9} {
		t.Run(name, func(t *testing.T) {
			line := mariadbtest.Named(t, name)
			f := startOn(t, line, loadable()...)
			if line.MySQL {
				f.to.Exec(t, "SET GLOBAL local_infile = 1") // MySQL's default is 0
			}
			must(t, f.c.Prepare(t.Context()))
			must(t, f.c.Carry(t.Context()))
			f.equal(t, "")
			if n := loads(t, f.to, line); n != 2 {
				t.Errorf("%d statements loaded lines, want one for each of two tables", n)
			}
			must(t, f.c.Finish(t.Context()))
			f.clean(t)
		})
	}
}

// TestNotLoadedWhereForbidden: a server that takes no lines gets statements.
func TestNotLoadedWhereForbidden(t *testing.T) {
	t.Parallel() // it mostly waits
	f := start(t, loadable()...)
	f.to.Exec(t, "SET GLOBAL local_infile = 0")
	must(t, f.c.Prepare(t.Context()))
	must(t, f.c.Carry(t.Context()))
	f.equal(t, "")
	if n := loads(t, f.to, mariadbtest.Default(t)); n != 0 {
		t.Errorf("%d statements tried to load lines", n)
	}
}

// TestLoadedWithWarnings: LOAD DATA LOCAL would shorten a value without an error. Nothing of such a chunk stays; it goes as
// statements, which say what they could not keep, and the comparison finds it.
func TestLoadedWithWarnings(t *testing.T) {
	t.Parallel() // it mostly waits
	f := start(t, "CREATE TABLE short (id INT PRIMARY KEY, v VARCHAR(20))", "INSERT INTO short SELECT seq, CONCAT('value ', seq) FROM seq_1_to_3000")
	must(t, f.c.Prepare(t.Context()))
	f.to.Exec(t, "ALTER TABLE shop.short MODIFY v VARCHAR(9)") // values from 1000 on are longer
	var told []string
	f.c.Tell = func(_ farm.EventKind, text string, _, _ int64) { told = append(told, text) }
	f.c.Settings.Streams = 1
	must(t, f.c.Carry(t.Context()))
	all := strings.Join(told, "\n")
	for _, want := range []string{"rows go as statements", "written leniently"} {
		if !strings.Contains(all, want) {
			t.Errorf("nothing told of %q:\n%s", want, all)
		}
	}
	if n := f.to.Value(t, "SELECT COUNT(*) FROM shop.short"); n != "3000" {
		t.Errorf("%s rows arrived, want 3000", n)
	}
	found, err := f.c.Compare(t.Context())
	must(t, err)
	if len(found) == 0 {
		t.Error("the comparison found no difference")
	}
}
