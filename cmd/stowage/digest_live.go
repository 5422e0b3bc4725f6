package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"stowage/digest"
	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/traffic"
	"stowage/session"
	"stowage/workspace"
)

// liveFlags say which running servers a digest reads, and what of them.
type liveFlags struct {
	instances []string
	from      string
	window    time.Duration
	every     time.Duration
	account   string // option file
}

// The sources on a running server.
const (
	liveSlowLog    = "slow_log"
	liveGeneralLog = "general_log"
	liveSchema     = "performance_schema"
	liveProcesses  = "processlist"
)

const liveHelp = `--instance reads a running server instead of a file, several at the same time: the
tables mysql.slow_log or mysql.general_log (log_output=TABLE), or performance_schema,
all it has added up or, with --for, what happens in a window of time from now on.
Sums have no latencies of single statements, so their classes have no quantiles.`

func (f *liveFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.instances, "instance", nil, "read a running server: an `INSTANCE` of farm.yaml, or host:port; may be given again")
	cmd.Flags().StringVar(&f.from, "from", "", "what to read there: slow_log, general_log, performance_schema or, with --for, processlist (default slow_log; with --for performance_schema)")
	cmd.Flags().DurationVar(&f.window, "for", 0, "performance_schema and processlist: read what happens from now on, for so long")
	cmd.Flags().DurationVar(&f.every, "every", 4*time.Second, "time between readings; of performance_schema, made a power of two of seconds")
	cmd.Flags().StringVar(&f.account, "defaults-file", "", "option file with user and password in [stowage] or [client] (default: the workspace's accounts, or ~/.my.cnf)")
}

// inputs checks that there is something to read.
func (f *liveFlags) inputs(c *cobra.Command, given []string) error {
	if len(f.instances) > 0 {
		return nil
	}
	return args(cobra.MinimumNArgs(1))(c, given)
}

// check completes the flags and says what does not go together.
func (f *liveFlags) check(o digest.Options) error {
	if f.from == "" {
		f.from = liveSlowLog
		if f.window > 0 {
			f.from = liveSchema
		}
	}
	var err error
	switch {
	case !slices.Contains([]string{liveSlowLog, liveGeneralLog, liveSchema, liveProcesses}, f.from):
		err = fmt.Errorf("--from %q: give slow_log, general_log, performance_schema or processlist", f.from)
	case f.window < 0 || f.every < time.Second:
		err = errors.New("--for cannot be negative, and --every must be a second or more")
	case f.from == liveProcesses && f.window == 0:
		err = errors.New("--from processlist needs --for: it sees only what runs meanwhile")
	case f.window > 0 && f.from != liveSchema && f.from != liveProcesses:
		err = fmt.Errorf("--for needs --from performance_schema or processlist; for a window of %s use --since and --until", f.from)
	case f.from == liveSchema && f.window == 0:
		err = o.CheckSums()
	}
	if err != nil {
		return &farm.Error{Op: "read arguments", Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "stowage digest --help; docs/measuring/digest.md says what each source knows"}
	}
	return nil
}

// readLive reads all instances at the same time, each into a digest of its own.
func (a *app) readLive(ctx context.Context, lf liveFlags, f digestFlags) ([]*digest.Digest, error) {
	if len(lf.instances) == 0 {
		return nil, nil
	}
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	if err := lf.check(o); err != nil {
		return nil, err
	}
	servers, err := a.liveServers(lf)
	if err != nil {
		return nil, err
	}
	digests, failed := make([]*digest.Digest, len(servers)), make([]error, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		all.Go(func() {
			defer s.Close()
			digests[i], failed[i] = a.readServer(ctx, s, lf, o)
		})
	}
	all.Wait()
	return digests, errors.Join(failed...)
}

// liveServers finds the instances and the account to read them with.
func (a *app) liveServers(lf liveFlags) ([]*mysql.Server, error) {
	var known *farm.Farm
	account := lf.account
	ws, err := workspace.Open(a.dir)
	if err == nil {
		if known, err = ws.Farm(); err != nil {
			return nil, err
		}
		if account == "" && known.Accounts != "" {
			account = ws.Path(known.Accounts)
		}
	}
	var servers []*mysql.Server
	who, err := readingAccount(account)
	if err != nil {
		return nil, err
	}
	who = session.NamedIn(known, who)
	for _, given := range lf.instances {
		name, address, err := instanceAddress(known, given)
		if err != nil {
			return nil, err
		}
		servers = append(servers, mysql.Open(name, address, who, a.log))
	}
	return servers, nil
}

// readingAccount reads [stowage], or [client] where there is no such group.
func readingAccount(path string) (mysql.Account, error) {
	if path == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return mysql.Account{}, &farm.Error{Op: "read account", Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "name an option file: --defaults-file FILE"}
		}
		path = filepath.Join(home, ".my.cnf")
	}
	who, err := mysql.ReadAccount(path, "stowage")
	if err == nil {
		return who, nil
	}
	if who, asClient := mysql.ReadAccount(path, "client"); asClient == nil {
		return who, nil
	}
	return who, err
}

