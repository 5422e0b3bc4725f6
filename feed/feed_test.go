package feed

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stowage/farm"
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

// shop is a server with a database, and where its binary log stands.
func shop(t *testing.T, l mariadbtest.Line) (*mariadbtest.Instance, *mysql.Server, mysql.Position) {
	t.Helper()
	i := l.Start(t, "shop")
	i.Exec(t, "CREATE DATABASE shop", "CREATE DATABASE other", "USE shop", "CREATE TABLE r (id INT PRIMARY KEY, v INT)", "CREATE TABLE unread (id INT PRIMARY KEY)", "CREATE TABLE role (id INT PRIMARY KEY)", "CREATE TABLE other.r (id INT PRIMARY KEY)")
	s := mysqltest.Open(t, i)
	at, err := s.BinlogPosition(t.Context())
	must(t, err)
	return i, s, at
}

func reader(t *testing.T, s *mysql.Server, at mysql.Position, change func(*Source)) *Reader {
	t.Helper()
	source := Source{Servers: func(context.Context) ([]*mysql.Server, error) { return []*mysql.Server{s}, nil }, ServerID: 990001, Schema: "shop", Tables: []string{"r"}}
	if change != nil {
		change(&source)
	}
	r, err := Open(t.Context(), source, at)
	must(t, err)
	t.Cleanup(r.Close)
	return r
}

// next is the next piece, however long it takes.
func next(t *testing.T, r *Reader) Piece {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); {
		p, ok, err := r.Next(t.Context(), 50*time.Millisecond)
		must(t, err)
		if ok {
			return p
		}
	}
	t.Fatal("nothing came")
	return Piece{}
}

// ids are the keys of a table's changes, and of no others, up to n rows.
func ids(t *testing.T, r *Reader, n int) []string {
	t.Helper()
	var out []string
	for len(out) < n {
		for _, c := range next(t, r).Changes {
			for _, row := range c.Rows {
				out = append(out, fmt.Sprint(row[0]))
			}
		}
	}
	return out
}

// TestGoesOnAfterALoss: nothing is left out and nothing comes twice when the
// connection is killed, logs rotate and the server restarts.
func TestGoesOnAfterALoss(t *testing.T) {
	t.Parallel()
	mariadbtest.OnEach(t, func(t *testing.T, l mariadbtest.Line) {
		t.Parallel()
		i, s, at := shop(t, l)
		var told atomic.Int32
		r := reader(t, s, at, func(s *Source) { s.Tell = func(string) { told.Add(1) } })
		i.Exec(t, "INSERT INTO shop.r VALUES (1, 1)", "INSERT INTO other.r VALUES (1)", "INSERT INTO shop.unread VALUES (1)", "INSERT INTO shop.r VALUES (2, 2)")
		got := ids(t, r, 2)
		i.Exec(t, "KILL "+i.Value(t, "SELECT MIN(ID) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'"), "INSERT INTO shop.r VALUES (3, 3)")
		got = append(got, ids(t, r, 1)...)
		i.Exec(t, "FLUSH BINARY LOGS", "INSERT INTO shop.r VALUES (4, 4)", "FLUSH BINARY LOGS")
		got = append(got, ids(t, r, 1)...)
		i.Exec(t, "INSERT INTO shop.r VALUES (5, 5)")
		i.Restart(t)
		i.Exec(t, "INSERT INTO shop.r VALUES (6, 6)")
		got = append(got, ids(t, r, 2)...)
		if text := strings.Join(got, " "); text != "1 2 3 4 5 6" {
			t.Fatalf("read %s, want 1 to 6, once each", text)
		}
		if told.Load() == 0 {
			t.Error("nobody was told that the connection was lost")
		}
		has, err := s.BinlogPosition(t.Context())
		must(t, err)
		if !r.At().Equal(has) {
			t.Errorf("the reader is at %s, the server at %s", r.At(), has)
		}
	})
}

