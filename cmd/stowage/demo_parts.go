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
	"stowage/mysql"
	"stowage/workspace"
)

func loadDir(dir string) string { return filepath.Join(dir, "load") }

func (a *app) demoUpCommand(f *demoFlags) *cobra.Command {
	return &cobra.Command{
		Use: "up", Short: "Start the farm and return", Args: args(cobra.NoArgs),
		Long: `Starts the farm of the demo and returns. The directory is then a workspace like any
other: farm.yaml, goals.yaml, routing.json, and accounts.cnf with the accounts
(group [client] for applications).

` + exitHelp,
		Example: "  stowage demo up --pairs 2 --hosts 2\n  stowage inventory --dir DIR",
		RunE: func(c *cobra.Command, _ []string) error {
			f.Tell = func(text string) { a.say("%s", text) }
			if err := demo.Up(c.Context(), f.Options, a.log); err != nil {
				if c.Context().Err() != nil {
					return interruptedDemo()
				}
				return err
			}
			value := map[string]any{"dir": f.Dir, "pairs": f.Pairs, "shards": f.Pairs * f.Shards, "hosts": f.Instances()}
			return a.emit(value, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, f.Dir)
				return err
			}, inWorkspace(f.Dir, "stowage inventory"), inWorkspace(f.Dir, "stowage plan --name first"), inWorkspace(f.Dir, "stowage demo down"))
		},
	}
}

func (a *app) demoLoadCommand(f *demoFlags) *cobra.Command {
	var seconds float64
	cmd := &cobra.Command{
		Use: "load", Short: "Write and read in every shard, and keep a ledger, until Ctrl-C", Args: args(cobra.NoArgs),
		Long: `Runs clients that follow routing.json, write and read in every shard, and record
every acknowledged write in a ledger (load/ in the workspace). Ends after --seconds
or at Ctrl-C. Exit code 1 when a query failed.

` + exitHelp,
		Example: "  stowage demo load --seconds 60 --rate 200",
		RunE: func(c *cobra.Command, _ []string) error {
			l, err := a.startLoad(c.Context(), f)
			if err != nil {
				return err
			}
			a.say("%s running; Ctrl-C ends", farm.Counted(f.clients, "client"))
			a.watchLoad(c.Context(), l, seconds)
			s := l.Stop()
			if err := a.emit(s, func(w io.Writer) error { return writeLoad(w, s) }, inWorkspace(f.Dir, "stowage demo verify")); err != nil {
				return err
			}
			if s.Failed+s.StaleReads > 0 {
				return farm.ErrFindings
			}
			return nil
		},
	}
	cmd.Flags().Float64Var(&seconds, "seconds", 0, "how long; 0: until Ctrl-C")
	return cmd
}

// startLoad starts the demo's clients.
func (a *app) startLoad(ctx context.Context, f *demoFlags) (*load.Load, error) {
	ws, fm, app, err := demoAccess(f.Dir)
	if err != nil {
		return nil, err
	}
	return load.Start(ctx, load.Options{
		Routing: ws.Path("routing.json"), Dir: loadDir(ws.Dir), Shards: shardsOf(fm),
		User: app.User, Password: app.Password, Clients: f.clients, Rate: f.rate, Seed: 1, Log: a.log,
	})
}

// demoAccess is what a client of the demo's farm needs to know.
func demoAccess(dir string) (*workspace.Workspace, *farm.Farm, mysql.Account, error) {
	ws, err := workspace.Open(dir)
	if err != nil {
		return nil, nil, mysql.Account{}, err
	}
	fm, err := ws.Farm()
	if err != nil {
		return nil, nil, mysql.Account{}, err
	}
	app, err := mysql.ReadAccount(ws.Path(fm.Accounts), "client")
	return ws, fm, app, err
}

func shardsOf(f *farm.Farm) map[farm.PairName][]farm.ShardName {
	out := map[farm.PairName][]farm.ShardName{}
	for _, p := range f.Pairs {
		for _, s := range p.Shards {
			out[p.Name] = append(out[p.Name], s.Name)
		}
	}
	return out
}

