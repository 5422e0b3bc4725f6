package alter

import (
	"strings"
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

// A statement of the binary log does not reach a replica that stands still: nothing is begun. One that filters the table out is waited for, by name.
func TestReplicaThatDoesNotGetTheStatement(t *testing.T) {
	t.Parallel() // it mostly waits
	a := farmtest.StartAlteredFarm(t, farm.PrimaryReplica, 1)
	replica := a.Consoles()[1]
	do := func(statements ...string) {
		t.Helper()
		for _, s := range statements {
			if _, err := replica.ExecContext(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
	}
	do("STOP SLAVE SQL_THREAD")
	a.Run(farmtest.ExitRefused, "SQL thread stopped", "alter", a.Script(farmtest.Remark), "--name", "late", "--yes")
	do("STOP SLAVE", "SET GLOBAL replicate_ignore_table = '"+string(replica.Shards[0])+".receipts'", "START SLAVE")
	b := a.F.Start("alter", "late")
	a.F.Await(b, "it waits for the replica", func() bool {
		return strings.Contains(farmtest.RunProgram(t, "", "status", "-C", a.F.Dir).Stdout, "it filters replication")
	})
	do("SET STATEMENT sql_log_bin = 0 FOR ALTER TABLE `" + string(replica.Shards[0]) + "`.receipts COMMENT 'what was bought'")
	b.Ends(t, farmtest.ExitFine)
}
