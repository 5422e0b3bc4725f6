package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

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
			f := startFarm(t)
			h := f.holdAt(point)
			done := make(chan error, 1)
			go func() { // it overlaps with what comes after the border
				done <- h.root(twin, fmt.Sprintf("ALTER TABLE `%s`.listings ADD COLUMN seen_%d INT NOT NULL DEFAULT 0, ALGORITHM=COPY", f.shard(), n))
			}()
			p := h.letGo(false)
			if err := <-done; err != nil {
				t.Errorf("the change itself: %v", err)
			}
			if p.code != exitFine && p.code != exitFailed {
				t.Errorf("exit %d\n%s", p.code, p.stderr)
			}
			f.wanted = "anywhere"
			f.expectWhole()
			for _, side := range farm.SideNames { // wherever they are now
				has := f.value(side, fmt.Sprintf("SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_NAME = 'listings' AND COLUMN_NAME = 'seen_%d'", n))
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
	f := startFarm(t)
	h := f.holdAt("before catch-up") // the twin follows the new instance now
	statement := fmt.Sprintf("UPDATE `%s`.listings SET title = 'by SUPER' WHERE id = 9", f.shard())
	if err := h.root(peer, statement); err != nil {
		t.Fatal(err)
	}
	p := h.letGo(false)
	if p.code != exitFailed || !strings.Contains(p.stderr, "somebody wrote on it after its clients had left") {
		t.Errorf("exit %d\n%s", p.code, p.stderr)
	}
	f.expectWhole()
	for _, whom := range []role{peer, twin} {
		if got := h.value(whom, fmt.Sprintf("SELECT title FROM `%s`.listings WHERE id = 9", f.shard())); got != "by SUPER" {
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
	f := startFarm(t)
	h := f.holdAt("before retire")
	if err := h.root(peer, fmt.Sprintf("UPDATE `%s`.listings SET title = 'by SUPER' WHERE id = 9", f.shard())); err != nil {
		t.Fatal(err)
	}
	p := h.letGo(false)
	if p.code != exitUnknown || !strings.Contains(p.stderr, "somebody wrote on it after its clients had left") {
		t.Errorf("exit %d\n%s", p.code, p.stderr)
	}
	if pid, _ := h.host.Running(t.Context(), h.instance(fault{Whom: peer})); pid == 0 {
		t.Error("the only server that has the write was stopped")
	}
	// What docs/failures.md says: carry the write over, stop the old instance,
	// go on.
	if err := h.root(target, fmt.Sprintf("UPDATE `%s`.listings SET title = 'by SUPER' WHERE id = 9", f.shard())); err != nil {
		t.Fatal(err)
	}
	if err := h.host.Stop(t.Context(), h.instance(fault{Whom: peer}), time.Minute); err != nil {
		t.Fatal(err)
	}
	f.must("move", "resume")
	f.wanted = "anywhere"
	f.expectWhole()
}

// root runs a statement where read_only does not reach: at the server's socket.
func (h *held) root(whom role, statement string) error {
	cfg := driver.NewConfig()
	cfg.User, cfg.Net = "root", "unix"
	cfg.Addr = filepath.Join(h.instance(fault{Whom: whom}).Datadir, "mysqld.sock")
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err = db.ExecContext(ctx, statement)
	return err
}
