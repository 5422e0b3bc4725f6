package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"stowage/backup"
	"stowage/backup/catalogue"
	"stowage/backup/kept"
	"stowage/farm"
)

// checkAnswer is what `backup check` prints.
type checkAnswer struct {
	FormatVersion int                  `json:"format_version"`
	Checked       []backup.Checked     `json:"checked"`
	Binlogs       []backup.CheckedLogs `json:"binlogs"`
}

// isBad: something is not as it was written, or was not read.
func (o checkAnswer) isBad() bool {
	return slices.ContainsFunc(o.Checked, func(c backup.Checked) bool { return c.Damaged != "" || c.Error != "" }) ||
		slices.ContainsFunc(o.Binlogs, func(c backup.CheckedLogs) bool { return c.Damaged != "" || c.Error != "" })
}

// next: what is damaged is taken again.
func (o checkAnswer) next(a *app) []string {
	if o.isBad() {
		return []string{a.cmd("backup status"), a.cmd("backup run --dry-run")}
	}
	return []string{a.cmd("backup verify")}
}

func (a *app) backupCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "check [BACKUP | PAIR]...", Short: "Read backups again, and compare every checksum",
		Long: `Reads backups in their vaults again, all or those of the pairs that are named, and the archived
binary logs of their instances, and compares checksums. A damaged backup is named, is no longer
used for a restore, and makes the exit code 1; so does a damaged binary log. It starts no server:
only 'backup verify' proves that a backup can be restored.

` + exitHelp,
		Example: "  stowage backup check\n  stowage backup check dbshard001",
		RunE:    func(c *cobra.Command, given []string) error { return a.backupCheck(c.Context(), given) },
	}
	a.engineFlag(cmd.Flags())
	return cmd
}

func (a *app) backupCheck(ctx context.Context, given []string) error {
	d, backing, err := a.backing(false)
	if err != nil {
		return err
	}
	defer d.Close()
	all, err := kept.All(d.Store)
	if err != nil {
		return err
	}
	ids, err := meant(given, all)
	if err != nil {
		return err
	}
	out := checkAnswer{FormatVersion: 1}
	if out.Checked, err = backing.Check(ctx, ids, all, func(text string) { a.say("%s", text) }); err != nil {
		return err
	}
	if out.Binlogs, err = backing.CheckLogs(ctx, ids, all, func(text string) { a.say("%s", text) }); err != nil {
		return err
	}
	if err := a.emit(out, out.text, out.next(a)...); err != nil {
		return err
	}
	if out.isBad() {
		return farm.ErrFindings
	}
	return nil
}

// meant are the backups of those names: of backups, pairs or instances; all where none is named.
func meant(given []string, all []catalogue.Backup) (ids []string, err error) {
	known := map[string]bool{}
	for _, b := range all {
		for _, name := range []string{b.ID, string(b.Pair), string(b.Instance)} {
			known[name] = true
		}
	}
	for _, name := range given {
		if !known[name] {
			return nil, &farm.Error{Op: "find backup", Subject: name, Err: fmt.Errorf("%w: it has no backup", farm.ErrInput), Hint: "stowage backup list names them"}
		}
	}
	for _, b := range all {
		if len(given) == 0 || slices.ContainsFunc(given, func(name string) bool { return name == b.ID || name == string(b.Pair) || name == string(b.Instance) }) {
			ids = append(ids, b.ID)
		}
	}
	return ids, nil
}

func (o checkAnswer) text(w io.Writer) error {
	bad := 0
	for _, c := range o.Checked {
		switch {
		case c.Damaged != "":
			bad++
			fmt.Fprintf(w, "%s is damaged: %s\n  -> stowage backup run --full takes a new one\n", c.ID, c.Damaged)
		case c.Error != "":
			bad++
			fmt.Fprintf(w, "%s was not read: %s\n", c.ID, c.Error)
		}
	}
	for _, c := range o.Binlogs {
		switch {
		case c.Damaged != "":
			fmt.Fprintf(w, "binary logs of %s are damaged: %s\n  -> stowage backup run --full takes a backup that begins after them\n", c.Instance, c.Damaged)
		case c.Error != "":
			fmt.Fprintf(w, "binary logs of %s were not read: %s\n", c.Instance, c.Error)
		default:
			fmt.Fprintf(w, "binary logs of %s: %s as written\n", c.Instance, farm.RoundQuantity(float64(c.Bytes), farm.KindBytes))
		}
	}
	_, err := fmt.Fprintf(w, "%d of %s as written\n", len(o.Checked)-bad, farm.Counted(len(o.Checked), "backup"))
	return err
}