func (a *app) watchLoad(ctx context.Context, l *load.Load, seconds float64) {
	var end <-chan time.Time
	if seconds > 0 {
		end = time.After(time.Duration(seconds * float64(time.Second)))
	}
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-end:
			return
		case <-tick.C:
			s := l.Now()
			a.say("%s acknowledged, %s, %d failed, longest pause %s", farm.Counted(s.Acknowledged, "write"), farm.Counted(s.Reads, "read"), s.Failed, farm.Millis(s.MaxPauseMillis))
		}
	}
}

func writeLoad(w io.Writer, s load.Summary) error {
	for _, f := range s.Failures {
		fmt.Fprintf(w, "failed: %s %s %s at %s: %s: %s\n", f.Time.UTC().Format(time.RFC3339Nano), f.Client, f.Shard, f.Address, f.Statement, f.Error)
	}
	_, err := fmt.Fprintf(w, "%s acknowledged, %s, %d failed, %d retried, %d stale reads, %d waited at a gate; pauses p50 %s, p99 %s, longest %s\n",
		farm.Counted(s.Acknowledged, "write"), farm.Counted(s.Reads, "read"), s.Failed, s.Retried, s.StaleReads, s.GateWaits, farm.Millis(s.Pauses.P50), farm.Millis(s.Pauses.P99), farm.Millis(s.MaxPauseMillis))
	return err
}

func (a *app) demoVerifyCommand(f *demoFlags) *cobra.Command {
	return &cobra.Command{
		Use: "verify", Short: "Compare the ledger with both sides of every pair", Args: args(cobra.NoArgs),
		Long: `Checks that every acknowledged write of the ledger is there exactly once, on both sides
of its pair, and that the two sides are equal row by row. Stop the load first.
Exit code 1 when anything is lost, doubled or different.

` + exitHelp,
		Example: "  stowage demo verify --json",
		RunE: func(c *cobra.Command, _ []string) error {
			v, err := a.verify(c.Context(), f.Dir)
			if err != nil {
				return err
			}
			next := "demo down"
			if !v.Whole() {
				next = "log --all"
			}
			if err := a.emit(v, func(w io.Writer) error { return writeVerdict(w, v) }, inWorkspace(f.Dir, "stowage "+next)); err != nil {
				return err
			}
			if !v.Whole() {
				return farm.ErrFindings
			}
			return nil
		},
	}
}

// verify compares the ledger with the farm as farm.yaml has it now.
func (a *app) verify(ctx context.Context, dir string) (load.Verdict, error) {
	ws, fm, app, err := demoAccess(dir)
	if err != nil {
		return load.Verdict{}, err
	}
	addresses := map[farm.PairName]map[farm.SideName]string{}
	for _, p := range fm.Pairs {
		addresses[p.Name] = map[farm.SideName]string{}
		for side, s := range p.Sides {
			addresses[p.Name][side] = fm.Address(s)
		}
	}
	return load.Verify(ctx, load.VerifyOptions{Dir: loadDir(ws.Dir), Addresses: addresses, Shards: shardsOf(fm), User: app.User, Password: app.Password})
}

func writeVerdict(w io.Writer, v load.Verdict) error {
	for _, e := range v.Examples {
		fmt.Fprintln(w, "  "+e)
	}
	_, err := fmt.Fprintf(w, "%d acknowledged writes: %d lost, %d duplicated; %d tables differ between the sides; %d committed without being recorded\n",
		v.Acknowledged, v.Lost, v.Duplicated, v.Differences, v.Unledgered)
	return err
}

func (a *app) demoDownCommand(f *demoFlags) *cobra.Command {
	return &cobra.Command{
		Use: "down", Short: "Stop every server of the demo and remove its files", Args: args(cobra.NoArgs),
		Long: `Stops every server that runs from the demo's directory and removes their data.
farm.yaml, plans, the ledger and the report stay to be read. Safe to run again.

` + exitHelp,
		Example: "  stowage demo down",
		RunE: func(c *cobra.Command, _ []string) error {
			err := demo.Down(c.Context(), f.Dir, a.log)
			if errors.Is(err, farm.ErrInput) {
				a.say("%v", err)
				err = nil // nothing to take down is what was asked for
			}
			if err != nil {
				return err
			}
			return a.emit(map[string]string{"dir": f.Dir, "state": "down"}, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s: nothing runs any more\n", f.Dir)
				return err
			}, "stowage demo")
		},
	}
}
