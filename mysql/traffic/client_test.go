package traffic

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"
)

func client(t *testing.T, i *mariadbtest.Instance, o ClientOptions) *Client {
	t.Helper()
	c, err := OpenClient(t.Context(), mysqltest.Open(t, i), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestClient(t *testing.T) {
	t.Parallel() // it mostly waits
	i := mariadbtest.Start(t, "client", "--max-allowed-packet=64M")
	i.Exec(t, "CREATE DATABASE shop", "USE shop", "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20), b DOUBLE, c DATETIME)",
		"INSERT INTO t SELECT seq, CONCAT('n', seq), seq / 3, '2026-11-21 10:00:00' FROM seq_1_to_1000",
		"CREATE PROCEDURE two() BEGIN SELECT id FROM t LIMIT 3; SELECT id FROM t LIMIT 4; END")
	seed := NewSeed()
	c := client(t, i, ClientOptions{Database: "shop", Seed: seed})
	say := func(text string, sum bool) Answer {
		t.Helper()
		a, err := c.Query(t.Context(), text, sum)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return a
	}
	for _, tt := range []struct {
		text           string
		rows, affected uint64
		warnings, code uint16
	}{
		{"SELECT * FROM t", 1000, 0, 0, 0},
		{"SELECT * FROM t WHERE id < 0", 0, 0, 0, 0},
		{"SELECT CAST('x' AS INT), 1/0", 1, 0, 2, 0},
		{"UPDATE t SET a = 'x' WHERE id <= 10", 0, 10, 0, 0},
		{"INSERT IGNORE INTO t VALUES (1, 'y', 0, NULL), (2000, 'y', 0, NULL)", 0, 1, 1, 0},
		{"SELECT * FROM nowhere", 0, 0, 0, 1146},
		{"SELEKT", 0, 0, 0, 1064},
		{"CALL two()", 7, 0, 0, 0},
		{"SET @a = 1", 0, 0, 0, 0},
		{"SELECT 1; DROP TABLE t", 0, 0, 0, 1064},
		{"SELECT REPEAT('x', 17000000)", 1, 0, 0, 0},
		{"SELECT REPEAT('\\0', 16777211) UNION ALL SELECT '', ''", 0, 0, 0, 1222},
		{"SELECT REPEAT('x', 16777210) UNION ALL SELECT ''", 2, 0, 0, 0},
		{"DO 0", 0, 0, 0, 0},
	} {
		for _, sum := range []bool{false, true} {
			if tt.affected > 0 && sum {
				continue
			}
			a := say(tt.text, sum)
			if a.Rows != tt.rows || a.Affected != tt.affected || a.Warnings != tt.warnings || a.Code != tt.code || a.Took <= 0 || a.First <= 0 || a.First > a.Took {
				a.Sample = nil
				t.Errorf("%s: %+v, want %+v", tt.text, a, tt)
			}
		}
	}
	forward, backward := say("SELECT * FROM t ORDER BY id", true), say("SELECT * FROM t ORDER BY id DESC", true)
	if forward.Sum.Bag != backward.Sum.Bag || forward.Sum.Ordered == backward.Sum.Ordered || len(forward.Columns) != 4 {
		t.Errorf("%+v %+v", forward.Sum, backward.Sum)
	}
	other := client(t, i, ClientOptions{Database: "shop", Seed: seed})
	if a, err := other.Query(t.Context(), "SELECT * FROM t ORDER BY id", true); err != nil || a.Sum != forward.Sum {
		t.Errorf("two clients see %+v and %+v, %v", a.Sum, forward.Sum, err)
	}
	if a := say("SELECT NULL UNION SELECT ''", true); len(a.Sample) != 2 || a.Sample[0] == a.Sample[1] || !a.IsWhole {
		t.Errorf("%q", a.Sample)
	}
}

// TestClientExecutes: prepared statements, with every kind of value, more than
// are kept open, and twice in a row (MariaDB then leaves out the columns).
func TestClientExecutes(t *testing.T) {
	t.Parallel() // it mostly waits
	i := mariadbtest.Start(t, "prepared")
	i.Exec(t, "CREATE DATABASE test_seq")
	c := client(t, i, ClientOptions{Database: "test_seq"})
	for range 3 {
		a, err := c.Execute(t.Context(), "SELECT ?, ?, ?, ?, ?, seq FROM seq_1_to_5", []any{nil, int64(-5), uint64(1 << 63), 1.5, "it's"}, true)
		if err != nil || a.Code != 0 || a.Rows != 5 || len(a.Sample) != 5 || a.Sample[0] != `NULL, -5, "9223372036854775808", 1.5, "it's", 1` {
			t.Errorf("%+v, %v", a, err)
		}
		if a, err = c.Execute(t.Context(), "SELECT ? FROM seq_1_to_7", []any{"x"}, false); err != nil || a.Rows != 7 {
			t.Errorf("%+v, %v", a, err)
		}
	}
	for n := range 200 {
		if a, err := c.Execute(t.Context(), fmt.Sprintf("SELECT ? + %d", n), []any{int64(1)}, false); err != nil || a.Code != 0 || a.Rows != 1 {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	if n := i.Value(t, "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'Prepared_stmt_count'"); n != "128" {
		t.Errorf("%s statements are prepared, want 128", n)
	}
	if a, err := c.Execute(t.Context(), "SELECT * FROM nowhere.t WHERE a = ?", []any{int64(1)}, false); err != nil || a.Code != 1146 {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := c.Execute(t.Context(), "SELECT ?", []any{}, false); !errors.Is(err, ErrValues) {
		t.Errorf("%v", err)
	}
}

// TestReadOnlyClient: the server itself refuses, whatever is said first.
func TestReadOnlyClient(t *testing.T) {
	t.Parallel() // it mostly waits
	i := mariadbtest.Start(t, "belt")
	i.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)", "CREATE SEQUENCE shop.s")
	c := client(t, i, ClientOptions{Database: "shop", ReadOnly: true})
	for _, text := range []string{"INSERT INTO t VALUES (1)", "CREATE TABLE u (a INT)", "DROP TABLE t", "SELECT NEXTVAL(s)", "BEGIN NOT ATOMIC INSERT INTO t VALUES (1); END"} {
		if a, err := c.Query(t.Context(), text, false); err != nil || a.Code != 1792 {
			t.Errorf("%s: %+v, %v", text, a, err)
		}
	}
	if a, err := c.Query(t.Context(), "SELECT * FROM t", false); err != nil || a.Code != 0 {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestClientIsLost(t *testing.T) {
	t.Parallel() // it mostly waits
	i := mariadbtest.Start(t, "lost")
	c := client(t, i, ClientOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.Query(ctx, "SELECT SLEEP(60)", false); !errors.Is(err, ErrLost) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	c = client(t, i, ClientOptions{})
	i.Exec(t, fmt.Sprint("KILL ", c.Thread()))
	if _, err := c.Query(t.Context(), "SELECT 1", false); !errors.Is(err, ErrLost) {
		t.Errorf("%v", err)
	}
	i.Kill()
	if _, err := OpenClient(t.Context(), mysqltest.Open(t, i), ClientOptions{}); err == nil || errors.Is(err, ErrLost) {
		t.Errorf("%v", err)
	}
}

func TestStanding(t *testing.T) {
	t.Parallel() // it mostly waits
	a, b := mariadbtest.Start(t, "a"), mariadbtest.Start(t, "b")
	ask := func(i *mariadbtest.Instance) Standing {
		t.Helper()
		st, err := StandingOf(t.Context(), mysqltest.Open(t, i))
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	st := ask(a)
	if len(st.Sources)+len(st.Replicas)+len(st.Outbound)+len(st.Clients)+len(st.Markers) != 0 || st.Cluster != "" || st.Identity.Port != a.Port || st.Identity.ServerID != a.ServerID {
		t.Errorf("alone: %+v", st)
	}
	a.Exec(t, MarkerSQL("old copy")...)
	if st = ask(a); len(st.Markers) != 1 || st.Markers[0].Name != "old copy" || st.Markers[0].Of != st.Identity {
		t.Errorf("marked: %+v", st)
	}
	conn, err := a.DB(t, mariadbtest.App, "").Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st = ask(a); len(st.Clients) != 1 || !strings.HasPrefix(st.Clients[0].Who, "app from ") || !st.Clients[0].IsIdle || st.Clients[0].ID == 0 {
		t.Errorf("with a client: %+v", st)
	}
	_ = conn.Close()
	mariadbtest.Replicate(t, b, a)
	if st = ask(a); len(st.Replicas) == 0 {
		t.Errorf("with a replica: %+v", st)
	}
	st = ask(b)
	if !slices.Contains(st.Sources, a.Address) {
		t.Errorf("as a replica: %+v", st)
	}
	// The mark replicates, or is copied; the identity does not.
	mariadbtest.AwaitApplied(t, b, a)
	if st = ask(b); len(st.Markers) != 1 || st.Markers[0].Of == st.Identity {
		t.Errorf("a copied mark is worth nothing: %+v", st)
	}
	// An account that cannot see says so.
	a.Exec(t, "CREATE USER blind@'%' IDENTIFIED BY 'x'", "GRANT SELECT ON *.* TO blind@'%'")
	blind := mysql.Open("a", a.Address, mysql.Account{User: "blind", Password: "x"}, slog.New(slog.DiscardHandler))
	defer blind.Close()
	if _, err := StandingOf(t.Context(), blind); mysql.CodeOf(err) != 1227 {
		t.Errorf("%v", err)
	}
}

// FuzzWire: whatever a server sends, and however it is cut, nothing breaks and
// nothing is counted that was not sent.
func FuzzWire(f *testing.F) {
	f.Add([]byte("\x07\x00\x00\x01\x00\x01\x00\x02\x00\x00\x00"), 3)
	f.Add([]byte("\x01\x00\x00\x01\x01\x02\x00\x00\x02ab\x02\x00\x00\x03\x011\x07\x00\x00\x04\xfe\x00\x00\x02\x00\x01\x00"), 5)
	f.Add([]byte("\x01\x00\x00\x01\x01\x02\x00\x00\x02ab\x05\x00\x00\x03\xfe\x00\x00\x02\x00\x02\x00\x00\x04\x011\x05\x00\x00\x05\xfe\x03\x00\x02\x00"), 1)
	f.Fuzz(func(t *testing.T, sent []byte, step int) {
		whole, parts := &wire{}, &wire{}
		whole.begin()
		parts.begin()
		whole.take(sent)
		step = 1 + step&15
		for rest := sent; len(rest) > 0; rest = rest[min(step, len(rest)):] {
			parts.take(rest[:min(step, len(rest))])
		}
		if whole.tally != parts.tally {
			t.Errorf("%+v in one piece, %+v in pieces of %d", whole.tally, parts.tally, step)
		}
		if whole.tally.rows > uint64(len(sent))/4 {
			t.Errorf("%d rows in %d bytes", whole.tally.rows, len(sent))
		}
	})
}

// TestWireOfOldServers: before CLIENT_DEPRECATE_EOF, an EOF of five bytes stood
// behind the columns and behind the rows.
func TestWireOfOldServers(t *testing.T) {
	t.Parallel() // it mostly waits
	w := &wire{}
	w.begin()
	w.take([]byte("\x01\x00\x00\x01\x01\x02\x00\x00\x02ab\x05\x00\x00\x03\xfe\x00\x00\x02\x00\x02\x00\x00\x04\x011\x02\x00\x00\x05\x012\x05\x00\x00\x06\xfe\x03\x00\x02\x00"))
	if w.tally.rows != 2 || w.tally.warnings != 3 || w.tally.state != atEnd {
		t.Errorf("%+v", w.tally)
	}
}
