package alter

import (
	"testing"

	"stowage/alter"
	"stowage/alter/plan"
	"stowage/e2e/farmtest"
	"stowage/farm"
)

// A column becomes wider on a primary with two replicas. The further one is killed when it is changed: it converts rows of the old shape only by a setting that it has lost when it
// starts again.
func TestWidenedBesideAnotherReplica(t *testing.T) {
	t.Parallel() // it mostly waits
	a, more := startFor(t, plan.HeldReplicas, farm.PrimaryReplica)
	a.Killed("stowage", "before "+alter.StepSwitch, farmtest.Widen, more...)
	a.F.StartAgain("C")
	a.Run(farmtest.ExitFine, "1 of 1 pair", "resume")
	a.Rests()
	a.Settle(false, 0)
}
