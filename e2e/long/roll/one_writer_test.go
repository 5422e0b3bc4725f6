package roll

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/roll"
)

// A primary whose writes a replica takes for a while is killed at every border, with its engine or without; so is a replica. Afterwards each pair is what it was:
// who serves, option files, locked accounts, event schedulers.
func TestPrimariesAreRolled(t *testing.T) {
	r := farmtest.StartRolledWriters(t, farm.PrimaryReplica)
	files := r.OptionFiles()
	events := r.F.Value(farm.A, "SELECT @@event_scheduler") + r.F.Value(farm.B, "SELECT @@event_scheduler")
	book, _ := roll.RollKind(nil).Runbook(roll.ByRestart + roll.OneWriter)
	for n, at := range book.Points() {
		out := r.Once([]string{"both", "stowage"}[n%2], at, r.Plan("--hosts", "db001", "--restart"))
		if len(out.Hosts) != 1 || out.Hosts[0].End != "done" {
			t.Fatalf("killed at %q: %+v", at, out)
		}
		r.WritersServe(files)
	}
	for n, at := range []string{"before out", "after out", "after in"} {
		r.Once([]string{"both", "stowage"}[n%2], at, r.Plan("--hosts", "db002", "--restart"))
		r.WritersServe(files)
	}
	if is := r.F.Value(farm.A, "SELECT @@event_scheduler") + r.F.Value(farm.B, "SELECT @@event_scheduler"); is != events {
		t.Errorf("event schedulers are %s, were %s", is, events)
	}
	held(t, r, files)
	undone(t, r, files)
	r.F.CheckLedger()
}

// A person takes a primary out, whose side then follows; and a replica, which nobody is sent to meanwhile.
func held(t *testing.T, r *farmtest.RolledFarm, files map[farm.InstanceName]string) {
	t.Helper()
	r.Run(farmtest.ExitUsage, "farm.yaml has no such side", "side", "out", "dbshard001/C")
	r.Run(farmtest.ExitFine, "stowage side in dbshard001/A", "side", "out", "dbshard001/A")
	if a, b := r.F.Value(farm.A, "SELECT @@read_only"), r.F.Value(farm.B, "SELECT @@read_only"); a != "1" || b != "0" {
		t.Errorf("the primary is out, and read_only is %s there and %s on the replica", a, b)
	}
	if p := r.Run(farmtest.ExitFine, "held", "status"); strings.Contains(p.Stdout+p.Stderr, "NOT REPLICATING") {
		t.Errorf("a replica that serves for its primary follows nobody, and that is called a fault:\n%s%s", p.Stdout, p.Stderr)
	}
	if text := r.OptionFiles()["dbshard001b"]; !strings.Contains(text, "read_only = OFF") {
		t.Errorf("the replica takes the writes, and would start without:\n%s", text)
	}
	r.Run(farmtest.ExitFine, "", "side", "in", "dbshard001/A")
	r.WritersServe(files)
	r.Run(farmtest.ExitFine, "stowage side in dbshard001/B", "side", "out", "dbshard001/B")
	if names := r.Replicas("dbshard001"); len(names) != 0 {
		t.Errorf("the replica is out, and routing names %v", names)
	}
	r.Run(farmtest.ExitFine, "", "side", "in", "dbshard001/B")
	r.WritersServe(files)
}

// What fails before the work, and what a person takes back, leaves everything as it was.
func undone(t *testing.T, r *farmtest.RolledFarm, files map[farm.InstanceName]string) {
	t.Helper()
	for _, side := range []string{"dbshard001/A", "dbshard001/B"} {
		r.Run(farmtest.ExitFine, "", "side", "out", side)
		r.Run(farmtest.ExitFine, "", "undo")
		r.WritersServe(files)
	}
	for _, q := range []string{"STOP SLAVE", "START SLAVE"} {
		if _, err := r.F.Root(farm.B).Exec(q); err != nil {
			t.Fatal(err)
		}
		if q == "STOP SLAVE" {
			r.Run(farmtest.ExitRefused, "repair its replication first", "side", "out", "dbshard001/A")
			r.Run(farmtest.ExitRefused, "repair its replication first", "roll", r.Plan("--hosts", "db001", "--restart"))
		}
	}
	r.WritersServe(files)
}

// Clients of a single instance wait at the gate while its server is restarted, and none fails; without --allow-downtime nothing is planned.
func TestSingleInstancesAreRolledWithDowntime(t *testing.T) {
	r := farmtest.StartRolledWriters(t, farm.Single)
	files := r.OptionFiles()
	r.Run(farmtest.ExitUsage, "a single instance: no other server can serve its clients", "roll", "--hosts", "db*", "--restart")
	r.Run(farmtest.ExitRefused, "it is a single instance", "side", "out", "dbshard001/A")
	name := "down"
	r.Run(farmtest.ExitFine, "downtime: the clients of 2 single instances wait for about 5s each", "roll", "--hosts", "db*", "--restart", "--allow-downtime", "--takes", "5s", "--name", name)
	out := r.Read(r.Run(farmtest.ExitFine, "", "roll", name, "--json"))
	if len(out.Hosts) != 2 || out.State != "done" {
		t.Errorf("%+v", out)
	}
	r.WritersServe(files)
	book, _ := roll.RollKind(nil).Runbook(roll.ByRestart)
	killed := 0
	for n, at := range book.Points() {
		if strings.Contains(at, "out/") && !strings.HasSuffix(at, "/ready") && !strings.HasSuffix(at, "/close") && !strings.HasSuffix(at, "/drain") || strings.Contains(at, "in/") && !strings.HasSuffix(at, "/flip") {
			continue // phases of others
		}
		killed++
		name := fmt.Sprintf("down-%d", n)
		r.Run(farmtest.ExitFine, "has downtime", "roll", "--hosts", "db001", "--restart", "--allow-downtime", "--name", name)
		out := r.Once([]string{"both", "stowage"}[n%2], at, name)
		if len(out.Hosts) != 1 || out.Hosts[0].End != "done" {
			t.Fatalf("killed at %q: %+v", at, out)
		}
		r.WritersServe(files)
	}
	if killed < 20 {
		t.Errorf("%d borders only", killed)
	}
	time.Sleep(time.Second) // clients that waited go on
	r.F.CheckLedger()
}
