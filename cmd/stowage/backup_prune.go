package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stowage/backup"
	"stowage/backup/catalogue"
	"stowage/backup/kept"
	"stowage/farm"
	"stowage/internal/table"
	"stowage/session"
)

// backupPrune is what `stowage backup prune` prints.
type backupPrune struct {
	FormatVersion int                 `json:"format_version"`
	Farm          string              `json:"farm"`
	Rules         string              `json:"rules"`
	Chains        []catalogue.Verdict `json:"chains"` // by the time of their newest backup, the oldest first
	// Bytes is what the chains take up that may go.
	Bytes int64 `json:"bytes"`
	// Removed are the backups that were to be removed, and what became of each.
	Removed []kept.Pruned `json:"removed"`
}

func (a *app) backupPruneCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "prune", Short: "Show which backups stay, and why, and remove those that may go",
		Long: `Applies the rules of 'keep' in farm.yaml to all backups. The rules count the backups of a
pair that can be restored. A chain is a full backup with the incremental ones that need it: it
stays while one of its backups stays. Three chains of a pair never go: the newest proven one,
the newest whole one, and the one with the newest backup that can be restored. If a backup is
dated in the future, nothing of its pair is removed. Nothing is removed without --yes.

` + exitHelp,
		Example: "  stowage backup prune\n  stowage backup prune --yes\n  stowage backup prune --json | jq '.chains[] | select(.keep | not) | .chain.id'",
		Args:    args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if yes {
				return a.pruneNow(c.Context())
			}
			d, err := a.look()
			if err != nil {
				return err
			}
			defer d.Close()
			out, err := pruneOf(d, time.Now())
			if err != nil {
				return err
			}
			next := a.cmd("backup status")
			if len(catalogue.Dropped(out.Chains)) > 0 {
				next = a.again(nil, "--yes")
			}
			return a.emit(out, out.text, next)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "remove what may go from the vaults, and binary logs that no backup needs any longer")
	a.engineFlag(cmd.Flags())
	return cmd
}

// pruneNow removes what may go.
func (a *app) pruneNow(ctx context.Context) error {
	d, backing, err := a.backing(false)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Turn(ctx, "backup prune"); err != nil {
		return err
	}
	out, err := pruneOf(d, time.Now())
	if err != nil {
		return err
	}
	_, place := backup.PlaceOf(d.Farm.Backup, "")
	err = backup.Waiting(ctx, place, func(text string) { a.say("%s", text) }, func(ctx context.Context) (err error) {
		out.Removed, err = backing.Prune(ctx, catalogue.Dropped(out.Chains), func() time.Time { return time.Now().UTC() })
		return err
	})
	return errors.Join(a.emit(out, out.text, a.cmd("backup status")), err)
}

// pruneOf is what a prune would do.
func pruneOf(d *session.Session, now time.Time) (backupPrune, error) {
	rules := d.Farm.Backup.Filled().Keep
	out := backupPrune{FormatVersion: 1, Farm: d.Farm.Name, Rules: rulesText(rules), Removed: []kept.Pruned{}}
	var err error
	out.Chains, err = backup.Verdicts(d.Store, d.Farm, now)
	for _, c := range catalogue.Dropped(out.Chains) {
		out.Bytes += c.Bytes()
	}
	return out, err
}

func rulesText(k farm.Keep) string {
	var out []string
	for _, r := range []struct {
		name string
		n    int
	}{{"last", k.Last}, {"daily", k.Daily}, {"weekly", k.Weekly}, {"monthly", k.Monthly}, {"yearly", k.Yearly}} {
		if r.n > 0 {
			out = append(out, fmt.Sprintf("%s %d", r.name, r.n))
		}
	}
	if k.Within > 0 {
		out = append(out, "within "+farm.Counted(int(k.Within/(24*time.Hour)), "day"))
	}
	return strings.Join(out, ", ")
}

func (p backupPrune) text(w io.Writer) error {
	if len(p.Chains) == 0 {
		_, err := fmt.Fprintln(w, "no backups yet; take one: stowage backup run")
		return err
	}
	fmt.Fprintf(w, "keep: %s\n", p.Rules)
	t := table.New(w, "CHAIN\tPAIR\tBACKUPS\tUP TO\tSIZE\t\tWHY").Cut("WHY").Names("CHAIN", "PAIR")
	goes := 0
	for _, v := range p.Chains {
		verdict := "stays"
		if !v.Keep {
			verdict = "goes"
			goes++
		}
		c := v.Chain
		t.Row("%s\t%s\t%d\t%s\t%s\t%s\t%s", c.ID, c.Pair, len(c.Backups), c.Newest().At.Local().Format(time.DateTime), farm.RoundQuantity(float64(c.Bytes()), farm.KindBytes), verdict, strings.Join(v.Why, ", "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(p.Removed) > 0 {
		for _, r := range p.Removed {
			if r.Error != "" {
				fmt.Fprintf(w, "%s is still there: %s\n", r.ID, r.Error)
			}
		}
		_, err := fmt.Fprintf(w, "removed: %s\n", farm.Counted(len(p.Removed), "backup"))
		return err
	}
	_, err := fmt.Fprintf(w, "%d of %s may go: %s\n", goes, farm.Counted(len(p.Chains), "chain"), farm.RoundQuantity(float64(p.Bytes), farm.KindBytes))
	return err
}
