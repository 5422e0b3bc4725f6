package roll

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/swing"
)

// A playbook makes commits wait for 30 ms. No check and no probe sees that, and clients do: they are sent to the twin again, the host stays
// out, and no other begins. Servers that count nothing yet are rolled by replication and probe.
func TestRollStopsWhenClientsFeelIt(t *testing.T) {
	r := farmtest.StartRolledFarm(t)
	r.File("rolls/counts.yaml", "hosts: 'db*'\nsteps:\n  - options: {performance_schema: \"ON\"}\n  - {restart: true}\n")
	counts := r.Run(farmtest.ExitFine, "", "roll", r.Plan("counts"), "--json")
	r.Run(farmtest.ExitFine, "1 % of its clients watched: replication and probe only", "log")
	if m := r.Read(counts).Minutes; len(m) != 4 || !strings.Contains(m[0].NotMeasured, "no performance_schema") {
		t.Errorf("first minutes of servers that counted nothing: %+v", m)
	}
	for _, side := range farm.SideNames {
		if on := r.F.Value(side, "SELECT @@performance_schema"); on != "1" {
			t.Fatalf("performance_schema of side %s is %s", side, on)
		}
	}
	felt := r.Run(farmtest.ExitFine, "", "roll", r.Plan("--hosts", "db001", "--restart"), "--json")
	r.Run(farmtest.ExitFine, "100 % of its clients watched: ", "log")
	if m := r.Read(felt).Minutes; len(m) != 1 || m[0].NotMeasured != "" || m[0].Ratio <= 0 || m[0].CutShort != swing.RunEnded {
		t.Errorf("the first minute of the side on db001: %+v", m)
	}
	r.Run(farmtest.ExitFine, "s after return: a statement took", "log")
	r.Run(farmtest.ExitFine, "report.html", "report")
	if page, err := os.ReadFile(filepath.Join(r.F.Dir, "report.html")); err != nil || !strings.Contains(string(page), "beside its twin") {
		t.Errorf("the report shows no first minute: %v", err)
	}
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