// TestEachTryWithoutNewsWaits: what breaks the connection may be in the log. Tries count until a transaction has come.
func TestEachTryWithoutNewsWaits(t *testing.T) {
	t.Parallel()
	i, s, at := shop(t, mariadbtest.Default(t))
	r := reader(t, s, at, func(s *Source) { s.Tries = 3 })
	lose := func() error {
		r.log.Close()
		_, _, err := r.Next(t.Context(), 50*time.Millisecond)
		return err
	}
	began := time.Now()
	for range 3 {
		must(t, lose())
	}
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("three tries took %v, the second and the third wait for a second", took)
	}
	i.Exec(t, "INSERT INTO shop.r VALUES (1, 1)")
	if got := ids(t, r, 1); got[0] != "1" {
		t.Errorf("read %s", got)
	}
	for range 3 {
		must(t, lose())
	}
	if lose() == nil {
		t.Error("it tries a fourth time")
	}
}

// TestLargeTransactionComesInPieces: only the last of which has a position, and
// after a loss in the middle it comes again from the first.
func TestLargeTransactionComesInPieces(t *testing.T) {
	t.Parallel()
	i, s, at := shop(t, mariadbtest.Default(t))
	r := reader(t, s, at, nil)
	var first Piece
	var pieces []Piece
	for n := range 20 { // the rest may have come before the connection was lost: then all of it is handed out
		i.Exec(t, fmt.Sprintf("INSERT INTO shop.r SELECT seq + %d, 0 FROM shop.seq_1_to_45000", n*45000))
		first = next(t, r)
		if !first.First || first.Last || first.At != nil {
			t.Fatalf("the first piece: first %v, last %v, at %s", first.First, first.Last, first.At)
		}
		r.log.Close() // the connection is lost
		pieces = pieces[:0]
		for last := false; !last; last = pieces[len(pieces)-1].Last {
			pieces = append(pieces, next(t, r))
		}
		if pieces[0].First {
			break
		}
	}
	seen := map[int32]int{}
	for n, p := range pieces {
		if p.First != (n == 0) || p.Trx != first.Trx {
			t.Errorf("piece %d: first %v, transaction %s, want %s", n, p.First, p.Trx, first.Trx)
		}
		for _, c := range p.Changes {
			for _, row := range c.Rows {
				seen[row[0].(int32)]++
			}
		}
	}
	if len(pieces) < 3 || len(seen) != 45000 {
		t.Errorf("%d pieces with %d rows, want 3 with 45000", len(pieces), len(seen))
	}
}

// TestWhatRowsDoNotShowStopsIt, where it concerns a table that is read.
func TestWhatRowsDoNotShowStopsIt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		all        bool // every table is read
		statements []string
		stops      bool
	}{
		"alter":             {false, []string{"ALTER TABLE r ADD w INT"}, true},
		"rename":            {false, []string{"RENAME TABLE unread TO r2, r TO unread"}, true},
		"truncate":          {false, []string{"TRUNCATE r"}, true},
		"truncate role":     {true, []string{"TRUNCATE role"}, true},
		"truncate another":  {false, []string{"TRUNCATE unread"}, false},
		"index":             {false, []string{"CREATE INDEX v ON r (v)"}, true},
		"drop database":     {false, []string{"DROP DATABASE shop"}, true},
		"by statement":      {false, []string{"SET SESSION binlog_format = STATEMENT", "INSERT INTO r VALUES (7, 7)"}, true},
		"xa":                {false, []string{"XA START 'x'", "INSERT INTO r VALUES (7, 7)", "XA END 'x'", "XA PREPARE 'x'", "XA ROLLBACK 'x'"}, true},
		"xa elsewhere":      {false, []string{"XA START 'x'", "INSERT INTO unread VALUES (7)", "XA END 'x'", "XA PREPARE 'x'", "XA COMMIT 'x'"}, false},
		"another table":     {false, []string{"ALTER TABLE unread ADD w INT", "CREATE TABLE fresh (id INT)", "CREATE VIEW shown AS SELECT id FROM unread"}, false},
		"another, all read": {true, []string{"CREATE TABLE fresh (id INT)"}, true},
		"another database":  {true, []string{"ALTER TABLE other.r ADD w INT"}, true}, // run with shop as its default database: to stop for nothing is a nuisance
		"upkeep":            {true, []string{"ANALYZE TABLE r", "OPTIMIZE TABLE r", "CREATE TRIGGER tr BEFORE INSERT ON r FOR EACH ROW SET NEW.v = 1"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i, s, at := shop(t, mariadbtest.Default(t))
			i.Exec(t, append([]string{"USE shop"}, tt.statements...)...)
			if !tt.stops {
				i.Exec(t, "INSERT INTO shop.r VALUES (9, 9)")
			}
			r := reader(t, s, at, func(s *Source) {
				if tt.all {
					s.Tables = nil
				}
			})
			for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
				p, _, err := r.Next(t.Context(), 50*time.Millisecond)
				var found *Stopped
				switch {
				case errors.As(err, &found) && tt.stops:
					if !errors.Is(err, ErrDefinition) || !errors.Is(err, farm.ErrRefused) || found.Trx.N == 0 {
						t.Errorf("%#v", err)
					}
					return
				case err != nil:
					t.Fatal(err)
				case len(p.Changes) > 0 && !tt.stops:
					return
				case len(p.Changes) > 0:
					t.Fatalf("went on to %v", p.Changes)
				}
			}
			t.Fatal("neither an end nor a change came")
		})
	}
}

