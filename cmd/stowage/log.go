package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"time"

	"github.com/spf13/cobra"

	"stowage/act"
	"stowage/farm"
	"stowage/store"
)

func (a *app) logCommand() *cobra.Command {
	run, all := "", false
	cmd := &cobra.Command{
		Use: "log", Short: "Show who did what to which server, when and why", Args: args(cobra.NoArgs),
		Long: `Shows the audit trail of a run, the newest unless --run names another: what people said
(pause, approve, ...) and every statement that changes something, with the server it was
sent to and the step it belongs to. Passwords are never in it, and no rows of users: of a
statement that writes rows it has the shape and the number of rows. With --json, one JSON
object a line.

Reads only; works while the run goes on and after it was killed.

` + exitHelp,
		Example: "  stowage log\n  stowage log --json | jq 'select(.server | startswith(\"dbshard007\"))'",
		RunE: func(c *cobra.Command, _ []string) error {
			deeds, err := a.deeds(run, all)
			if err != nil {
				return err
			}
			return a.writeDeeds(deeds)
		},
	}
	cmd.Flags().StringVar(&run, "run", "", "of this run (move-first-1, replay-1) instead of the newest")
	cmd.Flags().BoolVar(&all, "all", false, "of all runs that are kept, replays that wrote among them")
	return cmd
}

// deeds are the statements and the orders of people, by time; none where no run has begun.
func (a *app) deeds(run string, all bool) ([]store.Deed, error) {
	d, err := a.openRun()
	if err != nil {
		return nil, err
	}
	defer d.Close()
	moves, err := act.Runs(d.Store)
	replays, moreErr := d.Store.Runs(store.Replay)
	if err := errors.Join(err, moreErr); err != nil {
		return nil, err
	}
	if len(moves) == 0 && run == "" && (!all || len(replays) == 0) {
		return nil, nil
	}
	if err := d.Store.TakeTrail(); err != nil {
		return nil, err
	}
	if run == "" && !all {
		run = moves[0].ID
	}
	var out []store.Deed
	found := false
	for _, r := range slices.Concat(moves, replays) {
		if !all && r.ID != run {
			continue
		}
		found = true
		sent, err := d.Store.Deeds(r.ID)
		said, sayErr := d.Store.Orders(r.ID, 0)
		if err := errors.Join(err, sayErr); err != nil {
			return nil, err
		}
		out = append(out, sent...)
		for _, d := range act.Deeds(said) {
			if d.Kind == act.Begun { // of whatever kind the run is
				d.Kind = r.Kind
			}
			out = append(out, d)
		}
	}
	if !found {
		return nil, &farm.Error{Op: "log", Subject: run, Err: fmt.Errorf("%w: no such run", farm.ErrInput), Hint: "stowage log --all shows all there are"}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Time.Before(out[j].Time) })
	return out, nil
}

func (a *app) writeDeeds(deeds []store.Deed) error {
	if a.json {
		enc := json.NewEncoder(a.stdout)
		for _, d := range deeds {
			if err := enc.Encode(d); err != nil {
				return err
			}
		}
		return nil
	}
	if len(deeds) == 0 {
		_, err := fmt.Fprintln(a.stdout, "no run has begun in this workspace")
		return err
	}
	for _, d := range deeds {
		if err := writeDeed(a.stdout, d); err != nil {
			return err
		}
	}
	return nil
}

func writeDeed(w io.Writer, d store.Deed) error {
	where := d.Part
	if d.Step != "" {
		where += " " + d.Step
	}
	if d.Undo {
		where += " (undo)"
	}
	text := d.Text
	if d.Server != "" {
		text = fmt.Sprintf("%s %s: %s", d.Server, d.Address, d.Text)
	}
	if d.Count > 0 {
		text += fmt.Sprintf(" (%d more)", d.Count)
	}
	if d.Error != "" {
		text += "\n    failed: " + d.Error
	}
	if d.Kind != "statement" {
		text = d.Kind + " " + d.Text
		if d.Why != "" {
			text += "  # " + d.Why
		}
	}
	_, err := fmt.Fprintf(w, "%s %-10s %-28s %s\n", d.Time.Local().Format(time.DateTime+".000"), d.Who, where, text)
	return err
}
