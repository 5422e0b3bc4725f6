package act

import (
	"errors"

	"stowage/farm"
	"stowage/placement"
	"stowage/session"
	"stowage/workspace"
)

// OpenRun opens the workspace for who steers a run: while one has not ended, a farm.yaml that cannot be read, or is not there, is no
// obstacle. The run goes by what it has kept.
func OpenRun(o session.Options) (*session.Session, error) {
	s, err := session.Open(o)
	if err == nil || !errors.Is(err, farm.ErrInput) {
		return s, err
	}
	kept, bad := session.OpenKept(o)
	if bad != nil {
		return nil, err
	}
	if run, open, _ := Unsettled(kept.Store); open {
		o.Say("%v\n  %s has not ended and uses the copy of farm.yaml that it keeps; correct this one before the run writes it", err, run.ID)
		return kept, nil
	}
	kept.Close() // nothing was written
	return nil, err
}

// LookAt opens a workspace for one look, by the farm.yaml that agreed reads, or by what a run that has not ended has kept.
func LookAt(ws *workspace.Workspace, agreed func() (*farm.Farm, error)) (*session.Session, error) {
	f, broken := agreed()
	if broken != nil {
		var err error
		if f, err = ws.KeptFarm(); err != nil {
			return nil, broken
		}
	}
	s, err := session.LookAt(ws, f, session.Options{})
	if err != nil || broken == nil {
		return s, err
	}
	if _, open, err := Unsettled(s.Store); err != nil || !open {
		s.Close() // only read
		return nil, broken
	}
	return s, nil
}

// Goals are those of goals.yaml, or what a run that has not ended has kept of them.
func Goals(s *session.Session) (placement.Goals, error) {
	g, err := s.GoalsFor(s.Farm)
	if err == nil || !errors.Is(err, farm.ErrInput) {
		return g, err
	}
	if _, open, bad := Unsettled(s.Store); !open || bad != nil {
		return g, err
	}
	if kept, bad := s.KeptGoals(s.Farm); bad == nil {
		return kept, nil
	}
	return g, err
}
