package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"stowage/backup"
	"stowage/backup/kept"
	"stowage/farm"
	"stowage/internal/table"
	"stowage/session"
)

func (a *app) backupBinlogsCommand() *cobra.Command {
	var follow bool
	var every time.Duration
	cmd := &cobra.Command{
		Use: "binlogs", Short: "Archive the binary logs written since the last time",
		Long: `Appends to the archive in the vault what each backed-up instance wrote to its binary log since
the last time, up to its last whole transaction. With it, 'stowage restore --at' restores any
second. Binary logs that a server purged before they were archived are a gap: it is named. A
log that does not continue the one before begins a new archived log.

Archives once, for cron or 'stowage due'; with --follow until it is stopped, and prints what
gets worse. It may be killed at any time. The archive is a directory of the host that the
instance runs on, or a restic repository: docs/reference/binlogs.md.

` + exitHelp,
		Example: "  stowage backup binlogs\n  stowage backup binlogs --follow --every 5s",
		Args:    args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if follow {
				return a.followBinlogs(c.Context(), every)
			}
			return a.backupBinlogs(c.Context())
		},
	}
	cmd.Flags().BoolVar(&follow, "follow", false, "continue until it is stopped")
	cmd.Flags().DurationVar(&every, "every", 10*time.Second, "with --follow: how often the logs are looked at")
	cmd.Flags().Lookup("every").DefValue = "10s"
	a.engineFlag(cmd.Flags())
	return cmd
}

// binlogsAnswer is what `backup binlogs` prints.
type binlogsAnswer struct {
	FormatVersion int                `json:"format_version"`
	Binlogs       []backup.Archiving `json:"binlogs"`
}

func (a *app) backupBinlogs(ctx context.Context) error {
	d, backing, err := a.backing(false)
	if err != nil {
		return err
	}
	defer d.Close()
	all, err := archiveOnce(ctx, d, backing, 0)
	if err != nil {
		return err
	}
	out := binlogsAnswer{1, all}
	if err := a.emit(out, out.writeText, a.cmd("backup status")); err != nil {
		return err
	}
	for _, x := range all {
		if x.Error != "" || len(x.Gaps) > 0 {
			return farm.ErrFindings
		}
	}
	return nil
}

// whileRepeated is how often an idle server gets an empty piece while pass follows pass.
const whileRepeated = 2 * time.Minute

// archiveOnce brings all archives up to date.
func archiveOnce(ctx context.Context, d *session.Session, backing *backup.Act, silence time.Duration) ([]backup.Archiving, error) {
	all, err := kept.All(d.Store)
	if err != nil {
		return nil, err
	}
	return backing.ArchiveBinlogs(ctx, all, silence), nil
}

func (o binlogsAnswer) writeText(out io.Writer) error {
	if len(o.Binlogs) == 0 {
		_, err := fmt.Fprintln(out, "nothing to archive: there is no backup yet that a binary log could continue\n  -> stowage backup run")
		return err
	}
	w := table.New(out, "INSTANCE\tLOG\tFILES\tNEW\tUP TO\tGTID POSITION").Names("INSTANCE", "LOG")
	for _, x := range o.Binlogs {
		if x.Error != "" {
			w.Row("%s\t%s", x.Instance, x.Error)
			continue
		}
		w.Row("%s\t%s\t%d\t%s\t%s\t%s", x.Instance, x.Identity, x.Files, farm.RoundQuantity(float64(x.Appended), farm.KindBytes), x.Until.Local().Format(time.DateTime), x.Position)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, x := range o.Binlogs {
		for _, g := range x.Gaps {
			fmt.Fprintf(out, "%s: %s\n", x.Instance, g)
		}
		if x.Remedy != "" {
			fmt.Fprintf(out, "%s -> %s\n", x.Instance, x.Remedy)
		}
	}
	return nil
}

// followBinlogs archives until it is stopped. It tells of what changes: a log that fails, one that works again, a gap.
func (a *app) followBinlogs(ctx context.Context, every time.Duration) error {
	d, backing, err := a.backing(false)
	if err != nil {
		return err
	}
	defer d.Close()
	told := map[farm.InstanceName]string{}
	for {
		all, err := archiveOnce(ctx, d, backing, whileRepeated)
		if err != nil {
			return err
		}
		for _, x := range all {
			now := fmt.Sprint(x.Error, x.Gaps, x.Identity)
			if was, known := told[x.Instance]; known && was == now {
				continue
			}
			told[x.Instance] = now
			switch {
			case x.Error != "":
				a.say("%s %s: %s\n  -> %s", time.Now().Format(time.TimeOnly), x.Instance, x.Error, x.Remedy)
			default:
				a.say("%s %s: %s is archived up to %s; gaps: %d", time.Now().Format(time.TimeOnly), x.Instance, x.Identity, x.Until.Local().Format(time.DateTime), len(x.Gaps))
			}
		}
		if err := wait(ctx, every); err != nil {
			return nil // somebody stops it
		}
	}
}
