package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/bench/result"
	"stowage/bench/stat"
)

// Bench is one result of a bench, with the name that people call it by.
type Bench struct {
	Name   string
	Result *result.Result
	// Held is what it is to the first of them, where that rests on more than the two: cells of a matrix share what its A/A cells show. Nil: result.Compare.
	Held *result.Comparison
}

// MostBenches is how many results can be distinguished in one picture.
const MostBenches = 6

// BenchDocument is what one bench found, or several beside each other. The first is what the others are compared with. Its exported fields are for the templates.
type BenchDocument struct {
	Title, Verdict, Lead string
	IsBad                bool // something is invalid, or would be lost with the power
	Sides                []benchSide
	Tiles                []tile
	Cautions             []Caution
	Compared             []benchComparison
	Tables               []planTable // the classic ones
	Figures              []benchFigures
	Latency              benchLatency
	Saturation           benchSaturation
	Heat                 *benchHeat
	Even                 benchEven
	Origin               benchOrigin
}

// benchSide is one result in the pictures: a letter, a colour and a shape.
type benchSide struct {
	Letter string // empty where there is one result only
	Name   string
	Class  string // of its lines
	On     string // what was measured
	Shape  string // its mark, for the key
	result *result.Result
	held   *result.Comparison
}

// sign is what a side is called in pictures: its letter, or its name where there are no letters.
func (s benchSide) sign() string {
	if s.Letter == "" && s.result == nil {
		return s.Name
	}
	return s.Letter
}

// Caution is what must be known before figures are believed. Letter is of the sides that it is about; empty for all.
type Caution struct {
	Letter, Kind, Text string
	IsBad              bool
}

// NewBenchDocument lays out one result or several, MostBenches at most. The same results make the same document.
func NewBenchDocument(benches []Bench) *BenchDocument {
	d := &BenchDocument{}
	for i, b := range benches[:min(len(benches), MostBenches)] {
		s := benchSide{Name: b.Name, Class: fmt.Sprintf("s%d", i+1), On: storage(b.Result.Environment), result: b.Result, held: b.Held}
		if len(benches) > 1 {
			s.Letter = string(rune('A' + i))
		} else {
			s.Class = "s0"
		}
		s.Shape = benchShape(s.Class, 7, 6, 4)
		d.Sides = append(d.Sides, s)
	}
	if len(d.Sides) == 0 {
		d.Title = "Nothing was measured"
		return d
	}
	d.Cautions = d.cautions()
	d.Compared = d.comparisons()
	d.Figures = d.figures()
	d.Latency = d.latency()
	d.Saturation = d.saturation()
	d.Heat = d.heat()
	d.Even = d.even()
	d.Origin = d.origin()
	d.classic()
	d.say()
	d.Tiles = d.tiles()
	return d
}

// storage is where a result was made, in a few words.
func storage(e result.Environment) string {
	on := e.Filesystem
	if e.Device != nil {
		on += " on " + strings.TrimSpace(e.Device.Name+" "+e.Device.Model)
	}
	return strings.TrimSuffix(fmt.Sprintf("%s %s, %s", e.Host, e.Directory, on), ", ")
}

// say is what is at the top.
func (d *BenchDocument) say() {
	for _, c := range d.Cautions {
		d.IsBad = d.IsBad || c.IsBad
	}
	if len(d.Sides) == 1 {
		r := d.Sides[0].result
		d.Title, d.Verdict = "What "+r.Environment.Directory+" sustains", validity(r.Valid, r.Noise)
		switch r.Kind {
		case result.Entered:
			d.Title, d.Verdict, d.Lead = d.Sides[0].Name, "Entered.", "Published by others; how a second run would differ is not known."
			return
		case result.Imported:
			d.Title, d.Verdict, d.Lead = d.Sides[0].Name, "Imported.", fmt.Sprintf("Another program measured it (%s). Nothing is known of what disturbed it.", r.Source)
			return
		}
		quiet := "nobody disturbed it"
		if !r.Noise.Quiet {
			quiet = fmt.Sprintf("%d of them disturbed", r.Noise.Disturbed)
		}
		d.Lead = fmt.Sprintf("%s barrage, %s in %s, %s.", r.Profile, count(r.Noise.Runs, "run"), span(benchTook(r)), quiet)
		return
	}
	d.Title = fmt.Sprintf("%s, measured and compared", count(len(d.Sides), "result"))
	if len(d.Sides) == 2 {
		d.Title = d.Sides[1].Name + " against " + d.Sides[0].Name
	}
	var all []string
	for _, c := range d.Compared {
		all = append(all, c.Letter+" against A: "+c.Counts)
	}
	d.Verdict = strings.Join(all, "; ") + "."
	d.Lead = fmt.Sprintf("Better and worse: by more than %s, surely; the same: surely by less.", percent(result.Tolerance))
}

// validity is the word at the top. "Valid" alone is only said of what nobody disturbed: noise makes no figure wrong, and every interval wide.
func validity(isValid bool, n result.Noise) string {
	switch {
	case !isValid:
		return "Invalid."
	case n.Quiet:
		return "Valid."
	case n.Disturbed > 0 && n.Disturbed == n.Runs:
		return "Disturbed from beginning to end."
	}
	return "Disturbed."
}

// benchTook is how long all sessions of a result took.
func benchTook(r *result.Result) time.Duration {
	var took time.Duration
	for _, s := range r.Sessions {
		took += s.Ended.Sub(s.Began)
	}
	return took
}

