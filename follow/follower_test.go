package follow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/feed"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// still is a shard that stays on its servers.
type still []*mysql.Server

func (s still) Serves(context.Context) (farm.PairName, error) { return "pair", nil }
func (s still) Servers(context.Context, farm.PairName) ([]*mysql.Server, int, error) {
	return s, len(s), nil
}

func (s still) Next(context.Context, farm.PairName, mysql.Position) (*feed.Handover, error) {
	return nil, nil
}

// lined are the lines between two positions.
func lined(t *testing.T, servers still, from, to mysql.Position, change func(*Follower)) (string, State, error) {
	t.Helper()
	var out bytes.Buffer
	f := &Follower{Places: servers, Sink: NewWriter(&out, nil), To: to, State: State{Shard: "shop", ServerID: 990001, Pair: "pair", Position: from.String()}}
	if change != nil {
		change(f)
	}
	err := f.Run(t.Context())
	return out.String(), f.State, err
}

// TestTenantIsSpelledInSeveralWays: what the server takes for the tenant is the tenant's.
func TestTenantIsSpelledInSeveralWays(t *testing.T) {
	t.Parallel()
	i := mariadbtest.Start(t, "shop")
	i.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.r (id INT PRIMARY KEY, tenant VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_swedish_ci)")
	s := mysqltest.Open(t, i)
	from := mysqltest.Position(t, s)
	i.Exec(t, "USE shop", "INSERT INTO r VALUES (1, 'Ämil'), (2, 'ämil '), (3, 'emil'), (4, NULL)", "UPDATE r SET tenant = 'ÄMIL' WHERE id < 3", "UPDATE r SET tenant = 'äMIL' WHERE id = 3")
	of, _, err := lined(t, still{s}, from, mysqltest.Position(t, s), func(f *Follower) { f.State.Tenant = &Tenant{"tenant", "ämil"} })
	must(t, err)
	wants(t, of, `
			0 insert r {"id":1} null {"id":1,"tenant":"Ämil"}
			1 insert r {"id":2} null {"id":2,"tenant":"ämil "} last
			0 update r {"id":1} {"id":1,"tenant":"Ämil"} {"id":1,"tenant":"ÄMIL"}
			1 update r {"id":2} {"id":2,"tenant":"ämil "} {"id":2,"tenant":"ÄMIL"} last
			0 insert r {"id":3} null {"id":3,"tenant":"äMIL"} last`)
}

// TestTenantAsPeopleWriteIt: a number is one however it is written, in each table as that has it.
func TestTenantAsPeopleWriteIt(t *testing.T) {
	t.Parallel()
	i := mariadbtest.Start(t, "shop")
	i.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.a (id INT PRIMARY KEY, tenant INT)", "CREATE TABLE shop.b (id INT PRIMARY KEY, tenant DECIMAL(9,2))", "CREATE TABLE shop.c (id INT PRIMARY KEY, tenant UUID)")
	s := mysqltest.Open(t, i)
	from := mysqltest.Position(t, s)
	i.Exec(t, "USE shop", "INSERT INTO a VALUES (1, 7), (2, 70)", "INSERT INTO b VALUES (3, 7), (4, 7.5)", "INSERT INTO c VALUES (5, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11')")
	to := mysqltest.Position(t, s)
	for _, tt := range []struct{ tables, value, want string }{
		{"a b", "007", "1 3"}, {"a b", "7", "1 3"}, {"b", "7.50", "4"}, {"c", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "5"}, {"a b", "7x", ""}, {"a b", "7.5", ""}, {"a b c", "7", ""},
	} {
		text, _, err := lined(t, still{s}, from, to, func(f *Follower) {
			f.State.Tables, f.State.Tenant = strings.Fields(tt.tables), &Tenant{"tenant", tt.value}
		})
		if got := keys(t, text); got != tt.want || errors.Is(err, farm.ErrInput) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), "which cannot be") {
			t.Errorf("%s of %s: %s, want %s: %v", tt.value, tt.tables, got, tt.want, err)
		}
	}
}

