package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stowage/act"
	"stowage/alter"
	"stowage/alter/plan"
	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
	"stowage/schema"
	"stowage/schema/scratch"
	"stowage/session"
	"stowage/store"
	"stowage/workspace"
)

// alterFlags are what a plan of schema changes is made of.
type alterFlags struct {
	shards    []string
	waves     []string
	name      string
	declared  bool
	mixed     bool
	dry       bool
	yes       bool
	atOnce    int
	on        string
	throwAway string
}

func (a *app) alterCommand() *cobra.Command {
	var f alterFlags
	cmd := &cobra.Command{
		Use:   "alter [CHANGE.sql | PLAN]",
		Short: "Change tables of all shards, one side after the other, without a failed query or a row that differs",
		Long: `Carries the ALTER statements of a script out on every shard. A throw-away server of the
farm's version says what each statement means for each table; that decides how a pair is
changed. What only changes definitions is done while both sides serve. What builds an
index or writes the table anew is done to one side while its twin serves. Where rows of the
old and the new table differ (a new column, a longer type), one side is changed while the
other serves; then all clients go there behind one gate, and the other side applies nothing
until it is changed, too. So no client ever meets two schemas. What cannot be done this
way is refused, with the steps that lead there safely.

First a plan is written, alters/NAME.json, and printed. Review it; 'stowage alter NAME'
carries it out as it is, or not at all when the farm or a table has changed. --yes does both
at once. With --waves a person is asked between two waves.

  stowage alter add-colour.sql            plan a change of all shards
  stowage alter add-colour-001            carry the plan out, or on with what is left of it
  stowage alter --declared                make shards as schema/ declares them
  stowage alter add-colour.sql --dry-run  what it would mean, and nothing written

` + exitHelp,
		Example: "  stowage alter add-colour.sql --waves 1,10%,100%\n  stowage alter add-colour-001\n  stowage alter index.sql --shards 'shard01*' --yes",
		Args:    args(cobra.MaximumNArgs(1)),
		RunE:    func(c *cobra.Command, given []string) error { return a.alter(c, f, strings.Join(given, "")) },
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.shards, "shards", nil, "names and patterns of shards; default: all")
	fl.StringSliceVar(&f.waves, "waves", nil, "how many pairs are done when each wave ends: 1,10%,100%")
	fl.StringVar(&f.name, "name", "", "name of the plan; default CHANGE-001 and so on")
	fl.BoolVar(&f.declared, "declared", false, "take the difference between shards and schema/ instead of a script")
	fl.BoolVar(&f.mixed, "mixed", false, "also change shards whose table has another definition than most shards have; leave out shards without the table")
	fl.BoolVar(&f.dry, "dry-run", false, "say what each change means, and write no plan")
	fl.StringVar(&f.on, "on", "", "with --dry-run: host:port of a copy on which the change is made, to see how long it takes")
	fl.StringVar(&f.throwAway, "throw-away", "", "with --on: the name under which the owner of that server has released it; 'stowage replay --help' says how")
	fl.BoolVar(&f.yes, "yes", false, "carry the plan out at once")
	fl.IntVar(&f.atOnce, "at-once", 4, "how many pairs may be changed at the same time; never two on one host")
	show := &cobra.Command{
		Use: "show PLAN", Short: "Print a plan of an alter", Args: args(cobra.ExactArgs(1)), Long: "Prints a plan as it was written: which table, which class, which way, in which wave.\n\n" + exitHelp,
		Example: "  stowage alter show add-colour-001",
		RunE: func(_ *cobra.Command, given []string) error {
			ws, err := workspace.Open(a.dir)
			if err != nil {
				return err
			}
			p, err := ws.Alter(given[0])
			if err != nil {
				return err
			}
			return a.emit(p, p.WriteText, a.cmd("alter %s", p.Name))
		},
	}
	a.engineFlag(fl)
	a.reasonFlag(fl)
	cmd.AddCommand(show)
	return cmd
}

