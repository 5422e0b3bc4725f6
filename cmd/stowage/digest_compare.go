package main

import (
	"context"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"stowage/digest"
	"stowage/farm"
	"stowage/report"
	"stowage/store"
	"stowage/workspace"
)

// compareFlags are what `stowage digest compare` is asked.
type compareFlags struct {
	html      string
	anonymize bool
}

func (a *app) compareCommand() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Say class by class what got faster or slower, and how sure that is",
		Long: `Compares two digests (saved names, .digest files, or slow logs): per class faster,
slower, unchanged or inconclusive, with intervals; what all classes have in common
(another host, another load) is reported apart. Exit code 1 when something got slower,
when new classes bring more load, or when an input is cut.

` + exitHelp,
		Example: "  stowage digest compare before after\n  stowage digest compare before after --html change.html",
		Args:    args(cobra.ExactArgs(2)),
		RunE: func(verb *cobra.Command, given []string) error {
			defer boundMemory(compareMemory)()
			c, err := a.compare(verb.Context(), given[0], given[1])
			if err != nil {
				return err
			}
			if f.anonymize {
				c.Anonymize()
			}
			if f.html != "" {
				if err := a.writeHTML(f.html, report.NewComparisonDocument(&c)); err != nil {
					return err
				}
			}
			var next []string
			if !f.anonymize { // they name the inputs
				next = a.afterCompare(c, given[0], given[1], f.html != "")
			}
			return a.compared(c, next...)
		},
	}
	cmd.Flags().StringVar(&f.html, "html", "", "also write a self-contained HTML page to this `FILE`")
	cmd.Flags().BoolVar(&f.anonymize, "anonymize", false, "leave out values and the names of inputs")
	return cmd
}

// compared prints a comparison.
func (a *app) compared(c digest.Comparison, next ...string) error {
	if err := a.emit(c, func(w io.Writer) error { return digest.WriteCompareText(w, c, a.textOptions(20)) }, next...); err != nil {
		return err
	}
	if c.GotSlower() || digest.IsIncomplete(c.Before.Inputs) || digest.IsIncomplete(c.After.Inputs) {
		return farm.ErrFindings
	}
	return nil
}

// compare compares two digests and keeps the answer, when there is a
// workspace to keep it in.
func (a *app) compare(ctx context.Context, before, after string) (digest.Comparison, error) {
	var sides [2]*digest.Digest
	for i, name := range []string{before, after} {
		var err error
		if sides[i], err = a.digest(ctx, []string{name}, digestFlags{}); err == nil {
			err = isLog(sides[i])
		}
		if err != nil {
			return digest.Comparison{}, err
		}
	}
	c := digest.Compare(sides[0], sides[1], digest.CompareOptions{})
	was, err := a.keptPlans(before)
	if err != nil {
		return c, err
	}
	is, err := a.keptPlans(after)
	if err != nil {
		return c, err
	}
	c.NamePlans(was, is)
	if ws, err := workspace.Open(a.dir); err == nil {
		s, err := store.Open(filepath.Join(ws.State(), "stowage.db"))
		if err != nil {
			return c, err
		}
		defer s.Close()
		return c, s.PutDocument("comparison", before+" "+after, time.Now(), c)
	}
	return c, nil
}
