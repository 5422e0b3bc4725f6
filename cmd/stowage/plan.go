package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/inventory"
	"stowage/placement"
	"stowage/placement/check"
)

// planFlags are goals for once: what goals.yaml says, with these changes. The
// plan keeps what it was made for.
type planFlags struct {
	name     string
	unit     string
	minimise []string
	without  []string
	fail     []string
	frozen   []string
	growth   string
	runway   float64
	dry      bool
	vbp      string
}

func (a *app) planCommand() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Decide what goes where, prove how good that is, and write the plan for review",
		Long: `Packs the instances of farm.yaml onto as few hosts as goals.yaml allows, proves how
many are needed at least, orders the moves so that no host is overloaded on the way,
and writes plans/NAME.json: reviewed by people, then executed as it is by
'stowage move NAME', or not at all. Touches no server.

What if? --without, --fail, --growth, --runway, --unit and --minimise change the
goals for this plan; --dry-run prints it and writes nothing.

` + exitHelp,
		Example: "  stowage plan --name first\n  stowage plan --fail ssd03 --dry-run\n  stowage plan explain ssd01",
		Args:    args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if f.vbp != "" {
				return a.planVBP(f.vbp)
			}
			p, path, err := a.planWith(f)
			if err != nil {
				return err
			}
			if path != "" {
				a.say("wrote %s; review it", path)
				return a.emit(p, p.WriteText, a.afterPlan(p.Name)...)
			}
			return a.emit(p, p.WriteText, a.forReal())
		},
	}
	cmd.Flags().StringVar(&f.name, "name", "", "name of the plan; default plan-001 and so on")
	cmd.Flags().StringVar(&f.unit, "unit", "", "what is placed as a whole: instance, or shard (regrouped into new pairs)")
	cmd.Flags().StringSliceVar(&f.minimise, "minimise", nil, "what to make small, in order: hosts, cost, watts, moves, balance")
	cmd.Flags().StringSliceVar(&f.without, "without", nil, "host types, or hosts, that receive nothing and are emptied")
	cmd.Flags().StringSliceVar(&f.fail, "fail", nil, "hosts taken to be lost: where would their instances go?")
	cmd.Flags().StringSliceVar(&f.frozen, "frozen", nil, "pairs that stay where they are")
	cmd.Flags().StringVar(&f.growth, "growth", "", "a factor on every need: x2")
	cmd.Flags().Float64Var(&f.runway, "runway", 0, "days for which the plan must hold while disks grow")
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "print the plan, write nothing")
	cmd.Flags().StringVar(&f.vbp, "vbp", "", "pack a vector bin packing instance (.vbp) with the same solver; needs no workspace")
	cmd.AddCommand(a.planShowCommand(), a.planExplainCommand(), a.planCompareCommand())
	return cmd
}

// apply changes goals as the flags say.
func (f planFlags) apply(g *placement.Goals, of *farm.Farm) error {
	bad := func(format string, args ...any) error {
		return &farm.Error{Op: "read arguments", Err: fmt.Errorf("%w: %s", farm.ErrInput, fmt.Sprintf(format, args...)), Hint: "stowage plan --help"}
	}
	if f.unit != "" {
		if g.Unit = placement.Unit(f.unit); g.Unit != placement.UnitInstance && g.Unit != placement.UnitShard {
			return bad("--unit %s: it is instance or shard", f.unit)
		}
	}
	if len(f.minimise) > 0 {
		g.Minimise = f.minimise
	}
	for _, p := range f.frozen {
		if _, ok := of.Pair(farm.PairName(p)); !ok {
			return bad("--frozen %s: the farm has no such pair", p)
		}
		g.Frozen = append(g.Frozen, farm.PairName(p))
	}
	for _, name := range append(append([]string{}, f.without...), f.fail...) {
		if err := leaveOut(g, of, name); err != nil {
			return bad("%s", err)
		}
	}
	if f.growth != "" {
		v, err := strconv.ParseFloat(strings.TrimPrefix(f.growth, "x"), 64)
		if err != nil || !(v > 0) || v > 1e6 {
			return bad("--growth %s: it is a factor such as x2", f.growth)
		}
		g.Growth = v
	}
	if f.runway != 0 {
		g.RunwayDays = f.runway
	}
	return nil
}

// leaveOut takes a host, or a host type, out of what is packed onto.
func leaveOut(g *placement.Goals, of *farm.Farm, name string) error {
	if _, ok := of.Host(farm.HostName(name)); ok {
		g.Without = append(g.Without, farm.HostName(name))
		return nil
	}
	if _, ok := of.HostType(farm.HostTypeName(name)); !ok {
		return fmt.Errorf("the farm has no host and no host type %q", name)
	}
	onto := g.Onto
	if len(onto) == 0 {
		for _, t := range of.HostTypes {
			onto = append(onto, t.Name)
		}
	}
	g.Onto = nil
	for _, t := range onto {
		if string(t) != name {
			g.Onto = append(g.Onto, t)
		}
	}
	if len(g.Onto) == 0 {
		return fmt.Errorf("without %s there is no host type left to pack onto", name)
	}
	kept := g.Buy[:0:0]
	for _, b := range g.Buy {
		if string(b.Type) != name {
			kept = append(kept, b)
		}
	}
	g.Buy = kept
	return nil
}

// plan solves with the goals as they stand.
func (a *app) plan(name string) (placement.Plan, string, error) {
	return a.planWith(planFlags{name: name})
}

// planWith solves, has the answer checked by code that shares nothing with the
// solver, and saves it.
func (a *app) planWith(f planFlags) (placement.Plan, string, error) {
	d, err := a.open()
	if err != nil {
		return placement.Plan{}, "", err
	}
	defer d.Close()
	goals, err := d.GoalsFor(d.Farm)
	if err != nil {
		return placement.Plan{}, "", err
	}
	if err := f.apply(&goals, d.Farm); err != nil {
		return placement.Plan{}, "", err
	}
	start := time.Now()
	defer a.doing("packing %s onto as few hosts as possible", farm.Counted(d.Farm.InstanceCount(), "instance"))()
	p, err := placement.Solve(d.Farm, goals)
	if err != nil {
		return p, "", err
	}
	if wrong := check.Plan(d.Farm, p); len(wrong) > 0 {
		return p, "", fmt.Errorf("plan does not pass its own check, which is a fault of Stowage: %s", wrong[0])
	}
	p.Name, p.Made, p.Seconds = strings.TrimSuffix(f.name, ".json"), start.UTC().Format(time.RFC3339), time.Since(start).Seconds()
	measured, err := d.Measured()
	if err != nil {
		return p, "", err
	}
	p.Evidence = measured.Evidence(d.Farm)
	if f.dry {
		return p, "", nil
	}
	path, err := d.SavePlan(p)
	if err != nil {
		return p, "", err
	}
	saved, err := d.Plan(path)
	return saved, path, err
}

// writeFindings prints findings, or says nothing when there are none.
func writeFindings(w io.Writer, findings []farm.Finding) {
	_ = inventory.WriteEach(w, findings) // to standard error: nobody to tell
}
