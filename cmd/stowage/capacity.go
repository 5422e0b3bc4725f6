package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stowage/capacity"
	"stowage/farm"
	"stowage/internal/table"
)

// capacityAnswer is what `stowage capacity` prints.
type capacityAnswer struct {
	FormatVersion int            `json:"format_version"`
	Farm          string         `json:"farm"`
	Plan          string         `json:"plan"` // empty: none was asked for
	Now           capacity.Side  `json:"now"`
	After         *capacity.Side `json:"after"`
	Rows          []capacity.Row `json:"forecasts"`
	Prometheus    []askedProm    `json:"prometheus"` // those of inventory.yaml, and what forecasts were made of their series
	// What one death, more instances on a host and a backup mean, now and after the plan. Curve is what bench engine measured; null: nothing.
	Outlook      farmOutlook     `json:"outlook"`
	OutlookAfter *farmOutlook    `json:"outlook_after"`
	Curve        *capacity.Curve `json:"curve"`
}

// next: a plan that was asked about is asked before it is carried out; else one is made; without measurements those come first.
func (c capacityAnswer) next(a *app) []string {
	switch {
	case c.Plan != "":
		return []string{a.cmd("move %s --dry-run", c.Plan)}
	case !slices.ContainsFunc(c.Rows, func(r capacity.Row) bool { return r.Days != nil }):
		return []string{a.cmd("due"), a.cmd("plan")}
	}
	return []string{a.cmd("plan")}
}

type capacityAsk struct {
	plan   string
	series []string
	rows   int
	rate   string // of a backup; empty: measured
	asks   string // the Prometheus of inventory.yaml: asksAlways, asksNever, or, where nobody said so, if there is one
}

func (a *app) capacityCommand() *cobra.Command {
	var ask capacityAsk
	var asks bool
	cmd := &cobra.Command{
		Use:   "capacity",
		Short: "Say how many days disks, memory, CPU and IOPS last, and what the farm draws and costs",
		Long: `Says for each host, pair and shard in how many days a resource reaches its limit: the day by which
that happens with 5, 50 and 95 % probability. It uses every inventory that was kept, what stowage due has kept of
hosts (processors, memory, operations of disks), and series of your own from CSV files (--series) with the columns
time, name, resource, value, and limit where farm.yaml does not say it.
Where a Prometheus of inventory.yaml has a longer history of a resource, from node_exporter, it is used, and said
beside it. One that does not answer is named, and left out; with --prometheus that is an error.

One-off imports and purges are taken out, and only growth since its last change counts. With fewer than
21 days or 3 weeks of samples there is no number. 'Declared' is what the growth in farm.yaml gives; nobody
measured that. With --plan it also says what the farm has, draws and costs after a plan.

It also says who takes the load of each host if it dies, how CPU and IOPS grow with the instances on a host (as
stowage bench engine measured; else linear, not measured), and how long a backup of all takes at the rate of
the copies of the last moves.

` + exitHelp,
		Example: "  stowage capacity\n  stowage capacity --plan first\n  stowage capacity --series disks.csv --json | jq '.forecasts[] | {name, days}'",
		Args:    args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("prometheus") {
				ask.asks = map[bool]string{true: asksAlways, false: asksNever}[asks]
			}
			answer, err := a.capacity(c.Context(), ask)
			if err != nil {
				return err
			}
			return a.emit(answer, func(w io.Writer) error { return answer.text(w, ask.rows) }, answer.next(a)...)
		},
	}
	cmd.Flags().StringVar(&ask.plan, "plan", "", "also show the farm after this plan")
	cmd.Flags().StringArrayVar(&ask.series, "series", nil, "a CSV `file` with series; may be given again")
	cmd.Flags().BoolVar(&asks, "prometheus", false, "insist on the Prometheus servers of inventory.yaml; --prometheus=false: ask none")
	cmd.Flags().StringVar(&ask.rate, "backup-rate", "", "how fast a backup is read, such as 120MB/s; without it, as fast as the copies of moves")
	cmd.Flags().IntVar(&ask.rows, "rows", 30, "show so many forecasts, the most urgent ones; 0 for all. JSON has all")
	return cmd
}

func (a *app) capacity(ctx context.Context, ask capacityAsk) (capacityAnswer, error) {
	d, err := a.open()
	if err != nil {
		return capacityAnswer{}, err
	}
	defer d.Close()
	defer a.doing("reading series and forecasting")()
	answer := capacityAnswer{FormatVersion: 1, Farm: d.Farm.Name, Plan: ask.plan, Now: capacity.Of(d.Farm)}
	rate, err := a.copyRate(d, ask.rate)
	if err != nil {
		return capacityAnswer{}, err
	}
	answer.Curve = a.newestCurve(d)
	answer.Outlook = outlook(d.Farm, answer.Curve, rate)
	if ask.plan != "" {
		then, err := planned(d, ask.plan)
		if err != nil {
			return answer, err
		}
		after := capacity.Of(then)
		answer.After = &after
		look := outlook(then, answer.Curve, rate)
		answer.OutlookAfter = &look
	}
	known, err := a.histories(ctx, d, ask.asks)
	if err != nil {
		return answer, err
	}
	answer.Prometheus = known.asked
	for _, x := range known.asked {
		if said := x.said(); said != "" {
			a.say("%s", said)
		}
	}
	all := known.series
	for _, file := range ask.series {
		more, err := readSeries(file, d.Farm)
		if err != nil {
			return answer, &farm.Error{Op: "read series", Err: err}
		}
		all = append(all, more...)
	}
	answer.Rows = capacity.Assess(d.Farm, all)
	return answer, nil
}

