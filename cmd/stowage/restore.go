package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stowage/backup"
	"stowage/backup/kept"
	"stowage/farm"
	"stowage/mysql"
)

// restoreFlags say to what, and where, an instance is restored.
type restoreFlags struct {
	to, at, gtid string
	port         int
	end, dry     bool
	asSide       string
	extractFlags
}

func (a *app) restoreCommand() *cobra.Command {
	var f restoreFlags
	cmd := &cobra.Command{
		Use: "restore PAIR | INSTANCE | BACKUP", Short: "Restore a backup, or one shard or table of it, as of any second, beside what is there",
		Long: `Makes an instance of a backup: the newest that is old enough, or the one that is named. The
instance gets a directory of its own, is read-only, has events off and replicates from no
server; nothing is overwritten. --at replays the archived binary logs up to a second, --at-gtid
up to a position, --latest up to their end. Without them the instance is at the end of the
backup.

Look at it, copy rows out of it. 'stowage restore remove INSTANCE' stops it and removes its
directory.

With --shard the instance is a throw-away server: the shard, or the tables that --table names,
is copied from it into a pair, as a database of another name, every row is compared, and the
throw-away server is removed. The serving shard is not changed, and clients stay where they are.

With --as-side the instance replaces a side whose server is lost: Stowage sends the clients of
that side to its twin and restores the backup on the host that --to names. The instance follows
the twin, all rows are compared, and then its clients come back. farm.yaml gets the new place.
A lost replica of a pair with one writer comes back in the same way; its writers notice
nothing. A side whose server still answers is refused: 'stowage move instance' replaces it.

` + exitHelp,
		Example: "  stowage restore dbshard001 --at '2026-11-20 03:12:00'\n  stowage restore dbshard001 --latest --to db012\n  stowage restore dbshard001b/20261126T031500Z-full\n  stowage restore dbshard001 --as-side B --to db012\n  stowage restore --shard etsy_shard_0001 --table receipts --at '2026-11-20 03:12:00'",
		Args:    args(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			if len(given) == 0 && f.shard == "" {
				return usage(c, errors.New("name what is restored: PAIR, INSTANCE or BACKUP; --shard without a name takes the shard's pair"))
			}
			return a.restore(c, f, strings.Join(given, ""))
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.to, "to", "", "the host of the restored instance; default: the vault's")
	fl.IntVar(&f.port, "port", 0, "the port of the restored instance; default: the next free one in farm.yaml")
	fl.StringVar(&f.at, "at", "", "replay binary logs up to this second, in this machine's time or with a zone: 2026-11-20 03:12:00, 2026-11-20T03:12:00Z")
	fl.StringVar(&f.gtid, "at-gtid", "", "replay binary logs up to this GTID position")
	fl.BoolVar(&f.end, "latest", false, "replay all archived binary logs")
	fl.StringVar(&f.asSide, "as-side", "", "replace this side, such as B, whose server is lost; on the host of --to")
	fl.BoolVar(&f.dry, "dry-run", false, "run all checks, print findings and remedies, and make nothing")
	f.extractFlags.add(fl)
	a.engineFlag(fl)
	a.reasonFlag(fl)
	cmd.AddCommand(&cobra.Command{
		Use: "remove INSTANCE", Short: "Stop an instance that restore made, and remove its directory", Args: args(cobra.ExactArgs(1)),
		Long:    "Stops an instance that 'stowage restore' made, and removes its directory if the directory has\nthe mark of that restore. Nothing else is removed.\n\n" + exitHelp,
		Example: "  stowage restore remove dbshard001b-restored-1",
		RunE: func(c *cobra.Command, given []string) error {
			d, restoring, err := a.backing(true)
			if err != nil {
				return err
			}
			defer d.Close()
			if err := restoring.Remove(c.Context(), farm.InstanceName(given[0])); err != nil {
				return err
			}
			a.say("%s is stopped, and its directory removed", given[0])
			a.then(a.cmd("backup status"))
			return nil
		},
	})
	return cmd
}

// until is the moment that was asked for.
func (f restoreFlags) until(c *cobra.Command) (u backup.Until, err error) {
	n := 0
	for _, name := range []string{"at", "at-gtid"} {
		if fl := c.Flags().Lookup(name); fl.Changed && fl.Value.String() == "" { // a script's variable that is not set: the newest backup is another moment
			return u, usage(c, fmt.Errorf("--%s is empty: name the moment, or leave the option out for the end of the newest backup", name))
		}
	}
	if f.at != "" {
		n++
		if u.Time, err = momentOf(f.at); err != nil {
			return u, usage(c, err)
		}
	}
	if f.gtid != "" {
		n++
		if _, err := mysql.ParsePosition(f.gtid); err != nil {
			return u, usage(c, err)
		}
		u.GTID = f.gtid
	}
	if f.end {
		n++
		u.End = true
	}
	if n > 1 {
		return u, usage(c, errors.New("--at, --at-gtid and --latest exclude each other"))
	}
	return u, nil
}

// side is the side of its pair that the instance becomes; empty: none.
func (f restoreFlags) side(c *cobra.Command, until backup.Until) (farm.SideName, error) {
	switch {
	case f.asSide == "":
		return "", nil
	case len(f.asSide) != 1 || f.asSide < "A" || f.asSide > "Z":
		return "", usage(c, fmt.Errorf("--as-side %s: sides are letters, such as B", f.asSide))
	case f.shard != "" || until != (backup.Until{}):
		return "", usage(c, errors.New("--as-side cannot be combined with --at, --at-gtid, --latest or --shard: the side gets what its twin has"))
	case f.to == "":
		return "", usage(c, errors.New("--as-side needs the new host of the side: --to HOST"))
	}
	return farm.SideName(f.asSide), nil
}

// momentOf reads a second as people write it.
func momentOf(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, onlyOnce(t, layout, text)
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a moment; write 2026-11-20 03:12:00 or 2026-11-20T03:12:00Z", text)
}

// onlyOnce is nil when clocks show a time without a zone once: not never, as in the hour that is left out in spring, and not twice, as in autumn.
func onlyOnce(t time.Time, layout, text string) error {
	const shift = 3 * time.Hour // clocks are put forward and back by an hour, on Lord Howe Island by half of one, for wars by two
	if layout == time.RFC3339 {
		return nil
	}
	wanted, err := time.ParseInLocation(layout, text, time.UTC)
	if err != nil {
		return err
	}
	var same []string
	for _, at := range []time.Time{t.Add(-shift), t, t.Add(shift)} { // one of these has the offset of before, or of afterwards
		_, offset := at.Zone()
		if is := t.Add(time.Duration(zoneOf(t)-offset) * time.Second); is.Format(time.DateTime) == wanted.Format(time.DateTime) && !slices.Contains(same, is.Format(time.RFC3339)) {
			same = append(same, is.Format(time.RFC3339))
		}
	}
	switch len(same) {
	case 0:
		return fmt.Errorf("%q is a time that clocks here left out; write it with its zone: %s", text, t.Format(time.RFC3339))
	case 1:
		return nil
	}
	return fmt.Errorf("%q is a time that clocks here showed twice; write which is meant: %s", text, strings.Join(same, " or "))
}

func zoneOf(t time.Time) (seconds int) {
	_, seconds = t.Zone()
	return seconds
}

// restoredAnswer is what `restore` prints.
type restoredAnswer struct {
	backup.Restored
	FormatVersion int     `json:"format_version"`
	Run           string  `json:"run"`
	Seconds       float64 `json:"seconds"`
}

func (a *app) restore(c *cobra.Command, f restoreFlags, of string) error {
	ctx := c.Context()
	until, err := f.until(c)
	if err != nil {
		return err
	}
	if f.port < 0 || f.port > 65535 {
		return usage(c, fmt.Errorf("--port %d: ports are 1 to 65535", f.port))
	}
	side, err := f.side(c, until)
	if err != nil {
		return err
	}
	d, restoring, err := a.backing(true)
	if err != nil {
		return err
	}
	defer d.Close()
	all, err := kept.All(d.Store)
	if err != nil {
		return err
	}
	extract, err := f.extract(c)
	if err != nil {
		return err
	}
	if of == "" {
		if of, err = pairOfShard(c, d.Farm, f.shard); err != nil {
			return err
		}
	}
	b, ok := backup.Newest(all, of, until)
	if extract != nil && until == (backup.Until{}) {
		b, ok = backup.NewestWith(all, of, extract.Schema)
	}
	if !ok {
		return noBackup(all, of, until)
	}
	w := backup.RestoreWish{Backups: []string{b.ID}, To: farm.HostName(f.to), Port: f.port, Until: until, Extract: extract, Side: side}
	if restoring.Dry = f.dry; f.dry {
		_, findings, err := restoring.BeginRestore(ctx, w)
		if err != nil && len(findings) == 0 {
			return err
		}
		return a.preflightOf("restore", b.ID, findings, err)
	}
	if err := d.Turn(ctx, "restore of "+b.ID); err != nil {
		return err
	}
	began := time.Now()
	run, findings, err := restoring.BeginRestore(ctx, w)
	writeFindings(a.stderr, findings)
	if err != nil {
		return err
	}
	s, err := a.carry(ctx, restoring.Act, run)
	made, resultErr := backup.ResultOf(d.Store, run.ID)
	if err != nil || resultErr != nil || len(made) == 0 {
		return errors.Join(a.ended(s, err), resultErr)
	}
	out := restoredAnswer{Restored: made[0], FormatVersion: 1, Run: run.ID, Seconds: time.Since(began).Seconds()}
	next := []string{a.cmd("restore remove %s", out.Instance)}
	if out.Database != "" || out.Side != "" {
		next = []string{a.cmd("inventory")} // the instance is gone, and the database is in a pair; or it is a side of one
	}
	return a.emit(out, func(w io.Writer) error {
		if out.Database != "" {
			return out.writeExtract(w)
		}
		if out.Side != "" {
			_, err := fmt.Fprintf(w, "%s: %s serves as side %s of %s at %s; %s compared, %s (%.1f s)\n  farm.yaml names its new place; keep the old server stopped\n",
				run.ID, out.Instance, out.Side, out.Pair, out.Address, farm.Counted(out.Rows, "row"), farm.Counted(int64(out.Differ), "difference"), out.Seconds)
			return err
		}
		position := ""
		if out.GTID != "" {
			position = ", GTID position " + out.GTID
		}
		_, err := fmt.Fprintf(w, "%s: %s serves at %s, read-only, as of %s%s (%.1f s)\n",
			run.ID, out.Instance, out.Address, out.At.Local().Format(time.DateTime), position, out.Seconds)
		return err
	}, next...)
}
