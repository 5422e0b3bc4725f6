package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"stowage/demo"
	"stowage/demo/load"
	"stowage/farm"
	"stowage/report"
)

// demoFlags are what `stowage demo` and its pieces share.
type demoFlags struct {
	demo.Options
	clients int
	rate    float64
	keep    bool
}

// captured is how long traffic is captured before and after the move: a digest
// needs some twenty seconds of each to say anything at all.
const captured = 22 * time.Second

func (a *app) demoCommand() *cobra.Command {
	f := &demoFlags{Options: demo.Defaults()}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Downsize a real MariaDB farm on this machine, live, with the report at the end",
		Long: `Starts a real farm of private MariaDB servers on loopback addresses, puts it under
load, and walks the whole road on it with the same commands you would type:
inventory, plan, move, verify, digest before and after, report. Everything lives
below --dir; Ctrl-C cleans up.

In pieces: demo up, demo load, demo verify, demo down.

` + exitHelp,
		Example: "  stowage demo\n  stowage demo --pairs 60 --shards 16 --hosts 30\n  stowage demo up && stowage demo load --seconds 60",
		Args:    args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := a.demo(c.Context(), f)
			if c.Context().Err() != nil {
				return interruptedDemo()
			}
			if s.Report == "" {
				return err
			}
			return errors.Join(err, a.emit(s, s.writeText, s.next()...))
		},
	}
	f.register(cmd, a)
	cmd.AddCommand(a.demoUpCommand(f), a.demoLoadCommand(f), a.demoVerifyCommand(f), a.demoDownCommand(f))
	return cmd
}

func (f *demoFlags) register(cmd *cobra.Command, a *app) {
	fs := cmd.PersistentFlags()
	fs.StringVarP(&f.Dir, "dir", "C", f.Dir, "where the farm lives; everybody must be able to enter it")
	fs.Lookup("dir").DefValue = "/var/lib/stowage-demo as root, else ~/.local/state/stowage-demo" // the manual is of no one account
	fs.StringVar((*string)(&f.Topology), "topology", string(farm.ActiveActive), "of the pairs: active-active, primary-replica or single")
	fs.IntVar(&f.Pairs, "pairs", f.Pairs, "pairs; twice as many servers, unless they are single")
	fs.IntVar(&f.Shards, "shards", f.Shards, "logical shards of each pair")
	fs.IntVar(&f.Hosts, "hosts", f.Hosts, "dense hosts to pack onto")
	fs.IntVar(&f.Port, "port-base", f.Port, "the port of every server, each on an address of its own in 127.0.x.x; another where this one is taken")
	fs.IntVar(&f.clients, "clients", 8, "clients of the load")
	fs.Float64Var(&f.rate, "rate", 120, "transactions a second of all clients together; 0: without a limit")
	fs.BoolVar(&f.keep, "keep", false, "leave the farm running at the end")
	a.engineFlag(fs)
}

// demoSummary is what `stowage demo --json` prints.
type demoSummary struct {
	FormatVersion int `json:"format_version"`

	HostsBefore  int   `json:"hosts_before"`
	HostsAfter   int   `json:"hosts_after"`
	Pairs        int   `json:"pairs"`
	Shards       int   `json:"shards"`
	Acknowledged int64 `json:"acknowledged_writes"`
	Lost         int64 `json:"lost_writes"`
	Duplicated   int64 `json:"duplicated_writes"`
	Failed       int64 `json:"failed_queries"`
	Retried      int64 `json:"retried_transactions"`
	Stale        int64 `json:"stale_reads"`
	Differences  int64 `json:"differing_tables"`

	MaxPause    float64           `json:"max_pause_ms"`
	Pauses      load.Distribution `json:"pauses"`
	P50Before   float64           `json:"p50_before_ms"`
	P99Before   float64           `json:"p99_before_ms"`
	P50After    float64           `json:"p50_after_ms"`
	P99After    float64           `json:"p99_after_ms"`
	MoveMax     float64           `json:"max_query_during_move_ms"`
	MoveSeconds float64           `json:"move_seconds"`
	Traffic     string            `json:"traffic_verdict"`
	Seconds     float64           `json:"seconds"`
	Report      string            `json:"report"`

	kept bool // its servers run on
}

// next: the farm's workspace stays, also where its servers were taken down.
func (s demoSummary) next() []string {
	dir := filepath.Dir(s.Report)
	out := []string{inWorkspace(dir, "stowage serve"), inWorkspace(dir, "stowage log")}
	if s.kept {
		out = append(out, inWorkspace(dir, "stowage demo down"))
	}
	return out
}

