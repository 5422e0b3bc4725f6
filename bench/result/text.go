package result

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"stowage/internal/table"
)

// WriteText is the result for people.
func WriteText(w io.Writer, r *Result) error {
	if r.IsSecondhand() {
		return WriteClassic(w, []Named{{Name: r.Kind, Result: r}})
	}
	e := r.Environment
	var took time.Duration
	for _, s := range r.Sessions {
		took += s.Ended.Sub(s.Began)
	}
	fmt.Fprintf(w, "%s: %s, %s barrage, file of %d MiB, %s, %d runs in %v, seed %d\n\n", e.Directory, e.on(), r.Profile, r.Settings.Size>>20, r.Settings.Engine, r.Noise.Runs,
		took.Round(time.Second), r.Settings.Seed)
	t := table.Figures(w, "step\tIOPS\t+-95 %\tMB/s\tp50 us\tp95\tp99\tp99.9\tmax\truns\tmore\tsteady")
	for _, s := range r.Steps {
		steady := "no"
		if s.Steady {
			steady = "yes"
		}
		if !s.Valid {
			steady = "INVALID"
		}
		t.Row("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s", s.ID, Short(s.IOPS), Sureness(s.CI), Short(s.MBps),
			Short(s.Lat.P50), Short(s.Lat.P95), Short(s.Lat.P99), Short(s.Lat.P999), Short(s.Lat.Max), s.Runs, More(&s.MoreRuns), steady)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nLatency is that of a whole request; of FDS and MIX steps that of the fdatasync alone (the writes before it are in --json).")
	fmt.Fprintf(w, "More: about this many more runs would narrow the interval to +-%.0f %%.\n", 100*r.Settings.Target)
	if p := r.Precondition; p != nil {
		fmt.Fprintf(w, "Laid out: %d MiB of random data at %s MB/s.\n", p.Bytes>>20, Short(p.MBps))
	}
	r.writeNotes(w)
	return nil
}

// writeNotes says what must be known before the figures are believed.
func (r *Result) writeNotes(w io.Writer) {
	for _, s := range r.Steps {
		if s.Behind > 0.01 {
			fmt.Fprintf(w, "Behind: %s did %.0f %% less than it was asked for; its latencies leave out the waiting.\n", s.ID, 100*s.Behind)
		}
	}
	for _, c := range r.Curves() {
		switch {
		case c.Knee < 0:
		case c.Sure:
			fmt.Fprintf(w, "Saturated: %s beyond %s: p99 doubles for less than 10 %% more IOPS.\n", c.Load, c.Points[c.Knee].Depth())
		default:
			fmt.Fprintf(w, "Saturated, perhaps: %s beyond %s; intervals are too wide to be sure.\n", c.Load, c.Points[c.Knee].Depth())
		}
	}
	for _, s := range r.Steps {
		if s.Undurable {
			fmt.Fprintf(w, "NOT DURABLE: %s: the device got %.2f flushes for each fdatasync, and its cache keeps writes until it is flushed: they would be lost with the power (mounted with nobarrier?).\n", s.ID, *s.Flushes)
		}
	}
	WriteRemarks(w, r.Labels, &r.Noise, r.InvalidBecause)
}

// WriteClassic prints results in the classic table, as those that were not measured here are, and what must be known of each.
func WriteClassic(w io.Writer, all []Named) error {
	for _, n := range all {
		e := n.Result.Environment
		if what := joined(e.Directory, e.on(), e.MountOptions); what != "" {
			fmt.Fprintln(w, n.Name+": "+what)
		}
	}
	for _, t := range Classic(all) {
		fmt.Fprintln(w)
		if err := t.Write(w); err != nil {
			return err
		}
	}
	fmt.Fprintln(w)
	said := map[string]bool{}
	for _, n := range all {
		lines := map[string]string{Entered: "Entered, not measured here: ", Imported: "Imported, measured by another program: "}
		texts := append([]string{}, n.Result.Labels...)
		if n.Result.IsSecondhand() {
			texts = append([]string{lines[n.Result.Kind] + n.Result.Source}, texts...)
		}
		for _, why := range n.Result.InvalidBecause {
			texts = append(texts, "INVALID: "+why)
		}
		for _, text := range texts {
			if !said[text] {
				said[text] = true
				fmt.Fprintf(w, "%s.\n", text)
			}
		}
	}
	return nil
}

// joined are those of some texts that say anything.
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), ", ")
}