// TestOldestPosition: a position that is gone is refused with the oldest that
// can be had, and from that one on everything comes.
func TestOldestPosition(t *testing.T) {
	t.Parallel()
	mariadbtest.OnEach(t, func(t *testing.T, l mariadbtest.Line) {
		t.Parallel()
		i, s, at := shop(t, l)
		i.Exec(t, "INSERT INTO shop.r VALUES (1, 1)", "FLUSH BINARY LOGS", "INSERT INTO shop.r VALUES (2, 2)", "INSERT INTO shop.r VALUES (3, 3)", "FLUSH BINARY LOGS")
		first, kept := logs(t, i)[0], logs(t, i)[1]
		for end := time.Now().Add(30 * time.Second); logs(t, i)[0] == first; time.Sleep(20 * time.Millisecond) {
			i.Exec(t, "PURGE BINARY LOGS TO '"+kept+"'") // the server keeps a log until InnoDB has made a checkpoint behind it
			if time.Now().After(end) {
				t.Fatalf("the server keeps %s", first)
			}
		}
		source := Source{Servers: func(context.Context) ([]*mysql.Server, error) { return []*mysql.Server{s}, nil }, ServerID: 990001, Schema: "shop"}
		r, err := Open(t.Context(), source, at)
		for err == nil {
			_, _, err = r.Next(t.Context(), time.Second)
		}
		var gone *Purged
		if !errors.As(err, &gone) || !errors.Is(err, farm.ErrRefused) || gone.Oldest == nil {
			t.Fatalf("got %v, want what can be had", err)
		}
		if got := strings.Join(ids(t, reader(t, s, gone.Oldest, nil), 2), " "); got != "2 3" {
			t.Errorf("behind %s came %s, want 2 3", gone.Oldest, got)
		}
	})
}

