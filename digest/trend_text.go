package digest

import (
	"fmt"
	"io"
	"strings"
)

// WriteTrendText writes load over time for people: a line a step, then the heaviest classes with a picture of their load.
func WriteTrendText(w io.Writer, t Trend, o TextOptions) error {
	p := &page{w: w, o: o.withDefaults()}
	if len(t.Steps) == 0 {
		p.line("Nothing was seen in that time.")
		return p.err
	}
	p.line("%s", p.bold(fmt.Sprintf("%-16s %10s %9s %8s %7s %7s  %s", "UTC, each "+steps(t.StepSeconds), "events", "calls/s", "load", "avg", "p95", "load")))
	most := 0.0
	for _, s := range t.Steps {
		most = max(most, s.Load)
	}
	for _, s := range t.Steps {
		fresh := ""
		if s.New > 0 {
			fresh = fmt.Sprintf(" %d new", s.New)
		}
		p.line("%-16s %10s %9.4g %8.3g %7s %7s  %s%s", stepStamp(s, t.StepSeconds), count(s.Events), s.Calls, s.Load, duration(s.Avg), unknownIsDash(s.P95),
			bar(s.Load, most, max(p.o.Width-64-len(fresh), 1)), fresh)
	}
	for i, c := range t.Classes {
		p.line("")
		p.line("%s  %s  %s", p.bold(fmt.Sprintf("%d.", i+1)), p.bold(c.ID16), clip(c.Fingerprint, p.o.Width-24))
		p.line("   calls     %s, %s of query time (%.3g %%)", count(c.Events), duration(c.QueryTime), 100*c.Share)
		if c.FirstSeen != nil {
			p.line("   seen      first %s, last %s", c.FirstSeen.Format(stamp), c.LastSeen.Format(stamp))
		}
		if r := c.Reviewed; r != nil {
			p.wrapped("   reviewed  ", clean(strings.TrimSpace(r.By+": "+r.Comments)))
		}
		p.line("   load      %s", loadLine(c.Steps, p.o.Width-13))
		p.line("   avg       %s", ends(c.Steps))
	}
	if n := t.ClassCount - len(t.Classes); n > 0 {
		p.line("")
		p.line("and %s more", classes(n))
	}
	return p.err
}

func stepStamp(s TrendStep, seconds int64) string {
	if seconds < 60 {
		return s.Start.Format("01-02 15:04:05")
	}
	return s.Start.Format("2006-01-02 15:04")
}

// steps is the length of a step in words.
func steps(seconds int64) string {
	switch {
	case seconds%86400 == 0:
		return fmt.Sprintf("%d d", seconds/86400)
	case seconds%3600 == 0:
		return fmt.Sprintf("%d h", seconds/3600)
	case seconds%60 == 0:
		return fmt.Sprintf("%d min", seconds/60)
	}
	return fmt.Sprintf("%d s", seconds)
}

func unknownIsDash(seconds float64) string {
	if seconds == 0 {
		return "-"
	}
	return duration(seconds)
}

func bar(v, most float64, columns int) string {
	if most == 0 {
		return ""
	}
	return strings.Repeat("█", int(v/most*float64(columns)+0.5))
}

// loadLine draws the load of a class: a column a step, each class by its own highest.
func loadLine(steps []TrendStep, columns int) string {
	most := 0.0
	for _, s := range steps {
		most = max(most, s.Load)
	}
	if most == 0 {
		return ""
	}
	var b strings.Builder
	for _, s := range steps[max(0, len(steps)-columns+24):] {
		bar := 0
		if s.Load > 0 {
			bar = 1 + int(s.Load/most*7+0.5)
		}
		b.WriteRune(sparkBars[bar])
	}
	return fmt.Sprintf("%s  up to %.3g", b.String(), most)
}

// ends is the average of a class in the first and in the last step that has it.
func ends(steps []TrendStep) string {
	first, last := -1, -1
	for i, s := range steps {
		if s.Events > 0 {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	switch {
	case first < 0:
		return "-"
	case first == last:
		return duration(steps[first].Avg)
	}
	return fmt.Sprintf("%s -> %s (%s)", duration(steps[first].Avg), duration(steps[last].Avg), times(ratio(steps[first].Avg, steps[last].Avg)))
}
