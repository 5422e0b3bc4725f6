package sheet

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"stowage/bench/result"
	"stowage/bench/stat"
	"stowage/farm"
	"stowage/internal/table"
)

// WriteText is the document for people: what was done and how fast, then what it cost the storage. Durability and the ratio of data to
// cache stand in every row, for a figure without them says nothing.
func WriteText(w io.Writer, r *Result) error {
	var took time.Duration
	for _, s := range r.Sessions {
		took += s.Ended.Sub(s.Began)
	}
	s := r.Settings
	fmt.Fprintf(w, "%s: %s on %s, %s of %d rows (%d MiB), %s keys, %s a server, %g s a run, %v in all, seed %d\n", r.Environment.Directory, r.Server, r.Environment.Filesystem,
		farm.Counted(s.Tables, "table"), s.Rows, DataBytes(s.Rows)>>20, s.Keys, farm.Counted(s.Clients, "client"), s.Runtime, took.Round(time.Second), s.Seed)
	write := []func(io.Writer, *Result) error{writeSpeed, writeBytes}
	if r.Mode == Apply {
		write = []func(io.Writer, *Result) error{writeApply}
	}
	for _, f := range write {
		fmt.Fprintln(w)
		if err := f(w, r); err != nil {
			return err
		}
	}
	fmt.Fprintln(w)
	r.writeNotes(w)
	return nil
}

// name is the row's cell, with what sets it apart.
func (r *Row) name() string {
	switch {
	case r.Again:
		return r.Cell + " again"
	case r.Instances > 1:
		return fmt.Sprintf("%d x %s", r.Instances, r.Cell)
	}
	return r.Cell
}

func writeSpeed(w io.Writer, r *Result) error {
	head := "cell\tload\tdurability\tdata/cache\ttps\t+-95 %\ttx/CPU-s\t+-95 %\tp50 ms\tp95\tp99\tp99.9\tmax"
	if r.Mode == Instances {
		head += "\tworst p99"
	}
	t := table.Figures(w, head+"\truns\ttps : base\ttx/CPU-s : base")
	for _, x := range r.Rows {
		if len(x.Samples) == 0 {
			continue
		}
		row := []string{x.name(), x.Load, string(x.Durability), fmt.Sprintf("%.3g", x.Ratio), short(x.TPS.Mean), result.Sureness(x.TPS.CI), short(x.PerCPU.Mean), result.Sureness(x.PerCPU.CI),
			ms(x.Lat.P50), ms(x.Lat.P95), ms(x.Lat.P99), ms(x.Lat.P999), ms(x.Lat.Max)}
		if r.Mode == Instances {
			row = append(row, ms(max(x.WorstP99, x.Lat.P99)))
		}
		tps, cpu := "base", "base"
		if v := x.Versus; v != nil {
			tps, cpu = said(&v.TPS), said(&v.PerCPU)
		}
		t.Cells(append(row, fmt.Sprint(x.Runs), tps, cpu)...)
	}
	return t.Flush()
}

func writeBytes(w io.Writer, r *Result) error {
	t := table.Figures(w, "cell\tload\tdurability\tdata/cache\tKiB written/tx\tsettled\tsettled : base\tKiB read/tx\tflushes/tx\tamplification\tsettled\tMiB loaded\tafter\tsettled\tRSS MiB")
	for _, x := range r.Rows {
		if len(x.Samples) == 0 {
			continue
		}
		amp, ampSettled, written := "-", "-", "-"
		if a := x.Amplification; a != nil {
			amp, ampSettled = short(a.During), short(a.Settled)
		}
		if v := x.Versus; v != nil {
			written = said(v.Written)
		} else if x.Amplification != nil {
			written = "base"
		}
		t.Row("%s\t%s\t%s\t%.3g\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d", x.name(), x.Load, x.Durability, x.Ratio, short(x.Written.During/1024), short(x.Written.Settled/1024), written,
			short(x.Read/1024), short(x.Flushes), amp, ampSettled, x.Size.Loaded>>20, x.Size.After>>20, x.Size.Settled>>20, x.RSS>>20)
	}
	return t.Flush()
}

