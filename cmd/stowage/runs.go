package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"stowage/act"
	"stowage/internal/table"
)

// runLine is one run in the list.
type runLine struct {
	Run     string     `json:"run"`
	Kind    string     `json:"kind"`
	Subject string     `json:"subject"`
	State   string     `json:"state"` // running, interrupted, done, failed
	PID     int        `json:"pid,omitempty"`
	Started time.Time  `json:"started"`
	Ended   *time.Time `json:"ended"` // null while it has not
}

type runList struct {
	FormatVersion int       `json:"format_version"`
	Runs          []runLine `json:"runs"`
}

func (a *app) runsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "runs", Short: "List all runs of this workspace", Args: args(cobra.NoArgs),
		Long:    "Lists every run, newest first: what it did, when it began and ended, and how it ended.\nReads only.\n\n" + exitHelp,
		Example: "  stowage runs\n  stowage log --run move-first-1",
		RunE: func(*cobra.Command, []string) error {
			d, err := a.open()
			if err != nil {
				return err
			}
			defer d.Close()
			runs, err := act.Runs(d.Store)
			if err != nil {
				return err
			}
			list := runList{FormatVersion: 1, Runs: []runLine{}}
			for _, r := range runs {
				line := runLine{Run: r.ID, Kind: r.Kind, Subject: r.Subject, State: stateOf(d.Workspace, r), PID: act.Carrier(d.Workspace, r), Started: r.Started}
				if !r.Ended.IsZero() {
					line.Ended = &r.Ended
				}
				list.Runs = append(list.Runs, line)
			}
			next := a.allWithin(afterNothing(d))
			if len(runs) > 0 {
				next = []string{a.cmd("status --run %s", runs[0].ID), a.cmd("log --run %s", runs[0].ID)}
			}
			return a.emit(list, list.writeText, next...)
		},
	}
}

func (l runList) writeText(out io.Writer) error {
	if len(l.Runs) == 0 {
		_, err := fmt.Fprintln(out, "no run has begun in this workspace")
		return err
	}
	w := table.New(out, "run\tstate\tbegan\ttook").Names("run")
	for _, r := range l.Runs {
		took := "-"
		if r.Ended != nil {
			took = r.Ended.Sub(r.Started).Round(time.Second).String()
		}
		w.Row("%s\t%s\t%s\t%s", r.Run, r.State, r.Started.Local().Format(time.DateTime), took)
	}
	return w.Flush()
}
