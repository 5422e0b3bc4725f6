package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/record"
	"stowage/session"
)

// recordFlags are what `stowage digest record` is asked.
type recordFlags struct {
	record.Options
	digest                   digestFlags
	from                     string
	maxBytes, piece, reserve string
	parallel                 int
	wait                     time.Duration // for agents
	restore                  bool
	account                  string // option file
	several                  bool   // instances to record, for the name of --keep
}

const (
	fromSlowLog = string(record.FromSlowLog)
	fromNetwork = string(record.FromNetwork)
)

// addRecord hangs `record` below `digest`, and lets every other run of digest
// say when a recording has left a server changed.
func (a *app) addRecord(parent *cobra.Command) {
	warn := func(*cobra.Command, []string) { a.warnOfJournals() }
	parent.PreRun = warn
	for _, c := range parent.Commands() {
		c.PreRun = warn
	}
	parent.AddCommand(a.recordCommand())
}

func (a *app) recordCommand() *cobra.Command {
	f := &recordFlags{Options: record.Defaults()}
	cmd := &cobra.Command{
		Use:   "record [INSTANCE...]",
		Short: "Record a window of live traffic and keep its digest",
		Long: `Records for a while what instances are asked: those that are named, or all of farm.yaml
that run on this machine or on hosts with agents. Each host digests its own recording, and
one digest of all is kept. Agents record by themselves: only their digests come here. A server of
this machine may be named by its address, 127.0.0.1:3306, and needs no farm.yaml.

--from slow-log   lets the server log every statement, into files of stowage's own, which
                  are digested and removed while the next is written. The old settings
                  are written down first and put back at the end, after Ctrl-C, and after a
                  kill -9 by the next record or by --restore. Sessions that were connected
                  before keep their own settings: they are counted, not captured
--from network    copies packets from the kernel; the server is not touched. Wants root or
                  CAP_NET_RAW. Encrypted connections and Unix sockets cannot be read

A window ends early rather than harm: when the file system of the log reaches its
reserve, the server too many running threads, or replication too much lag. Ctrl-C ends
it early too; what was recorded is kept. Exit code 1: recorded, and there is something
to look at.

` + exitHelp,
		Example: "  stowage digest record --for 60s --save before\n  stowage digest record dbshard001a --from network --keep a.pcap --save a.digest\n  stowage digest record 127.0.0.1:3306 --for 60s --save a.digest\n  stowage digest record --restore",
		Args:    args(cobra.ArbitraryArgs),
		RunE: func(c *cobra.Command, given []string) error {
			if f.restore {
				return a.restoreRecorded(c.Context(), given, f)
			}
			if err := f.check(c); err != nil {
				return err
			}
			s, err := a.record(c.Context(), given, f)
			if s.FormatVersion == 0 {
				return err
			}
			if printErr := a.emit(s, s.writeText, a.afterSave(s.Save)...); printErr != nil {
				return errors.Join(err, printErr)
			}
			if err == nil && s.hasFindings() {
				return farm.ErrFindings
			}
			return err
		},
	}
	fs := cmd.Flags()
	fs.DurationVar(&f.For, "for", f.For, "length of the window")
	fs.Lookup("for").DefValue = inHelp(f.For)
	fs.StringVar(&f.from, "from", fromSlowLog, "slow-log or network")
	fs.StringVar(&f.digest.save, "save", "", "keep the digest: NAME in the workspace, or FILE.digest")
	fs.StringVar(&f.maxBytes, "max-bytes", "2GiB", "end the window when one instance has this much log, or this many bytes of packets")
	fs.StringVar(&f.piece, "piece", "256MiB", "start a new log file at this size; the full one is digested and removed")
	fs.StringVar(&f.reserve, "reserve", "1GiB", "what stays free on the file system of the log")
	fs.IntVar(&f.MaxRunning, "max-running", f.MaxRunning, "end the window when Threads_running is above this; 0: do not look")
	fs.DurationVar(&f.MaxLag, "max-lag", f.MaxLag, "end the window when replication is further behind; 0: do not look")
	fs.IntVar(&f.Sample, "sample", 0, "log one statement in `N` only, where the server can (log_slow_rate_limit)")
	fs.StringVar(&f.LogDir, "log-dir", "", "where the server is to write; default: beside its slow log")
	fs.StringVar(&f.Keep, "keep", "", "also keep the packets, in this new file")
	fs.IntVar(&f.parallel, "parallel", 32, "instances at once on one machine")
	fs.StringVar(&a.engine, "engine", "", "with agents: host:port of a Temporal cluster; default: that of farm.yaml")
	fs.DurationVar(&f.wait, "wait", session.AgentPatience, "how long agents may take to answer before the windows open")
	fs.Lookup("wait").DefValue = inHelp(session.AgentPatience)
	fs.StringVar(&f.digest.rules, "rules", "ptqd", "how statements become fingerprints: ptqd or lexer")
	fs.StringVar(&f.digest.group, "group-by", "fingerprint", "fingerprint, table, user, host, db or shard")
	fs.StringVar(&f.digest.filter, "filter", "", "count only events for which this is true")
	fs.StringVar(&f.account, "defaults-file", "", "option `FILE` with the account, group [stowage] or [client] (default: that of farm.yaml, else ~/.my.cnf)")
	fs.BoolVar(&f.restore, "restore", false, "put back what killed recordings have left and fetch what agents keep of them; record nothing")
	return cmd
}