func logs(t *testing.T, i *mariadbtest.Instance) []string {
	t.Helper()
	rows, err := i.DB(t, mariadbtest.Root, "").QueryContext(t.Context(), "SHOW BINARY LOGS")
	must(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	must(t, err)
	var out []string
	for rows.Next() {
		cells := make([]any, len(columns))
		for c := range cells {
			cells[c] = new(sql.RawBytes)
		}
		must(t, rows.Scan(cells...))
		out = append(out, string(*cells[0].(*sql.RawBytes)))
	}
	must(t, rows.Err())
	return out
}

// TestGoesOnWithTheTwin: when its server is away a reader continues with the
// twin from the same position, and waits until the twin has it.
func TestGoesOnWithTheTwin(t *testing.T) {
	t.Parallel()
	a, sa, _ := shop(t, mariadbtest.Default(t))
	b := mariadbtest.Start(t, "twin")
	mariadbtest.Ring(t, a, b)
	mariadbtest.AwaitApplied(t, b, a)
	at, err := sa.BinlogPosition(t.Context())
	must(t, err)
	var serves atomic.Pointer[mysql.Server]
	serves.Store(sa)
	r := reader(t, sa, at, func(s *Source) {
		s.Tries = -1
		s.Servers = func(context.Context) ([]*mysql.Server, error) { return []*mysql.Server{serves.Load()}, nil }
	})
	b.Exec(t, "INSERT INTO shop.r VALUES (2, 2)")
	mariadbtest.AwaitApplied(t, a, b)
	a.Exec(t, "INSERT INTO shop.r VALUES (1, 1)")
	got := ids(t, r, 2)
	mariadbtest.AwaitApplied(t, b, a)
	b.Exec(t, "STOP SLAVE SQL_THREAD")
	a.Exec(t, "INSERT INTO shop.r VALUES (3, 3)")
	got = append(got, ids(t, r, 1)...)
	serves.Store(mysqltest.Open(t, b))
	a.Exec(t, "KILL "+a.Value(t, "SELECT MAX(ID) FROM information_schema.PROCESSLIST WHERE COMMAND = 'Binlog Dump'"))
	time.AfterFunc(1500*time.Millisecond, func() { b.Exec(t, "START SLAVE SQL_THREAD", "INSERT INTO shop.r VALUES (4, 4)") })
	got = append(got, ids(t, r, 1)...)
	if text := strings.Join(got, " "); text != "2 1 3 4" {
		t.Errorf("read %s, want 2 1 3 4", text)
	}
}

// TestOtherSideHasWhatOneHasPurged: a side that was made a moment ago has no
// log of what is older, and its twin has.
func TestOtherSideHasWhatOneHasPurged(t *testing.T) {
	t.Parallel()
	a, sa, at := shop(t, mariadbtest.Default(t))
	a.Exec(t, "INSERT INTO shop.r VALUES (1, 1)")
	b := mariadbtest.Start(t, "fresh")
	mariadbtest.Ring(t, a, b)
	mariadbtest.AwaitApplied(t, b, a)
	b.Exec(t, "FLUSH BINARY LOGS")
	kept := logs(t, b)[1]
	for end := time.Now().Add(30 * time.Second); logs(t, b)[0] != kept; time.Sleep(20 * time.Millisecond) {
		b.Exec(t, "PURGE BINARY LOGS TO '"+kept+"'")
		if time.Now().After(end) {
			t.Fatal("the server keeps its log")
		}
	}
	sb := mysqltest.Open(t, b)
	r := reader(t, sb, at, func(s *Source) {
		s.Servers = func(context.Context) ([]*mysql.Server, error) { return []*mysql.Server{sb, sa}, nil }
	})
	if got := ids(t, r, 1); got[0] != "1" || r.Server() != sa {
		t.Errorf("read %s from %s", got, r.Server().Name())
	}
	b.Exec(t, "INSERT INTO shop.r VALUES (2, 2)")
	if got := ids(t, r, 1); got[0] != "2" {
		t.Errorf("read %s", got)
	}
	must(t, r.Again(t.Context()))
	a.Exec(t, "INSERT INTO shop.r VALUES (3, 3)")
	if got := ids(t, r, 1); got[0] != "3" || r.Server() != sb {
		t.Errorf("read %s from %s, want 3 from the first choice", got, r.Server().Name())
	}
}

// Rows of a megabyte are not held by the thousand: 60 of them come in pieces of about PieceBytes, each row once.
func TestLargeRowsComeInPieces(t *testing.T) {
	t.Parallel()
	i, s, _ := shop(t, mariadbtest.Default(t))
	i.Exec(t, "USE shop", "ALTER TABLE r ADD b LONGBLOB")
	at, err := s.BinlogPosition(t.Context())
	must(t, err)
	i.Exec(t, "USE shop", "INSERT INTO r SELECT seq, 0, REPEAT('x', 1 << 20) FROM seq_1_to_60")
	r := reader(t, s, at, nil)
	seen := map[any]int{}
	for p := next(t, r); ; p = next(t, r) {
		bytes := 0
		for _, c := range p.Changes {
			for _, row := range c.Rows {
				seen[row[0]]++
				bytes += len(row[2].([]byte))
			}
		}
		if bytes > PieceBytes+1<<20 {
			t.Errorf("a piece of %d MB", bytes>>20)
		}
		if p.Last {
			break
		}
	}
	if len(seen) != 60 {
		t.Errorf("%d rows, want 60", len(seen))
	}
}
