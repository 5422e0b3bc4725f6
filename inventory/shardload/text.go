package shardload

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/internal/table"
)

// column is a figure of each shard, as people see it.
type column struct {
	name string
	get  func(Shard) Figure
	show func(float64) string
}

func plain(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 0.0995:
		return fmt.Sprintf("%.3f", v)
	case v < 9.95:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

func inBytes(v float64) string { return farm.RoundQuantity(v, farm.KindBytes) }

func columns() []column {
	return []column{
		{"CPU", func(s Shard) Figure { return s.CPU }, plain},
		{"IOPS", func(s Shard) Figure { return s.IOPS }, plain},
		{"IO BYTES/S", func(s Shard) Figure { return s.Bytes }, inBytes},
		{"ROWS READ/S", func(s Shard) Figure { return s.Read }, plain},
		{"CHANGED/S", func(s Shard) Figure { return s.Changed }, plain},
		{"WORKING SET", func(s Shard) Figure { return s.Memory }, inBytes},
		{"DISK", func(s Shard) Figure { return s.Disk }, inBytes},
		{"GROWTH/DAY", func(s Shard) Figure { return s.Growth }, signed},
	}
}

func signed(v float64) string {
	if v < 0 {
		return "-" + inBytes(-v)
	}
	return inBytes(v)
}

// WriteText is the person's view: what each shard uses, what was not measured and why, and the sums. rows bounds the
// shards that are shown, those with the most CPU first; 0 shows all.
func (r Report) WriteText(w io.Writer, rows int) error {
	fmt.Fprintf(w, "farm %s: %s of %s measured for %.0f s, from %s\n\n", r.Farm, farm.Counted(len(r.Shards), "shard"), farm.Counted(len(r.Instances), "instance"), r.Seconds, r.Began.UTC().Format("2006-01-02 15:04:05 UTC"))
	shards := slices.Clone(r.Shards)
	slices.SortStableFunc(shards, func(a, b Shard) int {
		switch x, y := a.CPU.Or(0), b.CPU.Or(0); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	shown := shards
	if rows > 0 && len(shown) > rows {
		shown = shown[:rows]
	}
	head := "SHARD\tPAIR"
	for _, c := range columns() {
		head += "\t" + c.name
	}
	t := table.New(w, head).Names("SHARD", "PAIR")
	for _, s := range shown {
		row := []string{string(s.Shard), string(s.Pair)}
		for _, c := range columns() {
			row = append(row, c.get(s).text(c.show))
		}
		t.Cells(row...)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if n := len(shards) - len(shown); n > 0 {
		fmt.Fprintf(w, "and %d more: --rows 0\n", n)
	}
	fmt.Fprintln(w, "\nCPU is in cores, of the side that serves the shard alone: sessions of both sides, and the server's own work of one.")
	r.writeHow(w)
	r.writeMissing(w)
	for _, i := range r.Instances {
		for _, n := range i.Notes {
			fmt.Fprintf(w, "%s: %s\n", i.Name, n)
		}
	}
	for _, s := range r.Silent {
		fmt.Fprintf(w, "not measured: %s: %s\n", s.Name, s.Why)
	}
	return r.writeSums(w)
}

// text is a figure with its interval where that is wider than what is shown.
func (f Figure) text(show func(float64) string) string {
	if !f.Measured() {
		return "not measured"
	}
	text := show(*f.Value)
	if low, high := show(*f.Low), show(*f.High); low != text || high != text {
		text += " (" + low + "-" + high + ")"
	}
	return text
}

// writeHow says how each kind of figure was got, once for all that were got so.
func (r Report) writeHow(w io.Writer) {
	for _, c := range columns() {
		sure := map[Sureness]int{}
		var ways []string
		for _, i := range r.Instances {
			for _, s := range i.Shards {
				f := c.get(s)
				if !f.Measured() {
					continue
				}
				sure[f.Sure]++
				way, _, _ := strings.Cut(f.How, " (") // without the figures of this instance
				if way != "" && !slices.Contains(ways, way) && f.Value != nil && *f.Value != 0 {
					ways = append(ways, way)
				}
			}
		}
		if len(ways) > 0 {
			fmt.Fprintf(w, "%s: %s. Sure: %d good, %d fair, %d poor.\n", strings.ToLower(c.name), strings.Join(ways, "; or "), sure[Good], sure[Fair], sure[Poor])
		}
	}
}

// writeMissing says what was not measured, why, and what would help, once for all that lack the same.
func (r Report) writeMissing(w io.Writer) {
	type lack struct{ what, why, remedy string }
	var order []lack
	names := map[lack][]string{}
	note := func(what, name string, f Figure) {
		if f.Measured() {
			return
		}
		l := lack{what, f.Missing, f.Remedy}
		if names[l] == nil {
			order = append(order, l)
		}
		if !slices.Contains(names[l], name) {
			names[l] = append(names[l], name)
		}
	}
	for _, c := range columns() {
		for _, s := range r.Shards {
			if c.name == "GROWTH/DAY" {
				note("growth/day", string(s.Pair), s.Growth)
			}
		}
		for _, i := range r.Instances {
			for _, s := range i.Shards {
				if c.name != "GROWTH/DAY" {
					note(strings.ToLower(c.name), string(i.Name), c.get(s))
				}
			}
		}
	}
	for _, l := range order {
		list := names[l]
		text := strings.Join(list[:min(3, len(list))], ", ")
		if more := len(list) - 3; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		fmt.Fprintf(w, "not measured: %s of %s: %s\n", l.what, text, orElse(l.why, "the server did not say"))
		if l.remedy != "" {
			fmt.Fprintf(w, "  -> %s\n", l.remedy)
		}
	}
}

func (r Report) writeSums(w io.Writer) error {
	if len(r.Sums) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := table.New(w, "SUM OF\tWHAT\tSHARDS\tOTHERS\tCOUNTER\tRATIO\tCOUNTER FROM").Cut("WHAT", "COUNTER FROM")
	for _, s := range r.Sums {
		show := plain
		if s.What == "bytes" {
			show = inBytes
		}
		t.Row("%s\t%s\t%s\t%s\t%s\t%.2f\t%s", s.Of, s.What, show(s.Shards), show(s.Others), show(s.Counter), s.Ratio(), s.Source)
	}
	err := t.Flush()
	for _, s := range r.Sums {
		if s.Note != "" {
			fmt.Fprintf(w, "%s, %s: %s\n", s.Of, s.What, s.Note)
		}
	}
	return err
}
