package replay

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"stowage/digest"
	"stowage/farm"
	"stowage/replay/effect"
)

// WriteText writes an outcome for people: what was sent and what not, what
// differs, and how long it took.
func WriteText(w io.Writer, o *Outcome, top int) error {
	p := &page{w: w}
	p.head(o)
	p.skipped(o, top)
	if o.DryRun {
		p.dryClasses(o, top)
		return p.err
	}
	p.results(o, top)
	p.times(o)
	for _, n := range o.Notes {
		p.line("note      %s", n)
	}
	if p.err == nil && o.Comparison != nil && o.Recorded.Count > 0 {
		p.line("")
		p.err = digest.WriteCompareText(w, *o.Comparison, digest.TextOptions{Top: top})
	}
	return p.err
}

type page struct {
	w   io.Writer
	err error
}

func (p *page) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, strings.TrimRight(format, " ")+"\n", args...)
	}
}

func (p *page) head(o *Outcome) {
	for _, in := range o.Reading.Inputs {
		p.line("read      %s: %s, %s, %d left out", in.Name, in.Kind, farm.Counted(in.Statements, "event"), in.Left)
		for _, n := range in.Notes {
			p.line("          %s", n)
		}
	}
	pace := fmt.Sprintf("%gx", o.Pace.Speed)
	if o.Pace.Speed <= 0 {
		pace = "as fast as it goes"
	}
	if o.Pace.Think {
		pace += ", think times kept"
	}
	verb := "sent"
	if o.DryRun {
		verb = "would send"
	}
	p.line("%-9s %d of %d statements (%s) of %d sessions, recorded over %s", verb, o.Sent.All, o.Statements, sentText(o.Sent), o.Sessions.Recorded,
		seconds(o.Pace.RecordedSeconds))
	if !o.DryRun {
		p.line("pace      %s: %s in all, at most %s; ended: %s", pace, seconds(o.Pace.Seconds), farm.Counted(o.Sessions.Most, "connection"), o.Ended)
	}
}

func sentText(s Sent) string {
	var out []string
	for _, x := range []struct {
		n    uint64
		name string
	}{{s.Read, "read"}, {s.Function, "with functions"}, {s.Session, "session"}, {s.Write, "write"}, {s.Define, "define"}} {
		if x.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", x.n, x.name))
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

func (p *page) skipped(o *Outcome, top int) {
	var rest uint64
	for i, s := range o.Skipped {
		if top > 0 && i >= top {
			rest += s.Count
			continue
		}
		p.line("not sent  %d %s: %s   %s", s.Count, s.Kind, s.Reason, oneLine(s.Example, 60))
	}
	if rest > 0 {
		p.line("not sent  %d for other reasons; --json has all", rest)
	}
}

func (p *page) dryClasses(o *Outcome, top int) {
	for i, c := range o.Classes {
		if top > 0 && i >= top {
			p.line("          and %d more classes", len(o.Classes)-top)
			return
		}
		p.line("would     %8d  %s  %s", c.Sent, c.ID32[16:], oneLine(c.Fingerprint, 90))
	}
}

func (p *page) results(o *Outcome, top int) {
	c, e := o.Compared, o.Errors
	p.line("results   %d equal, %d different, %d cannot be compared, %d not told by the recording", c.Equal, c.Different, c.Chance, c.Untold)
	if e.All+e.NotSent+e.LostOriginal > 0 {
		p.line("errors    %d in all: %s lost, %d timed out; %s found no connection", e.All, farm.Counted(e.Lost, "connection"), e.Timeouts, farm.Counted(e.NotSent, "statement"))
		if e.LostOriginal > 0 {
			p.line("          %d statements were not compared: the second server did not answer", e.LostOriginal)
		}
		if e.First != "" {
			p.line("          first: %s", oneLine(e.First, 200))
		}
	}
	for i, code := range e.ByCode {
		if top > 0 && i >= top {
			break
		}
		p.line("          %d times %d (%d of them in the recording too): %s", code.Count, code.Code, code.AsRecorded, oneLine(code.Text, 120))
	}
	p.differences(o, top)
}

func (p *page) differences(o *Outcome, top int) {
	shown := 0
	for _, c := range o.Classes {
		if c.Different == 0 {
			continue
		}
		if shown++; top > 0 && shown > top {
			p.line("differs   ... in more classes; --json has all")
			return
		}
		var kinds []string
		for k, n := range c.Kinds {
			kinds = append(kinds, fmt.Sprintf("%d %s", n, k))
		}
		slices.Sort(kinds)
		p.line("differs   %s  %d of %d (%s)  %s", c.ID32[16:], c.Different, c.Sent, strings.Join(kinds, ", "), oneLine(c.Fingerprint, 90))
	}
	for i, x := range o.Examples {
		if top > 0 && i >= top {
			return
		}
		p.line("example   %s", oneLine(x.Statement, 200))
		if x.Values != "" {
			p.line("          values %s", oneLine(x.Values, 200))
		}
		for _, d := range x.Differences {
			p.line("          %s", oneLine(d.String(), 500))
		}
	}
}

func (p *page) times(o *Outcome) {
	if o.Pace.Speed > 0 && o.Late.Count > 0 {
		p.line("late      p50 %s  p95 %s  p99 %s  max %s", seconds(o.Late.P50), seconds(o.Late.P95), seconds(o.Late.P99), seconds(o.Late.Max))
	}
	if o.Recorded.Count == 0 {
		return
	}
	was := "recorded"
	if o.Original != "" {
		was = "original"
	}
	for _, x := range []struct {
		name string
		s    Spread
	}{{was, o.Recorded}, {"replayed", o.Replayed}, {"from due", o.FromDue}} {
		if x.s.Count > 0 {
			p.line("%-9s p50 %s  p95 %s  p99 %s  max %s", x.name, seconds(x.s.P50), seconds(x.s.P95), seconds(x.s.P99), seconds(x.s.Max))
		}
	}
}

// oneLine is text without line ends and control characters.
func oneLine(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	return effect.Clip(strings.Join(strings.Fields(s), " "), n)
}

func seconds(s float64) string {
	switch {
	case s >= 120:
		return fmt.Sprintf("%.0f min", s/60)
	case s >= 1:
		return fmt.Sprintf("%.3g s", s)
	case s >= 1e-3:
		return fmt.Sprintf("%.3g ms", 1e3*s)
	}
	return fmt.Sprintf("%.3g us", 1e6*s)
}
