package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"stowage/backup"
	"stowage/backup/catalogue"
	"stowage/farm"
)

// extractFlags say which database goes out of a backup into a pair.
type extractFlags struct {
	shard, as, into string
	tables          []string
}

func (f *extractFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.shard, "shard", "", "restore only this shard, as a database of another name; without PAIR, from a backup of the pair that has it now")
	fl.StringSliceVar(&f.tables, "table", nil, "only these tables of the shard")
	fl.StringVar(&f.as, "as", "", "the name of the database; default: SHARD_restored_ and the moment, 20261120031200")
	fl.StringVar(&f.into, "into", "", "the pair that gets the database, PAIR or PAIR/SIDE; default: that of the backup")
}

// extract is what of the backup goes into a pair; nil: all of it stays an instance.
func (f extractFlags) extract(c *cobra.Command) (*backup.Extract, error) {
	if f.shard == "" {
		if f.as != "" || f.into != "" || len(f.tables) > 0 {
			return nil, usage(c, errors.New("--table, --as and --into need --shard"))
		}
		return nil, nil
	}
	e := &backup.Extract{Schema: f.shard, Tables: f.tables, As: f.as, Into: farm.PairName(f.into)}
	if pair, side, err := sideOf(f.into); err == nil {
		e.Into, e.Side = pair, side
	}
	if e.As == e.Schema {
		return nil, usage(c, errors.New("--as needs another name than the shard's: Stowage overwrites nothing"))
	}
	return e, nil
}

// pairOfShard is the pair that holds a shard by farm.yaml.
func pairOfShard(c *cobra.Command, f *farm.Farm, shard string) (string, error) {
	for _, p := range f.Pairs {
		for _, s := range p.Shards {
			if string(s.Name) == shard {
				return string(p.Name), nil
			}
		}
	}
	return "", usage(c, fmt.Errorf("farm.yaml has no shard %q; name the pair, instance or backup that had it", shard))
}

// noBackup says what there is instead of a backup from which a moment could be restored.
func noBackup(all []catalogue.Backup, of string, until backup.Until) error {
	refused := func(hint, format string, args ...any) error {
		return &farm.Error{Op: "restore", Subject: of, Err: fmt.Errorf("%w: %w", farm.ErrInput, fmt.Errorf(format, args...)), Hint: hint}
	}
	oldest, ok := backup.Oldest(all, of)
	switch {
	case !ok && slices.ContainsFunc(all, func(b catalogue.Backup) bool {
		return b.Damaged != "" && (string(b.Pair) == of || string(b.Instance) == of)
	}):
		return refused("stowage backup list says what is wrong with each; stowage backup check reads them again", "each backup of it is damaged")
	case !ok:
		return refused("stowage backup list names them; stowage backup run takes one", "it has no backup")
	case until.Time.IsZero():
		return refused("stowage backup list has the positions of all", "the position is before the oldest backup, %s at %s", oldest.ID, oldest.GTID)
	}
	return refused("ask for that moment or a later one: stowage backup list", "%s is before the oldest backup, %s of %s", until.Time.Local().Format(time.DateTime), oldest.ID, oldest.At.Local().Format(time.DateTime))
}

// writeExtract says what is where, what is not there, and how it is taken away.
func (o restoredAnswer) writeExtract(w io.Writer) error {
	what := "shard " + o.Shard
	if len(o.Tables) > 0 {
		what = fmt.Sprintf("%s of shard %s", farm.Some(o.Tables), o.Shard)
	}
	_, err := fmt.Fprintf(w, "%s: %s as of %s is database %s of %s: %s compared, %s (%.1f s)\n", o.Run, what, o.At.Local().Format(time.DateTime), o.Database, o.Pair,
		farm.Counted(o.Rows, "row"), farm.Counted(o.Differ, "difference"), o.Seconds)
	for _, text := range o.LeftOut {
		_, e := fmt.Fprintf(w, "  left out: %s\n", text)
		err = errors.Join(err, e)
	}
	_, e := fmt.Fprintf(w, "  no account has privileges on it, and its events are disabled; to remove it: DROP DATABASE `%s`\n", o.Database)
	return errors.Join(err, e)
}
