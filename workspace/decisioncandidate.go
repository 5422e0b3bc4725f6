package workspace

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"stowage/bench/decide"
	"stowage/bench/result"
	"stowage/farm"
)

var (
	candidateKeys = []string{"title", "measured", "entered", "data_sheet", "price", "watts", "devices", "capacity", "write_amplification", "notes"}
	sheetKeys     = []string{"source", "of", "steps"}
	speedKeys     = []string{"iops", "mbps", "commits", "mean", "p50", "p95", "p99", "p999"}
	deviceKeys    = []string{"count", "level", "capacity", "afr", "mtbf", "tbw", "dwpd", "warranty", "rebuild_rate", "replaced_after", "ceiling", "source"}
	amountKeys    = []string{"value", "from", "to", "source", "basis"}
	basisNames    = []decide.Basis{decide.Given, decide.Measured, decide.Entered, decide.Sheet}
)

func (r *decisionReader) candidate(name string, n *yaml.Node) {
	c := decide.Candidate{Name: name, Figures: map[decide.Key]decide.Figure{}}
	where := func() string { return "candidate " + name }
	put := func(what string, f decide.Figure) { c.Figures[decide.Key{What: what}] = f }
	r.fields(n, where, candidateKeys, func(key string, v *yaml.Node) bool {
		what := key + " of " + name
		switch key {
		case "title":
			c.Title = r.text(v, func() string { return what })
		case "measured", "entered", "data_sheet": // afterwards, the surest first
		case "price":
			put(key, r.amount(v, what, farm.KindPlain, decide.Given, ""))
		case "watts":
			put(key, r.amount(v, what, farm.KindPlain, decide.Sheet, ""))
		case "devices":
			r.devices(&c, v)
		case "capacity":
			put("usable", decide.Exactly(r.above(v, func() string { return what }, farm.KindBytes), ""))
		case "write_amplification":
			put("amplification", decide.Exactly(r.factor(v, what), ""))
		case "notes":
			c.Notes = append(c.Notes, r.oneOrMore(v, what)...)
		default:
			return false
		}
		return true
	})
	for _, x := range []struct {
		key  string
		read ResultReader
	}{{"measured", r.result}, {"entered", ReadEntered}} {
		if v := value(n, x.key); v != nil {
			for _, item := range entries(v) {
				r.take(&c, item, x.key, x.read)
			}
		}
	}
	if v := value(n, "data_sheet"); v != nil {
		for _, item := range entries(v) {
			r.sheet(&c, item)
		}
	}
	c.Notes = append(c.Notes, aboveCeiling(c)...)
	r.d.Candidates = append(r.d.Candidates, c)
}

// take takes in a result: one that bench run has saved, or one that somebody published.
func (r *decisionReader) take(c *decide.Candidate, n *yaml.Node, key string, read ResultReader) {
	name := r.text(n, func() string { return key + " of " + c.Name })
	if name == "" {
		return
	}
	reference := name
	if r.dir != "." && !filepath.IsAbs(name) {
		reference = r.dir + string(filepath.Separator) + name // not cleaned: cells of a matrix may have any name
	}
	got, err := read(reference)
	if err != nil {
		r.fault(n, "%s", err)
		return
	}
	c.Take(name, got)
}

