package move

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"stowage/act"
	"stowage/farm"
	"stowage/host"
	"stowage/route"
	"stowage/workspace"
)

// oneAway are machines of which one is away; the others are asked in vain.
type oneAway struct {
	away  farm.HostName
	asked chan farm.HostName
}

func (o oneAway) Greet(_ context.Context, h farm.HostName) error {
	if h == o.away {
		return &farm.Error{Op: "meet agent", Hint: "start it", Err: errors.New("the agent of " + string(h) + " has not answered")}
	}
	return nil
}

func (o oneAway) Host(h farm.HostName) (host.Host, error) {
	o.asked <- h
	return nil, errors.New("no such machine in this test")
}

// A machine whose agent is away is a blocker that names it; it is asked nothing,
// which would wait for it without end, and other pairs are asked all the same.
func TestSurveyOfAMachineThatIsAway(t *testing.T) {
	now, moves := largeFarm(2)
	job, err := NewJob("move-away-1", moves, now, 4)
	if err != nil {
		t.Fatal(err)
	}
	away := moves[0].From.Host
	asked := make(chan farm.HostName, 100)
	m := &Mover{Conductor: &act.Conductor{Log: slog.New(slog.DiscardHandler)}, Router: route.NewFile(filepath.Join(t.TempDir(), "routing.json")), Workspace: &workspace.Workspace{},
		Machines: oneAway{away, asked}}
	found, err := m.Survey(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, f := range found {
		if f.Check == "can-be-asked" && strings.Contains(f.Text, string(away)) && f.Severity == farm.Blocker && f.Remedy == "start it" {
			named++
		}
	}
	close(asked)
	others := 0
	for h := range asked {
		if h == away {
			t.Errorf("%s was asked", h)
		}
		others++
	}
	if named != 1 || others == 0 {
		t.Errorf("named %d times, %d others asked: %+v", named, others, found)
	}
}
