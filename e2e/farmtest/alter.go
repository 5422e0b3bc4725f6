package farmtest

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"stowage/demo"
	"stowage/farm"
	"stowage/host"
	"stowage/internal/mariadbtest"
	"stowage/route"
	"stowage/schema"
)

// AlteredFarm is a farm under load whose tables are changed. Its clients write the column colour of receipts as soon as a server has it.
type AlteredFarm struct {
	F       *LiveFarm
	changes int
}

// Colour is the value of the column in rows whose client did not know it.
const Colour = -7

// The changes that tests make, there and back.
const (
	AddColour  = "ALTER TABLE receipts ADD COLUMN colour BIGINT NOT NULL DEFAULT -7;\n"
	DropColour = "ALTER TABLE receipts DROP COLUMN colour;\n"
	AddIndex   = "CREATE INDEX made ON receipts (made);\nCREATE INDEX price ON listings (price);\n"
	DropIndex  = "DROP INDEX made ON receipts;\nDROP INDEX price ON listings;\n"
	Widen      = "ALTER TABLE receipts MODIFY amount BIGINT NOT NULL;\nALTER TABLE listings MODIFY price BIGINT NOT NULL, MODIFY title VARCHAR(300) NOT NULL;\n"
	AddBoth    = "ALTER TABLE receipts ADD COLUMN colour BIGINT NOT NULL DEFAULT -7, ADD KEY colour (colour);\n"
	DropBoth   = "ALTER TABLE receipts DROP KEY colour, DROP COLUMN colour;\n"
	Remark     = "ALTER TABLE receipts COMMENT 'what was bought';\n"
)

// StartAlteredFarm is one of so many pairs, with two shards each.
func StartAlteredFarm(t *testing.T, topology farm.Topology, pairs int) *AlteredFarm {
	t.Helper()
	o := demo.Options{Topology: topology, Pairs: pairs, Shards: 2, Rows: 50, Tell: func(string) {}}
	o.Hosts = o.Instances()
	f := EmptyFarm(t, "r630-ssd", 40*float64(pairs))
	f.Column = "colour"
	t.Cleanup(f.Down)
	o.Dir = f.Dir
	if err := demo.Up(t.Context(), o, QuietLog()); err != nil {
		t.Fatal(err)
	}
	if err := f.StartClients(); err != nil {
		t.Fatal(err)
	}
	return &AlteredFarm{F: f}
}

// StartAlteredFarmOn is one of servers of another line: one pair, with two shards.
func StartAlteredFarmOn(t *testing.T, line string, topology farm.Topology) *AlteredFarm {
	t.Helper()
	return &AlteredFarm{F: StartFarmOn(t, line, topology, 1, "colour")}
}

// StartFarmOn starts a farm of servers of another line, under load, whose clients write a column as soon as it is there. It is made by the program itself, whose PATH has that line's servers in front.
func StartFarmOn(t *testing.T, line string, topology farm.Topology, pairs int, column string) *LiveFarm {
	t.Helper()
	servers := mariadbtest.Named(t, line).Path() // or there is nothing to test
	f := EmptyFarm(t, "r630-ssd", 40)
	f.Servers, f.Column = servers, column
	t.Cleanup(f.Down)
	hosts := min(2, pairs*len(topology.Sides()))
	p := RunWith(t, f.Env(""), "demo", "up", "-C", f.Dir, "--topology", string(topology), "--shards", "2", "--pairs", strconv.Itoa(pairs), "--hosts", strconv.Itoa(hosts))
	if p.Code != ExitFine {
		t.Fatalf("demo up: exit %d\n%s", p.Code, p.Stderr)
	}
	if err := f.StartClients(); err != nil {
		t.Fatal(err)
	}
	return f
}

// Script writes a change, and gives its path.
func (a *AlteredFarm) Script(text string) string {
	a.F.T.Helper()
	a.changes++
	path := filepath.Join(a.F.Dir, fmt.Sprintf("change%d.sql", a.changes))
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		a.F.T.Fatal(err)
	}
	return path
}

// Run runs the program, which must end with a code and say something.
func (a *AlteredFarm) Run(code int, want string, args ...string) Program {
	a.F.T.Helper()
	p := RunWith(a.F.T, a.F.Env(""), append(args, "-C", a.F.Dir)...)
	if p.Code != code || !strings.Contains(p.Stdout+p.Stderr, want) {
		a.F.T.Fatalf("stowage %s: exit %d, want %d and %q\n%s%s", strings.Join(args, " "), p.Code, code, want, p.Stdout, p.Stderr)
	}
	return p
}

