package move

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stowage/act"

	"stowage/engine"
	"stowage/farm"
	"stowage/internal/nested"
	"stowage/placement"
	"stowage/placement/check"
	"stowage/store"
)

// PlanBack writes the plan that takes back what a run moved past its point of
// no return. Nothing is touched: somebody reviews and moves it. Without a side
// to take back it is nil.
func (a *Act) PlanBack(run store.Run) (*act.Back, error) {
	var job engine.Job
	if _, err := a.Store.LatestDocument("job", run.ID, &job); err != nil {
		return nil, err
	}
	now, err := a.Workspace.Farm()
	if err != nil {
		return nil, err
	}
	moved, err := movedBy(job, now)
	if err != nil {
		return nil, err
	}
	back := &act.Back{}
	if err := shardsBack(back, job, now); err != nil {
		return nil, err
	}
	if len(moved) == 0 {
		if len(back.Commands)+len(back.Lost) == 0 {
			return nil, nil
		}
		return back, nil
	}
	p, err := placement.Solve(now, goalsBack(now, moved))
	if err != nil {
		return nil, &farm.Error{Op: "plan the way back", Subject: run.Subject, Err: err,
			Hint: "the old hosts must still be in farm.yaml, with room; or plan by hand with pin in goals.yaml"}
	}
	if wrong := check.Plan(now, p); farm.Blocks(wrong) {
		return nil, &farm.Error{Op: "plan the way back", Subject: run.Subject, Err: errors.New(wrong[0].Text)}
	}
	p.Name, p.Made = a.freeName(act.WayBack+run.Subject), time.Now().UTC().Format(time.RFC3339)
	back.Plan, back.Sides = p.Name, len(p.Moves)
	back.InTheWay = inTheWay(a.Workspace.Path, p.Moves, moved)
	back.Path, err = a.Workspace.SavePlan(p)
	return back, err
}

// inTheWay are the directories of new instances on the way back in which files of the instances lie that were moved away.
// Where the old files are elsewhere, nothing is in the way.
func inTheWay(path func(string) string, back, moved []placement.Move) (out []string) {
	for _, b := range back {
		dir := filepath.Dir(path(b.To.Datadir))
		if slices.ContainsFunc(moved, func(m placement.Move) bool {
			old, err := filepath.Rel(dir, path(m.From.Datadir))
			return m.From.Host == b.To.Host && err == nil && filepath.IsLocal(old)
		}) {
			out = append(out, dir)
		}
	}
	return out
}

// withFreshIDs gives the sides that a plan has still to move server ids that
// nobody has had, where an attempt at this plan has spent its own: a way back that
// failed, because another plan would not be the way back, or a run that was killed
// before it was recorded.
func withFreshIDs(p placement.Plan, now *farm.Farm) placement.Plan {
	p.Moves = slices.Clone(p.Moves)
	id := now.NextServerID
	for n := range p.Moves {
		if !isDone(p.Moves[n], now) {
			p.Moves[n].ServerID = id
			id++
		}
	}
	p.Basis.NextServerID, p.NextServerID = now.NextServerID, id
	return p
}

// shardsBack adds how the shards go back that farm.yaml shows as moved.
func shardsBack(b *act.Back, job engine.Job, now *farm.Farm) error {
	home := map[farm.PairName][]string{}
	var order []farm.PairName
	for _, lane := range job.Lanes {
		for _, part := range lane.Parts {
			var o shardOrder
			if err := nested.Unmarshal(part.Args, &o); err != nil {
				return fmt.Errorf("read order of %s: %w", part.Subject, err)
			}
			at, _, there := pairOfShard(now, o.Shard)
			if o.Runbook != Shard || !there || at.Name != o.To.Pair {
				continue
			}
			if _, stands := now.Pair(o.From.Pair); !stands {
				b.Lost = append(b.Lost, o.Shard)
				continue
			}
			if home[o.From.Pair] == nil {
				order = append(order, o.From.Pair)
			}
			home[o.From.Pair] = append(home[o.From.Pair], string(o.Shard))
		}
	}
	for _, pair := range order {
		b.Commands = append(b.Commands, fmt.Sprintf("stowage move shard %s --to %s", strings.Join(home[pair], " "), pair))
	}
	return nil
}

// freeName is a name that no plan has.
func (a *Act) freeName(name string) string {
	taken := map[string]bool{}
	for _, n := range a.Workspace.PlanNames() {
		taken[n] = true
	}
	for n, try := 2, name; ; n++ {
		if !taken[try] {
			return try
		}
		try = fmt.Sprintf("%s-%d", name, n)
	}
}

// movedBy are the moves of a job that farm.yaml shows as done.
func movedBy(job engine.Job, now *farm.Farm) ([]placement.Move, error) {
	var out []placement.Move
	for _, lane := range job.Lanes {
		for _, part := range lane.Parts {
			var o struct {
				Move *placement.Move `json:"move"`
			}
			if err := nested.Unmarshal(part.Args, &o); err != nil {
				return nil, fmt.Errorf("read order of %s: %w", part.Subject, err)
			}
			if o.Move != nil && o.Move.Shard == "" && isDone(*o.Move, now) {
				out = append(out, *o.Move)
			}
		}
	}
	return out, nil
}

// goalsBack puts every side that was moved where it was, and leaves all others
// alone. None of the rules for new places hold there: it has carried them.
func goalsBack(now *farm.Farm, moved []placement.Move) placement.Goals {
	g := placement.Goals{Minimise: []string{"moves"}, Headroom: map[farm.ResourceName]float64{}, Parallel: placement.Defaults().Parallel, Soak: placement.Defaults().Soak}
	pinned, touched := map[farm.InstanceName]bool{}, map[farm.PairName]bool{}
	pin := func(i farm.InstanceName, h farm.HostName) {
		if !pinned[i] {
			pinned[i] = true
			g.Pins = append(g.Pins, placement.Binding{What: []string{string(i)}, Hosts: []farm.HostName{h}})
		}
	}
	for _, m := range moved {
		touched[m.Pair] = true
		pin(m.Instance, m.From.Host)
	}
	for _, p := range now.Pairs {
		if !touched[p.Name] {
			g.Frozen = append(g.Frozen, p.Name)
			continue
		}
		for side, s := range p.Sides {
			pin(p.Instance(side), s.Host)
		}
	}
	return g
}
