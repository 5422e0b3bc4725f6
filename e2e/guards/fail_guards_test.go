package guards

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/internal/turns"
)

// FENCE_LASTS: the side that has left dies and starts again, and still refuses
// the write of a client that slept; its own option file comes back as it was
// when the side serves again.
func TestFenceLastsARestart(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	config := f.Striker(f.Planned("first")).Instance(farmtest.Fault{Whom: farmtest.Peer}).Config
	before, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	h := f.HoldAt("before rewire")
	h.Restart(farmtest.Peer)
	if on := h.Value(farmtest.Peer, "SELECT @@GLOBAL.read_only"); on != "1" {
		t.Errorf("started again, read_only is %s", on)
	}
	if on := h.Value(farmtest.Peer, "SELECT @@GLOBAL.event_scheduler"); on != "OFF" {
		t.Errorf("started again, the event scheduler is %s", on)
	}
	late := fmt.Sprintf("UPDATE `%s`.listings SET price = price + 1 WHERE id = 1", f.Shard())
	if err := h.Exec(farmtest.Peer, "client", late); err == nil || !strings.Contains(err.Error(), "1290") {
		t.Errorf("a client that slept wrote on the side that has left: %v", err)
	}
	if p := h.LetGo(true); p.Code != farmtest.ExitFailed {
		t.Errorf("exit %d\n%s", p.Code, p.Stderr)
	}
	if after, err := os.ReadFile(config); err != nil || string(after) != string(before) {
		t.Errorf("the option file of the old side was\n%s\nand is\n%s%v", before, after, err)
	}
	// The new instance is gone; what it said is not.
	logs, _ := filepath.Glob(filepath.Join(f.Dir, ".stowage", "errorlogs", "*.log"))
	if len(logs) != 1 {
		t.Fatalf("%d error logs of instances that were taken back", len(logs))
	}
	if log, err := os.ReadFile(logs[0]); err != nil || !strings.Contains(string(log), "ready for connections") {
		t.Errorf("%s: %v\n%s", logs[0], err, log)
	}
	f.ExpectWhole()
}

// OPEN_LASTS: the new instance dies right after its first clients came, starts
// again, takes writes and replicates.
func TestOpenLastsARestart(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	h := f.HoldAt("after in/flip")
	h.Restart(farmtest.Target)
	if on := h.Value(farmtest.Target, "SELECT @@GLOBAL.read_only"); on != "0" {
		t.Errorf("it serves, was started again, and read_only is %s", on)
	}
	for end := time.Now().Add(farmtest.WaitLimit); ; time.Sleep(50 * time.Millisecond) {
		n := h.Value(farmtest.Target, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND IN ('Slave_IO', 'Slave_SQL')")
		if n == "2" {
			break
		}
		if time.Now().After(end) {
			t.Errorf("it serves, was started again, and does not replicate: %s threads", n)
			break
		}
	}
	if p := h.LetGo(false); p.Code != farmtest.ExitFine {
		t.Errorf("exit %d\n%s", p.Code, p.Stderr)
	}
	f.ExpectWhole()
}

// UNDO_IN_BARRIER: the new instance was opened and took a write of a client
// that slept, and then the step fails. It served nobody, so the undo has no
// client to wait for; it waits for that write.
func TestUndoOfInTakesALateWriteAlong(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	h := f.HoldAt("before in/flip")
	if err := h.Exec(farmtest.Twin, "stowage", "STOP SLAVE SQL_THREAD"); err != nil {
		t.Fatal(err)
	}
	shard := f.Shard()
	if err := h.Exec(farmtest.Target, "client", fmt.Sprintf("UPDATE `%s`.listings SET title = 'late' WHERE id = 7", shard)); err != nil {
		t.Fatal(err)
	}
	h.Release(true)
	time.Sleep(1500 * time.Millisecond) // an undo that did not wait would be past it
	if err := h.Exec(farmtest.Twin, "stowage", "START SLAVE SQL_THREAD"); err != nil {
		t.Fatal(err)
	}
	if p := <-h.End; p.Code != farmtest.ExitFailed {
		t.Errorf("exit %d\n%s", p.Code, p.Stderr)
	}
	for _, whom := range []farmtest.Role{farmtest.Peer, farmtest.Twin} {
		ask := fmt.Sprintf("SELECT title FROM `%s`.listings WHERE id = 7", shard)
		got := ""
		for end := time.Now().Add(farmtest.WaitLimit); got != "late" && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			got = h.Value(whom, ask)
		}
		if got != "late" {
			t.Errorf("%s: the acknowledged write is lost: %q", whom, got)
		}
	}
	f.ExpectWhole()
}

