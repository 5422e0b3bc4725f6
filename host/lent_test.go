package host

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"stowage/vault"
)

// TestLogsAreLentToAnotherHost: what is wanted of an archive in a directory is laid out elsewhere, and says the same there. A gap, a moment that is not there,
// and a byte that was changed are named before anything is laid out, or by it.
func TestLogsAreLentToAnotherHost(t *testing.T) {
	t.Parallel()
	w := newWriter(t, 7)
	here := &Local{log: slog.New(slog.DiscardHandler)}
	place := vault.Place{Dir: t.TempDir()}
	dir, err := ArchiveDir(place, "s")
	ok(t, err)
	var from Wanted
	for file := range 4 {
		for range 50 {
			w.transaction(300)
		}
		if file == 1 {
			info, err := os.Stat(w.last())
			ok(t, err)
			from = Wanted{Point: SeedPoint{File: filepath.Base(w.last()), Offset: info.Size()}, Position: fmt.Sprintf("0-7-%d", w.seq)}
		}
		w.transaction(300)
		_, err := here.ArchiveBinlogs(t.Context(), w.instance(), w.index(), dir)
		ok(t, err)
		w.rotate()
	}
	all, err := here.ArchiveState(t.Context(), dir)
	ok(t, err)
	home := filepath.Join(t.TempDir(), "r")
	there := Instance{Name: "r", Datadir: filepath.Join(home, "data"), Config: filepath.Join(home, "my.cnf")}
	ok(t, os.MkdirAll(there.Dir(), 0o700))
	lay := func(w Wanted) error {
		t.Helper()
		bytesOf, err := here.ReachBinlogs(t.Context(), place, "s", w)
		if err != nil {
			return err
		}
		var wire bytes.Buffer
		if err := here.Send(t.Context(), Origin{Instance: Instance{Name: "s"}, Stored: Stored{Place: place, Set: Journal("s")}, Logs: &w}, &wire); err != nil {
			return err
		}
		got, err := here.Receive(t.Context(), Destination{Instance: there, Logs: true}, &wire)
		if err == nil && got.Bytes != bytesOf {
			t.Errorf("%d bytes came, and %d were to come", got.Bytes, bytesOf)
		}
		return err
	}
	middle := all.From.Add(all.LastAt.Sub(all.From) * 9 / 10)
	for name, x := range map[string]Wanted{
		"to its end":  from,
		"to a second": {Point: from.Point, Position: from.Position, At: middle},
		"to a GTID":   {Point: from.Point, Position: from.Position, GTIDs: "0-7-120"},
	} {
		ok(t, lay(x))
		was, err := here.ArchiveFrom(t.Context(), dir, x.Point, x.Position)
		ok(t, err)
		is, err := here.ArchiveFrom(t.Context(), PulledDir(there), x.Point, x.Position)
		if err != nil || is.Mark != was.Mark || is.Position != was.Position {
			t.Errorf("%s: it begins at %+v, %v; want %+v", name, is, err, was)
		}
		switch {
		case x.GTIDs != "":
			was, err = here.ArchiveUntil(t.Context(), dir, x.GTIDs)
			ok(t, err)
			is, err = here.ArchiveUntil(t.Context(), PulledDir(there), x.GTIDs)
		case !x.At.IsZero():
			was, err = here.ArchiveAt(t.Context(), dir, x.At)
			ok(t, err)
			is, err = here.ArchiveAt(t.Context(), PulledDir(there), x.At)
		default:
			state, failed := here.ArchiveState(t.Context(), PulledDir(there))
			was.Mark, is.Mark, err = all.Last, state.Last, failed
		}
		if err != nil || is.Mark != was.Mark || is.Position != was.Position {
			t.Errorf("%s: it ends at %+v, %v; want %+v", name, is, err, was)
		}
	}
	for name, x := range map[string]Wanted{
		"a second that is not over": {Point: from.Point, Position: from.Position, At: time.Now().Add(time.Hour)},
		"a GTID that is not there":  {Point: from.Point, Position: from.Position, GTIDs: "0-7-100000"},
		"a backup of another log":   {Point: SeedPoint{File: "bl.000099", Offset: 400}, Position: from.Position},
	} {
		if err := lay(x); !errors.Is(err, ErrNotArchived) {
			t.Errorf("%s: %v", name, err)
		}
	}
	third := filepath.Join(dir, all.Identity, "bl.000003")
	raw, err := os.ReadFile(third)
	ok(t, err)
	raw[len(raw)/2] ^= 1
	ok(t, os.WriteFile(third, raw, 0o600))
	if err := lay(from); !errors.Is(err, vault.ErrDamaged) {
		t.Errorf("a byte was changed: %v", err)
	}
	from.Read = true
	if _, err := here.ReachBinlogs(t.Context(), place, "s", from); !errors.Is(err, vault.ErrDamaged) {
		t.Errorf("a byte was changed, and all is read: %v", err)
	}
	from.Read = false
	ok(t, os.Remove(third))
	ok(t, os.Remove(third+marksSuffix))
	if _, err := here.ReachBinlogs(t.Context(), place, "s", from); !errors.Is(err, ErrNotArchived) {
		t.Errorf("a file is gone: %v", err)
	}
}
