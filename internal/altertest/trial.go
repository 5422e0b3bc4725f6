package altertest

import (
	"fmt"
	"maps"
	"math/rand"
	"regexp"
	"strings"
	"testing"

	"stowage/schema"
)

// Trier asks a throw-away server what it makes of a change (scratch.Server.Try).
type Trier func(tables map[string]string, change schema.Change) (schema.Tried, error)

// Tally is what a number of changes came to.
type Tally struct {
	Changes   int
	Classes   map[schema.Class]int
	ByRows    int      // refused by the first side because of its rows, or by the second because of those that clients have written meanwhile that are not strict
	Wrong     []string // called safe, and it broke
	Needless  []string // refused, and nothing broke
	Steps     int      // refused changes with safe steps
	BadSteps  []string // a safe step is refused by the server, or called breaking itself
	Unwritten []string // no statement changed a row while the sides differed
}

// secondByRows is how a server says that a computed column cannot hold what a client who is not strict has written. Nothing differs by it: the run stops at the second side, and can be given up.
var secondByRows = regexp.MustCompile(`^the second side: Error (1264|1292|1366|1406) `)

// Run draws changes until so many have been judged, beside what is around, and done. What the throw-away server refuses, and what changes nothing, is drawn again.
func Run(t testing.TB, p *Pair, seed int64, changes int, around schema.Around, try Trier) Tally {
	t.Helper()
	out := Tally{Classes: map[schema.Class]int{}}
	r := rand.New(rand.NewSource(seed))
	for out.Changes < changes {
		shape := Shapes[r.Intn(len(Shapes))]
		tables := p.Definitions(t, shape)
		is, err := schema.Read(tables["t"])
		if err != nil {
			t.Fatal(err)
		}
		text := Draw(r, is)
		all, err := schema.Changes("drawn.sql", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		tried, err := try(tables, all[0])
		if err != nil {
			continue
		}
		j := schema.JudgeChange(tried, around)
		if j.Class == schema.Unchanged {
			continue
		}
		o := p.Do(t, r, shape, all[0], j)
		what := fmt.Sprintf("%s: %s: %s", shape.Name, strings.TrimPrefix(all[0].Text, "ALTER TABLE `t` "), j.Class)
		out.Changes++
		out.Classes[j.Class]++
		switch {
		case o.Refused != "" || secondByRows.MatchString(o.Broke):
			out.ByRows++
		case o.Broke != "" && j.Class != schema.Breaking:
			out.Wrong = append(out.Wrong, what+": "+o.Broke)
		case o.Broke == "" && j.Class == schema.Breaking:
			out.Needless = append(out.Needless, what+": "+strings.Join(j.Refused, "; "))
		}
		if j.SafeSteps != nil {
			out.Steps++
			if bad := follow(tables, j.SafeSteps, around, try); bad != "" {
				out.BadSteps = append(out.BadSteps, what+": "+bad)
			}
		}
		if o.Broke == "" && o.Refused == "" && o.Rows == 0 {
			out.Unwritten = append(out.Unwritten, what)
		}
	}
	return out
}

// follow judges steps one after the other, each on what the one before has left.
func follow(tables map[string]string, steps []string, around schema.Around, try Trier) string {
	now := maps.Clone(tables)
	for _, s := range steps {
		all, err := schema.Changes("step.sql", []byte(s))
		if err != nil {
			return fmt.Sprintf("%s: %v", s, err)
		}
		tried, err := try(now, all[0])
		if err != nil {
			return fmt.Sprintf("%s: %v", s, err)
		}
		if j := schema.JudgeChange(tried, around); j.Class == schema.Breaking {
			return fmt.Sprintf("%s: %v", s, j.Refused)
		}
		now["t"] = tried.After.Text
	}
	return ""
}

// Definitions are the tables of a shape as SHOW CREATE TABLE says them.
func (p *Pair) Definitions(t testing.TB, s Shape) map[string]string {
	t.Helper()
	d := &deed{t: t, p: p, db: "read_" + s.Name, shape: s}
	out := map[string]string{}
	if d.value(p.b, "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?", d.db) == "0" {
		defer d.exec(p.b, "SET SESSION sql_log_bin = 1")
		d.exec(p.b, append([]string{"SET SESSION sql_log_bin = 0", "CREATE DATABASE " + d.db, "USE " + d.db}, s.Tables...)...)
	}
	for _, table := range d.tables() {
		var n, text string
		if err := p.b.QueryRowContext(t.Context(), "SHOW CREATE TABLE "+d.db+"."+table).Scan(&n, &text); err != nil {
			t.Fatal(err)
		}
		out[table] = text
	}
	return out
}
