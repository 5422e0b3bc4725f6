package sheet

import (
	"fmt"
	"io"
	"slices"

	"stowage/bench/result"
	"stowage/bench/stat"
	"stowage/internal/table"
)

// Comparison is B compared with A, row by row.
type Comparison struct {
	FormatVersion int     `json:"format_version"`
	Kind          string  `json:"kind"`
	A             Subject `json:"a"`
	B             Subject `json:"b"`
	Tolerance     float64 `json:"tolerance"`
	// Drift is how much farther, as a logarithm, every interval of times reaches: what the A/A cells and the disturbance of both say.
	Drift   float64    `json:"drift"`
	Steps   []Compared `json:"steps"`
	OnlyInA []string   `json:"only_in_a,omitempty"`
	OnlyInB []string   `json:"only_in_b,omitempty"`
	// Caveats are differences in how it was measured.
	Caveats []string `json:"caveats,omitempty"`
}

// Subject says what was measured.
type Subject struct {
	Name      string `json:"name"` // the file it came from
	Host      string `json:"host"`
	Directory string `json:"directory"`
	Server    string `json:"server"`
	Valid     bool   `json:"valid"`
	Quiet     bool   `json:"quiet"`
}

// Compared is one row that both have. The ratio, interval and verdict beside the id are those of transactions a second.
type Compared struct {
	ID string  `json:"id"`
	A  float64 `json:"a_tps"`
	B  float64 `json:"b_tps"`
	stat.Judgement
	PerCPU  stat.Judgement  `json:"tx_per_cpu_second"`
	P99     *stat.Judgement `json:"p99"`           // a ratio below 1 is better
	Written *stat.Judgement `json:"written_bytes"` // settled; a ratio below 1 is better
	Note    string          `json:"note,omitempty"`
}

// Compare compares b with a. The names are what people call them.
func Compare(nameA string, a *Result, nameB string, b *Result) *Comparison {
	c := &Comparison{FormatVersion: FormatVersion, Kind: Kind, A: subject(nameA, a), B: subject(nameB, b), Tolerance: result.Tolerance}
	rule := rulesOf(a, b)
	c.Drift = rule.times.Drift
	for _, x := range a.Rows {
		y := b.Row(x.ID)
		if y == nil || len(x.Samples) == 0 || len(y.Samples) == 0 {
			c.OnlyInA = append(c.OnlyInA, x.ID)
			continue
		}
		v := versus(x, y, rule)
		d := Compared{ID: x.ID, A: x.TPS.Mean, B: y.TPS.Mean, Judgement: v.TPS, PerCPU: v.PerCPU, P99: v.P99, Written: v.Written}
		for _, one := range []struct {
			name string
			r    *Result
		}{{"A", a}, {"B", b}} {
			if !one.r.Valid {
				d.Verdict, d.MoreRuns, d.Note = stat.Inconclusive, nil, one.name+" is invalid"
			}
		}
		if x.Durability != y.Durability {
			d.Note = fmt.Sprintf("A is %s, B is %s", x.Durability, y.Durability)
		}
		c.Steps = append(c.Steps, d)
	}
	for _, y := range b.Rows {
		if a.Row(y.ID) == nil {
			c.OnlyInB = append(c.OnlyInB, y.ID)
		}
	}
	c.caveats(a, b)
	return c
}

func subject(name string, r *Result) Subject {
	return Subject{name, r.Environment.Host, r.Environment.Directory, r.Server, r.Valid, r.Noise.Quiet}
}

// GotWorse says whether anything is surely worse: throughput, its price in processors, or bytes.
func (c *Comparison) GotWorse() bool {
	return slices.ContainsFunc(c.Steps, func(s Compared) bool {
		return s.Verdict == stat.Worse || s.Verdict != stat.Inconclusive && (s.PerCPU.Verdict == stat.Worse || s.Written != nil && s.Written.Verdict == stat.Worse)
	})
}

func (c *Comparison) caveats(a, b *Result) {
	x, y := a.Settings, b.Settings
	for _, d := range []struct {
		what     string
		was, are any
	}{
		{"rows a table", x.Rows, y.Rows}, {"clients", x.Clients, y.Clients}, {"keys", x.Keys, y.Keys}, {"seconds a run", x.Runtime, y.Runtime}, {"seconds of warming up", x.Warmup, y.Warmup},
		{"transactions of backlog", x.Backlog, y.Backlog}, {"server", a.Server, b.Server}, {"bytes counted by", a.BytesFrom, b.BytesFrom}, {"profile", a.Profile, b.Profile},
		{"processors", a.Environment.CPUs, b.Environment.CPUs}, {"mount options", a.Environment.MountOptions, b.Environment.MountOptions}, {"kernel", a.Environment.Kernel, b.Environment.Kernel},
	} {
		if d.was != d.are {
			c.Caveats = append(c.Caveats, fmt.Sprintf("%s: %v and %v", d.what, d.was, d.are))
		}
	}
	for _, s := range []struct {
		name string
		r    *Result
	}{{"A", a}, {"B", b}} {
		for _, why := range s.r.Invalid {
			c.Caveats = append(c.Caveats, s.name+" is invalid: "+why)
		}
		for _, why := range s.r.Noise.Reasons {
			c.Caveats = append(c.Caveats, s.name+" was disturbed: "+why)
		}
	}
}

// CompareText is a comparison for people.
func CompareText(w io.Writer, c *Comparison) error {
	fmt.Fprintf(w, "A  %s: %s %s, %s\nB  %s: %s %s, %s\n\n", c.A.Name, c.A.Host, c.A.Directory, c.A.Server, c.B.Name, c.B.Host, c.B.Directory, c.B.Server)
	t := table.Figures(w, "row\tA tps\tB tps\tB / A\t95 % interval\tverdict\tmore runs\ttx/CPU-s B / A\tp99 B / A\tbytes/tx B / A")
	for _, s := range c.Steps {
		t.Row("%s\t%s\t%s\t%.3f\t%s\t%s\t%s\t%s\t%s\t%s", s.ID, short(s.A), short(s.B), s.Ratio, result.Span(s.CI), s.Verdict, result.More(s.MoreRuns), said(&s.PerCPU), said(s.P99), said(s.Written))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nBetter and worse: by more than %.0f %%, surely. Same: surely by less. Of p99 and bytes, less is better.\n", 100*c.Tolerance)
	for _, s := range c.Steps {
		if s.Note != "" {
			fmt.Fprintf(w, "%s: %s.\n", s.ID, s.Note)
		}
	}
	for _, x := range []struct {
		name string
		only []string
	}{{"A", c.OnlyInA}, {"B", c.OnlyInB}} {
		for _, id := range x.only {
			fmt.Fprintf(w, "Only in %s: %s.\n", x.name, id)
		}
	}
	for _, text := range c.Caveats {
		fmt.Fprintf(w, "Mind: %s.\n", text)
	}
	return nil
}
