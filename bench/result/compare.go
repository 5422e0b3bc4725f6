package result

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"stowage/bench/stat"
)

// Tolerance is the difference that does not matter. One disk measured twice, an hour apart, differs by a few percent
// without any reason that could be named.
const Tolerance = 0.05

// method is what a comparison's words rest on, for whoever reads them later.
const method = "ratio of geometric means of whole runs, B / A; 95 % interval by Welch's t on their logarithms, the variance taken larger where runs resemble the ones before them (von Neumann's ratio), " +
	"widened by the drift that the A/A pairs show beyond what a run and the next differ by, moderated by what two results usually differ by (more on a guest of a hypervisor), by three tenths of the part of the time in which either was disturbed, and by the part of the bytes that others moved; durable steps that others did more than 5 % beside are inconclusive; " +
	"better or worse: the whole interval is beyond 5 %; same: the whole interval is within it; anything else is inconclusive"

// Comparison is B compared with A.
type Comparison struct {
	FormatVersion int     `json:"format_version"`
	A             Subject `json:"a"`
	B             Subject `json:"b"`
	Method        string  `json:"method"`
	Tolerance     float64 `json:"tolerance"`
	// Drift is how much farther, as a logarithm, every interval reaches because of what the A/A pairs of both show besides
	// the noise of runs, and of how disturbed they were.
	Drift float64    `json:"drift"`
	Steps []Compared `json:"steps"`
	// OnlyInA and OnlyInB are steps that could not be compared.
	OnlyInA []string `json:"only_in_a,omitempty"`
	OnlyInB []string `json:"only_in_b,omitempty"`
	// Differs is what else is not the same: what the ratios may come from.
	Differs []Difference `json:"differs,omitempty"`
	// Caveats are differences in how it was measured, and results that are not to be believed: what the ratios must not be blamed on.
	Caveats []string `json:"caveats,omitempty"`
}

// Subject says what was measured.
type Subject struct {
	Name      string `json:"name"` // the file it came from
	Host      string `json:"host"`
	Directory string `json:"directory"`
	On        string `json:"on"`
	Runs      int    `json:"runs"`
	Valid     bool   `json:"valid"`
	Quiet     bool   `json:"quiet"`
}

// Compared is one step.
type Compared struct {
	ID string  `json:"id"`
	A  float64 `json:"a_iops"`
	B  float64 `json:"b_iops"`
	stat.Judgement
	// P99 is the 99th percentile of single runs, in microseconds: more IOPS may be paid for with it.
	P99  *Tail  `json:"p99"`
	Note string `json:"note,omitempty"`
}

// Tail compares the 99th percentiles of single runs: A and B are their geometric means, of which Ratio is the ratio; above 1 is worse.
// The percentile of all runs together is another figure: one bad run of three makes all of it.
type Tail struct {
	A float64 `json:"a_us"`
	B float64 `json:"b_us"`
	stat.Judgement
}

