package main

import (
	"context"
	"io"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/inventory/claims"
	"stowage/inventory/sources"
	"stowage/session"
)

func (a *app) checkCommand() *cobra.Command {
	var patch bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Compare all sources of inventory.yaml with each other, and name the ones that are wrong",
		Long: `Reads every source of inventory.yaml: servers, option files, Ansible inventories, tables, application
configuration, HAProxy, Prometheus, programs. Compares what they claim with each other: every disagreement with all
claims side by side, what is missing or unknown, and what is impossible. Names the culprits, and says how sure that is.
Without inventory.yaml the sources are farm.yaml and its servers.

A source that cannot be read is stale: its last claims stand in for it, without a vote. A line that cannot be
read is reported with file:line, and the rest is read. --patch prints what culprits would have to change. Reads only; the last claims are kept below .stowage.
Exit code 1 with a conflict, a stale source or a line that cannot be read. docs/guide/sources.md.

` + exitHelp,
		Example: "  stowage inventory check\n  stowage inventory check --json | jq '.conflicts[] | {subject, attribute, culprits}'",
		Args:    args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			known, err := a.checkAndKeep(c.Context())
			if err != nil {
				return err
			}
			report := known.Report
			show := report.WriteText
			if patch {
				show = func(w io.Writer) error { return writePatch(w, a, report) }
			}
			next := []string{a.cmd("inventory")}
			switch {
			case patch:
				next = nil // it is for a file
			case len(report.Conflicts) > 0:
				next = []string{a.cmd("inventory check --patch"), a.cmd("inventory accept --sources")}
			}
			if err := a.emit(report, show, next...); err != nil {
				return err
			}
			if report.HasFindings() {
				return farm.ErrFindings
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&patch, "patch", false, "print a patch for the files of culprits instead; it is never applied")
	return cmd
}

// writePatch prints the patch, and on standard error what is not in it.
func writePatch(w io.Writer, a *app, r claims.Report) error {
	diff, left := sources.Patch(a.dir, r)
	if left > 0 {
		a.say("wrong claims that are not in the patch: %d; see stowage inventory check", left)
	}
	_, err := io.WriteString(w, diff)
	return err
}

// checkSources reads all sources and compares them with each other.
func (a *app) checkSources(ctx context.Context, d *session.Session) (claims.Report, []claims.Spec, error) {
	declared, err := d.Inventory()
	if err != nil {
		return claims.Report{}, nil, err
	}
	f, line, err := d.FarmPlaces()
	if err != nil {
		return claims.Report{}, nil, err
	}
	// Millions of claims are built up and nothing is thrown away meanwhile: with the usual setting as much garbage again is kept.
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	world := sources.World{Dir: d.Dir, State: d.State(), Farm: f, Line: line}
	if world.Closed = d.Login(); world.Closed == nil {
		world.Open = d.Server
	}
	if a.verbose {
		world.Tell = func(text string) { a.say("%s", text) }
	}
	if world.Backups, err = keptBackups(d); err != nil {
		return claims.Report{}, nil, err
	}
	if isBackups := func(s claims.Spec) bool { return s.Kind == "backups" || s.Name == "backups" }; f.Backup.IsPlace() && !slices.ContainsFunc(declared.Specs, isBackups) {
		declared.Specs = append(declared.Specs, claims.Spec{Name: "backups", Kind: "backups"})
	}
	defer a.doing("reading and comparing %s", farm.Counted(len(declared.Specs), "source"))()
	set, faults, err := sources.Collect(ctx, world, declared.Specs)
	if err != nil {
		return claims.Report{}, nil, err
	}
	report := claims.Reconcile(set, declared.Rules, time.Now().UTC())
	report.Farm, report.Faults = f.Name, faults
	return report, declared.Specs, nil
}