// TestLines is what a consumer gets, of all rows and of one tenant's.
func TestLines(t *testing.T) {
	t.Parallel()
	mariadbtest.OnEach(t, func(t *testing.T, l mariadbtest.Line) {
		t.Parallel()
		i := l.Start(t, "shop")
		i.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.r (id INT, tenant INT, v VARCHAR(20) CHARACTER SET latin1, PRIMARY KEY (id))", "CREATE TABLE shop.u (n DECIMAL(5,2))")
		s := mysqltest.Open(t, i)
		from := mysqltest.Position(t, s)
		i.Exec(t, "USE shop", "INSERT INTO r VALUES (1, 7, 'ä\"'), (2, 8, NULL)", "UPDATE r SET v = 'x'", "UPDATE r SET id = 3 WHERE id = 1", "BEGIN", "UPDATE r SET tenant = 8 WHERE id = 3",
			"UPDATE r SET tenant = 7 WHERE id = 2", "INSERT INTO r VALUES (4, 8, '')", "COMMIT", "DELETE FROM r WHERE id < 4 ORDER BY id", "BEGIN", "INSERT INTO r VALUES (5, 7, '')", "ROLLBACK")
		all, state, err := lined(t, still{s}, from, mysqltest.Position(t, s), func(f *Follower) { f.State.Tables = []string{"r"} })
		must(t, err)
		if state.Position != mysqltest.Position(t, s).String() {
			t.Errorf("the position that is kept is %s, the server is at %s", state.Position, mysqltest.Position(t, s))
		}
		wants(t, all, `
			0 insert r {"id":1} null {"id":1,"tenant":7,"v":"ä\""}
			1 insert r {"id":2} null {"id":2,"tenant":8,"v":null} last
			0 update r {"id":1} {"id":1,"tenant":7,"v":"ä\""} {"id":1,"tenant":7,"v":"x"}
			1 update r {"id":2} {"id":2,"tenant":8,"v":null} {"id":2,"tenant":8,"v":"x"} last
			0 delete r {"id":1} {"id":1,"tenant":7,"v":"x"} null
			1 insert r {"id":3} null {"id":3,"tenant":7,"v":"x"} last
			0 update r {"id":3} {"id":3,"tenant":7,"v":"x"} {"id":3,"tenant":8,"v":"x"}
			1 update r {"id":2} {"id":2,"tenant":8,"v":"x"} {"id":2,"tenant":7,"v":"x"}
			2 insert r {"id":4} null {"id":4,"tenant":8,"v":""} last
			0 delete r {"id":2} {"id":2,"tenant":7,"v":"x"} null
			1 delete r {"id":3} {"id":3,"tenant":8,"v":"x"} null last`)
		of, _, err := lined(t, still{s}, from, mysqltest.Position(t, s), func(f *Follower) {
			f.State.Tables, f.State.Tenant = []string{"r"}, &Tenant{"tenant", "7"}
		})
		must(t, err)
		wants(t, of, `
			0 insert r {"id":1} null {"id":1,"tenant":7,"v":"ä\""} last
			0 update r {"id":1} {"id":1,"tenant":7,"v":"ä\""} {"id":1,"tenant":7,"v":"x"} last
			0 delete r {"id":1} {"id":1,"tenant":7,"v":"x"} null
			1 insert r {"id":3} null {"id":3,"tenant":7,"v":"x"} last
			0 delete r {"id":3} {"id":3,"tenant":7,"v":"x"} null
			1 insert r {"id":2} null {"id":2,"tenant":7,"v":"x"} last
			0 delete r {"id":2} {"id":2,"tenant":7,"v":"x"} null last`)
		if _, _, err := lined(t, still{s}, from, nil, func(f *Follower) { f.State.Tenant = &Tenant{"tenant", "7"} }); !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), "no column tenant in u") {
			t.Errorf("a table without the tenant's column: %v", err)
		}
		if _, _, err := lined(t, still{s}, from, nil, func(f *Follower) { f.State.Tables = []string{"r", "s"} }); !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), "no table s") {
			t.Errorf("a table that is not there: %v", err)
		}
	})
}

// TestHiddenColumnsAreNotShown: MariaDB keeps a unique key over a TEXT by a column that nobody sees, and events have it.
func TestHiddenColumnsAreNotShown(t *testing.T) {
	t.Parallel()
	i := mariadbtest.Start(t, "shop")
	i.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.r (id INT PRIMARY KEY, url TEXT NOT NULL, UNIQUE KEY url (url))")
	s := mysqltest.Open(t, i)
	from := mysqltest.Position(t, s)
	i.Exec(t, "USE shop", "INSERT INTO r VALUES (1, 'a')", "UPDATE r SET url = 'b'", "DELETE FROM r")
	all, _, err := lined(t, still{s}, from, mysqltest.Position(t, s), func(f *Follower) { f.State.Tables = []string{"r"} })
	must(t, err)
	wants(t, all, `
			0 insert r {"id":1} null {"id":1,"url":"a"} last
			0 update r {"id":1} {"id":1,"url":"a"} {"id":1,"url":"b"} last
			0 delete r {"id":1} {"id":1,"url":"b"} null last`)
}

