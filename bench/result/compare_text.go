package result

import (
	"fmt"
	"io"
	"strings"

	"stowage/internal/table"
)

// CompareText is a comparison for people.
func CompareText(w io.Writer, c *Comparison) error {
	for _, s := range []struct {
		name string
		Subject
	}{{"A", c.A}, {"B", c.B}} {
		runs := "1 run"
		if s.Runs != 1 {
			runs = fmt.Sprintf("%d runs", s.Runs)
		}
		fmt.Fprintf(w, "%s  %s: %s, %s\n", s.name, s.Name, joined(strings.TrimSpace(s.Host+" "+s.Directory), s.On), runs)
	}
	fmt.Fprintln(w)
	t := table.Figures(w, "step\tA IOPS\tB IOPS\tB / A\t95 % interval\tverdict\tmore runs\tA run's p99 us\tB run's\tp99 B / A\tp99 verdict")
	for _, s := range c.Steps {
		tailA, tailB, times, tail := "-", "-", "-", "-"
		if s.P99 != nil {
			tailA, tailB, times, tail = Short(s.P99.A), Short(s.P99.B), fmt.Sprintf("%.3f", s.P99.Ratio), string(s.P99.Verdict)
		}
		t.Row("%s\t%s\t%s\t%.3f\t%s\t%s\t%s\t%s\t%s\t%s\t%s", s.ID, Short(s.A), Short(s.B), s.Ratio, Span(s.CI), s.Verdict, More(s.MoreRuns), tailA, tailB, times, tail)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nBetter and worse: by more than %.0f %%, surely. Same: surely by less. More runs: of each side, for a verdict; 'never' where drift or disturbance hides it. A run's p99: the geometric mean over single runs.\n", 100*c.Tolerance)
	for _, s := range c.Steps {
		if s.Note != "" {
			fmt.Fprintf(w, "%s: %s.\n", s.ID, s.Note)
		}
	}
	for _, x := range []struct {
		name string
		only []string
	}{{"A", c.OnlyInA}, {"B", c.OnlyInB}} {
		if len(x.only) > 0 {
			fmt.Fprintf(w, "Only in %s: %s.\n", x.name, strings.Join(x.only, ", "))
		}
	}
	for _, d := range c.Differs {
		fmt.Fprintf(w, "Differs: %s: %s, %s.\n", d.What, d.A, d.B)
	}
	for _, text := range c.Caveats {
		fmt.Fprintf(w, "Mind: %s.\n", text)
	}
	return nil
}
