package mysql

import (
	"testing"
	"time"

	"stowage/internal/mariadbtest"
)

// TestApplierChangesUnderLoad: a replica by GTID of a source that has written two domains applied transactions twice when
// only its SQL thread was stopped and went on with fewer threads: error 1062.
func TestApplierChangesUnderLoad(t *testing.T) {
	t.Parallel()
	a, source := start(t, "a")
	b, replica := start(t, "b")
	follow(t, replica, a)
	a.Writers(t, 2)()
	if _, err := source.SetDomain(t.Context(), 77); err != nil {
		t.Fatal(err)
	}
	stop := a.Writers(t, 4)
	for n := range 6 {
		want := Applier{Ignores: n%2 == 0, Threads: 2, Using: "Slave_Pos"}
		must(t, replica.SetApplying(t.Context(), want, 20*time.Second))
		time.Sleep(300 * time.Millisecond)
		must(t, replica.SetApplier(t.Context(), 0))
		must(t, replica.AwaitReplicating(t.Context(), 20*time.Second))
		time.Sleep(100 * time.Millisecond)
	}
	stop()
	mariadbtest.AwaitApplied(t, b, a)
}