// wants compares lines, written shorter.
func wants(t *testing.T, text, want string) {
	t.Helper()
	var got []string
	gtid := ""
	for _, one := range strings.Split(strings.TrimSpace(text), "\n") {
		var l struct {
			GTID, Op, Table    string
			Index, At          int
			Last               bool
			Key, Before, After json.RawMessage
		}
		must(t, json.Unmarshal([]byte(one), &l))
		if l.At == 0 || (l.Index == 0) != (l.GTID != gtid) {
			t.Errorf("behind %s: %s", gtid, one)
		}
		gtid = l.GTID
		is := fmt.Sprintf("%d %s %s %s %s %s", l.Index, l.Op, l.Table, l.Key, l.Before, l.After)
		if l.Last {
			is += " last"
		}
		got = append(got, is)
	}
	wanted := strings.ReplaceAll(strings.TrimSpace(want), "\n\t\t\t", "\n")
	if is := strings.Join(got, "\n"); is != wanted {
		t.Errorf("got\n%s\nwant\n%s", is, wanted)
	}
}

// TestEndsWithExactlyThePosition: where two sides write, a position is no place
// in one log. What it does not hold is left out, and comes afterwards.
func TestEndsWithExactlyThePosition(t *testing.T) {
	t.Parallel()
	a, b := mariadbtest.Start(t, "a"), mariadbtest.Start(t, "b")
	mariadbtest.Ring(t, a, b)
	a.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.r (id INT PRIMARY KEY)")
	mariadbtest.AwaitApplied(t, b, a)
	sa, sb := mysqltest.Open(t, a), mysqltest.Open(t, b)
	from := mysqltest.Position(t, sb)
	b.Exec(t, "STOP SLAVE", "INSERT INTO shop.r VALUES (20)", "INSERT INTO shop.r VALUES (21)")
	a.Exec(t, "INSERT INTO shop.r VALUES (1)")
	mariadbtest.AwaitApplied(t, a, b)
	a.Exec(t, "INSERT INTO shop.r VALUES (2)")
	b.Exec(t, "START SLAVE")
	mariadbtest.AwaitApplied(t, b, a)
	// On b, 20 and 21 came first; the end holds 1 and 20.
	to := from.WithLast(last(t, sa, a.ServerID, -1)).WithLast(last(t, sb, b.ServerID, -1))
	text, state, err := lined(t, still{sb}, from, to, nil)
	must(t, err)
	if got := keys(t, text); got != "20 1" || state.Position != to.String() {
		t.Errorf("up to %s came %s, and %s was kept", to, got, state.Position)
	}
	text, _, err = lined(t, still{sa}, to, mysqltest.Position(t, sa), nil)
	must(t, err)
	if got := keys(t, text); got != "21 2" {
		t.Errorf("behind %s came %s, want 21 2", to, got)
	}
}

// last is the last transaction of a domain, or one before it.
func last(t *testing.T, s *mysql.Server, domain uint32, off int) mysql.GTID {
	t.Helper()
	g := mysqltest.Position(t, s).Last(domain)
	g.Seq += uint64(off)
	return g
}

func keys(t *testing.T, text string) string {
	t.Helper()
	var out []string
	for _, one := range strings.Fields(text) {
		var l struct{ Key struct{ ID int } }
		must(t, json.Unmarshal([]byte(one), &l))
		out = append(out, fmt.Sprint(l.Key.ID))
	}
	return strings.Join(out, " ")
}

// TestStopsBeforeADefinition, with everything before it handed out and kept.
func TestStopsBeforeADefinition(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ says, statement string }{
		"logged": {"ALTER TABLE shop.r ADD v INT", "ALTER TABLE shop.r ADD v INT"},
		"not":    {"an event of shop.r has 1 column, the table has 2", "SET SESSION sql_log_bin = 0; ALTER TABLE shop.r ADD v INT; SET SESSION sql_log_bin = 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := mariadbtest.Start(t, "shop")
			i.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.r (id INT PRIMARY KEY)", "CREATE TABLE shop.u (id INT PRIMARY KEY)")
			s := mysqltest.Open(t, i)
			from := mysqltest.Position(t, s)
			i.Exec(t, "INSERT INTO shop.u VALUES (1)")
			before := mysqltest.Position(t, s)
			if name == "not" {
				i.Exec(t, "INSERT INTO shop.r VALUES (2)")
			}
			i.Exec(t, strings.Split(tt.statement, "; ")...)
			i.Exec(t, "INSERT INTO shop.u VALUES (3)")
			text, state, err := lined(t, still{s}, from, nil, nil)
			if !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), tt.says) || !strings.Contains(farm.Hint(err), "--past ") {
				t.Errorf("got %v (%s), want %s", err, farm.Hint(err), tt.says)
			}
			if got := keys(t, text); got != "1" || state.Position != before.String() {
				t.Errorf("it stopped behind %s, %s is kept, want 1 and %s", got, state.Position, before)
			}
			_, past, _ := strings.Cut(farm.Hint(err), "--past ")
			x, err := mysql.ParseTrx(past)
			must(t, err)
			text, _, err = lined(t, still{s}, state.At().With(x), mysqltest.Position(t, s), nil)
			must(t, err)
			if got := keys(t, text); got != "3" {
				t.Errorf("past it came %s, want 3", got)
			}
		})
	}
}