// demo walks the whole road. Each stage is the verb of the same name.
func (a *app) demo(ctx context.Context, f *demoFlags) (s demoSummary, err error) {
	start := time.Now()
	a.dir = f.Dir
	stage := func(format string, args ...any) {
		a.say("[%5.1f s] %s", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
	}
	f.Tell = func(text string) { stage("%s", text) }
	if err := demo.Up(ctx, f.Options, a.log); err != nil {
		return s, err
	}
	if !f.keep {
		defer func() {
			stage("taking the farm down")
			err = errors.Join(err, demo.Down(context.WithoutCancel(ctx), f.Dir, a.log))
		}()
	}
	w := &walk{a: a, f: f, stage: stage}
	if err := w.road(ctx); err != nil {
		return s, err
	}
	w.sum.Seconds, w.sum.kept = time.Since(start).Seconds(), f.keep
	return w.sum, w.whole()
}

// walk is one demo on its way.
type walk struct {
	a     *app
	f     *demoFlags
	stage func(string, ...any)
	sum   demoSummary
	load  *load.Load
	move  moveSummary

	before, moving, after span
}

type span struct{ from, to time.Time }

func (w *walk) road(ctx context.Context) error {
	var err error
	w.stage("starting %s at %g transactions a second", farm.Counted(w.f.clients, "client"), w.f.rate)
	if w.load, err = w.a.startLoad(ctx, w.f); err != nil {
		return err
	}
	defer w.load.Stop()
	for _, step := range []func(context.Context) error{w.know, w.planAndMove, w.prove} {
		if err := step(ctx); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return interruptedDemo()
		}
	}
	return nil
}

// know takes the inventory while the traffic of before is captured.
func (w *walk) know(ctx context.Context) error {
	w.stage("stowage inventory")
	inv, err := w.a.inventory(ctx)
	if err != nil {
		return err
	}
	if farm.Blocks(inv.Findings) {
		writeFindings(w.a.stderr, inv.Findings)
		return &farm.Error{Op: "demo", Err: fmt.Errorf("%w: the inventory has blockers", farm.ErrRefused)}
	}
	n, err := w.a.acceptInventory()
	if err != nil {
		return err
	}
	w.stage("%s, %s measured; capturing traffic for %v", farm.Counted(len(inv.Instances), "instance"), farm.Counted(n, "shard"), captured)
	w.sum.HostsBefore, w.sum.Pairs, w.sum.Shards = inv.Hosts, inv.Pairs, n
	w.before.from = time.Now()
	w.before.to = w.before.from.Add(captured)
	return w.capture(ctx, w.before.to)
}

// planAndMove plans, shows the plan, and carries it out under the load.
func (w *walk) planAndMove(ctx context.Context) error {
	if err := w.digest(ctx, "before", w.before); err != nil {
		return err
	}
	w.stage("stowage plan")
	p, path, err := w.a.plan("demo")
	if err != nil {
		return err
	}
	w.sum.HostsAfter = p.HostsUsed
	w.stage("%s -> %d (no plan needs fewer than %d), %s in %d waves: %s", farm.Counted(p.HostsBefore, "host"), p.HostsUsed, p.LowerBound, farm.Counted(len(p.Moves), "move"), p.Waves(), path)
	w.stage("stowage move demo")
	w.moving.from = time.Now()
	w.move, err = w.a.move(ctx, "demo")
	w.moving.to = time.Now()
	w.sum.MoveSeconds = w.move.Seconds
	return err
}

// prove captures the traffic after, stops the load, compares the ledger with
// the databases, and writes the report.
func (w *walk) prove(ctx context.Context) error {
	w.after.from = time.Now()
	w.stage("%s moved; capturing traffic for %v", farm.Counted(w.move.Moved, "side"), captured)
	w.after.to = w.after.from.Add(captured)
	if err := w.capture(ctx, w.after.to); err != nil {
		return err
	}
	clients := w.load.Stop()
	against := "both sides of every pair"
	if w.f.Topology == farm.Single {
		against = "every instance"
	}
	w.stage("stowage demo verify: %d acknowledged writes against %s", clients.Acknowledged, against)
	v, err := w.a.verify(ctx, w.f.Dir)
	if err != nil {
		return err
	}
	w.fill(clients, v)
	if err := w.latencies(); err != nil {
		return err
	}
	if err := w.digest(ctx, "after", w.after); err != nil {
		return err
	}
	w.stage("stowage digest compare before after")
	c, err := w.a.compare(ctx, "before", "after")
	if err != nil {
		return err
	}
	w.sum.Traffic = string(c.Overall.Verdict)
	if err := w.keepProof(); err != nil {
		return err
	}
	w.stage("stowage report")
	w.sum.Report, err = w.a.report(ctx, "report.html", nil)
	return err
}