func writeApply(w io.Writer, r *Result) error {
	t := table.Figures(w, "cell\tthreads\tmode\tload\tdurability\tdata/cache\tapplied tx/s\t+-95 %\ttx/CPU-s\tprimary wrote tx/s\tkeeps up with\tretries\truns\ttx/s : base")
	for _, x := range r.Rows {
		if len(x.Samples) == 0 {
			continue
		}
		verdict, retries, wrote := "base", int64(0), 0.0
		if x.Versus != nil {
			verdict = said(&x.Versus.TPS)
		}
		for _, s := range x.Samples {
			retries += s.Retries
		}
		if x.PrimaryTPS != nil {
			wrote = x.PrimaryTPS.Mean
		}
		t.Row("%s\t%d\t%s\t%s\t%s\t%.3g\t%s\t%s\t%s\t%s\t%.0f %%\t%d\t%d\t%s", x.Cell, x.Threads, x.Parallel, x.Load, x.Durability, x.Ratio, short(x.TPS.Mean), result.Sureness(x.TPS.CI), short(x.PerCPU.Mean),
			short(wrote), 100*x.Keeps, retries, x.Runs, verdict)
	}
	return t.Flush()
}

// CatchUp is how long a replica that applies this rate needs for an hour's lag while its primary goes on writing; 0 when it never will.
func CatchUp(applied, written float64) time.Duration {
	if applied <= written || written <= 0 {
		return 0
	}
	return time.Duration(float64(time.Hour) * written / (applied - written))
}

func (r *Result) writeNotes(w io.Writer) {
	switch {
	case r.Mode == Apply:
		fmt.Fprintf(w, "Applied: a backlog of %d transactions that was written before the appliers began. Keeps up with: the part of that primary's rate of writes a replica can take for ever.\n", r.Settings.Backlog)
		for _, x := range r.Rows {
			if x.PrimaryTPS == nil || len(x.Samples) == 0 {
				continue
			}
			with := fmt.Sprintf("beside a primary like this one (%s a second) it falls behind for ever", short(x.PrimaryTPS.Mean))
			if d := CatchUp(x.TPS.Mean, x.PrimaryTPS.Mean); d > 0 {
				with = fmt.Sprintf("beside a primary like this one (%s a second) an hour's lag is gone in %s", short(x.PrimaryTPS.Mean), strings.TrimSuffix(d.Round(time.Minute).String(), "0s"))
			}
			fmt.Fprintf(w, "%s: up to %s writes a second without falling behind; %s.\n", x.ID, short(x.TPS.Mean), with)
		}
	default:
		fmt.Fprintln(w, "Times are those of whole transactions. Settled: with what the run left unwritten (dirty pages; memtable and compaction).")
		fmt.Fprintf(w, "Bytes are counted by %s; amplification is bytes written by byte of rows changed.\n", r.BytesFrom)
	}
	for _, k := range r.Knees {
		at := map[bool]string{true: "at", false: "not before"}[k.Sure]
		fmt.Fprintf(w, "Knee of %s, %s, data/cache %.3g: %s %d; %s.\n", k.Cell, k.Load, k.Ratio, at, k.At, k.Text)
	}
	for _, c := range r.Cells {
		if c.Missing != "" {
			fmt.Fprintf(w, "Not measured: %s: %s.\n", c.ID, c.Missing)
		} else if c.Unsafe != "" {
			fmt.Fprintf(w, "WARNING: %s: %s.\n", c.ID, c.Unsafe)
		}
	}
	for _, x := range r.Rows {
		if x.DebtUnpaid {
			fmt.Fprintf(w, "LSM debt not paid: %s: the run was shorter than its compaction needs; only the settled figures count, and a longer run may write more still.\n", x.ID)
		}
		if x.Unsettled {
			fmt.Fprintf(w, "Not settled: %s: it still wrote when time was up; its settled figures are too good.\n", x.ID)
		}
	}
	result.WriteRemarks(w, r.Labels, &r.Noise, r.Invalid)
}

// said is a judgement in a few words.
func said(j *stat.Judgement) string {
	if j == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f %s", j.Ratio, j.Verdict)
}

func ms(us float64) string { return short(us / 1000) }

// short is a number with three digits that count; costs of a transaction are often far below one.
func short(v float64) string {
	if v == 0 || math.Abs(v) >= 0.1 {
		return result.Short(v)
	}
	return strings.TrimRight(fmt.Sprintf("%.4f", v), "0")
}