// A side that is down for good in the middle of `out`, behind its fence: its option file says that it
// takes writes when it starts, so the gate opens at once and the move is undone.
func TestBackOutOfADeadSide(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	h := f.HoldAt("before out/barrier")
	i := h.Instance(farmtest.Fault{Whom: farmtest.Peer})
	h.Kill(i)
	h.Release(false)
	var gate string
	for end := time.Now().Add(farmtest.WaitLimit); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if gate = f.ClosedGates(""); gate == "" {
			break
		}
	}
	if gate != "" {
		t.Errorf("the side is down and its gate stays closed: %s", gate)
	}
	if err := h.Host.Start(context.Background(), i, time.Minute); err != nil {
		t.Fatal(err)
	}
	// The next attempt of the step may fence it again, behind a gate, and go on to the end: then it is retired. Where the move is undone
	// it takes writes.
	p := <-h.End
	if p.Code != farmtest.ExitFine && p.Code != farmtest.ExitFailed {
		t.Errorf("exit %d\n%s", p.Code, p.Stderr)
	}
	if p.Code == farmtest.ExitFailed {
		if on := h.Value(farmtest.Peer, "SELECT @@GLOBAL.read_only"); on != "0" {
			t.Errorf("it is in rotation, and read_only is %s", on)
		}
	}
	f.ExpectWhole()
}

// TestCrashedCopyIsComparedAgain: a new instance is killed after its rows were compared, and has lost a row when it is up again. It gets
// no client. (Recovery of a killed server lost half of a transaction once, and clients read old rows on the new side.)
func TestCrashedCopyIsComparedAgain(t *testing.T) {
	turns.Heavy(t, 8)
	t.Parallel() // it mostly waits
	for point, lost := range map[string]bool{"before out": true, "before check": true, "before in": false} {
		t.Run(point, func(t *testing.T) {
			turns.One(t, 8)
			t.Parallel() // it mostly waits
			f := farmtest.StartFarm(t)
			h := f.HoldAt(point)
			h.Restart(farmtest.Target)
			if lost {
				statement := fmt.Sprintf("BEGIN NOT ATOMIC SET SESSION sql_log_bin = 0; UPDATE `%s`.listings SET title = 'lost' WHERE id = 7; END", f.Shard())
				if err := h.Exec(farmtest.Target, "stowage", statement); err != nil {
					t.Fatal(err)
				}
			}
			p := h.LetGo(false)
			if want := map[bool]int{true: farmtest.ExitFailed, false: farmtest.ExitFine}[lost]; p.Code != want {
				t.Errorf("exit %d, want %d\n%s", p.Code, want, p.Stderr)
			}
			if log := farmtest.RunProgram(t, "", "log", "-C", f.Dir); !regexp.MustCompile(`/B +` + strings.TrimPrefix(point, "before ") + ` .*: STOP SLAVE`).MatchString(log.Stdout) {
				t.Errorf("nothing says that it was compared again\n%s", log.Stdout)
			}
			if lost && !strings.Contains(p.Stderr, "listings") {
				t.Errorf("the table is not named\n%s", p.Stderr)
			}
			f.ExpectWhole()
		})
	}
}