// TestCascadesAreRefused: rows that a foreign key deletes are in no log. Who knows that may follow.
func TestCascadesAreRefused(t *testing.T) {
	t.Parallel()
	i := mariadbtest.Start(t, "shop")
	i.Exec(t, "CREATE DATABASE `shop-1`", "CREATE DATABASE other", "USE `shop-1`", "CREATE TABLE p (id INT PRIMARY KEY)", "CREATE TABLE other.p (id INT PRIMARY KEY)",
		"CREATE TABLE `c é` (id INT PRIMARY KEY, p INT, CONSTRAINT of_p FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)",
		"CREATE TABLE d (id INT PRIMARY KEY, p INT, CONSTRAINT strict FOREIGN KEY (p) REFERENCES p (id))",
		"CREATE TABLE e (id INT PRIMARY KEY, p INT, CONSTRAINT far FOREIGN KEY (p) REFERENCES other.p (id) ON UPDATE SET NULL)", "INSERT INTO p VALUES (1), (2)", "INSERT INTO `c é` VALUES (1, 1)")
	s := mysqltest.Open(t, i)
	from := mysqltest.Position(t, s)
	i.Exec(t, "USE `shop-1`", "DELETE FROM p WHERE id = 1", "INSERT INTO d VALUES (7, 2)")
	to := mysqltest.Position(t, s)
	of := func(accepts bool, tables ...string) (string, string, error) {
		var told string
		text, _, err := lined(t, still{s}, from, to, func(f *Follower) {
			f.State.Shard, f.State.Tables, f.AcceptCascades = "shop-1", tables, accepts
			f.Tell = func(format string, args ...any) { told += fmt.Sprintf(format, args...) }
		})
		return text, told, err
	}
	if _, _, err := of(false); !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "rows of c é by of_p (DELETE CASCADE), e by far (UPDATE SET NULL);") || !strings.Contains(farm.Hint(err), "--accept-cascades") {
		t.Errorf("all tables: %v (%s)", err, farm.Hint(err))
	}
	for _, accepts := range []bool{false, true} {
		tables := []string{"d", "p"}
		if accepts {
			tables = nil
		}
		text, told, err := of(accepts, tables...)
		if got := keys(t, text); err != nil || got != "1 7" || strings.Contains(told, "c é by of_p") != accepts {
			t.Errorf("of %v came %s, it said %q: %v", tables, got, told, err)
		}
	}
}

// TestStateFile has one follower at a time, and says what it is of.
func TestStateFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	f, was, err := OpenState(path)
	if err != nil || was != nil {
		t.Fatal(was, err)
	}
	must(t, f.Save(State{Shard: "shop", Tables: []string{"r"}, ServerID: 4, Pair: "p", Position: "1-2-3"}))
	if _, _, err := OpenState(path); !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), "another follower uses it") {
		t.Errorf("a second follower: %v", err)
	}
	f.Close()
	f, was, err = OpenState(path)
	must(t, err)
	if was.ServerID != 4 || was.At().String() != "1-2-3" || was.IsOf("shop", []string{"r"}, nil) != nil {
		t.Errorf("%+v", was)
	}
	for _, other := range []error{was.IsOf("shed", []string{"r"}, nil), was.IsOf("shop", nil, nil), was.IsOf("shop", []string{"r"}, &Tenant{"a", "b"})} {
		if other == nil {
			t.Error("it is taken for another's")
		}
	}
	f.Close()
	for _, text := range []string{"{", `{"format_version": 2}`, `{"format_version": 1, "position": "nowhere"}`} {
		must(t, os.WriteFile(path, []byte(text), 0o600))
		if _, _, err := OpenState(path); !errors.Is(err, farm.ErrInput) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
