package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stowage/act"
	"stowage/domains"
	"stowage/farm"
	"stowage/internal/table"
	"stowage/session"
	"stowage/store"
)

func (a *app) domainsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "domains [PAIR...]",
		Short: "Show which servers share a GTID domain, and lead them out of it",
		Long: `MariaDB numbers transactions by GTID domain. Two servers that take writes at the same
time need a domain each; by default every server has domain 0. Shows what each server
writes, how it replicates, and what 'stowage domains separate' would do. Reads only.
Exit code 1 when a pair is not separate. docs/reference/domains.md explains.

` + exitHelp,
		Example: "  stowage domains\n  stowage domains separate --dry-run\n  stowage domains separate\n  stowage domains undo dbshard001",
		RunE:    func(c *cobra.Command, given []string) error { return a.showDomains(c.Context(), given) },
	}
	var dry bool
	var wait time.Duration
	separate := &cobra.Command{
		Use: "separate [PAIR...]", Short: "Give each side a GTID domain of its own, live",
		Long: `Gives each side of the pairs a GTID domain that no other server writes, and lets them
replicate by GTID with gtid_strict_mode: live, without a restart and without ending
anybody's session. A pair with one writer gets one domain. Option files are changed as well.
All pairs are done that need it, or those that are named.

A session keeps its domain until it reconnects: those of the old domain are named and
waited for. When --wait has passed, it stops (exit code 3); run it again when they have
reconnected. Killed anywhere, it goes on when it is run again.

` + exitHelp,
		Example: "  stowage domains separate --dry-run\n  stowage domains separate\n  stowage domains separate dbshard001 --wait 1h",
		RunE: func(c *cobra.Command, given []string) error {
			if dry {
				return a.showDomains(c.Context(), given)
			}
			return a.changeDomains(c.Context(), "separate", given, wait)
		},
	}
	separate.Flags().BoolVar(&dry, "dry-run", false, "say what would be done, and touch nothing")
	undo := &cobra.Command{
		Use: "undo [PAIR...]", Short: "Take back what 'domains separate' did",
		Long: `Puts servers and option files back to what they were before 'stowage domains separate': domain,
strict mode, duplicates, file and position or GTID. Of the pairs that are named, or of all.

` + exitHelp,
		Example: "  stowage domains undo dbshard001",
		RunE: func(c *cobra.Command, given []string) error {
			return a.changeDomains(c.Context(), "undo", given, wait)
		},
	}
	for _, c := range []*cobra.Command{separate, undo} {
		c.Flags().DurationVar(&wait, "wait", 10*time.Minute, "how long sessions of the old domain are waited for")
		c.Flags().Lookup("wait").DefValue = inHelp(wait)
	}
	cmd.AddCommand(separate, undo)
	return cmd
}

const domainsKind = "domains"

// domainsAct gathers what the verb needs.
func (a *app) domainsAct() (*session.Session, *domains.Act, error) {
	d, moving, err := a.moving()
	if err != nil {
		return nil, nil, err
	}
	return d, &domains.Act{
		Farm: d.Farm, Open: d.Server, Edit: moving.Mover.EditOptions,
		Kept: func(p farm.PairName) (*domains.Record, error) { return keptDomains(d, p) },
		Keep: func(r domains.Record) error {
			return d.Store.PutDocument(domainsKind, string(r.Pair), time.Now(), r)
		},
		Tell: func(text string) { a.say("%s", text) }, Border: a.border,
	}, nil
}

// keptDomains is the newest record of a pair; nil for none.
func keptDomains(d *session.Session, p farm.PairName) (*domains.Record, error) {
	var r domains.Record
	_, err := d.Store.LatestDocument(domainsKind, string(p), &r)
	if errors.Is(err, store.ErrNone) {
		return nil, nil
	}
	return &r, err
}

// noDomainsOpen refuses a move beside a change of domains that was begun and
// has not ended.
func noDomainsOpen(d *session.Session) error {
	for _, p := range d.Farm.Pairs {
		r, err := keptDomains(d, p.Name)
		if err != nil {
			return err
		}
		if r != nil && r.State.IsOpen() {
			return &farm.Error{Op: "act on", Subject: string(p.Name), Err: fmt.Errorf("%w: its GTID domains are being changed, and that has not ended", farm.ErrRefused),
				Hint: "finish it first: stowage domains separate " + string(p.Name) + ", or stowage domains undo " + string(p.Name)}
		}
	}
	return nil
}

func pairNames(given []string) []farm.PairName {
	var out []farm.PairName
	for _, g := range given {
		out = append(out, farm.PairName(g))
	}
	return out
}

