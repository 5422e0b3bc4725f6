package main

import (
	"path/filepath"
	"slices"
	"strings"

	"stowage/act"
	"stowage/alter"
	"stowage/backup"
	"stowage/digest"
	"stowage/farm"
	"stowage/inventory"
	"stowage/move"
	"stowage/reshape"
	"stowage/roll"
	"stowage/session"
	"stowage/store"
	"stowage/tune"
	"stowage/workspace"
)

// besideAs is a file of the same name with another ending.
func besideAs(path, ending string) string {
	return strings.TrimSuffix(path, filepath.Ext(path)) + ending
}

// charted shows a kept result as a page.
func (a *app) charted(path string) string {
	return a.cmd("bench show %s --html %s", path, besideAs(path, ".html"))
}

// afterBench: a result that was kept can be shown and judged; to keep one, it is measured once more.
func (a *app) afterBench(saved string) []string {
	if saved == "" {
		return []string{a.again(nil, "--save", "bench.json")}
	}
	return []string{a.charted(saved)}
}

// afterPlan: a plan is asked before it is carried out, and reviewed as a document.
func (a *app) afterPlan(name string) []string {
	return []string{a.cmd("move %s --dry-run", name), a.cmd("tune --plan %s", name), a.cmd("plan show %s --html %s", name, name+".html")}
}

func (a *app) afterRollPlan(name string) []string {
	return []string{a.cmd("roll %s", name), a.cmd("roll announce %s", name)}
}

// afterSave: a digest that was kept is looked at over time, or as a file.
func (a *app) afterSave(saved string) []string {
	switch {
	case saved == "":
		return nil
	case isDigestFile(saved):
		return []string{a.cmd("digest %s", saved)}
	}
	return []string{a.cmd("digest history %s", saved)}
}

// next are those of a digest: looked at over time where it was kept, else kept or drawn.
func (f digestFlags) next(a *app) []string {
	switch {
	case f.sql || f.csv, f.anonymize: // for another program; inputs are not named
		return nil
	case f.save != "":
		return a.afterSave(f.save)
	case f.html == "" && !slices.Contains(a.args, "-"):
		return []string{a.again(nil, "--html", "digest.html")}
	}
	return nil
}

// afterCompare: what got slower is explained by the server, where a log of after is there and a farm has the server; and all of it is drawn.
func (a *app) afterCompare(c digest.Comparison, before, after string, html bool) []string {
	var out []string
	if c.GotSlower() {
		if instance := a.anyReplica(); instance != "" && after != "-" {
			out = append(out, a.cmd("digest %s --explain %s", after, instance))
		}
	}
	if !html {
		out = append(out, a.cmd("digest compare %s %s --html %s", before, after, "compared.html"))
	}
	return out
}

// anyReplica is an instance that has the most room for a question: side B of the first pair; empty where there is no farm.
func (a *app) anyReplica() farm.InstanceName {
	ws, err := workspace.Open(a.dir)
	if err != nil {
		return ""
	}
	f, err := ws.Farm()
	if err != nil || len(f.Pairs) == 0 {
		return ""
	}
	sides := f.Pairs[0].SideNames()
	return f.Pairs[0].Instance(sides[len(sides)-1])
}

// afterInventory: who does not answer comes first, then what a finding means; a farm as it should be is measured and planned.
func (a *app) afterInventory(inv inventory.Inventory) []string {
	if slices.ContainsFunc(inv.Instances, func(i inventory.Instance) bool { return i.Error != "" }) {
		return []string{a.cmd("doctor")}
	}
	if next := a.explainFirst(inv.Findings); next != nil {
		return append(next, a.cmd("inventory accept"))
	}
	return []string{a.cmd("inventory accept"), a.cmd("inventory load"), a.cmd("plan")}
}

// afterTune: what can be carried out is shown first; then the first finding is explained.
func (a *app) afterTune(r tune.Report, severity farm.Severity, fixes bool) []string {
	var out []string
	if fixes && len(r.Changes(severity)) > 0 {
		out = append(out, a.again(nil, "--fix", "--dry-run"))
	}
	if len(r.Findings) > 0 {
		out = append(out, a.cmd("explain %s", r.Findings[0].ID))
	}
	return out
}

// afterChanges: a change is looked at, and can be taken back.
func (a *app) afterChanges(t tuneChanges) []string {
	next := []string{a.cmd("tune")}
	if t.Act == "fix" && len(t.Changes) > 0 {
		next = append(next, a.cmd("tune --revert"))
	}
	return next
}

// afterDry: what would have been refused is explained, else it is begun.
func (a *app) afterDry(refused error, found []farm.Finding) []string {
	if refused == nil {
		return []string{a.forReal()}
	}
	return append(a.explainFirst(found), a.cmd("doctor"))
}

// afterRun is what a person does after a run that has ended, by what it did and how it ended.
func afterRun(d *session.Session, run store.Run) ([]string, error) {
	next, err := act.NextSteps(d.Store, run, slices.Contains(d.PlanNames(), run.Subject))
	if err != nil || run.State == store.Failed {
		if err == nil {
			next, err = rollNext(d, run, next)
		}
		return next, err
	}
	return append(looks(run), next...), nil
}

// looks are the verbs that show what a run of a kind has done.
func looks(run store.Run) []string {
	switch run.Kind {
	case move.Name, roll.Roll, roll.Side:
		return []string{"stowage inventory"}
	case alter.Name:
		return []string{"stowage schema drift"}
	case reshape.Name:
		return []string{"stowage reshape status " + shellWord(run.Subject)}
	case backup.Backup:
		return []string{"stowage backup verify", "stowage backup status"}
	case backup.Restore:
		return []string{"stowage backup status"}
	}
	return nil
}

// afterNothing is what a person does where no run has begun: carry out a plan that is there, or make one.
func afterNothing(d *session.Session) []string {
	if names := d.PlanNames(); len(names) > 0 {
		return []string{"stowage move " + shellWord(names[len(names)-1]) + " --dry-run"}
	}
	return []string{"stowage plan"}
}

// allWithin are commands that work where this one was typed.
func (a *app) allWithin(commands []string) []string {
	out := make([]string, len(commands))
	for n, c := range commands {
		out[n] = a.within(c)
	}
	return out
}
