package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/inventory"
	"stowage/placement"
	"stowage/placement/check"
)

func (a *app) planCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Decide what goes where, and write the plan for review",
		Long: `Packs the instances of farm.yaml onto as few hosts as goals.yaml allows, proves how
many are needed at least, and writes plans/NAME.json: reviewed by people, then
executed as it is by 'stowage move NAME', or not at all. Touches no server.

` + exitHelp,
		Example: "  stowage plan --name first\n  stowage plan show first",
		Args:    args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			p, path, err := a.plan(strings.TrimSuffix(name, ".json"))
			if err != nil {
				return err
			}
			a.say("wrote %s; review it, then: stowage move %s", path, p.Name)
			return a.emit(p, p.WriteText)
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "name of the plan; default plan-001 and so on")
	cmd.AddCommand(&cobra.Command{
		Use: "show NAME", Short: "Show a plan again", Args: args(cobra.ExactArgs(1)),
		Long:    "Shows a plan for people, or with --json as it is. Works on any plan, carried out or not.\n\n" + exitHelp,
		Example: "  stowage plan show first",
		RunE: func(_ *cobra.Command, given []string) error {
			d, err := a.open()
			if err != nil {
				return err
			}
			defer d.close()
			p, err := d.Plan(given[0])
			if err != nil {
				return err
			}
			return a.emit(p, p.WriteText)
		},
	})
	return cmd
}

// plan solves, has the answer checked by code that shares nothing with the
// solver, and saves it.
func (a *app) plan(name string) (placement.Plan, string, error) {
	d, err := a.open()
	if err != nil {
		return placement.Plan{}, "", err
	}
	defer d.close()
	goals, err := d.GoalsFor(d.farm)
	if err != nil {
		return placement.Plan{}, "", err
	}
	start := time.Now()
	p, err := placement.Solve(d.farm, goals)
	if err != nil {
		return p, "", err
	}
	if wrong := check.Plan(d.farm, p); len(wrong) > 0 {
		return p, "", fmt.Errorf("plan does not pass its own check, which is a fault of Stowage: %s", wrong[0])
	}
	p.Name, p.Made, p.Seconds = name, start.UTC().Format(time.RFC3339), time.Since(start).Seconds()
	path, err := d.SavePlan(p)
	if err != nil {
		return p, "", err
	}
	saved, err := d.Plan(path)
	return saved, path, err
}

// writeFindings prints findings, or says nothing when there are none.
func writeFindings(w io.Writer, findings []farm.Finding) {
	for _, f := range findings {
		_ = inventory.WriteFinding(w, f) // to standard error: nobody to tell
	}
}
