package files

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/internal/mariadbtest"
)

func clientsOf(i *mariadbtest.Instance) Clients {
	return Clients{
		Shard: shard, Seed: 3, Count: 4, DropTenants: 2,
		DSN:   func(string) string { return i.DSN(mariadbtest.Stowage, shard) },
		Where: func(context.Context, uint32) (string, error) { return i.Address, nil },
	}
}

// written runs clients until enough is done, and looks meanwhile.
func written(t *testing.T, w *Writers, enough func() bool, meanwhile func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	for end := time.Now().Add(2 * time.Minute); !enough(); time.Sleep(20 * time.Millisecond) {
		meanwhile()
		if time.Now().After(end) {
			t.Fatalf("after two minutes clients have done only %v", w.Counts())
		}
		select {
		case err := <-ended:
			t.Fatal(err)
		default:
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// more is true once the clients have done n transactions more.
func more(w *Writers, n int64) func() bool {
	sum := func() (sum int64) {
		for _, n := range w.Counts() {
			sum += n
		}
		return sum
	}
	from := sum()
	return func() bool { return sum() >= from+n }
}

func faultsOf(t *testing.T, w *Writers, i *mariadbtest.Instance) []string {
	t.Helper()
	faults, err := w.Compare(t.Context(), i.DB(t, mariadbtest.Stowage, ""))
	if err != nil {
		t.Fatal(err)
	}
	return faults
}

// TestWritersKnowWhatMustBeThere: they find nothing where nothing is lost, and each kind of loss.
func TestWritersKnowWhatMustBeThere(t *testing.T) {
	i := mariadbtest.Start(t, "written")
	db, _ := generated(t, i, small)
	w, err := NewWriters(t.Context(), db, clientsOf(i))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	written(t, w, func() bool {
		return !slices.ContainsFunc([]string{"add version", "delete version", "restore version", "replace version", "move version", "remove version", "rename file", "new file", "remove file", "remove tenant"},
			func(kind string) bool { return w.Counts()[kind] == 0 })
	}, func() {})
	if faults := faultsOf(t, w, i); len(faults) > 0 {
		t.Fatalf("nothing was lost, and it found %d faults, the first: %s", len(faults), faults[0])
	}
	for _, plant := range []struct{ statement, say string }{
		{"UPDATE files SET name = 'an older name' LIMIT 1", "acknowledged was"},
		{"DELETE FROM versions LIMIT 1", "is missing"},
		{"UPDATE versions SET deleted_at = NOW(6) WHERE deleted_at IS NULL LIMIT 1", "isDeleted:true"},
		{"INSERT INTO versions SELECT 1 << 50, tenant_id, file_id, 4000, 1, hash, 1, made, NULL FROM versions LIMIT 1", "was removed"},
	} {
		before := len(faultsOf(t, w, i))
		i.Exec(t, "USE "+shard, plant.statement)
		faults := faultsOf(t, w, i)
		if len(faults) != before+1 || !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, plant.say) }) {
			t.Errorf("%s: %d faults, and %d before: %v", plant.statement, len(faults), before, faults)
		}
	}
}

// TestColumnsAreKeptByTheApplication: an application that writes both keeps every active tenant right at every moment. One that
// writes only the versions does not, and the judge says so.
func TestColumnsAreKeptByTheApplication(t *testing.T) {
	i := mariadbtest.Start(t, "kept")
	db, _ := generated(t, i, small)
	carried(t, i)
	c := clientsOf(i)
	c.Keeps = true
	w, err := NewWriters(t.Context(), db, c)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	looks, enough := 0, more(w, 1000)
	written(t, w, func() bool { return looks >= 5 && enough() }, func() {
		c, err := Look(t.Context(), db, shard)
		if err != nil || c.Versions == 0 || len(c.Mismatches) > 0 {
			t.Fatalf("look %d: %d tenants, %v, %v", looks, c.Tenants, c.Mismatches, err)
		}
		looks++
	})
	if faults := faultsOf(t, w, i); len(faults) > 0 {
		t.Errorf("lost: %v", faults)
	}
	w.c.Keeps = false
	written(t, w, more(w, 500), func() {})
	if c, err := Look(t.Context(), db, shard); err != nil || len(c.Mismatches) == 0 {
		t.Errorf("nobody kept the columns for 500 transactions, and the judge found nothing: %v", err)
	}
}

// TestFillInOnTheOtherSideLosesWrites: why a fill-in writes on the side that serves the tenant. Each side serves half of the
// tenants; one UPDATE of all files on side A, which has not applied yet what B's clients wrote, takes B's rows back.
func TestFillInOnTheOtherSideLosesWrites(t *testing.T) {
	a, b := mariadbtest.Start(t, "a"), mariadbtest.Start(t, "b")
	mariadbtest.Ring(t, a, b)
	db, _ := generated(t, a, small)
	// A client that deletes by a key of the tenant, and an applier that waits to commit in order, can wait for each other's rows:
	// no server sees that deadlock, and it lasts until a wait for a lock ends, which is 50 seconds where nobody says otherwise.
	settings := []string{"SET GLOBAL slave_exec_mode = 'IDEMPOTENT'", "SET GLOBAL innodb_lock_wait_timeout = 2"}
	a.Exec(t, append([]string{"USE " + shard, Columns}, settings...)...)
	b.Exec(t, settings...)
	mariadbtest.AwaitApplied(t, b, a)
	c := clientsOf(a)
	sides := []*mariadbtest.Instance{a, b}
	c.Where = func(_ context.Context, tenant uint32) (string, error) { return sides[tenant%2].Address, nil }
	c.DSN = func(address string) string {
		return sides[slices.IndexFunc(sides, func(i *mariadbtest.Instance) bool { return i.Address == address })].DSN(mariadbtest.App, shard)
	}
	w, err := NewWriters(t.Context(), db, c)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	quiet := func() {
		for range 2 { // what the other side passes on comes back
			mariadbtest.AwaitApplied(t, b, a)
			mariadbtest.AwaitApplied(t, a, b)
		}
	}
	written(t, w, more(w, 500), func() {})
	quiet()
	for _, side := range sides {
		if faults := faultsOf(t, w, side); len(faults) > 0 {
			t.Fatalf("%s, before the fill-in: %s", side.Name, faults[0])
		}
	}
	a.Exec(t, "STOP SLAVE SQL_THREAD")
	written(t, w, more(w, 500), func() {})
	a.Exec(t, "USE "+shard, FillIn, "START SLAVE SQL_THREAD")
	quiet()
	if faults := faultsOf(t, w, b); !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, "acknowledged was {folder") }) {
		t.Errorf("no file was taken back on the side that serves it: %v", faults)
	}
}