// alter makes a plan, or carries one out.
func (a *app) alter(c *cobra.Command, f alterFlags, given string) error {
	d, err := a.open()
	if err != nil {
		return err
	}
	defer d.Close()
	if given == "" && !f.declared {
		return usage(c, errors.New("say which script, or which plan; or --declared"))
	}
	if given != "" && !strings.HasSuffix(given, ".sql") && d.HasAlter(given) {
		for _, name := range []string{"shards", "waves", "name", "declared", "mixed", "dry-run", "on", "throw-away", "at-once"} {
			if c.Flags().Changed(name) {
				return usage(c, fmt.Errorf("%s is a plan, and a plan is carried out as it is: leave --%s out, or plan again", given, name))
			}
		}
		return a.alterPlan(c.Context(), d, given)
	}
	p, refused, err := a.drawAlter(c, d, f, given)
	if err != nil {
		return err
	}
	if f.on != "" && !f.dry {
		return usage(c, errors.New("--on goes with --dry-run"))
	}
	if f.on != "" && len(refused) == 0 {
		if err := a.timeOnCopy(c.Context(), d, f, &p); err != nil {
			return err
		}
	}
	if f.dry || len(refused) > 0 {
		return a.alterDry(d, p, refused, given)
	}
	if len(p.Pairs) == 0 {
		a.say(nothingToDo)
		return a.emit(p, func(io.Writer) error { return nil }, a.cmd("inventory"))
	}
	path, p, err := d.SaveAlter(p)
	if err != nil {
		return err
	}
	if f.yes {
		_ = p.WriteText(a.stderr) // what comes next is said on standard output
		return a.alterPlan(c.Context(), d, p.Name)
	}
	a.say("wrote %s; review it", path)
	return a.emit(p, p.WriteText, a.cmd("alter %s", p.Name))
}

// drawAlter reads the farm's tables and makes a plan.
func (a *app) drawAlter(c *cobra.Command, d *session.Session, f alterFlags, script string) (plan.Plan, []plan.Refusal, error) {
	if err := d.Login(); err != nil {
		return plan.Plan{}, nil, err
	}
	changes, err := a.wanted(c, d, f, script)
	if err != nil || len(changes) == 0 {
		return plan.Plan{}, nil, err
	}
	local, err := host.NewLocal(a.log)
	if err != nil {
		return plan.Plan{}, nil, &farm.Error{Op: "plan", Subject: script, Err: fmt.Errorf("no throw-away server can be asked here: %w", err), Hint: "install the farm's server package on this machine"}
	}
	server, err := scratch.Open(c.Context(), scratch.Question{Local: local, Dir: scratch.Place(c.Context(), local),
		Open: func(address string, account mysql.Account) *mysql.Server {
			return mysql.Open("scratch", address, account, a.log)
		}})
	if err != nil {
		return plan.Plan{}, nil, err
	}
	p, refused, err := alter.Draw(c.Context(), alter.Request{Farm: d.Farm, Changes: changes, Open: d.Server, Scratch: server, Mixed: f.mixed || f.declared, Waves: f.waves, AtOnce: f.atOnce})
	err = errors.Join(err, server.Close(c.Context()))
	if err == nil {
		err = alter.Remembered(&p, d.Store)
	}
	p.Name, p.Script, p.Made = strings.TrimSuffix(f.name, ".json"), script, time.Now().UTC().Format(time.RFC3339Nano)
	return p, refused, err
}

// wanted are the changes, each with the shards that get it.
func (a *app) wanted(c *cobra.Command, d *session.Session, f alterFlags, script string) ([]alter.Wanted, error) {
	chosen, err := chosenShards(c, d.Farm, f.shards)
	if err != nil {
		return nil, err
	}
	if f.declared {
		if script != "" {
			return nil, usage(c, errors.New("--declared takes the change from schema/: leave the script out"))
		}
		return a.declaredChanges(c, d, chosen)
	}
	text, err := os.ReadFile(script)
	if err != nil {
		hint := "name a script that ends with .sql, or one of the plans: " + strings.Join(d.AlterNames(), ", ")
		return nil, &farm.Error{Op: "read", Subject: script, Err: fmt.Errorf("%w: %w", farm.ErrInput, errors.Unwrap(err)), Hint: hint}
	}
	all, err := schema.Changes(script, text)
	if err != nil {
		return nil, err
	}
	var out []alter.Wanted
	for _, change := range all {
		out = append(out, alter.Wanted{Change: change, Shards: chosen})
	}
	return out, nil
}

// chosenShards are those that the patterns name; all without a pattern. A pattern that names none is a slip: somebody counts on that shard.
func chosenShards(c *cobra.Command, f *farm.Farm, patterns []string) (map[farm.ShardName]bool, error) {
	if len(patterns) == 0 {
		patterns = []string{"*"}
	}
	chosen := map[farm.ShardName]bool{}
	for _, pattern := range patterns {
		found := false
		for _, p := range f.Pairs {
			for _, s := range p.Shards {
				ok, err := path.Match(pattern, string(s.Name))
				if err != nil {
					return nil, usage(c, fmt.Errorf("%q is not a pattern of shards", pattern))
				}
				if ok {
					chosen[s.Name], found = true, true
				}
			}
		}
		if !found {
			return nil, usage(c, fmt.Errorf("no shard of farm.yaml is called %s", pattern))
		}
	}
	return chosen, nil
}

