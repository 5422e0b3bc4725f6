package result

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// CompareText is a comparison for people.
func CompareText(w io.Writer, c *Comparison) error {
	for _, s := range []struct {
		name string
		Subject
	}{{"A", c.A}, {"B", c.B}} {
		fmt.Fprintf(w, "%s  %s: %s %s, %s, %d runs\n", s.name, s.Name, s.Host, s.Directory, s.On, s.Runs)
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "step\tA IOPS\tB IOPS\tB / A\t95 % interval\tverdict\tmore runs\tA p99 us\tB p99 us\tp99 verdict\t")
	for _, s := range c.Steps {
		tailA, tailB, tail := "-", "-", "-"
		if s.P99 != nil {
			tailA, tailB, tail = Short(s.P99.A), Short(s.P99.B), string(s.P99.Verdict)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.3f\t%s\t%s\t%s\t%s\t%s\t%s\t\n", s.ID, Short(s.A), Short(s.B), s.Ratio, Span(s.CI), s.Verdict, More(s.MoreRuns), tailA, tailB, tail)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nBetter and worse: by more than %.0f %%, surely. Same: surely by less. More runs: of each side, for a verdict; 'never' where drift or disturbance hides it.\n", 100*c.Tolerance)
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
