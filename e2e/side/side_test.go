// Package side takes sides out by hand, as a person does who restarts a server,
// under load, and kills what does it.
package side

import (
	"os"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/host"
	"stowage/roll"
	"stowage/route"
	"stowage/session"
)

func TestMain(m *testing.M) { farmtest.Main(m) }

// server is side A of the only pair, for whoever works on it.
type server struct {
	f    *farmtest.LiveFarm
	name string // PAIR/SIDE
	at   host.Instance
	host *host.Local
}

func open(t *testing.T) *server {
	t.Helper()
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	ws, fm, _, err := farmtest.FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	local, err := host.NewLocal(farmtest.QuietLog())
	if err != nil {
		t.Fatal(err)
	}
	p := fm.Pairs[0]
	h, _ := fm.Host(p.Sides[farm.A].Host)
	return &server{f, string(p.Name) + "/A", session.InstanceAt(ws, p.Instance(farm.A), h.Address, p.Sides[farm.A]), local}
}

func (s *server) options() string {
	s.f.T.Helper()
	text, err := os.ReadFile(s.at.Config)
	if err != nil {
		s.f.T.Fatal(err)
	}
	return string(text)
}

// restart stops the server and starts it again, with the clients at its twin.
func (s *server) restart() {
	s.f.T.Helper()
	if err := s.host.Stop(s.f.T.Context(), s.at, time.Minute); err != nil {
		s.f.T.Fatal(err)
	}
	if err := s.host.Start(s.f.T.Context(), s.at, time.Minute); err != nil {
		s.f.T.Fatal(err)
	}
}

// share is how much of its own clients the side serves, in percent.
func (s *server) share() float64 {
	s.f.T.Helper()
	table, err := route.ReadFile(s.f.Dir + "/routing.json")
	if err != nil {
		s.f.T.Fatal(err)
	}
	for _, p := range table.Pairs {
		return p.Share(farm.A, farm.A)
	}
	return -1
}

func (s *server) run(code int, want string, args ...string) {
	s.f.T.Helper()
	p := farmtest.RunProgram(s.f.T, "", append(args, "-C", s.f.Dir)...)
	if p.Code != code || !strings.Contains(p.Stdout+p.Stderr, want) {
		s.f.T.Fatalf("stowage %s: exit %d, want %d and %q\n%s%s", strings.Join(args, " "), p.Code, code, want, p.Stdout, p.Stderr)
	}
}

// A person takes a side out, changes an option, restarts the server, and brings
// it back. Clients notice nothing; the fence outlives the restart; what differs
// and was not announced keeps the side out.
func TestServerIsRestartedWhileItsTwinServes(t *testing.T) {
	s := open(t)
	s.run(farmtest.ExitRefused, "nobody has taken it out", "side", "in", s.name)
	s.run(farmtest.ExitFine, "stowage side in "+s.name, "side", "out", s.name, "--reason", "new memory")
	if s.share() != 0 {
		t.Fatalf("it is out, and serves %g %% of its clients", s.share())
	}
	s.run(farmtest.ExitFine, "held", "status")
	s.run(farmtest.ExitFine, "new memory", "log")
	s.run(farmtest.ExitRefused, "has claimed", "side", "out", strings.TrimSuffix(s.name, "A")+"B")
	s.run(farmtest.ExitRefused, "has claimed", "move", "first")

	fenced := s.options()
	if err := os.WriteFile(s.at.Config, []byte(fenced+"[mysqld]\nmax_connections = 77\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.restart()
	if on := s.f.Value(farm.A, "SELECT @@read_only"); on != "1" {
		t.Errorf("restarted while it was out, read_only is %s", on)
	}
	s.run(farmtest.ExitUnknown, `max_connections is "77", was `, "side", "in", s.name)
	if s.share() != 0 {
		t.Fatalf("it is not what it was, and serves %g %% of its clients", s.share())
	}
	s.run(farmtest.ExitUsage, "none of the variables that are compared", "side", "in", s.name, "--changed", "max_conections")
	s.run(farmtest.ExitFine, "", "side", "in", s.name, "--changed", "max_connections")
	if s.share() != 100 {
		t.Errorf("it is back, and serves %g %% of its clients", s.share())
	}
	if on := s.f.Value(farm.A, "SELECT @@read_only"); on != "0" {
		t.Errorf("it is back, and read_only is %s", on)
	}
	if is := s.options(); host.IsFenced(s.at, is) || !strings.Contains(is, "max_connections = 77") {
		t.Errorf("the option file is\n%s", is)
	}
	s.f.CheckLedger()
}

// Kill the program, with its engine or without, at each border: the next
// command goes on, and nothing is lost.
func TestSideKilledAtEveryBorder(t *testing.T) {
	s := open(t)
	was := s.options()
	points := roll.Kind(nil).Runbooks[0].Points()
	for n, at := range points {
		victim := []string{"both", "stowage"}[n%2]
		s.killed(victim+" @ "+at, at)
		if is := s.options(); is != was {
			t.Fatalf("killed at %q, the option file is afterwards\n%s", at, is)
		}
	}
	s.f.CheckLedger()
}

// killed takes the side out and brings it back, killed once on the way.
func (s *server) killed(kill, at string) {
	t := s.f.T
	t.Helper()
	met := false
	try := func(args ...string) bool {
		k := kill
		if met {
			k = ""
		}
		p := farmtest.RunProgram(t, k, append(args, "-C", s.f.Dir)...)
		if strings.Contains(p.Stdout+p.Stderr, farmtest.MarkOfKill+at) {
			met = true
			return false
		}
		if p.Code != farmtest.ExitFine {
			t.Fatalf("stowage %s (kill at %q): exit %d\n%s%s", strings.Join(args, " "), at, p.Code, p.Stdout, p.Stderr)
		}
		return true
	}
	if !try("side", "out", s.name) {
		try("resume")
	}
	if s.share() != 0 {
		t.Fatalf("killed at %q, and gone on with: it is not out", at)
	}
	if !try("side", "in", s.name) {
		try("side", "in", s.name)
	}
	if !met || s.share() != 100 {
		t.Fatalf("killed at %q (met %v): it serves %g %%", at, met, s.share())
	}
}
