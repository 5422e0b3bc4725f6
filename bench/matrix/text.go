package matrix

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"stowage/bench/result"
	"stowage/bench/stat"
	"stowage/farm"
	"stowage/internal/table"
)

// WriteText is the outcome for people: a table for each step, with a row for each cell.
func WriteText(w io.Writer, d *Document) error {
	fmt.Fprintf(w, "Matrix of %d cells x %s on %s, in %v, seed %d.\n", len(d.Cells), farm.Counted(d.Matrix.Rounds, "round"), d.Ground, d.Took().Round(time.Second), d.Seed)
	for _, t := range d.Tables() {
		fmt.Fprintln(w)
		if err := t.Write(w); err != nil {
			return err
		}
	}
	d.notes(w)
	return nil
}

// stepIDs are those of all cells, in the order of the first that has any.
func (d *Document) stepIDs() []string {
	var out []string
	seen := map[string]bool{}
	for _, c := range d.Cells {
		if c.Result == nil {
			continue
		}
		for _, s := range c.Result.Steps {
			if !seen[s.ID] {
				seen[s.ID] = true
				out = append(out, s.ID)
			}
		}
	}
	return out
}

// Tables are the classic ones, a table a step with a row for every cell that was measured, the one that is there twice among them.
func (d *Document) Tables() []result.ClassicTable {
	var out []result.ClassicTable
	for _, id := range d.stepIDs() {
		t := result.ClassicTable{Step: id, Of: "cell", Against: d.Baseline}
		for _, c := range d.Cells {
			s := c.step(id)
			if s == nil {
				continue
			}
			t.Answers = s.Answers
			t.Rows = append(t.Rows, result.ClassicRow{Name: c.Name, Step: s, Verdict: d.verdict(c, id), Flags: s.Flags()})
		}
		out = append(out, t)
	}
	return out
}

func (c *Measured) step(id string) *result.Step {
	if c.Result == nil {
		return nil
	}
	for _, s := range c.Result.Steps {
		if s.ID == id && s.Runs > 0 {
			return s
		}
	}
	return nil
}

// verdict is the word, with the ratio where there is one.
func (d *Document) verdict(c *Measured, id string) string {
	if c.Name == d.Baseline {
		return "baseline"
	}
	for _, s := range c.Against {
		if s.ID != id {
			continue
		}
		return said(s) + tail(s)
	}
	return "-"
}

func said(s result.Compared) string {
	switch {
	case s.Verdict != stat.Inconclusive:
		return fmt.Sprintf("%s x%.2f", s.Verdict, s.Ratio)
	case s.MoreRuns == nil:
		return "inconclusive, more rounds would not help"
	case *s.MoreRuns == 1:
		return "inconclusive, 1 more round"
	}
	return fmt.Sprintf("inconclusive, %d more rounds", *s.MoreRuns)
}

// tail is what is surely so of the 99th percentile: more requests may be paid for with it.
func tail(s result.Compared) string {
	if s.P99 == nil || s.P99.Verdict != stat.Better && s.P99.Verdict != stat.Worse {
		return ""
	}
	return fmt.Sprintf(", p99 %s x%.2f", s.P99.Verdict, s.P99.Ratio)
}

// notes say what was refused, and what must be known before the figures are believed.
func (d *Document) notes(w io.Writer) {
	fmt.Fprintln(w)
	for _, c := range d.Cells {
		switch {
		case c.Refused != "":
			fmt.Fprintf(w, "%s: %s.\n", c.Name, c.Refused)
		case c.Failed != "":
			fmt.Fprintf(w, "%s: failed: %s.\n", c.Name, c.Failed)
		}
	}
	for _, c := range d.Cells {
		if c.Result == nil {
			continue
		}
		for _, s := range c.Result.Steps {
			if s.Undurable {
				fmt.Fprintf(w, "NOT DURABLE: %s, %s: %.2f flushes for each fdatasync reached the device: what it acknowledged is lost with the power.\n", c.Name, s.ID, *s.Flushes)
			}
		}
		if c.isOver(d.Matrix.Rounds) && c.Failed == "" {
			for _, why := range c.Result.InvalidBecause {
				fmt.Fprintf(w, "INVALID: %s: %s.\n", c.Name, why)
			}
		}
	}
	if len(d.stepIDs()) > 0 {
		fmt.Fprintf(w, "Avg, 95%% and 99%% are of a whole request; of FDS and MIX steps of the fdatasync alone. Verdicts are of Requests/s, and of p99 where that is sure: better and worse by more than %.0f %%, surely.\n", 100*result.Tolerance)
	}
	for _, s := range d.AA {
		fmt.Fprintf(w, "A/A: %s of %s and its twin: x%.3f, %s.\n", s.ID, d.Cells[0].Name, s.Ratio, s.Verdict)
	}
	for _, text := range d.Labels {
		fmt.Fprintf(w, "Note: %s.\n", text)
	}
	if len(d.stepIDs()) > 0 {
		d.noise(w)
	}
}

// noise sums up what the barrages of all cells say of themselves; --json has it for each.
func (d *Document) noise(w io.Writer) {
	var reasons, labels []string
	add := func(list *[]string, text string) {
		if !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	disturbed, runs := 0, 0
	for _, c := range d.Cells {
		if c.Result == nil {
			continue
		}
		disturbed, runs = disturbed+c.Result.Noise.Disturbed, runs+c.Result.Noise.Runs
		for _, why := range c.Result.Noise.Reasons {
			why, _, _ = strings.Cut(why, " in ")
			add(&reasons, why)
		}
		for _, text := range c.Result.Labels {
			add(&labels, text)
		}
	}
	for _, text := range labels {
		fmt.Fprintf(w, "Note: %s.\n", text)
	}
	if disturbed == 0 {
		fmt.Fprintln(w, "Quiet: nothing disturbed it.")
		return
	}
	fmt.Fprintf(w, "Noise: %d of %d runs were disturbed: %s.\n", disturbed, runs, strings.Join(reasons, ", "))
}

// WritePlan is what will be done, hours first.
func WritePlan(w io.Writer, p Plan) error {
	fmt.Fprintf(w, "%s.\n\n", p.Hours())
	t := table.New(w, "cell\tfile system\tRAID\tmkfs\tmount\tqueue\ttest file").Cut("mkfs", "mount")
	for _, c := range p.Cells {
		t.Row("%s\t%s\t%s\t%s\t%s\t%s\t%s", c.Name, c.Filesystem, c.RAID, c.Mkfs, c.Mount, c.Queue, amount(c.Size))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nSteps: %s.\n", strings.Join(p.Steps, ", "))
	return nil
}
