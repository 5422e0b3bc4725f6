// Package side takes a side out by hand, as a person does who restarts a server,
// under load, and kills once what does it.
package side

import (
	"os"
	"strings"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/host"
	"stowage/roll"
)

func TestMain(m *testing.M) { farmtest.Main(m) }

// A person takes a side out, changes an option, restarts the server, and brings
// it back. Clients notice nothing; the fence outlives the restart; what differs
// and was not announced keeps the side out.
func TestServerIsRestartedWhileItsTwinServes(t *testing.T) {
	s := farmtest.StartHeldSide(t)
	s.Run(farmtest.ExitRefused, "it is not out", "side", "in", s.Name)
	s.Run(farmtest.ExitFine, "stowage side in "+s.Name, "side", "out", s.Name, "--reason", "new memory")
	if s.Share() != 0 {
		t.Fatalf("it is out, and serves %g %% of its clients", s.Share())
	}
	s.Run(farmtest.ExitFine, "held", "status")
	s.Run(farmtest.ExitFine, "new memory", "log")
	s.Run(farmtest.ExitRefused, "has claimed", "side", "out", strings.TrimSuffix(s.Name, "A")+"B")
	s.Run(farmtest.ExitRefused, "has claimed", "move", "first")

	fenced := s.Options()
	if err := os.WriteFile(s.At.Config, []byte(fenced+"[mysqld]\nmax_connections = 77\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.Restart()
	if on := s.F.Value(farm.A, "SELECT @@read_only"); on != "1" {
		t.Errorf("restarted while it was out, read_only is %s", on)
	}
	s.Run(farmtest.ExitUnknown, `max_connections is "77", was `, "side", "in", s.Name)
	if s.Share() != 0 {
		t.Fatalf("it is not what it was, and serves %g %% of its clients", s.Share())
	}
	s.Run(farmtest.ExitUsage, "none of the variables that are compared", "side", "in", s.Name, "--changed", "max_conections")
	s.Run(farmtest.ExitFine, "1 of 1 side done in ", "side", "in", s.Name, "--changed", "max_connections")
	s.Run(farmtest.ExitFine, "done, 1 side done", "status")
	if s.Share() != 100 {
		t.Errorf("it is back, and serves %g %% of its clients", s.Share())
	}
	if on := s.F.Value(farm.A, "SELECT @@read_only"); on != "0" {
		t.Errorf("it is back, and read_only is %s", on)
	}
	if is := s.Options(); host.IsFenced(s.At, is) || !strings.Contains(is, "max_connections = 77") {
		t.Errorf("the option file is\n%s", is)
	}
	s.F.CheckLedger()
}

// One border of all, another with each commit: e2e/long/side has the others.
func TestSideKilledOnce(t *testing.T) {
	s := farmtest.StartHeldSide(t)
	points := roll.Kind(nil).Runbooks[0].Points()
	at := points[farmtest.Turn()%len(points)]
	s.Killed("both @ "+at, at)
	s.F.CheckLedger()
}
