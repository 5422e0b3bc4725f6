package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"stowage/backup/catalogue"
	"stowage/backup/kept"
	"stowage/farm"
	"stowage/internal/table"
	"stowage/session"
)

// backupList is what `stowage backup list` prints.
type backupList struct {
	FormatVersion int         `json:"format_version"`
	Farm          string      `json:"farm"`
	Backups       []backupRow `json:"backups"` // the oldest first
}

// backupRow is a backup with what the others say of it.
type backupRow struct {
	catalogue.Backup
	Where    string     `json:"where"`
	ProvenAt *time.Time `json:"proven_at"` // null: it was never restored and compared
	Chain    string     `json:"chain"`
	Broken   string     `json:"broken"` // why it cannot be restored; empty: it can
}

// next: there is a first backup, then one that was restored.
func (l backupList) next(a *app) []string {
	switch {
	case len(l.Backups) == 0:
		return []string{a.cmd("backup run --dry-run")}
	case slices.ContainsFunc(l.Backups, func(b backupRow) bool { return b.ProvenAt == nil && b.Broken == "" }):
		return []string{a.cmd("backup verify"), a.cmd("backup status")}
	}
	return []string{a.cmd("backup status")}
}

func (a *app) backupListCommand() *cobra.Command {
	var scan bool
	cmd := &cobra.Command{
		Use: "list [PAIR | INSTANCE]...", Short: "Show all backups, and which of them were ever restored",
		Long: `Shows the backups that exist: of which instance, how large, where, and when a restore was last
compared with a live server. A backup that was never restored is called unproven. Asks no
server and opens no vault. --scan reads the vaults and corrects the catalogue by them, when it
was lost or backups were removed by hand.

` + exitHelp,
		Example: "  stowage backup list\n  stowage backup list dbshard001 --json | jq '.backups[] | {id, at, gtid, where, proven_at}'",
		RunE: func(c *cobra.Command, given []string) error {
			if scan {
				if err := a.scanVaults(c.Context()); err != nil {
					return err
				}
			}
			d, err := a.look()
			if err != nil {
				return err
			}
			defer d.Close()
			out, err := listOf(d, given)
			if err != nil {
				return err
			}
			return a.emit(out, out.text, out.next(a)...)
		},
	}
	cmd.Flags().BoolVar(&scan, "scan", false, "read the vaults first, and correct the catalogue")
	a.engineFlag(cmd.Flags())
	return cmd
}

// scanVaults corrects the catalogue by what is in the vaults.
func (a *app) scanVaults(ctx context.Context) error {
	d, backing, err := a.backing(false)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Turn(ctx, "backup list --scan"); err != nil {
		return err
	}
	s, err := backing.Scan(ctx, time.Now().UTC())
	if err != nil {
		return err
	}
	for _, x := range []struct {
		what  string
		names []string
	}{{"added to the catalogue", s.Found}, {"found in another vault than the catalogue named, which it names now", s.Moved}, {"removed from the catalogue, because no vault has them", s.Missing}, {"ignored, because they belong to another farm", s.Foreign}, {"vaults that could not be read", s.Failed}} {
		if len(x.names) > 0 {
			a.say("%s: %s", x.what, farm.Some(x.names))
		}
	}
	if len(s.Failed) > 0 {
		return farm.ErrFindings
	}
	return nil
}

// keptBackups are the backups of the farm that were not removed.
func keptBackups(d *session.Session) ([]catalogue.Backup, error) {
	if d.Store == nil { // nothing was ever kept
		return nil, nil
	}
	all, err := kept.All(d.Store)
	return slices.DeleteFunc(all, func(b catalogue.Backup) bool { return b.Farm != d.Farm.Name }), err
}

func listOf(d *session.Session, given []string) (backupList, error) {
	out := backupList{FormatVersion: 1, Farm: d.Farm.Name, Backups: []backupRow{}}
	all, err := keptBackups(d)
	if err != nil {
		return out, err
	}
	for _, name := range given {
		known := slices.ContainsFunc(d.Farm.Pairs, func(p farm.Pair) bool {
			return string(p.Name) == name || slices.ContainsFunc(p.SideNames(), func(s farm.SideName) bool { return string(p.Instance(s)) == name })
		})
		if !known && !slices.ContainsFunc(all, func(b catalogue.Backup) bool { return string(b.Pair) == name || string(b.Instance) == name }) {
			return out, &farm.Error{Op: "list backups", Subject: name, Err: fmt.Errorf("%w: farm.yaml has no such pair or instance, and no backup is of one", farm.ErrInput), Hint: "stowage backup list shows all"}
		}
	}
	rows := map[string]backupRow{}
	for _, c := range catalogue.Chains(all) {
		for _, b := range c.Backups {
			b.Options = "" // a page of text
			rows[b.ID] = backupRow{Backup: b, Where: whereOf(b), ProvenAt: b.ProvenAt, Chain: c.ID, Broken: c.IsBroken(b.ID)}
		}
	}
	for _, b := range all {
		if len(given) == 0 || slices.Contains(given, string(b.Pair)) || slices.Contains(given, string(b.Instance)) {
			out.Backups = append(out.Backups, rows[b.ID])
		}
	}
	return out, nil
}

// whereOf says where a backup is: HOST:DIRECTORY, or a repository.
func whereOf(b catalogue.Backup) string {
	if b.Place.Restic != "" {
		return b.Place.Restic
	}
	return string(b.Host) + ":" + b.Place.Dir
}

func (l backupList) text(w io.Writer) error {
	if len(l.Backups) == 0 {
		_, err := fmt.Fprintln(w, "no backups yet; take one: stowage backup run")
		return err
	}
	t := table.New(w, "BACKUP\tPAIR\tDATA OF\tSIZE\tTOOK\tWHERE\tPROVEN").Cut("PROVEN").Names("BACKUP", "PAIR", "WHERE")
	for _, b := range l.Backups {
		state := "unproven"
		switch {
		case b.Broken != "":
			state = "cannot be restored: " + b.Broken
		case b.ProvenAt != nil:
			state = b.ProvenAt.Local().Format(time.DateTime)
		}
		t.Row("%s\t%s\t%s\t%s\t%s\t%s\t%s", b.ID, b.Pair, b.At.Local().Format(time.DateTime), farm.RoundQuantity(float64(b.Bytes), farm.KindBytes), hoursText(b.Seconds), b.Where, state)
	}
	return t.Flush()
}