// Difference is a fact that the two do not share.
type Difference struct {
	What string `json:"what"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// Compare compares b with a. The names are what people call them.
func Compare(nameA string, a *Result, nameB string, b *Result) *Comparison {
	return compare(nameA, a, nameB, b, a.drift(b))
}

// CompareWithin is Compare for two cells of one matrix, which were measured in turns. They have no A/A pairs of their own; pairs are what one of
// them, measured as two cells, differs from itself by.
func CompareWithin(nameA string, a *Result, nameB string, b *Result, pairs []stat.Pair) *Comparison {
	return compare(nameA, a, nameB, b, math.Hypot(stat.Drift(0, pairs...), hidden(a, b)))
}

func compare(nameA string, a *Result, nameB string, b *Result, drift float64) *Comparison {
	c := &Comparison{FormatVersion: FormatVersion, A: subject(nameA, a), B: subject(nameB, b), Method: method, Tolerance: Tolerance, Drift: drift}
	for _, x := range a.Steps {
		y := b.step(x.ID)
		if y == nil {
			c.OnlyInA = append(c.OnlyInA, x.ID)
			continue
		}
		c.Steps = append(c.Steps, compareStep(x, y, stat.Rule{Tolerance: c.Tolerance, Drift: c.Drift}))
	}
	for _, y := range b.Steps {
		if a.step(y.ID) == nil {
			c.OnlyInB = append(c.OnlyInB, y.ID)
		}
	}
	c.differences(a, b)
	c.caveats(a, b)
	return c
}

// GotWorse says whether anything is surely worse.
func (c *Comparison) GotWorse() bool {
	return slices.ContainsFunc(c.Steps, func(s Compared) bool { return s.Verdict == stat.Worse })
}

func (r *Result) step(id string) *Step {
	for _, s := range r.Steps {
		if s.ID == id {
			return s
		}
	}
	return nil
}

func subject(name string, r *Result) Subject {
	runs := r.Noise.Runs
	if r.IsSecondhand() { // each has but its own
		for _, s := range r.Steps {
			runs = max(runs, s.Runs)
		}
	}
	return Subject{Name: name, Host: r.Environment.Host, Directory: r.Environment.Directory, On: r.Environment.on(), Runs: runs, Valid: r.Valid, Quiet: r.Noise.Quiet}
}

// on is file system and disk in a few words.
func (e Environment) on() string {
	if e.Device == nil {
		return e.Filesystem
	}
	return e.Filesystem + " on " + strings.TrimSpace(e.Device.Name+" "+e.Device.Model)
}

// disturbed is how far a disturbance counts: a machine in which others wait all the time may be off by three tenths, in either
// direction, for as long as a whole result takes, and neither its runs nor its A/A pair need show it.
const disturbed = 0.3

// drift is what A/A pairs of two results, or twice one, show, with what is usual there, and what their disturbance may hide.
func (r *Result) drift(other *Result) float64 {
	pairs := r.pairs()
	if other != r {
		pairs = append(pairs, other.pairs()...)
	}
	return math.Hypot(stat.Drift(max(r.Environment.usual(), other.Environment.usual()), pairs...), hidden(r, other))
}

// hidden is what the disturbance of results may hide.
func hidden(all ...*Result) float64 {
	var worst float64
	for _, r := range all {
		m := r.Noise.Mean
		worst = max(worst, m.CPU, m.IO, m.Steal)
	}
	return disturbed * worst
}

// What two results of one storage, made one after the other, usually differ by (a standard deviation of logarithms).
const (
	usualOwn = 0.01
	// usualGuest is that of a machine under a hypervisor, whose other guests use the disk unseen: docs/measuring/benchmarks.md.
	usualGuest = 0.06
)

func (e Environment) usual() float64 {
	if e.Hypervisor {
		return usualGuest
	}
	return usualOwn
}

// pairs are the A/A pair of a result, when it has a whole one.
func (r *Result) pairs() []stat.Pair {
	aa := r.Noise.AA
	if aa == nil || aa.Last <= 0 {
		return nil
	}
	p := stat.Pair{First: aa.First, Last: aa.Last}
	if s := r.step(aa.Step); s != nil {
		p.Runs = s.speeds()
	}
	return []stat.Pair{p}
}

func (s *Step) speeds() []float64 {
	var out []float64
	for _, x := range s.Samples {
		out = append(out, x.IOPS)
	}
	return out
}

func compareStep(a, b *Step, rule stat.Rule) Compared {
	foreign := max(a.foreign(), b.foreign())
	rule.Drift = math.Hypot(rule.Drift, foreign)
	c := Compared{ID: a.ID, A: a.IOPS, B: b.IOPS, Judgement: stat.Judge(a.speeds(), b.speeds(), rule), P99: compareTail(a, b, rule)}
	if a.Durable && foreign > limitForeign {
		// Measured: commits became seven times slower while others, who moved a third of the bytes, synced files of theirs.
		c.Note = "others used the device, and commits wait for everybody's flushes"
		c.cannotSay()
	}
	for _, x := range []struct {
		name string
		step *Step
	}{{"A", a}, {"B", b}} {
		if !x.step.Valid {
			c.Note = x.name + " is invalid"
			c.cannotSay()
		}
	}
	if a.Undurable != b.Undurable {
		which := map[bool]string{true: "A", false: "B"}[a.Undurable]
		c.Note = strings.TrimPrefix(c.Note+"; "+which+" is not durable: its commits would be lost with the power", "; ")
	}
	if a.AskedIOPS > 0 {
		c.Note = strings.TrimPrefix(c.Note+"; held to a rate of its own: its latency tells, not its IOPS", "; ")
	}
	return c
}

// cannotSay takes back verdicts that the runs alone would give. No number of runs helps.
func (c *Compared) cannotSay() {
	c.Verdict, c.MoreRuns = stat.Inconclusive, nil
	if c.P99 != nil {
		c.P99.Verdict, c.P99.MoreRuns = stat.Inconclusive, nil
	}
}

// foreign is what others moved on the device during the runs of the step, as a part of all.
func (s *Step) foreign() float64 {
	var sum float64
	for _, x := range s.Samples {
		sum += x.Check.Foreign
	}
	return sum / max(float64(len(s.Samples)), 1)
}

// compareTail judges speeds of one over p99, so that more is better, and shows times.
func compareTail(a, b *Step, rule stat.Rule) *Tail {
	inverse := func(s *Step) (out []float64) {
		for _, x := range s.Samples {
			if x.Lat.P99 > 0 {
				out = append(out, 1/x.Lat.P99)
			}
		}
		return out
	}
	from, to := inverse(a), inverse(b)
	if len(from) == 0 || len(to) == 0 {
		return nil
	}
	t := &Tail{Judgement: stat.Judge(from, to, rule)}
	speedA, _ := stat.Mean(from)
	speedB, _ := stat.Mean(to)
	t.A, t.B, t.Ratio = 1/speedA, 1/speedB, 1/t.Ratio
	if t.CI != nil {
		t.CI = &stat.Interval{Low: 1 / t.CI.High, High: 1 / t.CI.Low}
	}
	return t
}

// differences lists facts of machine, file system and disk that are not the same.
func (c *Comparison) differences(a, b *Result) {
	x, y := a.Environment, b.Environment
	add := func(what, from, to string) {
		if from != to {
			c.Differs = append(c.Differs, Difference{what, from, to})
		}
	}
	add("host", x.Host, y.Host)
	add("kernel", x.Kernel, y.Kernel)
	if x.CPUs > 0 && y.CPUs > 0 { // of one that was entered they are not known
		add("processors", fmt.Sprintf("%d %s", x.CPUs, x.CPUModel), fmt.Sprintf("%d %s", y.CPUs, y.CPUModel))
		add("memory", mebibytes(x.Memory), mebibytes(y.Memory))
	}
	add("directory", x.Directory, y.Directory)
	add("file system", x.Filesystem, y.Filesystem)
	add("mount options", x.MountOptions, y.MountOptions)
	if x.Device == nil || y.Device == nil {
		return
	}
	add("device", x.on(), y.on())
	add("device size", mebibytes(x.Device.Size), mebibytes(y.Device.Size))
	names := map[string]bool{}
	for _, q := range []map[string]string{x.Device.Queue, y.Device.Queue} {
		for name := range q {
			names[name] = true
		}
	}
	var sorted []string
	for name := range names {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	for _, name := range sorted {
		add("queue/"+name, x.Device.Queue[name], y.Device.Queue[name])
	}
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

// settings are differences in how it was measured.
func (c *Comparison) settings(a, b *Result) {
	say := func(format string, args ...any) { c.Caveats = append(c.Caveats, fmt.Sprintf(format, args...)) }
	x, y := a.Settings, b.Settings
	if x.Size != y.Size {
		say("the files were %s and %s: a larger one is harder on caches", mebibytes(x.Size), mebibytes(y.Size))
	}
	if x.Runtime != y.Runtime || x.Warmup != y.Warmup {
		say("runs lasted %v s and %v s, after %v s and %v s of warming up", x.Runtime, y.Runtime, x.Warmup, y.Warmup)
	}
	if x.Engine != y.Engine {
		say("one was measured with %s, the other with %s", x.Engine, y.Engine)
	}
	if a.Profile != b.Profile {
		say("%s and %s profile: what was done to the device beforehand differs", a.Profile, b.Profile)
	}
	if a.Environment.Fio != b.Environment.Fio {
		say("fio %s and %s", a.Environment.Fio, b.Environment.Fio)
	}
}

// caveats are what makes the comparison unfair, or one of its sides doubtful.
func (c *Comparison) caveats(a, b *Result) {
	say := func(format string, args ...any) { c.Caveats = append(c.Caveats, fmt.Sprintf(format, args...)) }
	if !a.IsSecondhand() && !b.IsSecondhand() { // of those nobody says how
		c.settings(a, b)
	}
	for _, s := range []struct {
		name string
		r    *Result
	}{{"A", a}, {"B", b}} {
		switch s.r.Kind {
		case Entered:
			say("%s was not measured here, but published: %s", s.name, s.r.Source)
		case Imported:
			say("%s was measured by another program: %s", s.name, s.r.Source)
		}
		for _, x := range s.r.Steps {
			for _, why := range x.Contradictions() {
				say("%s: %s: one of these figures is wrong", s.name, why)
			}
		}
		for _, why := range s.r.InvalidBecause {
			say("%s is invalid: %s", s.name, why)
		}
		for _, why := range s.r.Noise.Reasons {
			say("%s was disturbed: %s", s.name, why)
		}
	}
	if c.Drift > 0.02 && slices.ContainsFunc(c.Steps, func(s Compared) bool { return s.CI != nil }) {
		say("speeds drift, or other programs ran: every interval reaches to a factor of %.2f on either side at least", math.Exp(c.Drift))
	}
}