// Alter makes a change.
func (a *AlteredFarm) Alter(text string, more ...string) Program {
	a.F.T.Helper()
	return a.Run(ExitFine, "", append([]string{"alter", a.Script(text), "--yes"}, more...)...)
}

// Killed begins a change, and kills the program at a border.
func (a *AlteredFarm) Killed(kill, at, text string, more ...string) {
	a.F.T.Helper()
	p := RunWith(a.F.T, a.F.Env(kill+" @ "+at), append([]string{"alter", a.Script(text), "--yes", "-C", a.F.Dir}, more...)...)
	if !strings.Contains(p.Stdout+p.Stderr, MarkOfKill+at) {
		a.F.T.Fatalf("never met %q: exit %d\n%s%s", at, p.Code, p.Stdout, p.Stderr)
	}
}

// Console is a session at the console of a server's host, and its shards.
type Console struct {
	Name   farm.InstanceName
	Pair   farm.PairName
	Shards []farm.ShardName
	*sql.DB
}

// Consoles are those of all servers.
func (a *AlteredFarm) Consoles() (out []Console) {
	a.F.T.Helper()
	_, fm, _, err := FarmAccess(a.F.Dir)
	if err != nil {
		a.F.T.Fatal(err)
	}
	for _, p := range fm.Pairs {
		var shards []farm.ShardName
		for _, s := range p.Shards {
			shards = append(shards, s.Name)
		}
		for _, side := range p.SideNames() {
			out = append(out, Console{p.Instance(side), p.Name, shards, a.F.Dial("unix", a.F.Path(p.Sides[side].Datadir)+"/mysqld.sock", "root", "")})
		}
	}
	return out
}

// Definition is how a server defines a table of its first shard, without the counter.
func (c Console) Definition(t *testing.T, table string) string {
	t.Helper()
	var name, text string
	if err := c.QueryRowContext(t.Context(), fmt.Sprintf("SHOW CREATE TABLE `%s`.`%s`", c.Shards[0], table)).Scan(&name, &text); err != nil {
		t.Fatal(err)
	}
	is, err := schema.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	return is.Text
}

// Sum is one line of all rows of a table of all its shards: how many, and a sum over every column.
func (c Console) Sum(t *testing.T, table string) (out string) {
	t.Helper()
	for _, s := range c.Shards {
		out += c.sum(t, s, table) + "\n"
	}
	return out
}

// sum is one line of all rows of a table: how many, and a sum over every column.
func (c Console) sum(t *testing.T, shard farm.ShardName, table string) string {
	t.Helper()
	var columns string
	if err := c.QueryRowContext(t.Context(), "SELECT GROUP_CONCAT(CONCAT('COALESCE(`', COLUMN_NAME, '`, \"(null)\")') ORDER BY ORDINAL_POSITION SEPARATOR ', ') FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?", shard, table).Scan(&columns); err != nil {
		t.Fatal(err)
	}
	var n, sum string
	if err := c.QueryRowContext(t.Context(), fmt.Sprintf("SELECT COUNT(*), COALESCE(SUM(CRC32(CONCAT_WS('|', %s))), 0) FROM `%s`.`%s`", columns, shard, table)).Scan(&n, &sum); err != nil {
		t.Fatal(err)
	}
	return n + " rows, " + sum + ", " + columns
}

// Settle stops the clients and holds what they met, and every row of both sides, against what was promised. column says whether receipts have the column now: then its values
// are those that clients wrote. changes is how often it came or went.
func (a *AlteredFarm) Settle(column bool, changes int64) {
	t := a.F.T
	t.Helper()
	s, _, wrong := a.F.Settle()
	for _, w := range wrong {
		t.Error(w)
	}
	shards := map[farm.ShardName]bool{}
	for _, c := range a.Consoles() {
		for _, s := range c.Shards {
			shards[s] = true
		}
		_ = c.Close()
	}
	if most := changes * int64(s.Clients*len(shards)); s.ColumnChanges > most {
		t.Errorf("%d clients met the table of %d shards with and without the column %d times, and it changed %d times: they have met two schemas", s.Clients, len(shards), s.ColumnChanges, changes)
	}
	a.Equal()
	if !column {
		return
	}
	colours := int64(0)
	counted := map[farm.PairName]bool{}
	for _, c := range a.Consoles() {
		for _, shard := range c.Shards {
			var right, other int64
			if err := c.QueryRowContext(t.Context(), fmt.Sprintf("SELECT COALESCE(SUM(colour = seq), 0), COALESCE(SUM(colour <> seq AND colour <> %d), 0) FROM `%s`.receipts", Colour, shard)).Scan(&right, &other); err != nil {
				t.Fatal(err)
			}
			if other > 0 {
				t.Errorf("%s on %s: %d receipts have a colour that nobody wrote", shard, c.Name, other)
			}
			if !counted[c.Pair] {
				colours += right
			}
		}
		counted[c.Pair] = true
	}
	if colours != s.WithColumn {
		t.Errorf("%d receipts have the colour that a client wrote, and %d were acknowledged", colours, s.WithColumn)
	}
	if s.WithColumn == 0 {
		t.Error("no client wrote the column")
	}
}

