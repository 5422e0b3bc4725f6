package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"stowage/bench/result"
)

// benchOrigin is where figures come from: what differs between the results, what they share, how quiet it was, and fio's jobs.
type benchOrigin struct {
	Differs, Same, Noise planTable
	Jobs                 []benchJobs
}

type benchJobs struct {
	Side benchSide
	Jobs []benchJob
}

type benchJob struct{ ID, Job string }

// originFact is one line of the environment or of the settings.
type originFact struct {
	what string
	of   func(*result.Result) string
}

func (d *BenchDocument) origin() benchOrigin {
	o := benchOrigin{
		Differs: planTable{Caption: "What differs", Head: d.head("What")},
		Same:    planTable{Caption: "Machine, file system, device and settings", Folded: true, Head: d.head("What")[:2]},
		Noise:   planTable{Caption: "How quiet it was", Head: d.head("What")},
	}
	if len(d.Sides) > 1 {
		o.Same.Caption = "What is the same"
	}
	o.Same.Head[1].Name = ""
	for _, f := range append(originFacts(), d.queueFacts()...) {
		row := d.row(f)
		isSame := !slices.ContainsFunc(row[2:], func(c planCell) bool { return c.Text != row[1].Text })
		switch {
		case !isSame:
			o.Differs.Rows = append(o.Differs.Rows, row)
		case row[1].Text != "":
			o.Same.Rows = append(o.Same.Rows, row[:2])
		}
	}
	for _, f := range noiseFacts("IOPS") {
		o.Noise.Rows = append(o.Noise.Rows, d.row(originFact{f.what, func(r *result.Result) string {
			if r.Noise.Runs == 0 {
				return "not known"
			}
			return f.of(r)
		}}))
	}
	for _, s := range d.Sides {
		j := benchJobs{Side: s}
		for _, x := range s.result.Steps {
			if x.Job != "" {
				j.Jobs = append(j.Jobs, benchJob{x.ID, x.Job})
			}
		}
		if len(j.Jobs) > 0 {
			o.Jobs = append(o.Jobs, j)
		}
	}
	return o
}

// head has a column for each result.
func (d *BenchDocument) head(first string) []planColumn {
	out := columns(first)
	for _, s := range d.Sides {
		out = append(out, planColumn{Name: strings.TrimSpace(s.Letter + " " + s.Name)})
	}
	return out
}

func (d *BenchDocument) row(f originFact) []planCell {
	out := cells(f.what)
	for _, s := range d.Sides {
		out = append(out, cells(f.of(s.result))...)
	}
	return out
}

func originFacts() []originFact { return slices.Concat(sessionFacts(), machineFacts(), settingFacts()) }

// machineFacts are what was measured on.
func machineFacts() []originFact {
	env := func(what string, of func(e result.Environment) string) originFact {
		return originFact{what, func(r *result.Result) string { return of(r.Environment) }}
	}
	device := func(what string, of func(d *result.Device) string) originFact {
		return originFact{what, func(r *result.Result) string {
			if r.Environment.Device == nil {
				return ""
			}
			return of(r.Environment.Device)
		}}
	}
	return []originFact{
		env("host", func(e result.Environment) string { return e.Host }),
		env("kernel", func(e result.Environment) string { return strings.TrimSpace(e.Kernel + " " + e.Arch) }),
		env("processors", func(e result.Environment) string {
			return strings.TrimSpace(strings.TrimPrefix(fmt.Sprintf("%d %s", e.CPUs, e.CPUModel), "0 "))
		}),
		env("memory", func(e result.Environment) string { return sizeOrNothing(e.Memory) }),
		env("directory", func(e result.Environment) string { return e.Directory }),
		env("file system", func(e result.Environment) string { return strings.TrimSpace(e.Filesystem + " " + e.MountSource) }),
		env("mounted at", func(e result.Environment) string { return e.Mount }),
		env("mount options", func(e result.Environment) string { return e.MountOptions }),
		env("capacity", func(e result.Environment) string { return sizeOrNothing(e.Capacity) }),
		env("free before", func(e result.Environment) string { return sizeOrNothing(e.Free) }),
		device("device", func(d *result.Device) string { return strings.TrimSpace(d.Name + " " + d.Model) }),
		device("serial", func(d *result.Device) string { return d.Serial }),
		device("by id", func(d *result.Device) string { return d.ByID }),
		device("device size", func(d *result.Device) string { return sizeOrNothing(d.Size) }),
		device("made of", func(d *result.Device) string { return strings.Join(d.Parts, ", ") }),
	}
}

