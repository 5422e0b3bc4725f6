package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"stowage/internal/raced"
)

func openAt(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(filepath.Join(dir, "stowage.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// A process that was killed has written its lines and no more; whoever opens
// the trail next has all of them, once.
func TestTrailOutlivesAKill(t *testing.T) {
	dir := t.TempDir()
	killed := openAt(t, dir)
	trail, err := killed.OpenTrail()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		trail.Add(Deed{Run: "move-first-1", Kind: "statement", Text: fmt.Sprint("SET GLOBAL x = ", i)})
	}
	// Not closed. And the last line was cut short by a full disk.
	path := filepath.Join(dir, "audit.jsonl")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, `{"id":1,"te`)
	f.Close()
	about, err := os.Stat(path)
	if err != nil || about.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", about.Mode(), err)
	}
	next := openAt(t, dir)
	for range 3 {
		if err := next.TakeTrail(); err != nil {
			t.Fatal(err)
		}
	}
	deeds, err := next.Deeds("move-first-1")
	if err != nil || len(deeds) != 5 || deeds[4].Text != "SET GLOBAL x = 4" || deeds[0].Time.IsZero() {
		t.Errorf("%d deeds, %v: %+v", len(deeds), err, deeds)
	}
	if other, err := next.Deeds("move-other-1"); err != nil || len(other) != 0 {
		t.Errorf("of another run: %v %v", other, err)
	}
}

// Statements that write rows are counted, from many goroutines, and none is
// left out of the sum.
func TestTrailCountsRows(t *testing.T) {
	s := openAt(t, t.TempDir())
	trail, err := s.OpenTrail()
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				trail.AddRows(Deed{Run: "r", Text: "REPLACE INTO t ..."})
			}
		})
	}
	all.Wait()
	if err := trail.Close(); err != nil {
		t.Fatal(err)
	}
	deeds, err := s.Deeds("")
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, d := range deeds {
		sum += max(1, d.Count)
	}
	if sum != 8000 || len(deeds) > 10 {
		t.Errorf("%d statements in %d lines, want 8000 in a few", sum, len(deeds))
	}
}

// The files keep to their bound, and what they let go of is in the store.
func TestTrailIsBounded(t *testing.T) {
	if raced.On {
		t.Skip("a hundred megabytes through the race detector take a minute")
	}
	dir := t.TempDir()
	s := openAt(t, dir)
	trail, err := s.OpenTrail()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("x", 64<<10)
	const lines = (trailFiles + 2) * maxTrailFile / (64 << 10)
	for range lines {
		trail.Add(Deed{Run: "r", Text: text})
	}
	if err := trail.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "audit.jsonl*"))
	if err != nil || len(files) > trailFiles {
		t.Errorf("%v %v", files, err)
	}
	var n int
	if err := s.db.QueryRow("SELECT COUNT(*) FROM audit").Scan(&n); err != nil || n != lines {
		t.Errorf("the store has %d of %d lines, %v", n, lines, err)
	}
}

func TestOrdersComeBackInOrder(t *testing.T) {
	dir := t.TempDir()
	s, other := openAt(t, dir), openAt(t, dir)
	for i, from := range []*Store{s, other, s} {
		if err := from.PutOrder(Order{Run: "r", At: time.Unix(int64(i), 5), Who: "ada", PID: 7, Verb: fmt.Sprint("v", i), Part: "p/A", What: "w", Why: "y"}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := s.Orders("r", 0)
	if err != nil || len(all) != 3 || all[1].Verb != "v1" || !all[2].At.Equal(time.Unix(2, 5)) || all[0].Why != "y" || all[0].PID != 7 {
		t.Fatalf("%+v %v", all, err)
	}
	if rest, err := other.Orders("r", all[1].ID); err != nil || len(rest) != 1 || rest[0].Verb != "v2" {
		t.Errorf("%+v %v", rest, err)
	}
}
