package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/mysql"
	"stowage/route"
	"stowage/workspace"
)

// tableMaker is a router that can be given its first table.
type tableMaker interface {
	route.Router
	Create(ctx context.Context, pairs map[farm.PairName]*route.Pair) error
}

// routerOf is the router that farm.yaml names. It does not dial.
func routerOf(ws *workspace.Workspace, f *farm.Farm, log *slog.Logger) (tableMaker, error) {
	x := f.Routing
	switch x.Kind {
	case "", farm.RoutingFile:
		return fileRouter{route.NewFile(ws.Path("routing.json"))}, nil
	case farm.RoutingHAProxy:
		return route.NewHAProxy(route.HAProxyOptions{Path: ws.Path("routing.json"), Sockets: x.Sockets, CutAfter: x.CutAfter}), nil
	case farm.RoutingEtcd:
		o := route.EtcdOptions{Endpoints: x.Endpoints, Prefix: x.Prefix, GoodFor: x.GoodFor}
		if o.Prefix == "" {
			o.Prefix = "/stowage/" + f.Name + "/"
		}
		for _, file := range []struct {
			into *string
			name string
		}{{&o.CA, x.CA}, {&o.Cert, x.Cert}, {&o.Key, x.Key}} {
			if file.name != "" {
				*file.into = ws.Path(file.name)
			}
		}
		if x.Account != "" {
			a, err := mysql.ReadAccount(ws.Path(f.Accounts), x.Account)
			if err != nil {
				return nil, err
			}
			o.User, o.Password = a.User, a.Password
		}
		return route.NewEtcd(o)
	case farm.RoutingSQL:
		group := x.Account
		if group == "" {
			group = "stowage"
		}
		a, err := mysql.ReadAccount(ws.Path(f.Accounts), group)
		if err != nil {
			return nil, err
		}
		table := mysql.Open("routing", x.Address, a, log).RoutingTable(x.Database)
		where := fmt.Sprintf("SQL table %s.%s at %s", x.Database, mysql.RoutingTableName, x.Address)
		return &sqlRouter{route.NewShared(table, where, x.GoodFor), table}, nil
	case farm.RoutingExec:
		program := slices.Clone(x.Program)
		if filepath.Base(program[0]) != program[0] { // a path, not a name to look for
			program[0] = ws.Path(program[0])
		}
		return route.NewExec(route.ExecOptions{Program: program, Dir: ws.Dir, Lock: filepath.Join(ws.State(), "routing"),
			Timeout: x.Timeout, Gated: x.Gated, Settle: x.Settle}), nil
	}
	return nil, &farm.Error{Op: "open routing", Subject: "farm.yaml", Err: fmt.Errorf("%w: routing of kind %q", farm.ErrInput, x.Kind)}
}

type fileRouter struct{ *route.File }

func (f fileRouter) Create(_ context.Context, pairs map[farm.PairName]*route.Pair) error {
	return f.File.Create(pairs)
}

// sqlRouter makes its table before the first thing is written into it.
type sqlRouter struct {
	*route.Shared
	table *mysql.RoutingTable
}

func (s *sqlRouter) Create(ctx context.Context, pairs map[farm.PairName]*route.Pair) error {
	if err := s.table.Make(ctx); err != nil {
		return err
	}
	return s.Shared.Create(ctx, pairs)
}

func (a *app) routingCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "routing", Short: "Show who serves whom, and what a switch means for clients", Args: args(cobra.NoArgs),
		Long: `Reads the routing table from where farm.yaml keeps it (routing.json, HAProxy, etcd, an
SQL table, a program of yours), checks that clients see it, and says what this way of
routing guarantees to them while a side is switched.

` + exitHelp,
		Example: "  stowage routing\n  stowage routing --json",
		RunE:    func(c *cobra.Command, _ []string) error { return a.showRouting(c.Context()) },
	}
	cmd.AddCommand(&cobra.Command{
		Use: "init", Short: "Write a first table from farm.yaml", Args: args(cobra.NoArgs),
		Long: `Writes a first routing table: every pair of farm.yaml, each side serving its own clients.
A table that is there is not replaced.

` + exitHelp,
		Example: "  stowage routing init",
		RunE:    func(c *cobra.Command, _ []string) error { return a.initRouting(c.Context()) },
	}, &cobra.Command{
		Use: "mend", Short: "Make proxies show the table again", Args: args(cobra.NoArgs),
		Long: `Makes clients see the table again where they do not: after a HAProxy was restarted
without its state, or Stowage was killed in the middle of a change. It prints what it had
to do; nothing to do is fine. A move does the same by itself.

` + exitHelp,
		Example: "  stowage routing mend",
		RunE:    func(c *cobra.Command, _ []string) error { return a.mendRouting(c.Context()) },
	}, &cobra.Command{
		Use: "open PAIR SIDE", Short: "Open a gate that was left closed, where it was", Args: args(cobra.ExactArgs(2)),
		Long: `Opens the gate of a side's clients again, to the server that served them before. 'stowage
move resume' is the better answer; this is for when it cannot be run. The server may still be
fenced: docs/runbook.md says what to do first. Refused while a move runs.

` + exitHelp,
		Example: "  stowage routing open dbshard001 A",
		RunE: func(c *cobra.Command, given []string) error {
			return a.openGate(c.Context(), farm.PairName(given[0]), farm.SideName(given[1]))
		},
	})
	return cmd
}

