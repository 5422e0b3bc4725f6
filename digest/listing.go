package digest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"sort"
	"strings"
)

// Listing is a report whose classes are made one at a time, for those who write it out: of a digest of 100,000 classes,
// the report takes as much memory as the digest.
type Listing struct {
	head      Report // without classes
	total     wide
	classes   []*class // in order
	shown     int      // how many of them
	all       class    // what the head says of all
	percents  []float64
	plans     map[string]*Plan
	anonymous *anonymizer // nil: names and values are shown
}

// Listing lists the classes by total query time, largest first, all of them.
func (d *Digest) Listing() *Listing {
	l := &Listing{classes: d.sorted(), head: Report{
		FormatVersion: FormatVersion, RuleSet: d.rules, GroupBy: d.groupBy,
		Inputs: []Input{}, Classes: []Class{},
		Events: d.events, QueryTimeSum: d.queryTime.seconds(),
		BlockSeconds: d.BlockSeconds(), RelativeError: d.relativeError(),
		ClassCount: len(d.byHash), FoldedClasses: d.folded,
	}}
	l.shown = len(l.classes)
	for i := range d.inputs {
		l.head.Inputs = append(l.head.Inputs, d.inputs[i].report())
	}
	all := &l.all
	for _, c := range l.classes {
		all.mergeTimes(c)
	}
	l.total = all.queryTime
	l.head.Quantiles = []Quantile{}
	l.head.QueryTime = all.latencies()
	l.head.FirstSeen, l.head.LastSeen = instant(all.first), instant(all.last)
	return l
}

// Percentiles adds quantiles to what is said of the classes and of all, as percents: 90, 99.9.
func (l *Listing) Percentiles(percents []float64) {
	l.percents = percents
	l.head.Quantiles = l.all.quantiles(percents)
}

// TopShare shows the first classes that together have a share of the query time, 0 to 1, at least one.
func (l *Listing) TopShare(share float64) {
	sum := 0.0
	for i, c := range l.classes[:l.shown] {
		if sum += c.share(l.total); sum >= share-1e-12 {
			l.shown = i + 1
			return
		}
	}
}

// Head is the report without its classes.
func (l *Listing) Head() Report { return l.head }

// Report is the report with the classes that are shown.
func (l *Listing) Report() Report {
	r := l.head
	r.Classes = make([]Class, 0, l.shown)
	for c := range l.Classes() {
		r.Classes = append(r.Classes, c)
	}
	return r
}

// Classes makes the classes that are shown, one after the other.
func (l *Listing) Classes() iter.Seq[Class] {
	return func(yield func(Class) bool) {
		for _, c := range l.classes[:l.shown] {
			r := c.report(l.total, l.percents)
			if r.Plan = l.plans[r.ID32]; l.anonymous != nil {
				r = l.anonymous.class(r)
			}
			if !yield(r) {
				return
			}
		}
	}
}

// Top shows the first n classes only. It does nothing when n is not positive.
func (l *Listing) Top(n int) {
	if n > 0 && n < l.shown {
		l.shown = n
	}
}

// OrderBy is Report.OrderBy.
func (l *Listing) OrderBy(name string) error {
	value, err := orderValue(name)
	if err != nil {
		return err
	}
	type place struct {
		class *class
		value float64
	}
	places := make([]place, len(l.classes))
	for i, c := range l.classes {
		r := c.report(l.total, l.percents)
		places[i] = place{c, value(&r)}
	}
	sort.SliceStable(places, func(i, j int) bool { return places[i].value > places[j].value })
	for i := range places {
		l.classes[i] = places[i].class
	}
	return nil
}

// WriteJSON writes the report as a json.Encoder with an indent of one blank would.
func (l *Listing) WriteJSON(w io.Writer) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	if err := e.Encode(l.head); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	const empty = "[]\n}\n" // the classes come last
	head, isLast := strings.CutSuffix(b.String(), empty)
	if !isLast {
		return fmt.Errorf("write report: its classes are not its last field")
	}
	if l.shown == 0 {
		head += "[]"
	}
	if _, err := io.WriteString(w, head); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	e.SetIndent("  ", " ")
	lead, tail := "[\n  ", ""
	for c := range l.Classes() {
		b.Reset()
		b.WriteString(lead)
		if err := e.Encode(c); err != nil {
			return fmt.Errorf("write report: %w", err)
		}
		if _, err := w.Write(bytes.TrimSuffix(b.Bytes(), []byte("\n"))); err != nil {
			return fmt.Errorf("write report: %w", err)
		}
		lead, tail = ",\n  ", "\n ]"
	}
	if _, err := io.WriteString(w, tail+"\n}\n"); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// WriteCSV is the function WriteCSV.
func (l *Listing) WriteCSV(w io.Writer) error { return writeCSV(w, l.Classes()) }

// WriteText is the function WriteText. It makes the classes shown in detail only.
func (l *Listing) WriteText(w io.Writer, o TextOptions) error {
	r, rest := l.first(o)
	return writeText(w, r, rest, o)
}

// WriteRanking is WriteText without the details of classes.
func (l *Listing) WriteRanking(w io.Writer, o TextOptions) error {
	r, rest := l.first(o)
	p := &page{w: w, o: o.withDefaults()}
	p.inputs(r.Inputs)
	p.summary(r)
	if len(r.Classes) > 0 {
		p.ranking(r, rest)
	}
	return p.err
}

// first is the report with the classes that a page shows, and what it says of the others.
func (l *Listing) first(o TextOptions) (Report, otherClasses) {
	top := min(o.withDefaults().top(len(l.classes)), l.shown)
	first := *l
	first.shown = top
	rest := otherClasses{scale: newSparkScale()}
	for i, c := range l.classes {
		rest.scale.fit(c.spark())
		if i >= top {
			rest.add(c.share(l.total), c.count)
		}
	}
	return first.Report(), rest
}

// share is the part of the query time of all classes.
func (c *class) share(total wide) float64 {
	if total.isZero() {
		return 0
	}
	return c.queryTime.float() / total.float()
}
