package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"stowage/digest"
	"stowage/farm"
	"stowage/inventory"
	"stowage/store"
)

func (a *app) digestFarmCommand() *cobra.Command {
	var by string
	var top int
	cmd := &cobra.Command{
		Use:   "farm",
		Short: "Show what the whole farm is asked: the heaviest classes, what changed since last week, by shard",
		Long: `Puts together what 'stowage due' has read of all servers: the classes that take the most time in the newest day, how
that changed against the same hours a week before, split into calls and time per call, and the load of each shard.
The same statement in different shards is one class. Rates are by the time that was looked at; hours in which a
server was not read count for nothing.

A class that surely became heavier by a fifth is a finding, and so is a new one with a twentieth of the load; exit code 1.

` + exitHelp,
		Example: "  stowage digest farm\n  stowage digest farm --by change --json | jq '.findings'",
		Args:    args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if by != "load" && by != "change" {
				return usage(c, fmt.Errorf("--by is load or change, not %q", by))
			}
			o, err := a.loadOverTime()
			if err != nil {
				return err
			}
			if by == "change" {
				o.OrderByChange()
			}
			next := append(a.explainFirst(o.Findings), a.cmd("digest history"))
			if o.Until.IsZero() {
				next = []string{a.cmd("due")}
			}
			if err := a.emit(o, func(w io.Writer) error {
				if err := o.WriteText(w, top); err != nil || o.Until.IsZero() {
					return err
				}
				return inventory.WriteFindings(w, o.Findings)
			}, next...); err != nil {
				return err
			}
			if hasGrave(o.Findings) {
				return farm.ErrFindings
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&by, "by", "load", "order classes by load, or by change since last week")
	cmd.Flags().IntVar(&top, "top", 20, "classes and shards to print; 0: all. JSON has all")
	return cmd
}

// loadOverTime is what due has kept of the newest day and of the same day a week before.
func (a *app) loadOverTime() (digest.OverTime, error) {
	d, err := a.look()
	if err != nil {
		return digest.OverTime{}, err
	}
	defer d.Close()
	was, err := d.Store.Duties()
	if err != nil {
		return digest.OverTime{}, err
	}
	return overTime(d.Store, was["load"].DoneAt)
}

func overTime(s *store.Store, newest time.Time) (digest.OverTime, error) {
	seen, err := s.SeenHours(newest.Add(-(8*24 + 2) * time.Hour))
	if err != nil {
		return digest.OverTime{}, err
	}
	watches := make([]digest.Watch, len(seen))
	for i, x := range seen {
		watches[i] = digest.Watch{Server: x.Server, At: x.At, Millis: x.Millis, Unseen: x.Unseen, Failed: x.Failed}
	}
	o := digest.LoadOverTime(func(yield func(digest.Hour) bool) {
		for _, span := range digest.Spans(watches) {
			err = errors.Join(err, s.EachHour(span.From, span.Until, func(l store.Load) {
				yield(digest.Hour{Server: l.Server, Shard: l.Shard, Checksum: l.Checksum, Fingerprint: l.Fingerprint, At: l.At, Calls: l.Calls, Micros: l.Micros, Rows: l.Rows})
			}))
		}
	}, watches)
	return o, err
}
