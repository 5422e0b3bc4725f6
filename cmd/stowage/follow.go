package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/follow"
	"stowage/follow/kafka"
	"stowage/mysql"
)

// followFlags are what `stowage follow` is told.
type followFlags struct {
	shard, from, to, past, state, out string
	tables                            []string
	tenant, column                    string
	brokers                           []string
	topic                             string
	isTenant, cascades                bool
}

func (a *app) followCommand() *cobra.Command {
	var f followFlags
	cmd := &cobra.Command{
		Use: "follow --shard SHARD --from POSITION|now", Short: "Print every change of a shard's rows, in order",
		Long: `Reads the binary log of the pair that has the shard, and prints a line of JSON for each row
that was inserted, updated or deleted: in order, at least once. gtid and index together say
which lines are repeats. Reads only.

With --state the position is saved after the lines before it are written; after a kill, follow
continues there. It reads the other side when its server does not answer, and continues after
side out, a move of the pair and a move of the shard to another pair.

It stops with exit code 3 before an ALTER TABLE, and when the server has purged the position;
it refuses tables whose rows a foreign key deletes or changes: no server logs those rows.
docs/guide/follow.md shows the lines and what each value looks like.

` + exitHelp,
		Example: "  stowage follow --shard shard001 --from now --state files.state --out files.jsonl\n  stowage follow --shard shard001 --from now --state files.state --kafka kafka1:9092,kafka2:9092 --topic files\n  stowage follow --shard shard001 --from 1-1-17,2-2-9 --tables files,versions --tenant 42 --tenant-column customer_id",
		Args:    args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			f.isTenant = c.Flags().Changed("tenant")
			switch {
			case f.shard == "":
				return usage(c, errors.New("--shard is missing"))
			case len(f.brokers) > 0 != (f.topic != ""):
				return usage(c, errors.New("--kafka and --topic belong together"))
			case f.topic != "" && f.out != "":
				return usage(c, errors.New("lines go to --out or to --topic, not to both"))
			case f.isTenant != (f.column != ""):
				return usage(c, errors.New("--tenant and --tenant-column belong together"))
			}
			return a.followShard(c.Context(), c, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.shard, "shard", "", "the shard")
	flags.StringVar(&f.from, "from", "", "begin after this position, or now; a position in --state comes first")
	flags.StringVar(&f.to, "to", "", "end at this position, with exactly the transactions that it has; default: never")
	flags.StringVar(&f.past, "past", "", "the GTID of the transaction at which follow stopped: begin after it")
	flags.StringSliceVar(&f.tables, "tables", nil, "only these tables; default: all")
	flags.StringVar(&f.tenant, "tenant", "", "only the rows of this tenant")
	flags.StringVar(&f.column, "tenant-column", "", "the column that has the tenant, in each of the tables")
	flags.BoolVar(&f.cascades, "accept-cascades", false, "follow tables whose rows a foreign key changes (CASCADE, SET NULL): those lines are missing")
	flags.StringVar(&f.state, "state", "", "the file that keeps the position, and the server id of the reader")
	flags.StringSliceVar(&f.brokers, "kafka", nil, "write to a topic of Kafka through these brokers, host:port, in plain text")
	flags.StringVar(&f.topic, "topic", "", "the topic; it must exist")
	flags.StringVar(&f.out, "out", "", "append the lines to this file; default: standard output")
	return cmd
}

// followShard follows until it is interrupted, or reaches --to.
func (a *app) followShard(ctx context.Context, c *cobra.Command, f followFlags) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Login(); err != nil {
		return err
	}
	places, err := a.shardPlacesOf(d, farm.ShardName(f.shard))
	if err != nil {
		return err
	}
	defer places.Close()
	run := &follow.Follower{Places: places, Tell: a.sayOnce(), AcceptCascades: f.cascades}
	if f.to != "" {
		if run.To, err = position(c, "--to", f.to); err != nil {
			return err
		}
	}
	if f.state != "" {
		file, was, err := follow.OpenState(f.state)
		if err != nil {
			return err
		}
		defer file.Close()
		run.Keep = file.Save
		if was != nil {
			run.State = *was
		}
	}
	if err := a.beginning(ctx, c, places, f, &run.State); err != nil {
		return err
	}
	if err := places.countsApart(ctx, run.State.Pair); err != nil {
		return err
	}
	if run.Keep != nil {
		if err := run.Keep(run.State); err != nil { // the server id, before it is used
			return err
		}
	}
	sink, done, err := a.lineSink(ctx, f, run.Tell)
	if err != nil {
		return err
	}
	run.Sink = sink
	return followEnd(errors.Join(run.Run(ctx), done()), f, run.State.Position)
}

