package host

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/binlog"
	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
)

// timed is a transaction of a server's own files, read by nothing but package binlog.
type timed struct {
	file       string
	begin, end int64
	at         int64
}

// everyTransaction are those of the server's files, in order.
func everyTransaction(t *testing.T, s *mariadbtest.Instance) (all []timed) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.Datadir, "bl.0?????"))
	ok(t, err)
	for _, p := range paths {
		raw, err := os.ReadFile(p)
		ok(t, err)
		h, err := binlog.ReadHead(bytes.NewReader(raw))
		ok(t, err)
		for scan := h.Scan(bytes.NewReader(raw), h.End, h.Start); scan.Next(); {
			x := scan.Transaction()
			all = append(all, timed{filepath.Base(p), x.Begin, x.End, x.At.Unix()})
		}
	}
	return all
}

// TestSecondsAreFound: for each second the place is before the first transaction of a later one, as mariadb-binlog's --stop-datetime has it,
// whatever clients do to their clocks: seconds go back, and some are in a future that has not come. It is the same with marks as they
// were written, and with marks that were made again of the files.
func TestSecondsAreFound(t *testing.T) {
	turns.One(t, 6)
	t.Parallel()
	l, err := NewLocal(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	s := mariadbtest.Start(t, "s")
	into := filepath.Join(t.TempDir(), "s", "binlog")
	i := Instance{Name: "s", Datadir: s.Datadir}
	bring := func() Archived {
		a, err := l.ArchiveBinlogs(t.Context(), i, filepath.Join(s.Datadir, "bl.index"), into)
		ok(t, err)
		return a
	}
	start := time.Now().Add(-48 * time.Hour).Unix()
	now := start
	s.Exec(t, fmt.Sprintf("SET timestamp=%d", now), "CREATE DATABASE d", "CREATE TABLE d.a (id INT AUTO_INCREMENT PRIMARY KEY)")
	future := time.Now().Add(time.Hour).Unix()
	for n := range 60 {
		var statements []string
		for range 1 + rand.IntN(6) {
			now += []int64{0, 0, 1, 7, 45, 300}[rand.IntN(6)]
			at := now
			switch rand.IntN(12) {
			case 0:
				at -= 10
			case 1:
				at = future
			}
			statements = append(statements, fmt.Sprintf("SET timestamp=%d", at), "INSERT d.a VALUES ()")
		}
		if n%9 == 4 {
			statements = append(statements, "FLUSH BINARY LOGS")
		}
		s.Exec(t, statements...)
		if n%3 == 0 {
			bring()
		}
	}
	a := bring()
	all := everyTransaction(t, s)
	look := func() {
		t.Helper()
		logs, err := openLogs(into)
		ok(t, err)
		defer closeLogs(logs)
		for sec := start; sec <= now+1; sec += 1 + rand.Int64N(20) {
			want := 0
			for want < len(all) && (all[want].at <= sec || all[want].at == future) {
				want++
			}
			found, err := logs[0].at(t.Context(), sec)
			ok(t, err)
			got := 0 // transactions before the place
			for got < len(all) && (logs[0].file(all[got].file) < logs[0].file(found.Mark.File) || all[got].file == found.Mark.File && all[got].end <= found.Mark.Offset) {
				got++
			}
			inside := got < len(all) && all[got].file == found.Mark.File && all[got].begin < found.Mark.Offset
			if got != want || inside {
				t.Fatalf("second %d: %s, behind %d transactions (in the middle of one: %t); want %d", sec-start, found.Mark, got, inside, want)
			}
			if found.At.Unix() > sec {
				t.Fatalf("second %d: %v", sec-start, found.At)
			}
		}
	}
	look()
	marks, err := filepath.Glob(filepath.Join(into, a.Identity, "*.marks"))
	ok(t, err)
	if len(marks) < 5 {
		t.Fatalf("%d files", len(marks))
	}
	lines := 0
	for _, m := range marks {
		raw, err := os.ReadFile(m)
		ok(t, err)
		lines += bytes.Count(raw, []byte("\n"))
		ok(t, os.Remove(m))
	}
	look() // of the files alone
	b := bring()
	look()
	if b.Last.File != a.Last.File || b.Last.Offset < a.Last.Offset || b.Position != a.Position || b.LastAt != a.LastAt {
		t.Errorf("%+v, and before the marks were lost %+v", b, a)
	}
	t.Logf("%d transactions, %d marks", len(all), lines)
}

// TestPruneKeepsWhatABackupNeeds: files before the place go, the file of the place and all behind it stay, and archiving goes on, though the
// server still has what is gone.
func TestPruneKeepsWhatABackupNeeds(t *testing.T) {
	t.Parallel()
	l, err := NewLocal(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	s := mariadbtest.Start(t, "s")
	into := filepath.Join(t.TempDir(), "s", "binlog")
	bring := func(s *mariadbtest.Instance) Archived {
		a, err := l.ArchiveBinlogs(t.Context(), Instance{Name: "s", Datadir: s.Datadir}, filepath.Join(s.Datadir, "bl.index"), into)
		ok(t, err)
		return a
	}
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.a (id INT AUTO_INCREMENT PRIMARY KEY)", "FLUSH BINARY LOGS", "INSERT d.a VALUES ()", "FLUSH BINARY LOGS", "INSERT d.a VALUES ()")
	old := bring(s)
	s.Exec(t, "INSERT d.a VALUES ()", "FLUSH BINARY LOGS", "INSERT d.a VALUES ()")
	a := bring(s)
	for _, m := range []Mark{{Log: "0009-s1-00000000", File: old.Last.File, Offset: 4}, {Log: old.Last.Log, File: "bl.000099", Offset: 4}} {
		if _, err := l.PruneBinlogs(t.Context(), into, m); !errors.Is(err, ErrNotArchived) {
			t.Errorf("%s: %v", m, err)
		}
	}
	state := func() Archived {
		a, err := l.ArchiveState(t.Context(), into)
		ok(t, err)
		return a
	}
	if b := state(); b.Bytes != a.Bytes {
		t.Errorf("a prune that was refused removed something: %+v", b)
	}
	removed, err := l.PruneBinlogs(t.Context(), into, old.Last)
	ok(t, err)
	if b := state(); removed <= 0 || b.Bytes != a.Bytes-removed || b.Files != a.Files-2 || b.Last != a.Last {
		t.Errorf("removed %d: %+v; before: %+v", removed, b, a)
	}
	b := bring(s)
	if b.Files != a.Files-2 || b.Identity != a.Identity || b.Position != a.Position {
		t.Errorf("what was removed came back: %+v; before: %+v", b, a)
	}
	if f, err := l.ArchiveFrom(t.Context(), into, SeedPoint{File: old.Last.File, Offset: old.Last.Offset}, old.Position); err != nil || f.Mark != old.Last {
		t.Errorf("%+v, %v; want %s", f, err, old.Last)
	}
	for _, x := range []struct {
		point    SeedPoint
		position string
	}{
		{SeedPoint{File: old.Last.File, Offset: old.Last.Offset}, "1-2-3"},
		{SeedPoint{File: old.Last.File, Offset: old.Last.Offset}, ""},
		{SeedPoint{File: "bl.000001", Offset: 500}, old.Position},
		{SeedPoint{File: b.Last.File, Offset: b.Last.Offset + 1000}, b.Position},
	} {
		if f, err := l.ArchiveFrom(t.Context(), into, x.point, x.position); !errors.Is(err, ErrNotArchived) {
			t.Errorf("%+v: %+v, %v", x, f, err)
		}
	}
	other := mariadbtest.Start(t, "other")
	c := bring(other)
	removed, err = l.PruneBinlogs(t.Context(), into, c.Last)
	ok(t, err)
	if removed != b.Bytes {
		t.Errorf("removed %d of the log before, which had %d", removed, b.Bytes)
	}
	if c := bring(other); len(c.Forks) != 1 || c.Files != 1 {
		t.Errorf("%+v", c)
	}
}

// TestFlippedByteOfAnArchiveIsNamed: in a transaction, and in a mark that says something else.
func TestFlippedByteOfAnArchiveIsNamed(t *testing.T) {
	t.Parallel()
	l, err := NewLocal(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	s := mariadbtest.Start(t, "s")
	into := filepath.Join(t.TempDir(), "s", "binlog")
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.a (id INT AUTO_INCREMENT PRIMARY KEY)", "INSERT d.a VALUES ()", "FLUSH BINARY LOGS", "INSERT d.a VALUES ()")
	a, err := l.ArchiveBinlogs(t.Context(), Instance{Name: "s", Datadir: s.Datadir}, filepath.Join(s.Datadir, "bl.index"), into)
	ok(t, err)
	ok(t, l.CheckBinlogs(t.Context(), into))
	for _, x := range []struct{ name, was, is string }{{"bl.000001", "CREATE DATABASE d", "CREATE DATABASE e"}, {"bl.000001.marks", "-3\"", "-2\""}} {
		path := filepath.Join(into, a.Identity, x.name)
		raw, err := os.ReadFile(path)
		ok(t, err)
		if !bytes.Contains(raw, []byte(x.was)) {
			t.Fatalf("%s has no %s", x.name, x.was)
		}
		ok(t, os.WriteFile(path, bytes.Replace(raw, []byte(x.was), []byte(x.is), 1), 0o640))
		err = l.CheckBinlogs(t.Context(), into)
		var f *binlog.Fault
		if !errors.As(err, &f) || !strings.Contains(err.Error(), "bl.000001") {
			t.Errorf("%s: %v", x.name, err)
		}
		ok(t, os.WriteFile(path, raw, 0o640))
	}
	ok(t, l.CheckBinlogs(t.Context(), into))
}
