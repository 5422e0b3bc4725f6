package binlogs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stowage/host"
	"stowage/host/hosttest"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"
	"stowage/mysql/rows"
	"stowage/vault"
)

const patience = time.Minute

var admin = mysqltest.Account(mariadbtest.Stowage)

// ledger is what a side's writers know of their rows: when the transaction of each was begun, when its COMMIT was sent, and when that was
// acknowledged; 0: never.
type ledger struct {
	sync.Mutex
	rows map[int64]*row
}

type row struct{ side, begun, sent, acked int64 } // seconds

func (l *ledger) send(id, side, begun int64) {
	l.Lock()
	defer l.Unlock()
	l.rows[id] = &row{side: side, begun: begun, sent: time.Now().Unix()}
}

func (l *ledger) ack(id int64) {
	l.Lock()
	defer l.Unlock()
	l.rows[id].acked = time.Now().Unix()
}

// write writes to a side until it is stopped: single rows, transactions of some, rows that change, now and then a new table.
func write(db *sql.DB, l *ledger, side, w int64, ended *atomic.Bool) error {
	id := side*1_000_000_000 + w*1_000_000
	for n := 0; !ended.Load(); n++ {
		begun := time.Now().Unix()
		tx, err := db.BeginTx(context.Background(), nil)
		if err != nil {
			return err
		}
		var mine []int64
		for range 1 + n%3 {
			id++
			mine = append(mine, id)
			if _, err := tx.Exec("INSERT w (id, v) VALUES (?, ?)", id, fmt.Sprint("row ", n)); err != nil {
				return err
			}
		}
		if _, err := tx.Exec("UPDATE hot SET n = n + ? WHERE id = ?", len(mine), 10*side+w); err != nil {
			return err
		}
		for _, i := range mine { // what is not sent by a second is committed in a later one
			l.send(i, side, begun)
		}
		if err := tx.Commit(); err != nil {
			return err
		}
		for _, i := range mine {
			l.ack(i)
		}
		if n%40 == 0 && w == 0 {
			if _, err := db.Exec(fmt.Sprintf("CREATE TABLE t%d_%d (PRIMARY KEY (seq)) SELECT seq FROM seq_1_to_100", side, n)); err != nil {
				return err
			}
		}
		time.Sleep(2 * time.Millisecond) // leave the other side a share of a small machine
	}
	return nil
}

