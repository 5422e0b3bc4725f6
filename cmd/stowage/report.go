package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stowage/act"
	"stowage/digest"
	"stowage/farm"
	"stowage/inventory"
	"stowage/move"
	"stowage/placement"
	"stowage/report"
	"stowage/roll"
	"stowage/session"
	"stowage/store"
)

func (a *app) reportCommand() *cobra.Command {
	var out string
	var benches []string
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Write the whole before and after into one HTML file",
		Long: `Writes one self-contained HTML file about the moves of this workspace, from the first
inventory to now: every move, the newest plan and its proof, the newest move and the newest
run of every other act step by step, how long gates were closed, traffic before and after, and the ledger when there is one.
report.yaml adds the figures of a ledger of your own, and findings that you have accepted,
with the reason: docs/guide/report.md. What is missing is named in it. Results of bench
run and bench engine are shown with charts: those that --bench names, or bench/*.json of the workspace. Results of
bench run are compared with the first one named, or with the oldest.

` + exitHelp,
		Example: "  stowage report --out report.html",
		Args:    args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			path, err := a.report(c.Context(), out, benches)
			if err != nil {
				return err
			}
			return a.emit(map[string]string{"report": path}, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, path)
				return err
			}, a.cmd("serve"))
		},
	}
	cmd.Flags().StringVar(&out, "out", "report.html", "file to write, relative to the workspace")
	cmd.Flags().StringSliceVar(&benches, "bench", nil, "results of bench run and bench engine to show instead of bench/*.json of the workspace")
	return cmd
}

// report gathers what is kept of the newest move and writes the file.
func (a *app) report(ctx context.Context, out string, benches []string) (string, error) {
	d, err := a.open()
	if err != nil {
		return "", err
	}
	defer d.Close()
	defer a.doing("reading what is kept of this workspace")()
	facts, err := a.reportFacts(ctx, d, benches)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := report.Write(&b, facts); err != nil {
		return "", err
	}
	path := d.Path(out)
	return path, writeSecret(path, b.Bytes()) // it shows statements of clients, with their values
}

// reportFacts are what is kept of the newest move.
func (a *app) reportFacts(ctx context.Context, d *session.Session, benches []string) (report.Facts, error) {
	facts := report.Facts{Farm: d.Farm.Name, Made: time.Now(), Now: d.Farm}
	var inv inventory.Inventory
	if _, err := d.Store.LatestDocument("inventory", "", &inv); err == nil {
		facts.Findings = append([]farm.Finding{}, inv.Findings...)
		facts.Inventory = &inv
	}
	if err := errors.Join(addMove(d, &facts), addActs(d, &facts), addRoad(d, &facts), addHosts(d, &facts)); err != nil {
		return facts, err
	}
	said, err := d.Said()
	if err != nil {
		return facts, err
	}
	facts.Ledger, facts.Accepted = said.Ledger, said.Accepted
	var c digest.Comparison
	if _, err := d.Store.LatestDocument("comparison", "", &c); err == nil {
		facts.Compare = &c
	}
	var proof report.Proof
	if _, err := d.Store.LatestDocument("proof", "", &proof); err == nil {
		facts.Proof = &proof
	}
	if err := addRoll(d, &facts); err != nil {
		return facts, err
	}
	a.addKnown(ctx, d, &facts)
	if err := a.addBenches(d, benches, &facts); err != nil {
		return facts, err
	}
	facts.Versions = []report.Fact{{Name: "stowage", Value: version}}
	if facts.Commands, err = history(d); err != nil {
		return facts, err
	}
	facts.Commands = append(facts.Commands, benchCommands(facts)...)
	sort.SliceStable(facts.Commands, func(i, j int) bool { return facts.Commands[i].Started.Before(facts.Commands[j].Started) })
	return facts, nil
}

// history are the commands whose results the workspace keeps, in the order
// they were run.
func history(d *session.Session) ([]report.Command, error) {
	var out []report.Command
	for _, k := range []struct{ kind, line string }{
		{"inventory", "stowage inventory"}, {"digest", "stowage digest --save %s FILE..."}, {"comparison", "stowage digest compare %s"}, {"proof", "stowage demo verify"},
	} {
		docs, err := d.Store.Documents(k.kind)
		if err != nil {
			return nil, err
		}
		for _, doc := range docs {
			line := k.line
			if strings.Contains(line, "%s") {
				line = fmt.Sprintf(line, doc.Name)
			}
			out = append(out, report.Command{Line: line, Started: doc.Made})
		}
	}
	runs, err := act.Runs(d.Store)
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		c := report.Command{Line: "stowage " + r.Kind + " " + r.Subject, Started: r.Started}
		if !r.Ended.IsZero() {
			c.Seconds = r.Ended.Sub(r.Started).Seconds()
		}
		out = append(out, c)
	}
	for _, name := range d.PlanNames() {
		p, err := d.Plan(name)
		if err != nil {
			continue // a plan that cannot be read is named where it is used
		}
		if made, err := time.Parse(time.RFC3339, p.Made); err == nil {
			out = append(out, report.Command{Line: "stowage plan --name " + p.Name, Started: made, Seconds: p.Seconds})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Started.Before(out[j].Started) })
	return out, nil
}

// addMove adds the newest move, and its plan, when there was one.
func addMove(d *session.Session, facts *report.Facts) error {
	run, err := d.Store.LatestRun(move.Name)
	if errors.Is(err, store.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := addMoveRun(d, run, facts); err != nil {
		return err
	}
	var p placement.Plan
	if p, err = d.Plan(run.Subject); err == nil {
		facts.Plan = &p
	}
	return nil // a plan file that was deleted since is left out of the report
}

// addMoveRun adds what a move has told, and not its plan.
func addMoveRun(d *session.Session, run store.Run, facts *report.Facts) (err error) {
	facts.Run = run.ID
	if facts.Events, facts.Forward, err = toldOf(d, run); err != nil {
		return err
	}
	facts.Minutes, err = firstMinutes(d, run)
	return err
}

// toldOf are the events of a run, and what people let go on without a way back.
func toldOf(d *session.Session, run store.Run) (events []farm.Event, forward []string, err error) {
	if events, _, err = d.Store.Events(run.ID, 0); err != nil {
		return nil, nil, err
	}
	now, err := act.SteeringOf(d.Store, run.ID)
	for _, w := range now.Lost {
		if w.Forward != nil {
			forward = append(forward, fmt.Sprintf("%s, %s", w.Part, w))
		}
	}
	return events, forward, err
}

// addActs adds the newest run of each kind of act that is not a move, newest first.
func addActs(d *session.Session, facts *report.Facts) error {
	runs, err := act.Runs(d.Store)
	for _, run := range runs {
		if run.Kind == move.Name || slices.ContainsFunc(facts.Acts, func(a report.Act) bool { return a.Kind == run.Kind }) {
			continue
		}
		a, err := actOf(d, run)
		if err != nil {
			return err
		}
		facts.Acts = append(facts.Acts, a)
	}
	return err
}

func actOf(d *session.Session, run store.Run) (report.Act, error) {
	events, forward, err := toldOf(d, run)
	if err != nil {
		return report.Act{}, err
	}
	a := report.Act{Run: run.ID, Kind: run.Kind, Subject: run.Subject, State: string(run.State), Events: events, Forward: forward}
	if run.Kind != roll.Roll { // of which the report has all runs: addRoll
		a.Minutes, err = firstMinutes(d, run)
	}
	return a, err
}