// instanceAddress takes an instance of the farm by its name, or any server by its address.
func instanceAddress(f *farm.Farm, given string) (farm.InstanceName, string, error) {
	if f != nil {
		for _, p := range f.Pairs {
			for name, side := range p.Sides {
				if string(p.Instance(name)) == given {
					return p.Instance(name), f.Address(side), nil
				}
			}
		}
	}
	if host, port, err := net.SplitHostPort(given); err == nil && host != "" && port != "" {
		return farm.InstanceName(given), given, nil
	}
	return "", "", &farm.Error{Op: "find instance", Subject: given, Err: fmt.Errorf("%w: farm.yaml has no instance of that name, and it is not a host:port", farm.ErrInput),
		Hint: "instances are named after pair and side, such as dbshard001a; or give an address, such as db001:3306"}
}

// readServer makes the digest of one server.
func (a *app) readServer(ctx context.Context, s *mysql.Server, lf liveFlags, o digest.Options) (*digest.Digest, error) {
	r, err := traffic.OpenStatements(ctx, s)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	name := string(s.Name())
	switch {
	case lf.from == liveProcesses:
		return a.readProcesses(ctx, r, name, lf, o)
	case lf.from != liveSchema:
		return a.readLogTable(ctx, r, name, lf.from, o)
	case lf.window > 0:
		return a.readWindow(ctx, r, name, lf, o)
	}
	return a.readSums(ctx, r, name, o)
}

// noteOwn is the remark on what Stowage sent itself.
const noteOwn = "sent by Stowage to read this source: left out"

func (a *app) readLogTable(ctx context.Context, r *traffic.Statements, name, from string, o digest.Options) (*digest.Digest, error) {
	table, err := r.LogTable(ctx, from)
	if err != nil {
		return nil, err
	}
	b := digest.New(o)
	in := b.Live(name, "mysql."+from, r.Dialect())
	if from == liveSlowLog {
		if table.IsWallClock() {
			in.WallClock(table.Now)
		}
		err = r.SlowLogRows(ctx, table, o.Since, o.Until, func(s *digest.Statement) error { in.Statement(s); return nil })
	} else {
		err = r.GeneralLogRows(ctx, table, o.Since, o.Until, func(c *digest.Command) error { in.Command(c); return nil })
	}
	if err != nil {
		return nil, err
	}
	in.Note(noteOwn, r.Own)
	in.Close()
	zone := ""
	if table.IsWallClock() {
		zone = ", its times read in time zone " + table.Zone
	}
	a.say("%s: %s of mysql.%s (%s%s)", name, farm.Counted(in.Events(), "row"), from, table.Engine, zone)
	if !table.IsWritten {
		a.say("%s: nothing is being written to mysql.%s: %s", name, from, table.Why)
	}
	return b.Digest(), nil
}

// readSums takes what performance_schema has added up since the server started or the table was truncated.
func (a *app) readSums(ctx context.Context, r *traffic.Statements, name string, o digest.Options) (*digest.Digest, error) {
	if _, err := r.Schema(ctx); err != nil {
		return nil, err
	}
	reading, err := r.Summary(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.Bins(ctx, &reading); err != nil {
		return nil, err
	}
	b := digest.New(o)
	in := b.Live(name, sumsKind, r.Dialect())
	for _, s := range reading.Classes {
		in.Sum(s, time.Time{}, time.Time{})
	}
	in.Skip(skipNoRoom, reading.Lost)
	in.Skip(skipPrepared, reading.Prepared)
	sayPrepared(a.say, name, reading.Prepared, reading.Total())
	in.Note(noteOwn, reading.Own)
	in.Close()
	a.say("%s: %s of %s, all since the server started or the table was truncated", name, farm.Counted(len(reading.Classes), "class"), strings.TrimPrefix(sumsKind, liveSchema+"."))
	return b.Digest(), nil
}

// sayPrepared says what performance_schema does not see, and what does.
func sayPrepared(say func(string, ...any), name string, prepared, seen uint64) {
	if prepared > 0 {
		say("%s: %d of %d statements (%.3g %%) were prepared ones, which this server's performance_schema does not add up by class; the slow log sees them: --from slow_log, or stowage digest record",
			name, prepared, prepared+seen, 100*float64(prepared)/float64(prepared+seen))
	}
}

const (
	skipPrepared = "prepared statements, which this server's performance_schema does not add up by class"
	sumsKind     = liveSchema + ".events_statements_summary_by_digest"
	skipNoRoom   = "in classes that performance_schema had no room for (performance_schema_digests_size)"
)