// TestAnySecond: a side of a ring under load is archived as it writes, and copied once. The copy is restored to random seconds: it has all that
// this side's clients were told by the end of the second, nothing that any client began later or committed later on this side, and sums
// that fit the rows. Restored to the end it equals the side, row by row.
func TestAnySecond(t *testing.T) {
	l, err := host.NewLocal(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	a, b := mariadbtest.Start(t, "a", "--max-binlog-size=512K"), mariadbtest.Start(t, "b")
	mariadbtest.Ring(t, a, b)
	a.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.w (id BIGINT PRIMARY KEY, v VARCHAR(100))", "CREATE TABLE d.hot (id INT PRIMARY KEY, n INT)", "INSERT d.hot VALUES (10,0),(11,0),(20,0),(21,0)")
	mariadbtest.AwaitApplied(t, b, a)
	into, err := host.ArchiveDir(vault.Place{Dir: t.TempDir()}, "a")
	hosttest.Must(t, err)
	source := host.Instance{Name: "a", Address: a.Host, Port: a.Port, Datadir: a.Datadir, Config: a.Config}
	book := &ledger{rows: map[int64]*row{}}
	var ended atomic.Bool
	writers := make(chan error)
	for n, side := range []*mariadbtest.Instance{a, b} {
		for w := range 2 {
			db := side.DB(t, mariadbtest.Stowage, "d")
			go func() { writers <- write(db, book, int64(n+1), int64(w), &ended) }()
		}
	}
	archived := make(chan error)
	quit := make(chan struct{})
	go func() {
		for {
			_, err := l.ArchiveBinlogs(context.Background(), source, "", into)
			select {
			case <-quit:
				archived <- err
				return
			case <-time.After(300 * time.Millisecond):
				if err != nil {
					archived <- err
					return
				}
			}
		}
	}()
	time.Sleep(2 * time.Second)
	stream := filepath.Join(t.TempDir(), "base.xb")
	copied := copyOf(t, l, source, a, stream)
	time.Sleep(8 * time.Second)
	ended.Store(true)
	for range 4 {
		if err := <-writers; err != nil {
			t.Error(err)
		}
	}
	time.Sleep(2 * time.Second) // the last second of the load is over
	mariadbtest.AwaitApplied(t, a, b)
	close(quit)
	hosttest.Must(t, <-archived)
	state, err := l.ArchiveBinlogs(t.Context(), source, "", into)
	hosttest.Must(t, err)
	hosttest.Must(t, l.CheckBinlogs(t.Context(), into))
	if len(state.Gaps) > 0 || len(state.Forks) > 0 || state.Files < 3 {
		t.Fatalf("%+v", state)
	}
	r := restorer{t: t, l: l, like: a, into: into, stream: stream, state: state}
	for n := range 4 {
		second := copied + 1 + rand.Int64N(state.LastAt.Unix()-copied-2)
		at := time.Unix(second, 0)
		found, err := l.ArchiveAt(t.Context(), into, at)
		hosttest.Must(t, err)
		i := r.restore(fmt.Sprintf("copy%d", n), found.Mark)
		book.judge(t, i, second, 1)
	}
	i := r.restore("whole", state.Last)
	same(t, a, i)
}

// copyOf takes a copy of a running side, and says in which second it had ended.
func copyOf(t *testing.T, l *host.Local, source host.Instance, s *mariadbtest.Instance, file string) int64 {
	t.Helper()
	f, err := os.Create(file)
	hosttest.Must(t, err)
	hosttest.Must(t, errors.Join(l.Send(t.Context(), host.Origin{Instance: source, Login: login(s.Address)}, f), f.Close()))
	return time.Now().Unix()
}

func login(address string) host.Login {
	return host.Login{User: admin.User, Password: admin.Password, Address: address}
}

type restorer struct {
	t      *testing.T
	l      *host.Local
	like   *mariadbtest.Instance
	into   string
	stream string
	state  host.Archived
}

// restore makes an instance of the copy and replays to a place.
func (r restorer) restore(name string, to host.Mark) host.Instance {
	t, l := r.t, r.l
	t.Helper()
	ctx := t.Context()
	i := hosttest.Place(t, l, name)
	hosttest.Must(t, l.Claim(ctx, i, "test"))
	f, err := os.Open(r.stream)
	hosttest.Must(t, err)
	_, err = l.Receive(ctx, host.Destination{Instance: i}, f)
	hosttest.Must(t, errors.Join(err, f.Close()))
	point, err := l.Prepare(ctx, i)
	hosttest.Must(t, err)
	hosttest.Config(t, l, i, r.like, map[string]string{"server_id": fmt.Sprint(r.like.ServerID + 100000), "read_only": "ON"})
	err = l.Start(ctx, i, patience)
	if errors.Is(err, host.ErrPrepared) {
		hosttest.Must(t, l.RollbackPrepared(ctx, i))
		err = l.Start(ctx, i, patience)
	}
	hosttest.Must(t, err)
	live := mysql.Open("a", r.like.Address, admin, slog.New(slog.DiscardHandler))
	defer live.Close()
	p, err := live.PositionAt(ctx, point.File, point.Offset)
	hosttest.Must(t, err)
	from, err := l.ArchiveFrom(ctx, r.into, point, p.String())
	hosttest.Must(t, err)
	server := mysql.Open(i.Name, i.Dial(), admin, slog.New(slog.DiscardHandler))
	defer server.Close()
	hosttest.Must(t, server.Adopt(ctx, p))
	begun := time.Now()
	bytes := int64(0)
	hosttest.Must(t, l.Replay(ctx, host.Replaying{Archive: r.into, From: from.Mark, To: to, Instance: i, Login: login(i.Dial()),
		Told: func(done, _ int64) { bytes = done }}))
	t.Logf("%s: %d bytes from %s to %s in %.1f s", name, bytes, from.Mark, to, time.Since(begun).Seconds())
	return i
}

// judge compares a restored second with the ledger. of is the side whose binary log was replayed.
func (l *ledger) judge(t *testing.T, i host.Instance, second, side int64) {
	t.Helper()
	has := map[int64]bool{}
	db, err := sql.Open("mysql", admin.User+":"+admin.Password+"@tcp("+i.Dial()+")/d")
	hosttest.Must(t, err)
	defer db.Close()
	rows, err := db.Query("SELECT id FROM w")
	hosttest.Must(t, err)
	for rows.Next() {
		var id int64
		hosttest.Must(t, rows.Scan(&id))
		has[id] = true
	}
	hosttest.Must(t, errors.Join(rows.Err(), rows.Close()))
	must, mustNot := 0, 0
	for id, r := range l.rows {
		switch {
		case r.side == side && r.acked != 0 && r.acked <= second:
			if must++; !has[id] {
				t.Errorf("second %d: row %d is missing, which was acknowledged in second %d", second, id, r.acked)
			}
		// An applier notes the second of a statement, and no longer that of the COMMIT.
		case r.side == side && r.sent > second, r.begun > second:
			if mustNot++; has[id] {
				t.Errorf("second %d: row %d is there, which was begun in second %d and sent in second %d", second, id, r.begun, r.sent)
			}
		}
	}
	var sum int
	hosttest.Must(t, db.QueryRow("SELECT SUM(n) FROM hot").Scan(&sum))
	if sum != len(has) || must == 0 || mustNot == 0 {
		t.Errorf("second %d: %d rows and a sum of %d; %d had to be there, %d had not", second, len(has), sum, must, mustNot)
	}
}

// same compares a restored instance with the side, which nobody writes to.
func same(t *testing.T, s *mariadbtest.Instance, i host.Instance) {
	t.Helper()
	source, server := mysql.Open("a", s.Address, admin, slog.New(slog.DiscardHandler)), mysql.Open(i.Name, i.Dial(), admin, slog.New(slog.DiscardHandler))
	defer source.Close()
	defer server.Close()
	snap, err := rows.Snapshot(t.Context(), source)
	hosttest.Must(t, err)
	defer snap.Close()
	differ, err := rows.Comparison{Copy: server}.Compare(t.Context(), snap, nil)
	hosttest.Must(t, err)
	if len(differ.Mismatches) > 0 {
		t.Errorf("it differs: %v", differ.Mismatches)
	}
	want, err := source.BinlogPosition(t.Context())
	hosttest.Must(t, err)
	got, err := server.BinlogPosition(t.Context())
	hosttest.Must(t, err)
	if got.String() != want.String() {
		t.Errorf("position %s, want %s", got, want)
	}
}