func (s benchSide) step(id string) *result.Step {
	for _, x := range s.result.Steps {
		if x.ID == id {
			return x
		}
	}
	return nil
}

// ids are the steps of all results, in the order of the first, then what only others have.
func (d *BenchDocument) ids() []string {
	var out []string
	for _, s := range d.Sides {
		for _, x := range s.result.Steps {
			if !slices.Contains(out, x.ID) {
				out = append(out, x.ID)
			}
		}
	}
	return out
}

func (d *BenchDocument) cautions() []Caution {
	var out []Caution
	for _, s := range d.Sides {
		say := func(kind string, isBad bool, texts ...string) {
			for _, t := range texts {
				out = append(out, Caution{s.Letter, kind, t, isBad})
			}
		}
		if s.result.Kind == result.Entered {
			say("ENTERED", false, "published and typed in, nothing of it was measured here: "+s.result.Source)
		}
		if s.result.Kind == result.Imported {
			say("IMPORTED", false, "measured by another program: no A/A pair, no check against the device, nothing said of what disturbed it: "+s.result.Source)
		}
		say("INVALID", true, s.result.InvalidBecause...)
		if !s.result.Valid && len(s.result.InvalidBecause) == 0 {
			say("INVALID", true, "the result says so, and not why")
		}
		for _, x := range s.result.Steps {
			if x.Undurable {
				say("NOT DURABLE", true, fmt.Sprintf("%s: the device got %s flushes for each fdatasync, and its cache keeps writes until it is flushed: they would be lost with the power", x.ID, flushes(x)))
			}
		}
		if why := s.result.Noise.Reasons; len(why) > 0 {
			say("Noise", false, strings.Join(why, "; "))
		}
		if labels := s.result.Labels; len(labels) > 0 {
			say("Note", false, strings.Join(labels, "; "))
		}
	}
	return merged(out)
}

// merged says once what is the same of several sides.
func merged(all []Caution) []Caution {
	var out []Caution
	for _, c := range all {
		i := slices.IndexFunc(out, func(o Caution) bool { return o.Kind == c.Kind && o.Text == c.Text })
		switch {
		case i < 0:
			out = append(out, c)
		case !strings.Contains(out[i].Letter, c.Letter):
			out[i].Letter += ", " + c.Letter
		}
	}
	return out
}

// Of says what the results are parts of, and what must be known of that.
func (d *BenchDocument) Of(title string, told ...Caution) {
	d.Title = title
	d.Cautions = append(told, d.Cautions...)
}

func flushes(s *result.Step) string {
	if s.Flushes == nil {
		return "hardly any"
	}
	return digits(*s.Flushes)
}

// tiles are the figures that a DBA asks for first, of one result or of two; three have no before and after.
func (d *BenchDocument) tiles() []tile {
	if len(d.Sides) > 2 {
		return nil
	}
	var out []tile
	add := func(name, link string, find func(benchSide) *result.Step, show func(*result.Step) string) {
		last := d.Sides[len(d.Sides)-1]
		s := find(last)
		if s == nil || s.Runs == 0 {
			return
		}
		t := tile{Name: name, Link: link, After: show(s), Note: s.ID, IsBad: !s.Valid || s.Undurable}
		if s.CI != nil && link == "#b-steps" {
			t.Note += " " + sureness(s)
		}
		if len(d.Sides) == 2 {
			was := find(d.Sides[0])
			if was == nil || was.Runs == 0 {
				return
			}
			t.Before, t.Note = show(was), s.ID
			if was.ID != s.ID {
				t.Note = was.ID + ", then " + s.ID
			}
			t.IsBad = t.IsBad || !was.Valid || was.Undurable
		}
		out = append(out, t)
	}
	named := func(id string) func(benchSide) *result.Step {
		return func(s benchSide) *result.Step { return s.step(id) }
	}
	most := func(load string) func(benchSide) *result.Step {
		return func(s benchSide) (best *result.Step) {
			for _, x := range s.result.Steps {
				if x.Load() == load && (best == nil || x.IOPS > best.IOPS) {
					best = x
				}
			}
			return best
		}
	}
	iops := func(s *result.Step) string { return digits(s.IOPS) }
	add("commits a second, one at a time", "#b-steps", named("LOG4K-FDS-Q1T1"), iops)
	add("p99 of a commit beside pages", "#b-latency", named("MIX"), func(s *result.Step) string { return micros(s.Lat.P99) })
	add("a page read, in the median", "#b-latency", named("RND16K-R-Q1T1"), func(s *result.Step) string { return micros(s.Lat.P50) })
	add("page reads a second, at most", "#b-steps", most("RND16K-R"), iops)
	add("page writes a second, at most", "#b-steps", most("RND16K-W"), iops)
	return out
}

// micros prints microseconds; nothing where they are not known, as in results that were typed in.
func micros(us float64) string {
	if us <= 0 {
		return ""
	}
	return latency(us / 1e6)
}

// Judged by hand in the order in which people want to see them.
var benchVerdicts = []struct {
	verdict stat.Verdict
	words   string
	sign    string
}{{stat.Better, "better", "\u25b2"}, {stat.Worse, "worse", "\u25bc"}, {stat.Same, "the same", "="}, {stat.Inconclusive, "inconclusive", "?"}}
