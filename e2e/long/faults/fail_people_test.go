package faults

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
)

// Somebody changes a table in the middle of a move: it arrives everywhere, the
// move goes on, or is undone and says why.
func TestSchemaChangeDuringAMove(t *testing.T) {
	t.Parallel() // it mostly waits
	if testing.Short() {
		t.Skip("SKIPPED: schema changes during moves")
	}
	for n, point := range []string{"before seed", "before compare", "before out/drain", "before in/flip"} {
		t.Run(point, func(t *testing.T) {
			f := farmtest.StartFarm(t)
			h := f.HoldAt(point)
			done := make(chan error, 1)
			go func() { // it overlaps with what comes after the border
				done <- h.Root(farmtest.Twin, fmt.Sprintf("ALTER TABLE `%s`.listings ADD COLUMN seen_%d INT NOT NULL DEFAULT 0, ALGORITHM=COPY", f.Shard(), n))
			}()
			p := h.LetGo(false)
			if err := <-done; err != nil {
				t.Errorf("the change itself: %v", err)
			}
			if p.Code != farmtest.ExitFine && p.Code != farmtest.ExitFailed {
				t.Errorf("exit %d\n%s", p.Code, p.Stderr)
			}
			f.Wanted = "anywhere"
			f.ExpectWhole()
			for _, side := range farm.SideNames { // wherever they are now
				has := f.Value(side, fmt.Sprintf("SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_NAME = 'listings' AND COLUMN_NAME = 'seen_%d'", n))
				if has != "1" {
					t.Errorf("side %s has the new column %s times", side, has)
				}
			}
		})
	}
}

// Somebody with SUPER writes on the old side after its clients have left: no
// fence stops that. It is found before the new instance takes over, everything
// is taken back, and the write is on both sides.
func TestSuperWriterIsFound(t *testing.T) {
	t.Parallel() // it mostly waits
	if testing.Short() {
		t.Skip("SKIPPED: a SUPER writer during a move")
	}
	f := farmtest.StartFarm(t)
	h := f.HoldAt("before catch-up") // the twin follows the new instance now
	statement := fmt.Sprintf("UPDATE `%s`.listings SET title = 'by SUPER' WHERE id = 9", f.Shard())
	if err := h.Root(farmtest.Peer, statement); err != nil {
		t.Fatal(err)
	}
	p := h.LetGo(false)
	if p.Code != farmtest.ExitFailed || !strings.Contains(p.Stderr, "a client wrote on it after its clients had left") {
		t.Errorf("exit %d\n%s", p.Code, p.Stderr)
	}
	f.ExpectWhole()
	for _, whom := range []farmtest.Role{farmtest.Peer, farmtest.Twin} {
		if got := h.Value(whom, fmt.Sprintf("SELECT title FROM `%s`.listings WHERE id = 9", f.Shard())); got != "by SUPER" {
			t.Errorf("%s has %q: the write is lost", whom, got)
		}
	}
}

// The same write after the new instance has taken over cannot be taken back.
// The old instance, with the write in its binary log, is not stopped until a
// person has looked.
func TestSuperWriterBeforeRetire(t *testing.T) {
	t.Parallel() // it mostly waits
	if testing.Short() {
		t.Skip("SKIPPED: a SUPER writer during a move")
	}
	f := farmtest.StartFarm(t)
	h := f.HoldAt("before retire")
	if err := h.Root(farmtest.Peer, fmt.Sprintf("UPDATE `%s`.listings SET title = 'by SUPER' WHERE id = 9", f.Shard())); err != nil {
		t.Fatal(err)
	}
	p := h.LetGo(false)
	if p.Code != farmtest.ExitUnknown || !strings.Contains(p.Stderr, "a client wrote on it after its clients had left") {
		t.Errorf("exit %d\n%s", p.Code, p.Stderr)
	}
	if pid, _ := h.Host.Running(t.Context(), h.Instance(farmtest.Fault{Whom: farmtest.Peer})); pid == 0 {
		t.Error("the only server that has the write was stopped")
	}
	// What docs/reference/failures.md says: carry the write over, stop the old instance,
	// go on.
	if err := h.Root(farmtest.Target, fmt.Sprintf("UPDATE `%s`.listings SET title = 'by SUPER' WHERE id = 9", f.Shard())); err != nil {
		t.Fatal(err)
	}
	if err := h.Host.Stop(t.Context(), h.Instance(farmtest.Fault{Whom: farmtest.Peer}), time.Minute); err != nil {
		t.Fatal(err)
	}
	f.Must("resume")
	f.Wanted = "anywhere"
	f.ExpectWhole()
}
