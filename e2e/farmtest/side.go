package farmtest

import (
	"os"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/host"
	"stowage/route"
	"stowage/session"
)

// HeldSide is side A of the only pair, for whoever works on it.
type HeldSide struct {
	F    *LiveFarm
	Name string // PAIR/SIDE
	At   host.Instance
	host *host.Local
}

// StartHeldSide is one of a farm under load.
func StartHeldSide(t *testing.T) *HeldSide {
	t.Helper()
	t.Parallel() // it mostly waits
	return StartFarm(t).held(farm.A)
}

// held is a side of the first pair, and its host.
func (f *LiveFarm) held(side farm.SideName) *HeldSide {
	t := f.T
	t.Helper()
	ws, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	local, err := host.NewLocal(QuietLog())
	if err != nil {
		t.Fatal(err)
	}
	p := fm.Pairs[0]
	h, _ := fm.Host(p.Sides[side].Host)
	return &HeldSide{f, string(p.Name) + "/" + string(side), session.InstanceAt(ws, p.Instance(side), h.Address, p.Sides[side]), local}
}

// Options is the text of its option file.
func (s *HeldSide) Options() string {
	s.F.T.Helper()
	text, err := os.ReadFile(s.At.Config)
	if err != nil {
		s.F.T.Fatal(err)
	}
	return string(text)
}

// Restart stops the server and starts it again, with the clients at its twin.
func (s *HeldSide) Restart() {
	s.F.T.Helper()
	if err := s.host.Stop(s.F.T.Context(), s.At, time.Minute); err != nil {
		s.F.T.Fatal(err)
	}
	if err := s.host.Start(s.F.T.Context(), s.At, time.Minute); err != nil {
		s.F.T.Fatal(err)
	}
}

// Share is how much of its own clients the side serves, in percent.
func (s *HeldSide) Share() float64 {
	s.F.T.Helper()
	table, err := route.ReadFile(s.F.Dir + "/routing.json")
	if err != nil {
		s.F.T.Fatal(err)
	}
	for _, p := range table.Pairs {
		return p.Share(farm.A, farm.A)
	}
	return -1
}

// Run runs the program, which must end with a code and say something.
func (s *HeldSide) Run(code int, want string, args ...string) {
	s.F.T.Helper()
	p := RunWith(s.F.T, s.F.Env(""), append(args, "-C", s.F.Dir)...)
	if p.Code != code || !strings.Contains(p.Stdout+p.Stderr, want) {
		s.F.T.Fatalf("stowage %s: exit %d, want %d and %q\n%s%s", strings.Join(args, " "), p.Code, code, want, p.Stdout, p.Stderr)
	}
}

// Killed takes the side out and brings it back, killed once on the way.
func (s *HeldSide) Killed(kill, at string) {
	t := s.F.T
	t.Helper()
	met := false
	try := func(args ...string) bool {
		k := kill
		if met {
			k = ""
		}
		p := RunProgram(t, k, append(args, "-C", s.F.Dir)...)
		if strings.Contains(p.Stdout+p.Stderr, MarkOfKill+at) {
			met = true
			return false
		}
		if p.Code != ExitFine {
			t.Fatalf("stowage %s (kill at %q): exit %d\n%s%s", strings.Join(args, " "), at, p.Code, p.Stdout, p.Stderr)
		}
		return true
	}
	if !try("side", "out", s.Name) {
		try("resume")
	}
	if s.Share() != 0 {
		t.Fatalf("killed at %q, and continued: it is not out", at)
	}
	if !try("side", "in", s.Name) {
		try("side", "in", s.Name)
	}
	if !met || s.Share() != 100 {
		t.Fatalf("killed at %q (met %v): it serves %g %%", at, met, s.Share())
	}
}