func (a *app) showDomains(ctx context.Context, given []string) error {
	d, separation, err := a.domainsAct()
	if err != nil {
		return err
	}
	defer d.Close()
	v, err := separation.Look(ctx, pairNames(given)...)
	if err != nil {
		return err
	}
	next := a.cmd("inventory")
	if slices.ContainsFunc(v.Pairs, func(p domains.PairView) bool { return !p.Separate }) {
		next = a.cmd("domains separate --dry-run")
	}
	if undoing(v) {
		next = a.cmd("domains undo")
	}
	if err := a.emit(v, func(w io.Writer) error { return writeDomains(w, v) }, next); err != nil {
		return err
	}
	for _, p := range v.Pairs {
		if !p.Separate {
			return farm.ErrFindings
		}
	}
	if farm.Blocks(v.Findings) {
		return farm.ErrFindings
	}
	return nil
}

func writeDomains(out io.Writer, v domains.View) error {
	w := table.New(out, "SERVER\tADDRESS\tDOMAIN\tIS TO BE\tSTRICT\tIGNORES DUPLICATES\tREPLICATES BY").Cut("REPLICATES BY").Names("SERVER", "ADDRESS")
	for _, p := range v.Pairs {
		for _, m := range p.Members {
			if m.Error != "" {
				w.Row("%s\t%s\t?\t?\t?\t?\t%s", m.Name, m.Address, m.Error)
				continue
			}
			by := map[string]string{"": "-", "No": "file and position", "Slave_Pos": "GTID", "Current_Pos": "GTID (current_pos)"}[m.Using]
			w.Row("%s\t%s\t%d\t%d\t%s\t%s\t%s", m.Name, m.Address, m.Domain, m.Goal, yesNo(m.Strict), yesNo(m.Ignores), by)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	n := 0
	for _, p := range v.Pairs {
		if p.Separate {
			continue
		}
		n++
		fmt.Fprintf(out, "\n%s: what is to be done", p.Pair)
		if p.State.IsOpen() {
			fmt.Fprintf(out, " (%s, not ended)", p.State)
		}
		fmt.Fprintln(out)
		for i, s := range p.Steps {
			fmt.Fprintf(out, "  %d. %s\n", i+1, s)
		}
		for _, m := range p.Members {
			for _, s := range m.OldSessions {
				fmt.Fprintf(out, "  may still write the old domain of %s: %s\n", m.Name, s)
			}
		}
	}
	if n == 0 {
		fmt.Fprintln(out, "\nnothing to do: each writer has a GTID domain of its own")
	}
	writeFindings(out, v.Findings)
	return nil
}

func undoing(v domains.View) bool {
	for _, p := range v.Pairs {
		if p.State == domains.Undoing {
			return true
		}
	}
	return false
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// domainsDone is what separate and undo print.
type domainsDone struct {
	FormatVersion int            `json:"format_version"`
	Verb          string         `json:"verb"`
	Findings      []farm.Finding `json:"findings"`
	Seconds       float64        `json:"seconds"`
}

func (a *app) changeDomains(ctx context.Context, verb string, given []string, wait time.Duration) error {
	d, separation, err := a.domainsAct()
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Lock("domains " + verb); err != nil {
		return err
	}
	if open, err := act.Open(d.Store); err == nil && len(open) > 0 {
		return &farm.Error{Op: "domains " + verb, Subject: open[0].ID, Err: fmt.Errorf("%w: a move has begun and not ended", farm.ErrRefused), Hint: "finish it first: stowage resume"}
	}
	separation.Wait = wait
	trail, err := d.Store.OpenTrail()
	if err != nil {
		return err
	}
	defer func() {
		if err := trail.Close(); err != nil {
			a.log.Warn("the audit trail has a gap", "error", err)
		}
	}()
	ctx = act.WriteDown(ctx, trail, store.Deed{Run: "domains", Who: act.Who(), Step: verb, Undo: verb == "undo"})
	start := time.Now()
	do := separation.Separate
	if verb == "undo" {
		do = separation.Undo
	}
	found, err := do(ctx, pairNames(given)...)
	writeFindings(a.stderr, found)
	if err != nil {
		return err
	}
	out := domainsDone{1, verb, found, time.Since(start).Seconds()}
	return a.emit(out, func(w io.Writer) error {
		text := map[string]string{"separate": "each writer has a GTID domain of its own", "undo": "as before"}[verb]
		if len(given) > 0 {
			text = strings.Join(given, ", ") + ": " + text
		}
		_, err := fmt.Fprintf(w, "%s (%.1f s)\n", text, out.Seconds)
		return err
	}, a.cmd("domains"))
}
