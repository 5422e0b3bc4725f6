package decide

import (
	"fmt"
	"math"
	"strings"
)

// Words is what one lost device costs, in a sentence.
func (l *Loss) Words() string {
	a := Array{Level: l.Level, Devices: l.Devices}
	parts := []string{a.String()}
	switch {
	case l.Survives > 0:
		parts = append(parts, fmt.Sprintf("no data; %s of random reads and %s of small writes are left meanwhile", percent(l.Reads), percent(l.Writes)))
	case l.Data > 0:
		parts = append(parts, percent(1-l.Data)+" of the data")
	default:
		parts = append(parts, "all data")
	}
	if l.Survives > 0 {
		if l.Exposure != nil {
			parts = append(parts, "exposed for "+hours(*l.Exposure))
		}
		if l.Second != nil {
			parts = append(parts, "data is lost in that time with "+percent(*l.Second)+mark(l.Basis))
		}
	}
	if l.Yearly != nil {
		parts = append(parts, "within a year with "+percent(*l.Yearly)+mark(l.Basis))
	}
	if len(l.Unknown) > 0 {
		parts = append(parts, "the rest is unknown: "+strings.Join(l.Unknown, ", "))
	}
	return strings.Join(parts, "; ")
}

// Changes are sentences about what would put another candidate ahead: weights, prices, and the figures nearest to it, at most so many.
func (o *Outcome) Changes(figures int) []string {
	out := []string{}
	if o.Ahead == "" || len(o.Leads) == 0 {
		return out
	}
	for _, f := range o.Sensitive.Weights {
		out = append(out, f.Words())
	}
	if len(o.Sensitive.Weights) == 0 {
		out = append(out, "no change of a single weight")
	}
	for _, t := range o.Sensitive.Prices {
		out = append(out, t.Words(o.Currency, o.Ahead))
	}
	shown := 0
	for _, t := range o.Sensitive.Figures {
		if shown < figures && t.distance() < math.Log(far) {
			out = append(out, t.Words(o.Currency, o.Ahead))
			shown++
		}
	}
	if left := len(o.Sensitive.Figures) - shown; left > 0 && shown == figures {
		out = append(out, fmt.Sprintf("and %s more figures, none nearer (--json has them all)", whole(float64(left))))
	} else if left > 0 {
		out = append(out, fmt.Sprintf("%s further figures would have to be off by more than a factor of %s (--json has them all)", whole(float64(left)), whole(far)))
	}
	return out
}

// far is the factor beyond which a figure that would have to be so far off is not worth a line.
const far = 10

// Words is a flip as a sentence.
func (f Flip) Words() string {
	side := "above"
	if f.At < f.Weight {
		side = "below"
	}
	return fmt.Sprintf("weight of %s, now %s: %s %s it is %s", f.Of, short(f.Weight), side, short(f.At), f.Winner)
}

// Words is a turn as a sentence.
func (t Turn) Words(currency, ahead string) string {
	side := "or more"
	if t.Below {
		side = "or less"
	}
	now := "unknown"
	if t.Value != nil {
		now = "now " + t.Unit.Print(*t.Value, currency) + mark(t.Basis)
	}
	text := fmt.Sprintf("%s of %s, %s: at %s %s it is %s", t.Figure, t.Candidate, now, t.Unit.Print(t.At, currency), side, t.Winner)
	if t.Value != nil {
		ratio := t.At / *t.Value
		change := percent(1-ratio) + " less"
		if ratio > 1 {
			change = times(ratio) + " more"
			if ratio >= 2 {
				change = times(ratio) + " as much"
			}
		}
		text += " (" + change + ")"
	}
	if t.Within {
		text += ", which is within its own bounds"
	}
	if t.Value == nil && t.Candidate == ahead {
		text += ", no longer it"
	}
	return text
}

// DominanceWords are sentences about who is better in everything.
func (o *Outcome) DominanceWords() []string {
	var out []string
	var last Dominance
	for _, d := range o.Dominance {
		if len(out) > 0 && last.Better == d.Better && last.Surely == d.Surely && last.Equal == d.Equal {
			out[len(out)-1] += ", " + d.Worse
			continue
		}
		text := d.Better
		if !d.Surely {
			text += ", on the figures as they are,"
		}
		switch {
		case d.Equal > 0:
			text += fmt.Sprintf(" is worse in nothing, and the same in %s of %s goals, than %s", whole(float64(d.Equal)), whole(float64(len(o.Goals))), d.Worse)
		default:
			text += " is better in everything than " + d.Worse
		}
		out, last = append(out, text), d
	}
	return out
}