// check reads the flags' values.
func (f *recordFlags) check(c *cobra.Command) error {
	switch {
	case f.from != fromSlowLog && f.from != fromNetwork:
		return usage(c, fmt.Errorf("--from %q is neither %s nor %s", f.from, fromSlowLog, fromNetwork))
	case f.Keep != "" && f.from != fromNetwork:
		return usage(c, errors.New("--keep needs --from network: it keeps packets"))
	case f.from == fromNetwork && (f.Sample > 0 || f.LogDir != ""):
		return usage(c, errors.New("--sample and --log-dir are for --from slow-log"))
	case f.digest.save == "":
		return usage(c, errors.New("--save is missing: the digest is all that is kept"))
	case f.wait < 0:
		return usage(c, errors.New("--wait cannot be negative"))
	case f.parallel < 1:
		return usage(c, errors.New("--parallel must be 1 or more"))
	}
	for _, x := range []struct {
		flag, text string
		into       *int64
	}{{"--max-bytes", f.maxBytes, &f.MaxBytes}, {"--piece", f.piece, &f.PieceBytes}, {"--reserve", f.reserve, &f.Reserve}} {
		v, err := farm.ParseQuantity(x.flag, x.text, farm.KindBytes)
		if err != nil {
			return usage(c, err)
		}
		*x.into = int64(v)
	}
	var err error
	if isDigestFile(f.digest.save) { // --restore may be run in another directory
		if f.digest.save, err = filepath.Abs(f.digest.save); err != nil {
			return err
		}
	}
	if f.Digest, err = f.digest.options(); err != nil {
		return err
	}
	return f.Options.Check()
}

// recordSummary is what `stowage digest record --json` prints.
type recordSummary struct {
	FormatVersion int             `json:"format_version"`
	From          string          `json:"from"`
	Save          string          `json:"save"`
	Events        uint64          `json:"events"`
	Instances     []record.Result `json:"instances"`
	Elsewhere     []string        `json:"elsewhere,omitempty"` // instances of other machines
}

func (s recordSummary) hasFindings() bool {
	return slices.ContainsFunc(s.Instances, record.Result.HasFindings)
}

// notRecorded shows what failed on each instance, and is one error for all.
func (a *app) notRecorded(errs []error) error {
	failed := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	if len(failed) == 0 {
		return nil
	}
	if len(errs) == 1 {
		return failed[0]
	}
	kind := farm.ErrUndone
	for _, err := range session.Together(failed) {
		sayError(a.stderr, err)
	}
	all := func(k error) bool {
		return !slices.ContainsFunc(failed, func(err error) bool { return !errors.Is(err, k) })
	}
	switch {
	case slices.ContainsFunc(failed, func(err error) bool { return errors.Is(err, farm.ErrOutcomeUnknown) }):
		kind = farm.ErrOutcomeUnknown
	case all(farm.ErrInput):
		kind = farm.ErrInput
	case all(farm.ErrRefused):
		kind = farm.ErrRefused
	}
	return &farm.Error{Op: "record", Err: fmt.Errorf("%w: %d of %d instances were not recorded whole", kind, len(failed), len(errs))}
}
