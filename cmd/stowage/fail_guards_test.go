package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"syscall"
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
	*striker
	t     *testing.T
	end   chan program
	leave string
	point string
}

// holdAt starts the move and returns when it waits at a border.
func (f *liveFarm) holdAt(point string) *held {
	t := f.t
	t.Helper()
	h := &held{striker: f.striker(f.planned("first")), t: t, end: make(chan program, 1), leave: t.TempDir(), point: point}
	go func() {
		h.end <- runWith(t, []string{killAt + "=hold @ " + point, goDir + "=" + h.leave, goSeen + "=" + h.leave + "/seen"}, "move", "first", "-C", f.dir)
	}()
	for {
		if _, err := os.Stat(h.leave + "/seen"); err == nil {
			return h
		}
		select {
		case p := <-h.end:
			t.Fatalf("the move never met %q: exit %d\n%s", point, p.code, p.stderr)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// letGo lets the program go on, or fail there for good, and waits for its end.
func (h *held) letGo(fail bool) program {
	h.t.Helper()
	h.release(fail)
	return <-h.end
}

func (h *held) release(fail bool) {
	h.t.Helper()
	text := ""
	if fail {
		text = mustFail
	}
	release(h.t, h.leave, h.point, text)
}

// server is one of the servers, as an account of accounts.cnf.
func (h *held) server(whom role, group string) *sql.DB {
	h.t.Helper()
	return h.f.login(h.instance(fault{Whom: whom}).Dial(), group)
}

func (h *held) value(whom role, query string) string {
	h.t.Helper()
	db := h.server(whom, "stowage")
	defer db.Close()
	var v sql.NullString
	if err := db.QueryRowContext(h.t.Context(), query).Scan(&v); err != nil {
		h.t.Fatalf("%s: %s: %v", whom, query, err)
	}
	return v.String
}

func (h *held) exec(whom role, group, statement string) error {
	db := h.server(whom, group)
	defer db.Close()
	_, err := db.ExecContext(h.t.Context(), statement)
	return err
}

// restart kills a server and starts it again at once.
func (h *held) restart(whom role) {
	h.t.Helper()
	i := h.instance(fault{Whom: whom})
	h.kill(i)
	if err := h.host.Start(h.t.Context(), i, time.Minute); err != nil {
		h.t.Fatal(err)
	}
}

func (h *held) kill(i host.Instance) {
	h.t.Helper()
	if err := h.host.Kill(h.t.Context(), i, time.Minute); err != nil {
		h.t.Fatal(err)
	}
}

// shard is the first one of the farm.
func (f *liveFarm) shard() farm.ShardName {
	f.t.Helper()
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	return fm.Pairs[0].Shards[0].Name
}

// login opens connections to a server.
func (f *liveFarm) login(address, group string) *sql.DB {
	f.t.Helper()
	account := f.account(group)
	cfg := driver.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = account.User, account.Password, "tcp", address
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	f.t.Cleanup(func() { db.Close() })
	return db
}

// FENCE_LASTS: the side that has left dies and starts again, and still refuses
// the write of a client that slept; its own option file comes back as it was
// when the side serves again.
func TestFenceLastsARestart(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startFarm(t)
	config := f.striker(f.planned("first")).instance(fault{Whom: peer}).Config
	before, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	h := f.holdAt("before rewire")
	h.restart(peer)
	if on := h.value(peer, "SELECT @@GLOBAL.read_only"); on != "1" {
		t.Errorf("started again, read_only is %s", on)
	}
	if on := h.value(peer, "SELECT @@GLOBAL.event_scheduler"); on != "OFF" {
		t.Errorf("started again, the event scheduler is %s", on)
	}
	late := fmt.Sprintf("UPDATE `%s`.listings SET price = price + 1 WHERE id = 1", f.shard())
	if err := h.exec(peer, "client", late); err == nil || !strings.Contains(err.Error(), "1290") {
		t.Errorf("a client that slept wrote on the side that has left: %v", err)
	}
	if p := h.letGo(true); p.code != exitFailed {
		t.Errorf("exit %d\n%s", p.code, p.stderr)
	}
	if after, err := os.ReadFile(config); err != nil || string(after) != string(before) {
		t.Errorf("the option file of the old side was\n%s\nand is\n%s%v", before, after, err)
	}
	f.expectWhole()
}

// OPEN_LASTS: the new instance dies right after its first clients came, starts
// again, takes writes and replicates.
func TestOpenLastsARestart(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startFarm(t)
	h := f.holdAt("after in/flip")
	h.restart(target)
	if on := h.value(target, "SELECT @@GLOBAL.read_only"); on != "0" {
		t.Errorf("it serves, was started again, and read_only is %s", on)
	}
	for end := time.Now().Add(waitLimit); ; time.Sleep(50 * time.Millisecond) {
		n := h.value(target, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND IN ('Slave_IO', 'Slave_SQL')")
		if n == "2" {
			break
		}
		if time.Now().After(end) {
			t.Errorf("it serves, was started again, and does not replicate: %s threads", n)
			break
		}
	}
	if p := h.letGo(false); p.code != exitFine {
		t.Errorf("exit %d\n%s", p.code, p.stderr)
	}
	f.expectWhole()
}

// UNDO_IN_BARRIER: the new instance was opened and took a write of a client
// that slept, and then the step fails. It served nobody, so the undo has no
// client to wait for; it waits for that write.
func TestUndoOfInTakesALateWriteAlong(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startFarm(t)
	h := f.holdAt("before in/flip")
	if err := h.exec(twin, "stowage", "STOP SLAVE SQL_THREAD"); err != nil {
		t.Fatal(err)
	}
	shard := f.shard()
	if err := h.exec(target, "client", fmt.Sprintf("UPDATE `%s`.listings SET title = 'late' WHERE id = 7", shard)); err != nil {
		t.Fatal(err)
	}
	h.release(true)
	time.Sleep(1500 * time.Millisecond) // an undo that did not wait would be past it
	if err := h.exec(twin, "stowage", "START SLAVE SQL_THREAD"); err != nil {
		t.Fatal(err)
	}
	if p := <-h.end; p.code != exitFailed {
		t.Errorf("exit %d\n%s", p.code, p.stderr)
	}
	for _, whom := range []role{peer, twin} {
		ask := fmt.Sprintf("SELECT title FROM `%s`.listings WHERE id = 7", shard)
		got := ""
		for end := time.Now().Add(waitLimit); got != "late" && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			got = h.value(whom, ask)
		}
		if got != "late" {
			t.Errorf("%s: the acknowledged write is lost: %q", whom, got)
		}
	}
	f.expectWhole()
}

// BACKOUT_PERSISTS: the side dies in the middle of `out`, behind its fence, and
// does not answer when it should be opened again. The gate is not left closed,
// nor the side fenced, and the lane does not end unknown.
func TestBackOutPersists(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startFarm(t)
	h := f.holdAt("before out/barrier")
	i := h.instance(fault{Whom: peer})
	pid, err := h.host.Running(t.Context(), i)
	if err != nil || pid == 0 {
		t.Fatal(pid, err)
	}
	// It does not answer, and it is there: a frozen machine. So its option file
	// is no way to be sure. It outlasts the limits of two statements.
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(70*time.Second, func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	p := h.letGo(false)
	if p.code != exitFine && p.code != exitFailed {
		t.Errorf("exit %d\n%s", p.code, p.stderr)
	}
	f.expectWhole()
}

// The same with a side that is down for good: its option file says that it
// takes writes when it starts, so the gate opens at once and the move is undone.
func TestBackOutOfADeadSide(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startFarm(t)
	h := f.holdAt("before out/barrier")
	i := h.instance(fault{Whom: peer})
	h.kill(i)
	h.release(false)
	var gate string
	for end := time.Now().Add(waitLimit); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if gate = f.closedGates(""); gate == "" {
			break
		}
	}
	if gate != "" {
		t.Errorf("the side is down and its gate stays closed: %s", gate)
	}
	if err := h.host.Start(context.Background(), i, time.Minute); err != nil {
		t.Fatal(err)
	}
	if on := h.value(peer, "SELECT @@GLOBAL.read_only"); on != "0" {
		t.Errorf("it is in rotation, was started again, and read_only is %s", on)
	}
	if p := <-h.end; p.code != exitFine && p.code != exitFailed {
		t.Errorf("exit %d\n%s", p.code, p.stderr)
	}
	f.expectWhole()
}

// expectWhole holds every promise against the servers.
func (f *liveFarm) expectWhole() {
	f.t.Helper()
	for _, wrong := range append(f.wrongNow(30*time.Second), f.wrongLedger()...) {
		f.t.Error(wrong)
	}
}