func readSeries(file string, f *farm.Farm) ([]capacity.Series, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", farm.ErrInput, err)
	}
	defer in.Close()
	return capacity.ReadCSV(file, in, f)
}

func (c capacityAnswer) text(w io.Writer, most int) error {
	sides, head := []capacity.Side{c.Now}, "\tnow"
	if c.After != nil {
		sides, head = append(sides, *c.After), head+"\tafter "+c.Plan
	}
	t := table.Figures(w, head)
	for _, line := range []struct {
		what string
		show func(capacity.Side) string
	}{
		{"hosts in use", func(s capacity.Side) string { return fmt.Sprint(s.Hosts) }},
		{"instances", func(s capacity.Side) string { return fmt.Sprint(s.Instances) }},
		{"disk in them", func(s capacity.Side) string { return farm.RoundQuantity(s.Disk, farm.KindBytes) }},
		{"disk used", func(s capacity.Side) string { return farm.RoundQuantity(s.DiskUsed, farm.KindBytes) }},
		{"memory for an instance", func(s capacity.Side) string {
			return farm.RoundQuantity(s.MemoryLeast, farm.KindBytes) + " to " + farm.RoundQuantity(s.MemoryMost, farm.KindBytes)
		}},
		{"watts", func(s capacity.Side) string { return fmt.Sprintf("%.0f", s.Watts) }},
		{"price of the hosts", func(s capacity.Side) string { return fmt.Sprintf("%.0f", s.Cost) }},
		{"first host full, declared", func(s capacity.Side) string { return declared(s.DeclaredFirst != "", s.DeclaredDays) }},
		{"all disks full, declared", func(s capacity.Side) string { return declared(s.DiskGrowth > 0, s.WholeDays) }},
	} {
		row := []string{line.what}
		for _, s := range sides {
			row = append(row, line.show(s))
		}
		t.Cells(row...)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := c.forecasts(w, most); err != nil {
		return err
	}
	if c.OutlookAfter == nil {
		return c.Outlook.text(w, "", c.Curve)
	}
	if err := c.Outlook.text(w, " now", c.Curve); err != nil {
		return err
	}
	return c.OutlookAfter.text(w, " after "+c.Plan, c.Curve)
}

func declared(known bool, days float64) string {
	if !known {
		return "-"
	}
	return daysText(days)
}

// daysText never shows more digits than a forecast has.
func daysText(days float64) string {
	switch {
	case days >= 10000:
		return "over 10,000 days"
	case days >= 1000:
		return fmt.Sprintf("over %d,000 days", int(days/1000))
	case days < 1.5 && days >= 0.5:
		return "1 day"
	}
	return fmt.Sprintf("%.0f days", days)
}

func (c capacityAnswer) forecasts(w io.Writer, most int) error {
	rows := c.Rows
	if most > 0 && len(rows) > most {
		rows = rows[:most]
	}
	fmt.Fprintln(w)
	t := table.New(w, "WHAT\tRESOURCE\tUSED\tLIMIT\tGROWTH\tREACHED IN\t90 % INTERVAL\tDECLARED\tFROM").Cut("90 % INTERVAL", "FROM").Names("WHAT")
	for _, r := range rows {
		kind := r.Resource.Kind()
		growth, reached, interval := "-", "unknown", r.Reason
		if r.Days != nil {
			growth = farm.RoundQuantity(r.Growth, kind) + "/day"
			reached, interval = daysOr(r.Days.Mid, "not in sight"), daysText(r.Days.Low)+" to "+daysOr(r.Days.High, "no bound")
		}
		days := "-"
		if r.DeclaredDays != nil {
			days = daysText(*r.DeclaredDays)
		}
		t.Row("%s %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", r.Kind, r.Name, r.Resource, farm.RoundQuantity(r.Used, kind), farm.RoundQuantity(r.Limit, kind), growth, reached, interval, days, r.Source)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if n := len(c.Rows) - len(rows); n > 0 {
		fmt.Fprintf(w, "and %d more: --rows 0\n", n)
	}
	for _, r := range rows {
		for _, remark := range r.Remarks {
			fmt.Fprintf(w, "%s %s, %s: %s\n", r.Kind, r.Name, r.Resource, remark)
		}
		if len(r.Steps) > 0 {
			fmt.Fprintf(w, "%s %s, %s: left out %s\n", r.Kind, r.Name, r.Resource, stepsText(r))
		}
	}
	return nil
}

func stepsText(r capacity.Row) string {
	var parts []string
	for _, s := range r.Steps[:min(3, len(r.Steps))] {
		sign := "+"
		if s.Size < 0 {
			sign, s.Size = "-", -s.Size
		}
		parts = append(parts, sign+farm.RoundQuantity(s.Size, r.Resource.Kind())+" on "+s.At.Format(time.DateOnly))
	}
	if n := len(r.Steps) - 3; n > 0 {
		parts = append(parts, fmt.Sprintf("%d more", n))
	}
	return strings.Join(parts, ", ")
}

func daysOr(days *float64, none string) string {
	if days == nil {
		return none
	}
	return daysText(*days)
}
