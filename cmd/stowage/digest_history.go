package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stowage/digest"
	"stowage/farm"
	"stowage/store"
)

// historyFlags are what `stowage digest history` is asked.
type historyFlags struct {
	class, since, until string
	step, period        string
	top                 int
}

func (a *app) historyCommand() *cobra.Command {
	var f historyFlags
	cmd := &cobra.Command{
		Use:   "history [NAME...]",
		Short: "Show load over time, from the digests that are kept in the workspace",
		Long: `Puts together what --save has kept under these names (default: all), each saving being
one window of time, and shows load over time: all classes together and the heaviest, or
one class, with when each was first and last seen. --period compares the last week, say,
with the one before.

` + exitHelp,
		Example: "  stowage digest history\n  stowage digest history nightly --class A8097746426FE6BD --since 2d\n  stowage digest history nightly --period 1w",
		Args:    args(cobra.ArbitraryArgs),
		RunE:    func(_ *cobra.Command, given []string) error { return a.history(given, f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.class, "class", "", "only the class with this `ID`, or its beginning")
	fl.StringVar(&f.since, "since", "", "leave out what is older than this: a time, or 1h, 2d, 1w")
	fl.StringVar(&f.until, "until", "", "leave out what came at or after this time")
	fl.StringVar(&f.step, "step", "", "length of a step of time: 10m, 1h, 1d; default: about 30 steps")
	fl.StringVar(&f.period, "period", "", "compare the newest period of this length with the one before: 1h, 1d, 1w")
	fl.IntVar(&f.top, "top", 10, "classes to print; 0: all")
	return cmd
}

func (a *app) history(names []string, f historyFlags) error {
	o, period, err := f.options()
	if err != nil {
		return err
	}
	kept, err := a.keptWindows(names)
	if err != nil {
		return err
	}
	if period > 0 {
		return a.periods(kept, period)
	}
	for _, n := range overlaps(kept) {
		a.say("note: %s", n)
	}
	all, err := merged(kept)
	if err != nil {
		return err
	}
	t := all.Trend(o)
	if f.class != "" && len(t.Classes) == 0 {
		return &farm.Error{Op: "find class", Subject: f.class, Err: fmt.Errorf("%w: no class with this ID in that time", farm.ErrInput), Hint: "stowage digest history shows the IDs"}
	}
	if err := a.remember(&t); err != nil {
		return err
	}
	next := a.cmd("digest farm")
	if f.class == "" && len(t.Classes) > 0 {
		next = a.again(nil, "--class", t.Classes[0].ID16)
	}
	return a.emit(t, func(w io.Writer) error { return digest.WriteTrendText(w, t, a.textOptions(0)) }, next)
}

// remember adds what people wrote about the classes, see `digest import`.
func (a *app) remember(t *digest.Trend) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	defer d.Close()
	var all []digest.Reviewed
	_, err = d.Store.LatestDocument(reviewedKind, "", &all)
	if errors.Is(err, store.ErrNone) {
		return nil
	}
	t.Remember(all)
	return err
}

func (f historyFlags) options() (o digest.TrendOptions, period time.Duration, err error) {
	o = digest.TrendOptions{Class: f.class, Classes: f.top}
	if f.top == 0 {
		o.Classes = -1
	}
	if o.Since, err = parseTime("--since", f.since); err != nil {
		return o, 0, err
	}
	if o.Until, err = parseTime("--until", f.until); err != nil {
		return o, 0, err
	}
	for _, x := range []struct {
		flag, text string
		into       *time.Duration
	}{{"--step", f.step, &o.Step}, {"--period", f.period, &period}} {
		var ok bool
		if *x.into, ok = parseSpan(x.text); x.text != "" && !ok {
			return o, 0, &farm.Error{Op: "read arguments", Err: fmt.Errorf("%w: %s %q is not a length of time", farm.ErrInput, x.flag, x.text), Hint: "write it as 10m, 1h, 1d or 1w"}
		}
	}
	return o, period, nil
}

// keptWindow is one digest that was saved in the workspace.
type keptWindow struct {
	name        string
	first, last time.Time
	digest      *digest.Digest
}

// keptWindows are the windows kept under these names, or all. One that was saved twice counts once.
func (a *app) keptWindows(names []string) ([]keptWindow, error) {
	d, err := a.look()
	if err != nil {
		return nil, err
	}
	defer d.Close()
	documents, err := d.Store.Documents("digest")
	if err != nil {
		return nil, err
	}
	var out []keptWindow
	for _, doc := range documents {
		if len(names) > 0 && !slices.Contains(names, doc.Name) {
			continue
		}
		var raw []byte
		if err := d.Store.DocumentByID(doc.ID, &raw); err != nil {
			return nil, err
		}
		x := keptWindow{name: doc.Name}
		if x.digest, err = digest.Decode(bytes.NewReader(raw)); err != nil {
			return nil, &farm.Error{Op: "read digest", Subject: doc.Name, Err: err}
		}
		x.first, x.last = x.digest.Span()
		again := func(y keptWindow) bool {
			return y.name == x.name && y.first.Equal(x.first) && y.last.Equal(x.last) && y.digest.Events() == x.digest.Events()
		}
		if !slices.ContainsFunc(out, again) {
			out = append(out, x)
		}
	}
	if len(out) == 0 {
		what := "no digest is kept in this workspace"
		if len(names) > 0 {
			what = "no digest is kept as " + strings.Join(names, " or ")
		}
		return nil, &farm.Error{Op: "read history", Err: fmt.Errorf("%w: %s", farm.ErrInput, what), Hint: "keep a window with: stowage digest --save NAME FILE..., or stowage digest record --save NAME"}
	}
	return out, nil
}

// overlaps says which windows lie over each other: what is in both counts twice.
func overlaps(kept []keptWindow) (out []string) {
	for i, x := range kept {
		for _, y := range kept[:i] {
			if x.first.Before(y.last) && y.first.Before(x.last) {
				out = append(out, fmt.Sprintf("windows of %s and %s overlap from %s: statements in both count twice; fine if they come from different servers", y.name, x.name, later(x.first, y.first).Format(time.DateTime)))
				if len(out) == 3 {
					return append(out, "more windows may overlap; name the ones to use")
				}
			}
		}
	}
	return out
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func merged(kept []keptWindow) (*digest.Digest, error) {
	all := kept[0].digest
	for _, x := range kept[1:] {
		if err := all.Merge(x.digest); err != nil {
			return nil, &farm.Error{Op: "merge digests", Subject: x.name, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "name windows with the same rules and groups: stowage digest history NAME..."}
		}
	}
	return all, nil
}

// periods compares what was in the last period with what was in the one before, counted from the newest event. A window
// belongs to the period in which its middle lies.
func (a *app) periods(kept []keptWindow, period time.Duration) error {
	var newest time.Time
	for _, x := range kept {
		newest = later(newest, x.last)
	}
	var before, after []keptWindow
	for _, x := range kept {
		switch ago := newest.Sub(x.first.Add(x.last.Sub(x.first) / 2)); {
		case x.first.IsZero():
		case ago <= period:
			after = append(after, x)
		case ago <= 2*period:
			before = append(before, x)
		}
	}
	if len(before) == 0 || len(after) == 0 {
		return &farm.Error{Op: "compare periods", Err: fmt.Errorf("%w: %s in the last %s and %d in the %s before", farm.ErrInput, farm.Counted(len(after), "window"), spanText(period), len(before), spanText(period)),
			Hint: "keep one window of each period at least, or name a shorter --period"}
	}
	b, err := merged(before)
	f, afterErr := merged(after)
	if err := errors.Join(err, afterErr); err != nil {
		return err
	}
	c := digest.Compare(b, f, digest.CompareOptions{})
	a.say("BEFORE is %s up to %s, AFTER %s up to %s", farm.Counted(len(before), "window"), newest.Add(-period).Format(time.DateTime), farm.Counted(len(after), "window"), newest.Format(time.DateTime))
	return a.compared(c, a.cmd("digest farm"))
}