func (a *app) openRouting() (tableMaker, *farm.Farm, error) {
	ws, err := workspace.Open(a.dir)
	if err != nil {
		return nil, nil, err
	}
	f, err := ws.Farm()
	if err != nil {
		return nil, nil, err
	}
	r, err := routerOf(ws, f, a.log)
	return r, f, err
}

// routingView is what `routing` prints.
type routingView struct {
	FormatVersion int          `json:"format_version"`
	Kind          string       `json:"kind"`
	Guarantee     route.Kind   `json:"guarantee"`
	Means         string       `json:"means"`
	Table         *route.Table `json:"table"`
	// Held are shards of farm.yaml that not exactly one pair lists: their
	// clients wait.
	Held []farm.ShardName `json:"held"`
}

func (a *app) showRouting(ctx context.Context) error {
	r, f, err := a.openRouting()
	if err != nil {
		return err
	}
	g := r.Guarantee()
	v := routingView{FormatVersion: 1, Kind: string(f.Routing.Kind), Guarantee: g.Kind, Means: g.Text}
	if v.Kind == "" {
		v.Kind = string(farm.RoutingFile)
	}
	if v.Table, err = r.Read(ctx); err != nil {
		return err
	}
	v.Held = heldShards(f, v.Table)
	return a.emit(v, v.writeText)
}

// heldShards are the shards of a farm whose clients wait, because no pair lists
// them or two do.
func heldShards(f *farm.Farm, t *route.Table) []farm.ShardName {
	listed := map[farm.ShardName]int{}
	for _, p := range t.Pairs {
		for _, s := range p.Shards {
			listed[s]++
		}
	}
	out := []farm.ShardName{}
	for _, p := range f.Pairs {
		for _, s := range p.Shards {
			if listed[s.Name] != 1 {
				out = append(out, s.Name)
			}
		}
	}
	return out
}

func (v routingView) writeText(out io.Writer) error {
	fmt.Fprintf(out, "routing by %s, generation %d. %s: %s\n", v.Kind, v.Table.Generation, v.Guarantee, v.Means)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PAIR\tHOME\tSERVED BY\tADDRESS\tSHARE %\tGATE")
	names := make([]farm.PairName, 0, len(v.Table.Pairs))
	for n := range v.Table.Pairs {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		p := v.Table.Pairs[n]
		for _, r := range p.Routes {
			share := 100 * float64(r.To-r.From+1) / float64(p.Slots)
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.4g\t%s\n", n, r.Home, r.Side, p.Sides[r.Side].Address, share, r.Gate)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, shard := range v.Held {
		fmt.Fprintf(out, "SHARD HELD: clients of %s are waiting, for not exactly one pair lists it\n", shard)
	}
	return nil
}

func (a *app) initRouting(ctx context.Context) error {
	r, f, err := a.openRouting()
	if err != nil {
		return err
	}
	pairs := map[farm.PairName]*route.Pair{}
	for _, p := range f.Pairs {
		pairs[p.Name] = route.ForFarm(f, p)
	}
	if err := r.Create(ctx, pairs); err != nil {
		return err
	}
	return a.emit(map[string]int{"format_version": 1, "pairs": len(pairs)}, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "wrote a first table of %d pairs\n", len(pairs))
		return err
	})
}

func (a *app) openGate(ctx context.Context, pair farm.PairName, side farm.SideName) error {
	if side != farm.A && side != farm.B {
		return &farm.Error{Op: "open gate", Subject: string(side), Err: fmt.Errorf("%w: a side is A or B", farm.ErrInput)}
	}
	r, _, err := a.openRouting()
	if err != nil {
		return err
	}
	ws, err := workspace.Open(a.dir)
	if err != nil {
		return err
	}
	release, err := ws.Lock("routing open")
	if err != nil {
		return err
	}
	defer release()
	var was bool
	err = r.Change(ctx, pair, func(p *route.Pair) error {
		was = p.GateIsClosed(side)
		p.OpenGate(side)
		return nil
	})
	if err != nil {
		return err
	}
	return a.emit(map[string]any{"format_version": 1, "was_closed": was}, func(w io.Writer) error {
		text := "the gate of side %s of %s is open again\n"
		if !was {
			text = "the gate of side %s of %s was open already\n"
		}
		_, err := fmt.Fprintf(w, text, side, pair)
		return err
	})
}

func (a *app) mendRouting(ctx context.Context) error {
	r, _, err := a.openRouting()
	if err != nil {
		return err
	}
	mended := []string{}
	if m, ok := r.(route.Mender); ok {
		done, err := m.Mend(ctx)
		if err != nil {
			for _, text := range done {
				a.say("mended %s", text)
			}
			return err
		}
		mended = append(mended, done...)
	}
	if _, err := r.Read(ctx); err != nil {
		return err
	}
	return a.emit(map[string]any{"format_version": 1, "mended": mended}, func(w io.Writer) error {
		if len(mended) == 0 {
			_, err := fmt.Fprintln(w, "nothing to mend: clients see the table")
			return err
		}
		for _, text := range mended {
			if _, err := fmt.Fprintln(w, "mended "+text); err != nil {
				return err
			}
		}
		return nil
	})
}