// declaredChanges are the ALTER statements that make shards as schema/ declares them.
func (a *app) declaredChanges(c *cobra.Command, d *session.Session, chosen map[farm.ShardName]bool) ([]alter.Wanted, error) {
	dirs, err := d.Schemas()
	if err != nil {
		return nil, err
	}
	if dirs == nil {
		return nil, &farm.Error{Op: "plan", Subject: "--declared", Err: fmt.Errorf("%w: nothing is declared", farm.ErrInput), Hint: "stowage schema pull writes schema/"}
	}
	var names []string
	for s := range chosen {
		names = append(names, string(s))
	}
	seen, silent, versions, err := a.askShards(c, d, names)
	if err == nil && len(silent) > 0 {
		err = &farm.Error{Op: "read tables", Subject: string(silent[0].Instance), Err: errors.New(silent[0].Error)}
	}
	if err != nil {
		return nil, err
	}
	sets, err := a.declared(c.Context(), dirs, seen, versions)
	if err != nil {
		return nil, err
	}
	var out []alter.Wanted
	left := 0
	for _, v := range schema.Judge(d.Farm.Name, seen, sets).Variants {
		place := "schema/" + v.Table
		changes, why := changesOf(v, place)
		if why != "" {
			a.say("%s is left out: %s (stowage schema diff)", place, why)
			left++
			continue
		}
		shards := map[farm.ShardName]bool{}
		for _, s := range v.Shards {
			shards[s] = true
		}
		out = append(out, alter.Wanted{Change: changes[0], Shards: shards})
	}
	if left > 0 && len(out) == 0 {
		return nil, farm.ErrFindings // what differs was said
	}
	return out, nil
}

// changesOf is the ALTER that makes tables what is declared, or why alter does not carry one out.
func changesOf(v schema.Variant, place string) ([]schema.Change, string) {
	switch {
	case len(v.OneSide) > 0:
		return nil, "the sides of a pair differ from each other"
	case !strings.HasPrefix(v.Alter, "ALTER TABLE"):
		return nil, "no ALTER is written for the difference"
	}
	changes, err := schema.Changes(place, []byte(v.Alter+";"))
	if err != nil {
		return nil, err.Error()
	}
	return changes, ""
}

// alterPlan carries a plan out, or what is left of it.
func (a *app) alterPlan(ctx context.Context, d *session.Session, name string) error {
	p, err := d.Alter(name)
	if err != nil {
		return err
	}
	bare, goals, err := a.bareAct(d)
	if err != nil {
		return err
	}
	altering := alter.NewAct(bare, act.SwingSettings(goals))
	if err := d.Turn(ctx, "alter "+name); err != nil {
		return err
	}
	run, findings, err := altering.Begin(ctx, p)
	writeFindings(a.stderr, findings)
	if err != nil {
		return err
	}
	if run.ID == "" {
		return a.ended(moveSummary{FormatVersion: 1, Plan: name, State: "nothing-to-do", Pairs: []alteredPair{}, Next: []string{"stowage schema drift"}}, nil)
	}
	return a.ended(a.carry(ctx, altering.Act, run))
}

const nothingToDo = "nothing to do: every table is as the change wants it"

// alterTable is one table as a dry run has it.
type alterTable struct {
	Shard     farm.ShardName `json:"shard"`
	Pair      farm.PairName  `json:"pair,omitempty"`
	Table     string         `json:"table"`
	Class     schema.Class   `json:"class"`
	Way       plan.Way       `json:"way,omitempty"`
	Algorithm string         `json:"algorithm,omitempty"`
	Before    string         `json:"before,omitempty"`
	After     string         `json:"after,omitempty"`
	Rows      int64          `json:"rows,omitempty"`
	Bytes     int64          `json:"bytes,omitempty"`
	Undo      string         `json:"undo,omitempty"`
	Refusal   string         `json:"undo_refused,omitempty"`
	Lost      string         `json:"lost,omitempty"`
	OnCopy    *float64       `json:"seconds_on_copy,omitempty"`
	KeysApart bool           `json:"keys_apart,omitempty"`
	Refused   []string       `json:"refused"`
	SafeSteps []string       `json:"safe_steps"`
}

