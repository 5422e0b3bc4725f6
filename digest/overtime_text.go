package digest

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"stowage/farm"
	"stowage/internal/table"
)

// finding says of a class that became heavier what became of it, if it did.
func (c ClassLoad) finding() (farm.Finding, bool) {
	f := farm.Finding{Severity: farm.Warning, Subject: "class " + c.Checksum, Remedy: "see the class: stowage digest history --class " + c.Checksum}
	switch {
	case c.IsNew && c.Share >= newWorth:
		f.Check = "query-new"
		f.Text = fmt.Sprintf("is new since last week and takes %.0f %% of the farm's query time: %s", 100*c.Share, brief(c.Fingerprint))
		f.Remedy = "find out which release brought it, and whether it has an index: stowage digest --explain INSTANCE"
	case c.Low == nil || *c.Low < worse || c.Share < noteworth:
		return f, false
	case c.TimeChange != nil && *c.TimeChange >= worse:
		f.Check = "query-slower"
		f.Text = fmt.Sprintf("takes %.2f times as long a call as a week ago (load %.2f times, 95 %%: %.2f to %.2f): %s", *c.TimeChange, *c.Change, *c.Low, *c.High, brief(c.Fingerprint))
		f.Remedy = "compare its plan and its data with last week's: stowage digest --explain INSTANCE"
	default:
		f.Check = "query-more"
		f.Text = fmt.Sprintf("is called %.2f times as often as a week ago (load %.2f times, 95 %%: %.2f to %.2f): %s", *cmp.Or(c.CallsChange, c.Change), *c.Change, *c.Low, *c.High, brief(c.Fingerprint))
		f.Remedy = "ask who calls it: a cache that is gone, a loop, a new customer in " + c.TopShard
	}
	return f, true
}

func brief(text string) string {
	if r := []rune(text); len(r) > 90 {
		return string(r[:89]) + "…"
	}
	return text
}

// OrderByChange puts first what became heavier most.
func (o *OverTime) OrderByChange() {
	slices.SortStableFunc(o.Classes, func(a, b ClassLoad) int { return cmp.Compare(b.added(), a.added()) })
}

// added is how much load a class has more than a week ago.
func (c ClassLoad) added() float64 {
	switch {
	case c.IsNew:
		return c.Load
	case c.Change == nil:
		return math.Inf(-1)
	}
	return c.Before * (*c.Change - 1)
}

// WriteText is the person's view.
func (o OverTime) WriteText(w io.Writer, most int) error {
	if o.Until.IsZero() {
		_, err := fmt.Fprintln(w, "nothing measured yet: stowage due reads the statements of all servers once an hour")
		return err
	}
	fmt.Fprintf(w, "%s to %s UTC: %.3g seconds of query time a second, %d server hours measured, %d of them also a week before\n", o.From.Format(time.DateTime), o.Until.Format(time.DateTime), o.Load, o.Hours, o.HoursBefore)
	if o.UnseenShare > 0.005 {
		fmt.Fprintf(w, "%.0f %% of all statements were counted without their class: prepared ones, and those that performance_schema had no room for\n", 100*o.UnseenShare)
	}
	if len(o.NotMeasured) > 0 {
		fmt.Fprintf(w, "not measured, or only in part: %s\n", strings.Join(o.NotMeasured[:min(5, len(o.NotMeasured))], ", ")+andMore(len(o.NotMeasured)-5))
	}
	fmt.Fprintln(w)
	t := table.New(w, "CLASS\tLOAD\tSHARE\tCALLS/S\tTIME/CALL\tSINCE LAST WEEK\tCALLS\tTIME\tSHARDS\tMOST IN\tSTATEMENT").Cut("STATEMENT").Names("MOST IN")
	for _, c := range o.Classes[:least(most, len(o.Classes))] {
		since := "-"
		switch {
		case c.IsNew:
			since = "new"
		case c.Change != nil && c.Low != nil:
			since = fmt.Sprintf("x %.2f (%.2f to %.2f)", *c.Change, *c.Low, *c.High)
		case c.Change != nil:
			since = fmt.Sprintf("x %.2f", *c.Change)
		}
		t.Row("%s\t%.3g\t%.1f %%\t%.3g\t%s\t%s\t%s\t%s\t%d\t%s\t%s", c.Checksum[max(0, len(c.Checksum)-16):], c.Load, 100*c.Share, c.Calls, secondsText(c.PerCall), since, factorText(c.CallsChange), factorText(c.TimeChange), c.Shards, c.TopShard, brief(c.Fingerprint))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	t = table.New(w, "SHARD\tLOAD\tSHARE\tCALLS/S\tSINCE LAST WEEK\tHEAVIEST CLASS").Names("SHARD")
	for _, s := range o.Shards[:least(most, len(o.Shards))] {
		t.Row("%s\t%.3g\t%.1f %%\t%.3g\t%s\t%s", s.Shard, s.Load, 100*s.Share, s.Calls, factorText(s.Change), s.TopClass)
	}
	return t.Flush()
}

func andMore(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

func least(most, n int) int {
	if most <= 0 {
		return n
	}
	return min(most, n)
}

func factorText(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("x %.2f", *v)
}

// secondsText is a time with three digits and its unit.
func secondsText(s float64) string {
	switch {
	case s < 1e-3:
		return fmt.Sprintf("%.3gus", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.3gms", s*1e3)
	}
	return fmt.Sprintf("%.3gs", s)
}