// followEnd says where somebody who stopped it can go on.
func followEnd(err error, f followFlags, at string) error {
	if !errors.Is(err, context.Canceled) || errors.Is(err, farm.ErrRefused) {
		return err
	}
	hint := "continue with --from " + at
	if f.state != "" {
		hint = "run the same command again: it continues"
	}
	return &farm.Error{Op: "follow", Subject: f.shard, Err: fmt.Errorf("%w behind %s", farm.ErrInterrupted, at), Hint: hint}
}

// beginning completes a state: what is followed, by which server id, and from where.
func (a *app) beginning(ctx context.Context, c *cobra.Command, places *shardPlaces, f followFlags, s *follow.State) error {
	var tenant *follow.Tenant
	if f.isTenant {
		tenant = &follow.Tenant{Column: f.column, Value: f.tenant}
	}
	slices.Sort(f.tables)
	if s.ServerID != 0 {
		if err := s.IsOf(farm.ShardName(f.shard), f.tables, tenant); err != nil {
			return &farm.Error{Op: "follow", Subject: f.state, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "give each follower a state of its own"}
		}
		return past(c, f, s)
	}
	s.Shard, s.Tables, s.Tenant = farm.ShardName(f.shard), f.tables, tenant
	var err error
	if s.Pair, err = places.Serves(ctx); err != nil {
		return err
	}
	var at mysql.Position
	switch f.from {
	case "":
		return usage(c, errors.New("--from is missing: a position, or now"))
	case "now":
		if at, err = places.now(ctx, s.Pair); err != nil {
			return err
		}
	default:
		if at, err = position(c, "--from", f.from); err != nil {
			return err
		}
	}
	s.Position = at.String()
	if s.ServerID, err = places.readerID(ctx, s.Pair); err != nil {
		return err
	}
	a.say("following %s from %s, as a replica with server id %d", f.shard, s.Position, s.ServerID)
	return past(c, f, s)
}

// past begins behind a transaction, once.
func past(c *cobra.Command, f followFlags, s *follow.State) error {
	if f.past == "" {
		return nil
	}
	x, err := mysql.ParseTrx(f.past)
	if err != nil {
		return usage(c, fmt.Errorf("--past %s: %w", f.past, err))
	}
	if at := s.At(); !at.Holds(x) {
		s.Position = at.With(x).String()
	}
	return nil
}

func position(c *cobra.Command, flag, text string) (mysql.Position, error) {
	p, err := mysql.ParsePosition(text)
	if err == nil && len(p) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return nil, usage(c, fmt.Errorf("%s: %w", flag, err))
	}
	return p, nil
}

// lineSink is where lines go, and what ends that.
func (a *app) lineSink(ctx context.Context, f followFlags, tell func(format string, args ...any)) (follow.Sink, func() error, error) {
	if f.topic != "" {
		topic, err := kafka.Open(ctx, f.brokers, f.topic, tell)
		if err != nil {
			return nil, nil, err
		}
		return topic, topic.Close, nil
	}
	out := f.out
	if out == "" {
		return follow.NewWriter(a.stdout, nil), func() error { return nil }, nil
	}
	file, err := os.OpenFile(out, os.O_CREATE|os.O_RDWR, 0o644)
	if err == nil {
		err = cutHalfLine(file)
	}
	if err != nil {
		return nil, nil, &farm.Error{Op: "open", Subject: out, Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
	}
	return follow.NewWriter(file, file.Sync), file.Close, nil
}

// cutHalfLine takes away what a follower that was killed has written of its
// last line, and goes to the end.
func cutHalfLine(file *os.File) error {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	buffer := make([]byte, 64<<10)
	for end := size; end > 0; {
		n := min(end, int64(len(buffer)))
		if _, err := file.ReadAt(buffer[:n], end-n); err != nil {
			return err
		}
		if at := strings.LastIndexByte(string(buffer[:n]), '\n'); at >= 0 {
			end += int64(at) + 1 - n
			return cutAt(file, end, size)
		}
		end -= n
	}
	return cutAt(file, 0, size)
}

func cutAt(file *os.File, end, size int64) error {
	if end < size {
		if err := file.Truncate(end); err != nil {
			return err
		}
	}
	_, err := file.Seek(end, io.SeekStart)
	return err
}

// sayOnce says the same thing at most once a minute. Safe for concurrent use.
func (a *app) sayOnce() func(format string, args ...any) {
	var mu sync.Mutex
	said := map[string]time.Time{}
	return func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		mu.Lock()
		defer mu.Unlock()
		if time.Since(said[text]) < time.Minute {
			return
		}
		if len(said) > 100 {
			clear(said)
		}
		said[text] = time.Now()
		a.say("%s", text)
	}
}
