package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"stowage/bench/result"
	"stowage/bench/stat"
	"stowage/tune"
	"stowage/tune/prove"
)

func (p tuneProofs) writeText(w io.Writer) error {
	for _, r := range p.Leftover {
		fmt.Fprintf(w, "%-12s  %s: %s -> %s, left by a proof that was killed\n", r.State, r.Setting(), r.To, r.From)
	}
	if p.Nothing != "" {
		fmt.Fprintf(w, "%s: nothing to prove: %s\n", p.Host, p.Nothing)
		return nil
	}
	if p.Act == "dry-run" {
		p.writePlan(w)
		return nil
	}
	for i, x := range p.Proofs {
		if i > 0 {
			fmt.Fprintln(w)
		}
		p.writeProof(w, x)
	}
	return nil
}

func (p tuneProofs) writePlan(w io.Writer) {
	fmt.Fprintf(w, "%s: what --prove %s would do\n", p.Host, p.Rule)
	for _, t := range p.Trials {
		writeTried(w, "try", t.Changes)
		fmt.Fprintf(w, "  measure     %s without and with it by turns, on files in %s/.stowage-bench\n", t.Step, strings.TrimRight(t.Directory, "/"))
	}
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)).Round(time.Second) }
	fmt.Fprintf(w, "  take        %v to %v, about, with the disk as busy as it can be: a database on it will feel that\n  keep        what helped, until the next restart; anything else is put back\n", seconds(p.Seconds[0]), seconds(p.Seconds[1]))
}

func (p tuneProofs) writeProof(w io.Writer, x prove.Proof) {
	fmt.Fprintf(w, "%s: %s on %s, %s\n", p.Host, x.Rule, strings.Join(x.Subjects, ", "), x.Directory)
	writeTried(w, "tried", x.Changes)
	if c := x.Compared; c != nil {
		fmt.Fprintf(w, "  without     %s\n  with        %s\n", speed(c.A, c.P99, true), speed(c.B, c.P99, false))
		fmt.Fprintf(w, "  verdict     %s: %.3f times%s, %s\n", c.Verdict, c.Ratio, within(c.CI), x.Runs())
	}
	if x.Comparison != nil {
		for _, text := range x.Comparison.Caveats {
			fmt.Fprintf(w, "  mind        %s\n", text)
		}
	}
	for _, r := range x.Settings {
		fmt.Fprintf(w, "  %-10s  %s: %s (%s)\n", r.State, r.Setting(), r.From, r.Why)
	}
	if !x.Kept {
		if x.Why != "" {
			fmt.Fprintf(w, "  put back    %s\n", x.Why)
		}
		return
	}
	fmt.Fprintf(w, "  kept        until the next restart: %s\n", x.Why)
	for _, text := range slices.Compact(slices.Clone(x.Persist)) {
		fmt.Fprintf(w, "  lasts by    %s\n", text)
	}
	fmt.Fprintf(w, "  -> to take it back: stowage tune --revert  (%s)\n", p.Journal)
}

// writeTried leaves out most of many: a machine may have a hundred processors.
func writeTried(w io.Writer, word string, changes []tune.Change) {
	const shown = 4
	for i, c := range changes {
		if i == shown && len(changes) > shown+1 {
			fmt.Fprintf(w, "  %-10s  and %d like these\n", word, len(changes)-shown)
			return
		}
		fmt.Fprintf(w, "  %-10s  %s: %s -> %s\n", word, c.Setting(), c.From, c.To)
	}
}

func speed(iops float64, tail *result.Tail, isA bool) string {
	text := fmt.Sprintf("%.0f IOPS", iops)
	if tail == nil {
		return text
	}
	p99 := tail.B
	if isA {
		p99 = tail.A
	}
	return fmt.Sprintf("%s, p99 %.0f us", text, p99)
}

func within(i *stat.Interval) string {
	if i == nil {
		return ""
	}
	return fmt.Sprintf(" (%.3f to %.3f)", i.Low, i.High)
}
