package move

import (
	"context"
	"errors"
	"fmt"

	"stowage/act"
	"stowage/engine"
	"stowage/farm"
	"stowage/feed"
	"stowage/host"
	"stowage/placement"
	"stowage/placement/check"
	"stowage/store"
	"stowage/swing"
)

// Act is the carrying out of moves in a workspace.
type Act struct {
	*act.Act
	Mover *Mover
}

// NewAct makes moves the kind that an act carries out, in a session that is prepared. The settings are those of the goals,
// act.SwingSettings.
func NewAct(a *act.Act, settings swing.Settings, repair bool) *Act {
	m := &Mover{Conductor: a.Conductor, Workspace: a.Workspace, Router: a.Router, Machines: a.Session, Accounts: a.Accounts,
		Settings: settings, Repair: repair, edited: &host.Editor{}}
	if a.Session != nil && a.Store != nil {
		m.Note = func(h feed.Handover) error {
			return a.Store.PutDocument(feed.HandoverKind, string(h.Shard), h.Noted, h)
		}
	}
	moving := &Act{a, m}
	a.Kind, a.WayBack = Kind(m), moving.PlanBack
	return moving
}

// Pending are the moves of a plan that farm.yaml does not show as done yet.
func Pending(p placement.Plan, now *farm.Farm) []placement.Move {
	var out []placement.Move
	for _, m := range p.Moves {
		if !isDone(m, now) {
			out = append(out, m)
		}
	}
	return out
}

func isDone(m placement.Move, now *farm.Farm) bool {
	p, ok := now.Pair(m.Pair)
	if !ok {
		return false
	}
	s := p.Sides[m.Side]
	return s.Host == m.To.Host && s.Port == m.To.Port && s.Datadir == m.To.Datadir
}

// Begin checks that a plan may be carried out, in this order: the plan itself,
// the farm against what the plan was made from, and every side it touches.
// Findings come back in any case; an error that wraps farm.ErrRefused means
// nothing was touched.
func (a *Act) Begin(ctx context.Context, name string) (store.Run, []farm.Finding, error) {
	p, err := a.Workspace.Plan(name)
	if err != nil {
		return store.Run{}, nil, err
	}
	now, err := a.Workspace.Farm()
	if err != nil {
		return store.Run{}, nil, err
	}
	if err := a.NothingOpen(); err != nil {
		return store.Run{}, nil, err
	}
	if err := carryable(p); err != nil {
		return store.Run{}, nil, err
	}
	if p.Goals.Unit == placement.UnitShard {
		return a.beginShardPlan(ctx, p, now)
	}
	if p.Basis.NextServerID != now.NextServerID && (act.IsWayBack(p.Name) || a.CutShort(p.Name)) {
		p = withFreshIDs(p, now)
	}
	if err := notDrifted(p, now); err != nil {
		return store.Run{}, nil, err
	}
	pending := Pending(p, now)
	if len(pending) == 0 {
		return store.Run{}, nil, nil
	}
	if wrong := check.Paths(now, pending); farm.Blocks(wrong) {
		return store.Run{}, wrong, act.Refused("move", p.Name, errors.New("the plan names directories that may not hold instances"), "plan again")
	}
	if len(pending) == len(p.Moves) {
		if wrong := check.Plan(now, p); farm.Blocks(wrong) {
			return store.Run{}, wrong, act.Refused("move", p.Name, errors.New("the plan does not pass the independent check"), "plan again")
		}
	}
	return a.Act.Begin(ctx, act.Proposal{
		Name: p.Name, Subject: p.Name, ApproveBefore: p.Goals.ApproveBefore, Soak: p.Goals.Soak,
		Job: func(run string) (engine.Job, uint32, error) {
			job, err := NewJob(run, pending, now, p.Goals.Parallel)
			act.LimitStreams(&job, now, p.Goals.Budgets)
			job.Spares = act.Spares(p.Goals)
			return job, p.NextServerID, err
		},
		Survey: a.Mover.Survey, Remedy: "fix them, or leave the pairs out of the plan",
	})
}

// carryable refuses plans that are for thinking: into hosts that do not exist
// yet.
func carryable(p placement.Plan) error {
	for _, h := range p.Hosts {
		if h.New {
			return act.Refused("move", p.Name, fmt.Errorf("host %s of the plan has not been bought yet", h.Name),
				"put the new hosts into farm.yaml with address and dir, take buy out of goals.yaml, and plan again")
		}
	}
	return nil
}

func notDrifted(p placement.Plan, now *farm.Farm) error {
	done := func(pair farm.PairName, side farm.SideName) bool {
		for _, m := range p.Moves {
			if m.Pair == pair && m.Side == side {
				return isDone(m, now)
			}
		}
		return false
	}
	differ := placement.Drift(p, now, done)
	if len(differ) == 0 {
		return nil
	}
	lines := make([]string, 0, len(differ))
	for _, d := range differ {
		lines = append(lines, d.String())
	}
	return act.Refused("move", p.Name, fmt.Errorf("the farm has changed since the plan was made: %s", farm.Some(lines)),
		"look at the difference and plan again: stowage plan")
}