// Equal waits until the sides of each pair have the same rows, in all tables. Nobody writes any more.
func (a *AlteredFarm) Equal() {
	a.F.T.Helper()
	for _, w := range a.unequal(WaitLimit) {
		a.F.T.Error(w)
	}
}

// unequal are pairs whose sides do not have the same rows in time.
func (a *AlteredFarm) unequal(patience time.Duration) []string {
	t := a.F.T
	t.Helper()
	sums := func() map[farm.PairName][]string {
		out := map[farm.PairName][]string{}
		for _, c := range a.Consoles() {
			text := ""
			for _, shard := range c.Shards {
				for _, table := range []string{"counters", "listings", "receipts", "users"} {
					text += fmt.Sprintf("%s.%s: %s\n", shard, table, c.sum(t, shard, table))
				}
			}
			_ = c.Close()
			out[c.Pair] = append(out[c.Pair], text)
		}
		return out
	}
	for deadline := time.Now().Add(patience); ; PauseTest() {
		var differ []string
		for pair, of := range sums() {
			if len(slices.Compact(slices.Clone(of))) > 1 {
				differ = append(differ, fmt.Sprintf("the sides of %s differ:\n%s", pair, strings.Join(of, "\n")))
			}
		}
		if len(differ) == 0 || time.Now().After(deadline) {
			return differ
		}
	}
}

// Rests checks that nothing is left of a run: routing, option files, settings, replication.
func (a *AlteredFarm) Rests() {
	t := a.F.T
	t.Helper()
	for _, w := range a.F.WrongNow(WaitLimit) {
		t.Error(w)
	}
	_, fm, _, err := FarmAccess(a.F.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range fm.Pairs {
		for _, side := range p.SideNames() {
			text, err := os.ReadFile(a.F.Path(p.Sides[side].Config))
			if err != nil || strings.Contains(string(text), "# stowage: ") {
				t.Errorf("the option file of %s: %v\n%s", p.Instance(side), err, text)
			}
		}
	}
	for _, c := range a.Consoles() {
		left := map[string]string{}
		rows, err := c.QueryContext(t.Context(), "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('slave_type_conversions', 'replica_type_conversions', 'sync_relay_log', 'transaction_read_only', 'read_only', 'super_read_only')")
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var name, value string
			if err := rows.Scan(&name, &value); err != nil {
				t.Fatal(err)
			}
			left[name] = value
		}
		_ = rows.Close()
		if left["slave_type_conversions"]+left["replica_type_conversions"] != "" || left["sync_relay_log"] == "1" || left["transaction_read_only"] == "ON" || left["super_read_only"] != "" && left["super_read_only"] != left["read_only"] {
			t.Errorf("%s: %v, %v", c.Name, left, rows.Err())
		}
		_ = c.Close()
	}
}

// Served are the sides in rotation of the first pair.
func (a *AlteredFarm) Served() int {
	a.F.T.Helper()
	table, err := route.ReadFile(a.F.Dir + "/routing.json")
	if err != nil {
		a.F.T.Fatal(err)
	}
	for _, p := range table.Pairs {
		return len(p.Sides)
	}
	return 0
}

// alterJourney changes the tables of the only pair: there, or back where they are changed already. Peer is the side that is changed first.
func (f *LiveFarm) alterJourney(change there) Journey {
	f.T.Helper()
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	p := fm.Pairs[0]
	first, second := farm.A, farm.B
	if p.Topology.HasOneWriter() {
		first, second = farm.B, farm.A
	}
	a := &AlteredFarm{F: f, changes: f.plans}
	c := a.Consoles()
	text := change.goes
	if is := c[0].Definition(f.T, "receipts"); strings.Contains(is, "colour") || strings.Contains(is, "KEY `made`") {
		text = change.back
	}
	for _, x := range c {
		_ = x.Close()
	}
	f.plans++
	return Journey{args: []string{"alter", a.Script(text), "--yes", "-C", f.Dir}, Casts: []Cast{{p.Name, first, map[Role]host.Instance{
		Peer: f.At(p.Instance(first), PlaceOf(fm, p.Name, first)), Twin: f.At(p.Instance(second), PlaceOf(fm, p.Name, second))}}}}
}
