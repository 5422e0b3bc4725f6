package roll

import (
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
)

// A playbook makes commits wait for 30 ms. No check and no probe sees that, and clients do: they are sent to the twin again, the host stays
// out, and no other begins. Servers that count nothing yet are rolled by replication and probe.
func TestRollStopsWhenClientsFeelIt(t *testing.T) {
	r := farmtest.StartRolledFarm(t)
	r.File("rolls/counts.yaml", "hosts: 'db*'\nsteps:\n  - options: {performance_schema: \"ON\"}\n  - {restart: true}\n")
	r.Run(farmtest.ExitFine, "1 % of its clients watched: replication and probe only", "roll", r.Plan("counts"))
	for _, side := range farm.SideNames {
		if on := r.F.Value(side, "SELECT @@performance_schema"); on != "1" {
			t.Fatalf("performance_schema of side %s is %s", side, on)
		}
	}
	r.Run(farmtest.ExitFine, "100 % of its clients watched: a statement took", "roll", r.Plan("--hosts", "db001", "--restart"))
	r.AllServe()

	r.File("rolls/slow.yaml", "hosts: 'db*'\nsteps:\n  - {options: {binlog_commit_wait_count: 100, binlog_commit_wait_usec: 30000}, apply: true}\n")
	p := r.Run(farmtest.ExitUnknown, "the side does worse than its twin", "roll", r.Plan("slow"), "--json")
	t.Log(p.Stderr)
	out := r.Read(p)
	if len(out.Hosts) != 4 || out.Hosts[0].End != "stuck" || out.Hosts[1].End != "not-started" {
		t.Errorf("%+v", out.Hosts)
	}
	r.F.CheckLedger()
}