// alterDry says what a change would mean, and writes the safe steps of what is refused.
func (a *app) alterDry(d *session.Session, p plan.Plan, refused []plan.Refusal, script string) error {
	out := struct {
		FormatVersion int          `json:"format_version"`
		Tables        []alterTable `json:"tables"`
		Scripts       []string     `json:"scripts,omitempty"`
	}{FormatVersion: 1, Tables: []alterTable{}}
	for _, pair := range p.Pairs {
		for _, t := range pair.Tables {
			f := p.Forms[t.Form]
			out.Tables = append(out.Tables, alterTable{Shard: t.Shard, Pair: pair.Pair, Table: f.Change.Table, Class: f.Class, Way: pair.Way, Algorithm: string(f.Algorithm), Before: f.Before, After: f.After,
				Rows: t.Rows, Bytes: t.Bytes, Undo: f.Undo, Refusal: f.UndoRefused, Lost: f.Lost, OnCopy: f.SecondsOnCopy, KeysApart: f.KeysApart, Refused: []string{}, SafeSteps: []string{}})
		}
	}
	for _, r := range refused {
		for _, s := range r.Shards {
			out.Tables = append(out.Tables, alterTable{Shard: s, Table: r.Table, Class: schema.Breaking, Refused: r.Why, SafeSteps: append([]string{}, r.SafeSteps...)})
		}
	}
	var err error
	if out.Scripts, err = writeSafeSteps(d, refused, script); err != nil {
		return err
	}
	next := []string{a.forReal()}
	switch {
	case len(out.Tables) == 0:
		a.say(nothingToDo)
		next = []string{a.cmd("inventory")}
	case len(refused) > 0:
		next = nil
		for _, s := range out.Scripts {
			next = append(next, a.cmd("alter %s --dry-run", s))
		}
	}
	err = a.emit(out, func(w io.Writer) error {
		if len(p.Pairs) > 0 && len(refused) == 0 {
			return p.WriteText(w)
		}
		err := plan.WriteRefusals(w, refused)
		for _, s := range out.Scripts {
			fmt.Fprintf(w, "wrote %s\n", s)
		}
		return err
	}, next...)
	if err == nil && len(refused) > 0 {
		hint := "nothing was changed; change the script, or leave these shards out with --shards"
		if len(out.Scripts) > 0 {
			hint = "nothing was changed; take the safe steps, or leave these shards out with --shards"
		}
		err = &farm.Error{Op: "alter", Subject: script, Err: fmt.Errorf("%w: %s cannot be changed this way", farm.ErrRefused, farm.Counted(len(refused), "table")), Hint: hint}
	}
	return err
}

// writeSafeSteps writes scripts that lead, one after the other, where a refused one wanted to go.
func writeSafeSteps(d *session.Session, refused []plan.Refusal, script string) (paths []string, err error) {
	for n, text := range plan.Scripts(refused) {
		name := fmt.Sprintf("%s-safe-%d.sql", strings.TrimSuffix(filepath.Base(script), ".sql"), n+1)
		path, err := d.SaveAlterScript(name, text)
		if err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// alteredPair is how one pair of an alter ended.
type alteredPair struct {
	Pair string `json:"pair"`
	End  string `json:"end"` // done, undone, stuck, not-started, unknown
}

// alteredPairs are those of the outcome, or of the one that the run has kept.
func alteredPairs(run store.Run, o *act.Outcome) []alteredPair {
	out := []alteredPair{}
	if o == nil {
		o = &act.Outcome{}
		_ = json.Unmarshal([]byte(run.Result), o) // a run that has not ended has none
	}
	for _, l := range o.Lanes {
		if !alter.IsPause(l.Name) {
			out = append(out, alteredPair{l.Name, string(l.End)})
		}
	}
	return out
}

// writePairs prints how the pairs of an alter ended.
func (s moveSummary) writePairs(w io.Writer) error {
	done := 0
	for _, p := range s.Pairs {
		if p.End == "done" {
			done++
		}
	}
	_, err := fmt.Fprintf(w, "%s: %d of %s changed in %.1f s; %s\n", s.Run, done, farm.Counted(len(s.Pairs), "pair"), s.Seconds, s.paused())
	for _, p := range s.Pairs {
		if p.End != "done" {
			_, e := fmt.Fprintf(w, "  %-16s %s\n", p.Pair, p.End)
			err = errors.Join(err, e)
		}
	}
	return err
}
