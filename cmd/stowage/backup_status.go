package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"stowage/backup"
	"stowage/backup/catalogue"
	"stowage/farm"
	"stowage/internal/table"
	"stowage/inventory"
	"stowage/session"
)

// backupStatus is what `stowage backup status` prints.
type backupStatus struct {
	FormatVersion int       `json:"format_version"`
	Farm          string    `json:"farm"`
	At            time.Time `json:"at"`
	catalogue.Report
}

// next: pairs without a backup come before those whose backups were never restored.
func (s backupStatus) next(a *app) []string {
	if len(s.Findings) > 0 {
		return append(a.explainFirst(s.Findings), a.cmd("backup run --dry-run"), a.cmd("backup verify"))
	}
	return []string{a.cmd("backup list")}
}

func (a *app) backupStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show what each pair can be restored from, and up to when; find pairs without a proven backup",
		Long: `Shows for each pair the age of the newest backup that can be restored, when a backup was last
restored and compared with a live server, and up to which second archived binary logs can be
replayed. Findings are pairs without a backup, or without a proven one; backups that are old,
damaged, or on the host of their own server; missing binary logs. Asks no server and opens no
vault.

` + exitHelp,
		Example: "  stowage backup status\n  stowage backup status --json | jq '.findings[] | {check, subject, names}'",
		Args:    args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			d, err := a.look()
			if err != nil {
				return err
			}
			defer d.Close()
			all, err := keptBackups(d)
			if err != nil {
				return err
			}
			out, err := backupStatusOf(d, all, time.Now())
			if err != nil {
				return err
			}
			if err := a.emit(out, out.text, out.next(a)...); err != nil {
				return err
			}
			if len(out.Findings) > 0 {
				return farm.ErrFindings
			}
			return nil
		},
	}
}

// backupStatusOf is how the farm's backups stand: all of them, and what was seen of archives of binary logs last.
func backupStatusOf(d *session.Session, all []catalogue.Backup, now time.Time) (backupStatus, error) {
	archived, err := backup.ArchivedIn(d.Workspace)
	return backupStatus{FormatVersion: 1, Farm: d.Farm.Name, At: now.UTC(), Report: catalogue.Status(now, d.Farm, all, archived)}, err
}

func (s backupStatus) text(w io.Writer) error {
	t := table.New(w, "PAIR\tNEWEST BACKUP\tPROVEN\tBACKUPS\tSIZE\tRESTORABLE UP TO").Names("PAIR")
	for _, p := range s.Pairs {
		newest, proven, upto := "none", "unproven", "-"
		if p.Newest != nil {
			newest = agoText(*p.Age)
			upto = p.Upto.Local().Format(time.DateTime) // as --at reads it
		}
		if p.Proven != nil {
			proven = agoText(*p.ProvenAge)
		}
		t.Row("%s\t%s\t%s\t%d\t%s\t%s", p.Pair, newest, proven, p.Backups, farm.RoundQuantity(float64(p.Bytes), farm.KindBytes), upto)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := s.logicalText(w); err != nil {
		return err
	}
	return inventory.WriteFindings(w, s.Findings)
}

// logicalText says of pairs that have one how old their newest logical backup is; where no pair has one it says nothing.
func (s backupStatus) logicalText(w io.Writer) error {
	t, has := table.New(w, "PAIR\tNEWEST LOGICAL BACKUP\tPROVEN").Names("PAIR"), false
	for _, p := range s.Pairs {
		if p.Logical == nil {
			continue
		}
		proven := "unproven"
		if p.LogicalProvenAge != nil {
			proven = agoText(*p.LogicalProvenAge)
		}
		has = true
		t.Row("%s\t%s\t%s", p.Pair, agoText(s.At.Sub(p.Logical.At).Seconds()), proven)
	}
	if !has {
		return nil
	}
	return t.Flush()
}

// agoText is an age for people.
func agoText(seconds float64) string {
	switch {
	case seconds < 0:
		return "in the future"
	case seconds >= 48*3600:
		return fmt.Sprintf("%.0f days ago", seconds/86400)
	}
	return hoursText(seconds) + " ago"
}
