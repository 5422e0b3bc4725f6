package farmtest

import (
	"database/sql"
	"os"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/farm"
	"stowage/host"
)

// Each test here is a guard of models/guards.tsv on real servers: it fails when
// the guard is taken out.

// held is a program that waits at a border.
type held struct {
	*Striker
	t     *testing.T
	End   chan Program
	leave string
	point string
}

// HoldAt starts the move and returns when it waits at a border.
func (f *LiveFarm) HoldAt(point string) *held {
	t := f.T
	t.Helper()
	h := &held{Striker: f.Striker(f.Planned("first")), t: t, End: make(chan Program, 1), leave: t.TempDir(), point: point}
	go func() {
		h.End <- RunWith(t, []string{KillAt + "=hold @ " + point, goDir + "=" + h.leave, goSeen + "=" + h.leave + "/seen"}, "move", "first", "-C", f.Dir)
	}()
	for {
		if _, err := os.Stat(h.leave + "/seen"); err == nil {
			return h
		}
		select {
		case p := <-h.End:
			t.Fatalf("the move never met %q: exit %d\n%s", point, p.Code, p.Stderr)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// LetGo lets the program go on, or fail there for good, and waits for its end.
func (h *held) LetGo(fail bool) Program {
	h.t.Helper()
	h.Release(fail)
	return <-h.End
}

func (h *held) Release(fail bool) {
	h.t.Helper()
	text := ""
	if fail {
		text = mustFail
	}
	release(h.t, h.leave, h.point, text)
}

// server is one of the servers, as an account of accounts.cnf.
func (h *held) server(whom Role, group string) *sql.DB {
	h.t.Helper()
	return h.f.Login(h.Instance(Fault{Whom: whom}).Dial(), group)
}

func (h *held) Value(whom Role, query string) string {
	h.t.Helper()
	db := h.server(whom, "stowage")
	defer db.Close()
	var v sql.NullString
	if err := db.QueryRowContext(h.t.Context(), query).Scan(&v); err != nil {
		h.t.Fatalf("%s: %s: %v", whom, query, err)
	}
	return v.String
}

func (h *held) Exec(whom Role, group, statement string) error {
	db := h.server(whom, group)
	defer db.Close()
	_, err := db.ExecContext(h.t.Context(), statement)
	return err
}

// Restart kills a server and starts it again at once.
func (h *held) Restart(whom Role) {
	h.t.Helper()
	i := h.Instance(Fault{Whom: whom})
	h.Kill(i)
	if err := h.Host.Start(h.t.Context(), i, time.Minute); err != nil {
		h.t.Fatal(err)
	}
}

func (h *held) Kill(i host.Instance) {
	h.t.Helper()
	if err := h.Host.Kill(h.t.Context(), i, time.Minute); err != nil {
		h.t.Fatal(err)
	}
}

// Shard is the first one of the farm.
func (f *LiveFarm) Shard() farm.ShardName {
	f.T.Helper()
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	return fm.Pairs[0].Shards[0].Name
}

// Login opens connections to a server.
func (f *LiveFarm) Login(address, group string) *sql.DB {
	f.T.Helper()
	account := f.account(group)
	cfg := driver.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = account.User, account.Password, "tcp", address
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		f.T.Fatal(err)
	}
	db := sql.OpenDB(connector)
	f.T.Cleanup(func() { db.Close() })
	return db
}

// ExpectWhole compares every promise with the servers.
func (f *LiveFarm) ExpectWhole() {
	f.T.Helper()
	for _, wrong := range append(f.WrongNow(30*time.Second), f.wrongLedger()...) {
		f.T.Error(wrong)
	}
}
