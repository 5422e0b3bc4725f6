package host

import (
	"errors"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/internal/mariadbtest"
)

// TestHalfAStatementIsNotRun: when whoever feeds the client is gone, it does not run what it has. A client of its own making does: it is
// sent the first half of DROP TABLE a, b.
func TestHalfAStatementIsNotRun(t *testing.T) {
	t.Parallel()
	l, err := NewLocal(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	s := mariadbtest.Start(t, "s")
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.a (id INT)")
	const half = "DELIMITER /*!*/;\nDROP TABLE d.a"
	r := Replaying{Instance: Instance{Name: "s", Datadir: s.Datadir}, Login: Login{User: "stowage", Password: mariadbtest.Stowage.Password(), Address: s.Address}}
	p, err := l.openPipe(t.Context(), r)
	ok(t, err)
	_, err = p.in.WriteString("SELECT '" + endOfPortion + "0';\n")
	ok(t, err)
	if got := <-p.answers; got != endOfPortion+"0" {
		t.Fatalf("it answered %q", got)
	}
	_, err = p.in.WriteString(half)
	ok(t, err)
	ok(t, p.in.Close()) // as when we are killed
	select {
	case <-p.ended:
		t.Errorf("the client has ended: %v", p.err)
	case <-time.After(300 * time.Millisecond):
	}
	_ = p.close() // its input is closed already
	tables := func() string {
		return s.Value(t, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'd'")
	}
	if n := tables(); n != "1" {
		t.Errorf("%s tables: half a statement was run", n)
	}
	plain := exec.Command("mariadb", "--binary-mode", "-h", s.Host, "-P", "23306", "-u", "stowage", "-p"+mariadbtest.Stowage.Password())
	plain.Stdin = strings.NewReader(half)
	if out, err := plain.CombinedOutput(); err != nil || tables() != "0" {
		t.Errorf("a plain client runs it no longer (%v, %s): this need not be kept from happening any more", err, out)
	}
}

// TestOneArchiverAtATime: the second is told so, and changes nothing.
func TestOneArchiverAtATime(t *testing.T) {
	t.Parallel()
	l, err := NewLocal(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	into := filepath.Join(t.TempDir(), "binlog")
	top, err := openArchive(into)
	ok(t, err)
	defer top.Close()
	unlock, err := lockArchive(top)
	ok(t, err)
	s := mariadbtest.Start(t, "s")
	i, index := Instance{Name: "s", Datadir: s.Datadir}, filepath.Join(s.Datadir, "bl.index")
	if _, err := l.ArchiveBinlogs(t.Context(), i, index, into); !errors.Is(err, ErrArchiving) {
		t.Errorf("beside another: %v", err)
	}
	unlock()
	_, err = l.ArchiveBinlogs(t.Context(), i, index, into)
	ok(t, err)
}