// sheet takes in what a data sheet claims. Its source is not left out: whoever reads the decision must be able to look it up.
func (r *decisionReader) sheet(c *decide.Candidate, n *yaml.Node) {
	where := func() string { return "data_sheet of " + c.Name }
	source, ofDevice := "", false
	var steps *yaml.Node
	r.fields(n, where, sheetKeys, func(key string, v *yaml.Node) bool {
		switch key {
		case "source":
			source = r.text(v, func() string { return "source of " + where() })
		case "of":
			switch of := r.text(v, func() string { return "of of " + where() }); of {
			case "device":
				ofDevice = true
			case "array", "":
			default:
				r.fault(v, "a data sheet is of a device or of the whole array, not of %q", of)
			}
		case "steps":
			steps = v
		default:
			return false
		}
		return true
	})
	if source == "" && n.Kind == yaml.MappingNode && !r.meant[missing{n, "source"}] {
		r.fault(n, "%s has no source: say where the figure was read", where())
	}
	if ofDevice && !c.Array.IsKnown() {
		r.fault(n, "%s is of one device, and the number of devices is missing", where())
		return
	}
	if steps == nil {
		return
	}
	r.named(steps, "steps of "+where(), func(step string, v *yaml.Node) {
		c.Notes = append(c.Notes, r.disagreeing(step, v)...)
		for what, f := range r.speeds(v, step, func(value float64) decide.Figure { return decide.Claimed(value, decide.Sheet, source) }) {
			if ofDevice {
				f = scaled(c.Array, what, step, f)
			}
			f = capped(c, what, step, f)
			k := decide.Key{What: what, Step: step}
			if _, there := c.Figures[k]; !there { // what was measured, or found not to be so, is not claimed again
				c.Figures[k] = f
			}
		}
	})
}

// scaled is what an array does with devices of such speed, at most. Latencies and single durable writes stay as they are.
func scaled(a decide.Array, what, step string, f decide.Figure) decide.Figure {
	reads, ok := shareOfReads(step)
	if (what != "iops" && what != "mbps") || !ok {
		return f
	}
	factor := a.Scale(reads, !strings.HasPrefix(step, "SEQ"))
	f.Value *= factor
	f.Source += fmt.Sprintf(", of one device; the array is taken for %.3g times as fast, at most", factor)
	return f
}

// capped is what a claim comes to behind the array's controller, which lets through so much and no more.
func capped(c *decide.Candidate, what, step string, f decide.Figure) decide.Figure {
	most := c.Ceiling
	if what == "iops" {
		block, ok := result.BlockOf(step)
		if !ok {
			return f
		}
		most = c.Ceiling * 1e6 / block
	} else if what != "mbps" {
		return f
	}
	if c.Ceiling == 0 || f.Value <= most {
		return f
	}
	f.Value = most
	f.Source += fmt.Sprintf(", held to the ceiling of %.4g MB/s", c.Ceiling)
	return f
}

// aboveCeiling names the published or measured speeds that the ceiling does not allow: one of the two figures is wrong, or they are about different
// things. Five percent are left for different ways to count.
func aboveCeiling(c decide.Candidate) []string {
	var out []string
	for k, f := range c.Figures {
		if k.What == "mbps" && c.Ceiling > 0 && f.Basis != decide.Sheet && f.Value > 1.05*c.Ceiling {
			out = append(out, fmt.Sprintf("%s did %.4g MB/s, above the ceiling of %.4g MB/s that the devices are said to have: check both figures", k.Step, f.Value, c.Ceiling))
		}
	}
	slices.Sort(out)
	return out
}

// shareOfReads is what a step's name says of it: RND16K-RW70-Q4T4 reads 0.7.
func shareOfReads(step string) (float64, bool) {
	if strings.Contains(step, "-FDS") {
		return 0, false
	}
	for _, part := range strings.Split(step, "-") {
		var percent float64
		switch {
		case part == "R":
			return 1, true
		case part == "W":
			return 0, true
		case strings.HasPrefix(part, "RW"):
			if n, err := fmt.Sscanf(part, "RW%f", &percent); n == 1 && err == nil && percent <= 100 {
				return percent / 100, true
			}
		}
	}
	return 0, false
}

