package alter

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"stowage/act"
	"stowage/alter/plan"
	"stowage/engine"
	"stowage/farm"
	"stowage/internal/nested"
	"stowage/store"
)

// wayBack writes the script that takes back what an ended run has changed, where no value is lost by that; nil: it has changed nothing.
func (a *Act) wayBack(run store.Run) (*act.Back, error) {
	p, err := a.planOf(run)
	if err != nil {
		return nil, err
	}
	var statements []string
	shards := map[string]bool{}
	changed := map[string]string{} // by table
	for _, pair := range p.Pairs {
		done, err := a.isDone(p, pair.Pair)
		if err != nil {
			return nil, err
		}
		if !done {
			continue
		}
		for _, t := range pair.Tables {
			f := p.Forms[t.Form]
			if f.IsSame() {
				continue
			}
			shards[string(t.Shard)] = true
			switch was, known := changed[f.Change.Table]; {
			case f.Undo == "":
				return nil, act.Refused("undo", run.ID, fmt.Errorf("it would lose %s", lost(f)), "if that is what you want, write the ALTER yourself: stowage alter")
			case f.UndoRefused != "":
				return nil, act.Refused("undo", run.ID, fmt.Errorf("it would lose nothing, but alter refuses it: %s", f.UndoRefused), "stowage alter show --json has the statement (undo): carry it out yourself, in a maintenance window")
			case !known:
				changed[f.Change.Table] = f.Undo
				statements = append(statements, strings.TrimSuffix(f.Undo, ";")+";\n")
			case was != f.Undo:
				return nil, act.Refused("undo", run.ID, fmt.Errorf("table %s had several definitions, and no single statement restores all of them", f.Change.Table), "write an ALTER for each group of shards: stowage alter --shards")
			}
		}
	}
	if len(statements) == 0 {
		return nil, nil
	}
	path, err := a.Workspace.SaveAlterScript(act.WayBack+p.Name+".sql", strings.Join(statements, ""))
	if err != nil {
		return nil, err
	}
	command := "stowage alter " + path
	if isMixed(p) {
		command += " --mixed"
	}
	if a.hasOthers(shards) { // whose tables this run has not changed, and which may be as its script wanted them before
		command += " --shards " + strings.Join(slices.Sorted(maps.Keys(shards)), ",")
	}
	return &act.Back{Script: path, Commands: []string{command}}, nil
}

// isMixed reports whether a table that is changed has one definition on some shards and another on others: no script is taken for all of them without --mixed.
func isMixed(p plan.Plan) bool {
	after := map[string]string{}
	for _, f := range p.Forms {
		if was, known := after[f.Change.Table]; known && was != f.After {
			return true
		}
		after[f.Change.Table] = f.After
	}
	return false
}

// hasOthers reports whether the farm has more shards than these.
func (a *Act) hasOthers(shards map[string]bool) bool {
	return slices.ContainsFunc(a.Farm.Pairs, func(p farm.Pair) bool {
		return slices.ContainsFunc(p.Shards, func(s farm.Shard) bool { return !shards[string(s.Name)] })
	})
}

func lost(f plan.Form) string {
	if f.Lost != "" {
		return f.Lost
	}
	return "values of table " + f.Change.Table
}

// planOf is the plan that a run carries out.
func (a *Act) planOf(run store.Run) (p plan.Plan, err error) {
	var job engine.Job
	if _, err := a.Store.LatestDocument("job", run.ID, &job); err != nil {
		return p, err
	}
	for _, lane := range job.Lanes {
		for _, part := range lane.Parts {
			var o order
			if IsPause(lane.Name) || nested.Unmarshal(part.Args, &o) != nil || o.Key == "" {
				continue
			}
			_, err := a.Store.LatestDocument(planDocument, o.Key, &p)
			return p, err
		}
	}
	return p, &farm.Error{Op: "undo", Subject: run.ID, Err: errors.New("its plan is not kept")}
}