func (w *walk) fill(c load.Summary, v load.Verdict) {
	s := &w.sum
	s.FormatVersion = 1
	s.Acknowledged, s.Lost, s.Duplicated = v.Acknowledged, v.Lost, v.Duplicated
	s.Differences = v.Differences
	s.Failed, s.Retried, s.Stale = c.Failed, c.Retried, c.StaleReads
	s.Pauses, s.MaxPause = c.Pauses, c.MaxPauseMillis
	for _, f := range c.Failures {
		w.a.say("  failed query: %s %s at %s: %s: %s", f.Client, f.Shard, f.Address, f.Statement, f.Error)
	}
}

func (w *walk) latencies() error {
	dir := loadDir(w.f.Dir)
	before, err := load.Latency(dir, w.before.from, w.before.to)
	if err != nil {
		return err
	}
	moving, err := load.Latency(dir, w.moving.from, w.moving.to)
	if err != nil {
		return err
	}
	after, err := load.Latency(dir, w.after.from, w.after.to)
	if err != nil {
		return err
	}
	s := &w.sum
	s.P50Before, s.P99Before, s.P50After, s.P99After, s.MoveMax = before.P50, before.P99, after.P50, after.P99, moving.Max
	return nil
}

// digest sums up a span of all slow logs, as `stowage digest` would.
func (w *walk) digest(ctx context.Context, name string, s span) error {
	logs, err := filepath.Glob(filepath.Join(w.f.Dir, "hosts", "*", "*", "slow.log"))
	if err != nil {
		return err
	}
	w.stage("stowage digest --filter 'user = app' --save %s (%d slow logs)", name, len(logs))
	_, err = w.a.digest(ctx, logs, digestFlags{filter: "user = app", save: name, since: s.from.UTC().Format(time.RFC3339), until: s.to.UTC().Format(time.RFC3339)})
	return err
}

func (w *walk) keepProof() error {
	d, err := w.a.open()
	if err != nil {
		return err
	}
	defer d.Close()
	s := w.sum
	return d.Store.PutDocument("proof", "demo", time.Now(), report.Proof{
		Pauses: w.load.PauseMillis(), Acknowledged: s.Acknowledged, Lost: s.Lost, Duplicated: s.Duplicated, FailedQueries: s.Failed, StaleReads: s.Stale, Retried: s.Retried,
		MaxPauseMillis: s.MaxPause, PauseP50: s.Pauses.P50, PauseP95: s.Pauses.P95, PauseP99: s.Pauses.P99,
		P50Before: s.P50Before, P99Before: s.P99Before, P50After: s.P50After, P99After: s.P99After, Seconds: s.MoveSeconds,
	})
}

// whole is the demo's own verdict: an error when a promise was broken.
func (w *walk) whole() error {
	s := w.sum
	if s.Lost+s.Duplicated+s.Failed+s.Stale+s.Differences == 0 {
		return nil
	}
	return &farm.Error{Op: "demo", Err: fmt.Errorf("%w: lost %d, duplicated %d, failed %d, stale %d, differing %d", farm.ErrFindings, s.Lost, s.Duplicated, s.Failed, s.Stale, s.Differences)}
}

func (s demoSummary) writeText(w io.Writer) error {
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "  %-22s %s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintln(w)
	row("hosts", "%d -> %d", s.HostsBefore, s.HostsAfter)
	row("moved", "%s, %s, live, in %.0f s", farm.Counted(s.Pairs, "pair"), farm.Counted(s.Shards, "shard"), s.MoveSeconds)
	row("acknowledged writes", "%d", s.Acknowledged)
	row("lost writes", "%d", s.Lost)
	row("duplicated writes", "%d", s.Duplicated)
	row("failed queries", "%d  (retried %d, stale reads %d)", s.Failed, s.Retried, s.Stale)
	row("pauses", "%d: p50 %s, p95 %s, p99 %s, longest %s", s.Pauses.Count, farm.Millis(s.Pauses.P50), farm.Millis(s.Pauses.P95), farm.Millis(s.Pauses.P99), farm.Millis(s.MaxPause))
	row("query latency p50", "%.1f ms -> %.1f ms", s.P50Before, s.P50After)
	row("query latency p99", "%.1f ms -> %.1f ms  (traffic: %s)", s.P99Before, s.P99After, s.Traffic)
	row("in all", "%.0f s", s.Seconds)
	_, err := fmt.Fprintf(w, "  %-22s %s\n", "report", s.Report)
	return err
}

func interruptedDemo() error {
	return &farm.Error{Op: "demo", Err: farm.ErrInterrupted, Hint: "the farm has been taken down; start again"}
}