// sessionFacts are when it was measured, and by which command.
func sessionFacts() []originFact {
	return []originFact{
		{"measured", func(r *result.Result) string {
			if len(r.Sessions) == 0 {
				return ""
			}
			return r.Sessions[0].Began.UTC().Format("2006-01-02 15:04:05 UTC") + ", " + span(benchTook(r))
		}},
		{"command", func(r *result.Result) string {
			if len(r.Sessions) == 0 {
				return ""
			}
			return strings.Join(r.Sessions[0].Command, " ")
		}},
		{"profile", func(r *result.Result) string { return r.Profile }},
	}
}

// settingFacts are how bench run measured.
func settingFacts() []originFact {
	set := func(what string, of func(s result.Settings) string) originFact {
		return originFact{what, func(r *result.Result) string {
			if r.IsSecondhand() {
				return "" // nobody said
			}
			return of(r.Settings)
		}}
	}
	return []originFact{
		set("data file", func(s result.Settings) string { return sizeOrNothing(s.Size) }),
		set("log file", func(s result.Settings) string { return sizeOrNothing(s.LogSize) }),
		set("each run", func(s result.Settings) string {
			return fmt.Sprintf("%s s after %s s of warming up", trimmed(s.Runtime), trimmed(s.Warmup))
		}),
		set("runs of a step", func(s result.Settings) string { return fmt.Sprintf("%d to %d", s.MinRuns, s.MaxRuns) }),
		set("engine", func(s result.Settings) string { return s.Engine }),
		set("O_DIRECT", func(s result.Settings) string { return map[bool]string{true: "yes", false: "no"}[s.Direct] }),
		set("seed of the order", func(s result.Settings) string { return fmt.Sprint(s.Seed) }),
		{"laid out before", func(r *result.Result) string {
			if r.Precondition == nil {
				return ""
			}
			return fmt.Sprintf("%s at %s MB/s", size(r.Precondition.Bytes), digits(r.Precondition.MBps))
		}},
		{"overwritten at random before", func(r *result.Result) string {
			if r.Precondition == nil || r.Precondition.Random == nil {
				return ""
			}
			f := r.Precondition.Random
			return fmt.Sprintf("%s windows of %s, steady at the end: %s", whole(float64(len(f.IOPS))), f.Step, map[bool]string{true: "yes", false: "no"}[f.Settling.Steady])
		}},
		{"fio", func(r *result.Result) string { return r.Environment.Fio }},
		{"stowage", func(r *result.Result) string { return r.Environment.Stowage }},
	}
}

func sizeOrNothing(n int64) string {
	if n <= 0 {
		return ""
	}
	return size(n)
}

// queueFacts are the settings of the devices' queues that any of them has.
func (d *BenchDocument) queueFacts() []originFact {
	names := map[string]bool{}
	for _, s := range d.Sides {
		if dev := s.result.Environment.Device; dev != nil {
			for name := range dev.Queue {
				names[name] = true
			}
		}
	}
	var out []originFact
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out = append(out, originFact{"queue/" + name, func(r *result.Result) string {
			if r.Environment.Device == nil {
				return ""
			}
			return r.Environment.Device.Queue[name]
		}})
	}
	return out
}

// noiseFacts are how quiet it was; unit is that of the A/A pair.
func noiseFacts(unit string) []originFact {
	both := func(what string, of func(result.Disturbance) float64) originFact {
		return originFact{what, func(r *result.Result) string {
			return fmt.Sprintf("%s; at worst %s", percent(of(r.Noise.Mean)), percent(of(r.Noise.Worst)))
		}}
	}
	return []originFact{
		{"disturbed runs", func(r *result.Result) string { return fmt.Sprintf("%d of %d", r.Noise.Disturbed, r.Noise.Runs) }},
		both("time in which others waited for a processor", func(x result.Disturbance) float64 { return x.CPU }),
		both("time in which others waited for I/O", func(x result.Disturbance) float64 { return x.IO }),
		both("processor time that the hypervisor took", func(x result.Disturbance) float64 { return x.Steal }),
		both("bytes that others moved on the device", func(x result.Disturbance) float64 { return x.Foreign }),
		{"A/A pair: measured first and last", func(r *result.Result) string {
			if aa := r.Noise.AA; aa != nil && aa.Ratio > 0 {
				return fmt.Sprintf("%s: %s and %s %s, %s", aa.Step, digits(aa.First), digits(aa.Last), unit, ratioText(aa.Ratio))
			}
			return "not measured"
		}},
		{"load average before", func(r *result.Result) string { return digits(r.Noise.Load) }},
	}
}
