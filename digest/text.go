package digest

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"stowage/farm"
)

// TextOptions say how a report is written for people. The zero value is right for a pipe: 100 columns, no colour.
type TextOptions struct {
	Width int  // columns; default 100, at least 80
	Top   int  // classes shown in detail; default 10, negative: all
	Color bool // only when a person asked, or the output is a terminal without NO_COLOR
}

func (o TextOptions) withDefaults() TextOptions {
	if o.Width == 0 {
		o.Width = 100
	}
	o.Width = max(o.Width, 80)
	if o.Top == 0 {
		o.Top = 10
	}
	return o
}

// page collects lines and remembers the first error of the writer.
type page struct {
	w   io.Writer
	o   TextOptions
	err error
}

func (p *page) line(format string, args ...any) {
	for _, l := range folded(strings.TrimRight(fmt.Sprintf(format, args...), " "), p.o.Width) {
		if p.err != nil {
			return
		}
		_, p.err = fmt.Fprintln(p.w, l)
	}
}

func (p *page) bold(s string) string  { return p.paint("1", s) }
func (p *page) faint(s string) string { return p.paint("2", s) }

func (p *page) paint(code, s string) string {
	if !p.o.Color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// WriteText writes a report for people: what was read, everything together, the classes ranked, the first of them in
// detail.
func WriteText(w io.Writer, r Report, o TextOptions) error {
	top := o.withDefaults().top(len(r.Classes))
	rest := otherClasses{scale: newSparkScale()}
	for i := range r.Classes {
		rest.scale.fit(r.Classes[i].Spark)
		if i >= top {
			rest.add(r.Classes[i].Share, r.Classes[i].Count)
		}
	}
	r.Top(top)
	return writeText(w, r, rest, o)
}

// otherClasses is what a page says about the classes that it does not show.
type otherClasses struct {
	n     int
	share float64
	calls uint64
	scale sparkScale // of all classes, also those shown
}

func (o *otherClasses) add(share float64, calls uint64) {
	o.n++
	o.share += share
	o.calls += calls
}

// top is how many of n classes are shown.
func (o TextOptions) top(n int) int {
	if o.Top < 0 || o.Top > n {
		return n
	}
	return o.Top
}

// writeText writes a report that holds the classes to show.
func writeText(w io.Writer, r Report, rest otherClasses, o TextOptions) error {
	p := &page{w: w, o: o.withDefaults()}
	p.inputs(r.Inputs)
	p.summary(r)
	if len(r.Classes) == 0 {
		p.line("")
		p.line("No events.")
		return p.err
	}
	p.ranking(r, rest)
	for i, c := range r.Classes {
		p.class(i+1, c, r)
	}
	return p.err
}

func (p *page) inputs(ins []Input) {
	const most = 8
	for i, in := range ins {
		if i == most && len(ins) > most+1 {
			p.line("and %d more inputs", len(ins)-most)
			break
		}
		p.line("%s  %s", p.bold(clip(in.Name, p.o.Width-60)), listed(in.Type, clip(in.Dialect, 22), bytesText(float64(in.Bytes)), many(in.Events, "event")))
		if in.LeftOut > 0 {
			p.line("  left out   %s events (since, until, filter)", count(in.LeftOut))
		}
		for _, r := range in.Skipped {
			p.wrapped("  skipped    ", r.text())
		}
		for _, r := range in.Notes {
			p.wrapped("  note       ", r.text())
		}
	}
}

// listed puts what is known of several things behind each other.
func listed(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// text is how often something was seen, in how many bytes, and where first. Remarks on servers have neither bytes nor places.
func (r Remark) text() string {
	often, where := count(r.Count)+" times", "first at byte %d"
	if r.Count == 1 {
		often, where = "once", "at byte %d"
	}
	out := []string{often}
	if r.Bytes > 0 {
		out = append(out, bytesText(float64(r.Bytes)))
	}
	if r.FirstOffset > 0 {
		out = append(out, fmt.Sprintf(where, r.FirstOffset))
	}
	return r.Reason + ": " + listed(out...)
}

func (p *page) summary(r Report) {
	p.line("")
	p.line("%s  %s in %s%s", p.bold("Overall"), many(r.Events, "event"), many(uint64(r.ClassCount), "class"), timed(r.QueryTime, ", "+duration(r.QueryTimeSum)+" of query time"))
	if r.FoldedClasses > 0 {
		p.line("         %s rare classes are folded into one", count(r.FoldedClasses))
	}
	if r.FirstSeen != nil && r.LastSeen != nil {
		span := r.LastSeen.Sub(*r.FirstSeen).Seconds()
		rate := ""
		if span >= 1 {
			rate = fmt.Sprintf(", %.4g events/s%s", float64(r.Events)/span, timed(r.QueryTime, fmt.Sprintf(", load %.3g", r.QueryTimeSum/span)))
		}
		p.line("         %s to %s UTC%s", r.FirstSeen.Format(stamp), r.LastSeen.Format(stamp), rate)
	}
	q := r.QueryTime
	if q.isKnown() {
		p.line("         avg %s  p50 %s  p95 %s  p99 %s  max %s", duration(q.Avg), duration(q.P50), duration(q.P95), duration(q.P99), duration(q.Max))
	} else if r.Events > 0 {
		p.line("         no latencies: the source does not tell how long statements took")
	}
	if len(r.Quantiles) > 0 {
		p.line("         %s", quantilesText(r.Quantiles))
	}
	p.sums(q, nil)
	p.line("         rules %s, grouped by %s, quantiles within %.1f %%", r.RuleSet, r.GroupBy, 100*r.RelativeError)
}

const stamp = "2006-01-02 15:04:05"

func (p *page) ranking(r Report, others otherClasses) {
	from, to := others.scale.columns()
	const figures = 63 // of columns in front of picture and class
	if p.o.Width < figures+2+to-from+20 {
		to = from // no room for pictures
	}
	columns := to - from
	rest := p.o.Width - figures - min(2, columns) - columns
	p.line("")
	p.line("%s", p.bold(fmt.Sprintf("%4s %6s %9s %7s %7s %7s %7s %7s %s %s", "rank", "share", "calls", "avg", "p50", "p95", "p99", "max",
		beside(sparkTitle(from, columns), columns), "class")))
	for i, c := range r.Classes {
		q := c.QueryTime
		p.line("%4d %5.1f%% %9s %7s %7s %7s %7s %7s %s %s", i+1, 100*c.Share, count(c.Count), duration(q.Avg), duration(q.P50), duration(q.P95),
			duration(q.P99), duration(q.Max), beside(sparkline(c.Spark, from, to), columns), clip(c.Fingerprint, rest))
	}
	if others.n > 0 {
		p.line("%4s %5.1f%% %9s  %d more classes", "", 100*others.share, count(others.calls), others.n)
	}
}

// beside is a picture between the figures and the name; where there is no room for pictures, nothing.
func beside(picture string, columns int) string {
	if columns == 0 {
		return ""
	}
	return fmt.Sprintf(" %-*s ", columns, picture)
}

func (p *page) class(rank int, c Class, r Report) {
	q := c.QueryTime
	p.line("")
	p.line("%s  %s  %s", p.bold(fmt.Sprintf("%d.", rank)), p.bold(c.ID16), clip(c.Fingerprint, p.o.Width-24))
	p.line("   calls     %s (%.3g %% of events)%s", count(c.Count), percent(float64(c.Count), float64(r.Events)), timed(q, fmt.Sprintf(", %s of query time (%.3g %%)", duration(q.Sum), 100*c.Share)))
	if q.isKnown() {
		p.line("   latency   min %s  avg %s  p50 %s  p95 %s  p99 %s  max %s", duration(q.Min), duration(q.Avg), duration(q.P50), duration(q.P95), duration(q.P99), duration(q.Max))
	}
	if q.Stddev > 0 {
		p.line("   stddev    %s", duration(q.Stddev))
	}
	if len(c.Quantiles) > 0 {
		p.line("   quantiles %s", quantilesText(c.Quantiles))
	}
	p.sums(c.QueryTime, c.Sums)
	if c.RowsExaminedSum+c.RowsSentSum+c.RowsAffectedSum > 0 { // many sources do not tell
		p.line("   rows      examined %s, sent %s%s", aCall(c.RowsExaminedSum, c.Count), aCall(c.RowsSentSum, c.Count), affected(c))
	}
	if c.LockTimeSum > 0 {
		p.line("   lock      %s (%.3g %% of query time)", duration(c.LockTimeSum), percent(c.LockTimeSum, q.Sum))
	}
	p.flags(c)
	p.names("tables", tableNames(c.Tables), false)
	p.names("users", namedText(c.Users), isTruncated(c, "users"))
	p.names("hosts", namedText(c.Hosts), isTruncated(c, "hosts"))
	p.names("dbs", namedText(c.DBs), isTruncated(c, "dbs"))
	if c.FirstSeen != nil && c.LastSeen != nil {
		p.line("   seen      %s to %s", c.FirstSeen.Format(stamp), c.LastSeen.Format(stamp))
	}
	if c.Example.Query != "" {
		p.line("   example   %s", c.Example.about())
		for _, l := range wrap(c.Example.Query, p.o.Width-13, 6) {
			p.line("             %s", p.faint(l))
		}
	}
	for _, s := range c.Samples {
		about := s.about()
		if len(s.Flags) > 0 {
			about += ", " + strings.ReplaceAll(strings.Join(s.Flags, ", "), "_", " ")
		}
		why := s.Why
		if why == "plan" { // what EXPLAIN says is called so, too
			why = "other run"
		}
		p.line("   %-9s %s", why, clip(about, p.o.Width-13))
		for _, l := range wrap(s.Query, p.o.Width-13, 2) {
			p.line("             %s", p.faint(l))
		}
	}
	p.plan(c.Plan)
}

func quantilesText(qs []Quantile) string {
	var out []string
	for _, q := range qs {
		out = append(out, fmt.Sprintf("p%g %s", q.Percent, duration(q.Seconds)))
	}
	return strings.Join(out, "  ")
}

func (p *page) flags(c Class) {
	var out []string
	for _, name := range flagNames {
		if n := c.Flags[name]; n > 0 && name != "admin" {
			out = append(out, fmt.Sprintf("%s %.3g %%", strings.ReplaceAll(name, "_", " "), percent(float64(n), float64(c.Count))))
		}
	}
	p.names("flags", out, false)
}

func (p *page) names(title string, names []string, more bool) {
	if len(names) == 0 {
		return
	}
	text := strings.Join(names, ", ")
	if more {
		text += ", .."
	}
	p.line("   %-9s %s", title, clip(text, p.o.Width-13))
}

func affected(c Class) string {
	if c.RowsAffectedSum == 0 {
		return ""
	}
	return fmt.Sprintf(", affected %s", number(c.RowsAffectedSum))
}

func isTruncated(c Class, list string) bool {
	for _, t := range c.Truncated {
		if t == list {
			return true
		}
	}
	return false
}

func namedText(ns []Named) (out []string) {
	for _, n := range ns {
		out = append(out, fmt.Sprintf("%s (%s)", clean(n.Name), count(n.Count)))
	}
	return out
}

func tableNames(ts []string) (out []string) {
	for _, t := range ts {
		out = append(out, clean(t))
	}
	return out
}

// about is how long an event took and when it was, as far as that is known.
func (e *Example) about() string {
	var out []string
	if v := float64(e.QueryTime); !math.IsNaN(v) {
		out = append(out, duration(v))
	}
	if e.At != nil {
		out = append(out, "at "+e.At.Format(stamp))
	}
	return strings.Join(out, " ")
}

// timed is a text about latencies, or nothing where none is known.
func timed(q Latency, text string) string {
	if !q.isKnown() {
		return ""
	}
	return text
}

// aCall is a sum and what of it falls to one call.
func aCall(sum float64, calls uint64) string {
	each := sum / float64(max(calls, 1))
	if each >= 1e4 {
		return fmt.Sprintf("%s (%s a call)", number(sum), number(each))
	}
	return fmt.Sprintf("%s (%.4g a call)", number(sum), each)
}

func percent(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * part / whole
}

// duration writes seconds with three digits: 707µs, 1.24ms, 12.1s.
func duration(s float64) string {
	switch {
	case math.IsNaN(s):
		return "-" // not known
	case s == 0:
		return "0"
	case s < 999.5e-9:
		return fmt.Sprintf("%.0fns", s*1e9)
	case s < 999.5e-6:
		return digits(s*1e6) + "µs"
	case s < 0.9995:
		return digits(s*1e3) + "ms"
	case s < 999.5:
		return digits(s) + "s"
	case s < 99.5*3600:
		return digits(s/3600) + "h"
	}
	return digits(s/86400) + "d"
}

func digits(v float64) string {
	switch {
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// count writes a number with its thousands apart: 979,640.
func count(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// many is a count with its noun: 1 event, 1,200 events.
func many(n uint64, noun string) string {
	_, noun, _ = strings.Cut(farm.Counted(n, noun), " ")
	return count(n) + " " + noun
}

// number writes a sum, whole below 10^15.
func number(v float64) string {
	if v < 1e15 {
		return count(uint64(math.Round(v)))
	}
	return fmt.Sprintf("%.4g", v)
}

func bytesText(n float64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	i := 0
	for n >= 999.5 && i < len(units)-1 {
		n /= 1000
		i++
	}
	if i == 0 {
		return fmt.Sprintf("%.0f B", n)
	}
	return digits(n) + " " + units[i]
}

// clean makes text safe for a terminal: control characters, which a capture may hold, become blanks.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r) || !unicode.IsPrint(r) && r != ' ':
			return '.'
		}
		return r
	}, s)
}

// clip cuts clean text to a number of columns.
func clip(s string, columns int) string {
	s = clean(s)
	if utf8.RuneCountInString(s) <= columns {
		return s
	}
	if columns < 4 {
		columns = 4
	}
	return string([]rune(s)[:columns-2]) + ".."
}

// wrap breaks clean text into at most so many lines.
func wrap(s string, columns, lines int) (out []string) {
	rest := []rune(strings.Join(strings.Fields(clean(s)), " "))
	for len(rest) > 0 {
		if len(out) == lines-1 && len(rest) > columns {
			return append(out, string(rest[:columns-2])+"..")
		}
		n := min(columns, len(rest))
		if n < len(rest) {
			for k := n; k > n-20 && k > 0; k-- {
				if rest[k] == ' ' {
					n = k
					break
				}
			}
		}
		out = append(out, strings.TrimSpace(string(rest[:n])))
		rest = rest[n:]
	}
	return out
}