// disagreeing names claims of a data sheet about one step that cannot all be true.
func (r *reader) disagreeing(step string, n *yaml.Node) []string {
	quiet := reader{faults: faults{file: r.file}} // their faults are found where they are read for good
	got := quiet.speeds(n, step, func(v float64) decide.Figure { return decide.Figure{Value: v} })
	s := result.Step{ID: step, IOPS: got["iops"].Value, MBps: got["mbps"].Value,
		Lat: result.Latency{Mean: got["mean"].Value, P50: got["p50"].Value, P95: got["p95"].Value, P99: got["p99"].Value, P999: got["p999"].Value}}
	var out []string
	for _, text := range s.Contradictions() {
		out = append(out, fmt.Sprintf("%s, line %d: %s: one of these figures is wrong", r.file, n.Line, text))
	}
	return out
}

// speeds reads the figures of one step: {iops: 35000, p99: 2ms}.
func (r *reader) speeds(n *yaml.Node, step string, figure func(float64) decide.Figure) map[string]decide.Figure {
	out := map[string]decide.Figure{}
	r.fields(n, func() string { return "step " + step }, speedKeys, func(key string, v *yaml.Node) bool {
		what := func() string { return key + " of step " + step }
		switch key {
		case "iops", "commits":
			out[key] = figure(r.above(v, what, farm.KindPlain))
		case "mbps":
			out[key] = figure(r.megabytes(v, what))
		case "mean", "p50", "p95", "p99", "p999":
			out[key] = figure(float64(r.duration(v, what())) / 1e3)
		default:
			return false
		}
		return true
	})
	return out
}

// megabytes reads 250, or 28.6MiB/s as 29.99.
func (r *reader) megabytes(n *yaml.Node, what func() string) float64 {
	if k, err := farm.QuantityKind(n.Value); err == nil && k == farm.KindByteRate {
		return r.above(n, what, k) / 1e6
	}
	return r.above(n, what, farm.KindPlain)
}

// amount reads 12000, {value: 12000, source: a quote} or {from: 11000, to: 13000}.
func (r *decisionReader) amount(n *yaml.Node, what string, kind farm.Kind, basis decide.Basis, source string) decide.Figure {
	number := func(v *yaml.Node) float64 { return r.above(v, func() string { return what }, kind) }
	if n.Kind != yaml.MappingNode {
		return bounded(decide.Claimed(number(n), basis, source), 0, 0)
	}
	var v, from, to float64
	r.fields(n, func() string { return what }, amountKeys, func(key string, item *yaml.Node) bool {
		switch key {
		case "value":
			v = number(item)
		case "from":
			from = number(item)
		case "to":
			to = number(item)
		case "source":
			source = r.text(item, func() string { return "source of " + what })
		case "basis":
			basis = r.basis(item, what)
		default:
			return false
		}
		return true
	})
	switch {
	case (from > 0) != (to > 0) || from > to:
		r.fault(n, "%s needs both from and to, with from <= to", what)
	case v == 0 && from == 0 && !r.bad[n]:
		r.fault(n, "%s has no value", what)
	case v > 0 && from > 0 && (v < from || v > to):
		r.fault(n, "the value of %s is not between from and to", what)
	}
	return bounded(decide.Claimed(v, basis, source), from, to)
}

// bounded gives a figure its bounds. One that is given, a price, is taken as it is.
func bounded(f decide.Figure, from, to float64) decide.Figure {
	switch {
	case from > 0:
		f.Low, f.High = from, to
		if f.Value == 0 {
			f.Value = (from + to) / 2
		}
	case f.Basis == decide.Given:
		f.Low, f.High = f.Value, f.Value
	case f.Basis == decide.Measured:
		f.Basis = decide.Unbounded // nobody says how sure it is
	}
	return f
}

func (r *decisionReader) basis(n *yaml.Node, what string) decide.Basis {
	text := strings.ReplaceAll(r.text(n, func() string { return "basis of " + what }), "_", " ")
	for _, b := range basisNames {
		if string(b) == text {
			return b
		}
	}
	r.fault(n, "basis of %s is one of given, measured, entered, data sheet, not %q", what, text)
	return decide.Given
}
