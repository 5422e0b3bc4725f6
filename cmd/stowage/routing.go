package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/internal/table"
	"stowage/route"
	"stowage/session"
)

func (a *app) routingCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "routing", Short: "Show who serves whom, and what a switch means for clients", Args: args(cobra.NoArgs),
		Long: `Reads the routing table from where farm.yaml keeps it (routing.json, HAProxy, etcd, an
SQL table, a program of yours), checks that clients see it, and says what this way of
routing guarantees to them while a side is switched. Asks every server that clients are
sent to whether it takes writes, and, while a move has not ended, whether the table is
what that move wrote. Exit code 1 when one of the two is not true.

` + exitHelp,
		Example: "  stowage routing\n  stowage routing --json",
		RunE:    func(c *cobra.Command, _ []string) error { return a.showRouting(c.Context()) },
	}
	cmd.AddCommand(&cobra.Command{
		Use: "init", Short: "Write a first table from farm.yaml", Args: args(cobra.NoArgs),
		Long: `Writes a first routing table: every pair of farm.yaml, each side serving its own clients.
A table that is there is not replaced.

When a table was lost in the middle of a move that has not ended, it is written again from
what the move has written, with a higher generation. Either way servers are asked: where
one refuses writes, the gate that leads to it is closed, and the exit code is 1.

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
resume' is the better answer; this is for when it cannot be run. The server behind the
gate is asked first: refused when it is read_only or does not answer (docs/guide/runbook.md says
what to do), and while a move runs.

` + exitHelp,
		Example: "  stowage routing open dbshard001 A",
		RunE: func(c *cobra.Command, given []string) error {
			return a.openGate(c.Context(), farm.PairName(given[0]), farm.SideName(given[1]))
		},
	})
	return cmd
}

// openRouting opens the workspace, to be read, and the router that it names.
func (a *app) openRouting() (*session.Session, route.Maker, error) {
	d, err := a.look()
	if errors.Is(err, farm.ErrInput) {
		d, err = a.openRun()
	}
	if err != nil {
		return nil, nil, err
	}
	r, err := d.Routing()
	if err != nil {
		d.Close()
		return nil, nil, err
	}
	return d, r, nil
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
	routingTruth
}

func (a *app) showRouting(ctx context.Context) error {
	d, r, err := a.openRouting()
	if err != nil {
		return err
	}
	defer d.Close()
	g := r.Guarantee()
	v := routingView{FormatVersion: 1, Kind: string(d.Farm.Routing.Kind), Guarantee: g.Kind, Means: g.Text}
	if v.Kind == "" {
		v.Kind = string(farm.RoutingFile)
	}
	if v.Table, err = r.Read(ctx); err != nil {
		return err
	}
	v.Held = heldShards(d.Farm, v.Table)
	open, unasked := openerOf(d)
	if v.routingTruth, err = truthOf(ctx, d, r, v.Table, open); err != nil {
		return err
	}
	if unasked != nil {
		v.WritesUnknown = unasked.Error()
	}
	if err := a.emit(v, v.writeText, v.next(a, d.Farm)...); err != nil {
		return err
	}
	if len(v.alarms()) > 0 {
		return farm.ErrFindings
	}
	return nil
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

// next: a gate that is closed can be opened, and what clients see can be put right.
func (v routingView) next(a *app, f *farm.Farm) []string {
	var out []string
	if len(v.Differs) > 0 {
		out = append(out, a.cmd("routing mend"))
	}
	for _, g := range closedGates(f, v.Table) {
		out = append(out, a.cmd("routing open %s %s", g.Pair, g.Side))
	}
	if len(v.Refusing)+len(v.Held) > 0 || len(out) > 0 {
		return append([]string{a.cmd("status")}, out...)
	}
	return []string{a.cmd("inventory")}
}

func (v routingView) writeText(out io.Writer) error {
	fmt.Fprintf(out, "routing by %s, generation %d. %s: %s\n", v.Kind, v.Table.Generation, v.Guarantee, v.Means)
	w := table.New(out, "PAIR\tHOME\tSERVED BY\tADDRESS\tSHARE %\tGATE").Names("PAIR", "ADDRESS")
	names := make([]farm.PairName, 0, len(v.Table.Pairs))
	for n := range v.Table.Pairs {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		p := v.Table.Pairs[n]
		for _, r := range p.Routes {
			share := 100 * float64(r.To-r.From+1) / float64(p.Slots)
			w.Row("%s\t%s\t%s\t%s\t%.4g\t%s", n, r.Home, r.Side, p.Sides[r.Side].Address, share, r.Gate)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, shard := range v.Held {
		fmt.Fprintf(out, "SHARD HELD: clients of %s wait: no pair lists it, or more than one does\n", shard)
	}
	v.routingTruth.write(out)
	return nil
}

// routingMade is what `routing init` prints.
type routingMade struct {
	FormatVersion int   `json:"format_version"`
	Pairs         int   `json:"pairs"`
	Generation    int64 `json:"generation"`
	// Rebuilt names the run from whose changes the table was made, when one has not ended.
	Rebuilt string     `json:"rebuilt_from,omitempty"`
	Closed  []gateLine `json:"closed_gates"`

	Refusing      []refusingLine `json:"refusing_writes"`
	WritesUnknown string         `json:"writes_unknown,omitempty"`
}

func (a *app) initRouting(ctx context.Context) error {
	d, r, err := a.openRouting()
	if err != nil {
		return err
	}
	defer d.Close()
	open, unasked := openerOf(d)
	t, run, truth, err := firstTable(ctx, d, open)
	if err != nil {
		return err
	}
	if err := r.Restore(ctx, t); err != nil {
		return err
	}
	v := routingMade{FormatVersion: 1, Pairs: len(t.Pairs), Generation: t.Generation + 1, Rebuilt: run.ID, Closed: closedGates(d.Farm, t), Refusing: truth.Refusing, WritesUnknown: truth.WritesUnknown}
	if unasked != nil {
		v.WritesUnknown = unasked.Error()
	}
	if err := a.emit(v, v.writeText, a.cmd("routing")); err != nil {
		return err
	}
	if len(v.Refusing) > 0 {
		return farm.ErrFindings
	}
	return nil
}

func (v routingMade) writeText(w io.Writer) error {
	text := fmt.Sprintf("wrote a first table of %s", farm.Counted(v.Pairs, "pair"))
	if v.Rebuilt != "" {
		text = fmt.Sprintf("%s has not ended: wrote its table of %s again, generation %d", v.Rebuilt, farm.Counted(v.Pairs, "pair"), v.Generation)
	}
	_, err := fmt.Fprintln(w, text)
	for _, r := range v.Refusing {
		fmt.Fprintf(w, "REFUSES WRITES: %s, which serves clients of %s side %s, is read_only: their gate is closed, they wait\n", r.Address, r.Pair, r.Side)
	}
	for _, g := range v.Closed {
		next := fmt.Sprintf("when the server takes writes: stowage routing open %s %s", g.Pair, g.Side)
		if v.Rebuilt != "" {
			next = "continue with: stowage resume"
		}
		fmt.Fprintf(w, "GATE CLOSED: clients of %s side %s are waiting; %s\n", g.Pair, g.Side, next)
	}
	if v.WritesUnknown != "" {
		fmt.Fprintf(w, "whether these take writes is not known: %s\n", v.WritesUnknown)
	}
	return err
}

func (a *app) openGate(ctx context.Context, pair farm.PairName, side farm.SideName) error {
	if side != farm.A && side != farm.B {
		return &farm.Error{Op: "open gate", Subject: string(side), Err: fmt.Errorf("%w: a side is A or B", farm.ErrInput)}
	}
	d, r, err := a.openRouting()
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Lock("routing open"); err != nil {
		return err
	}
	if err := a.askBehind(ctx, d, r, pair, side); err != nil {
		return err
	}
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
	}, a.cmd("routing"))
}

// askBehind refuses to let clients through a closed gate to a server that does
// not take their writes, or does not answer.
func (a *app) askBehind(ctx context.Context, d *session.Session, r route.Router, pair farm.PairName, side farm.SideName) error {
	t, err := r.Read(ctx)
	if err != nil {
		return err
	}
	p := t.Pairs[pair]
	if p == nil || !p.GateIsClosed(side) {
		return nil // Change says what is wrong; open already is fine
	}
	open, err := openerOf(d)
	if err != nil {
		return err
	}
	opened := &route.Table{Pairs: map[farm.PairName]*route.Pair{pair: p}}
	p.OpenGate(side)
	p.CloseGate(side.Twin())
	closed, unknown := refusing(ctx, opened, open)
	switch {
	case len(closed) > 0:
		return &farm.Error{Op: "open gate", Subject: fmt.Sprintf("%s side %s", pair, side),
			Err:  fmt.Errorf("%w: %s behind it is read_only: writes would fail", farm.ErrRefused, closed[0].Address),
			Hint: "stowage resume opens server and gate; docs/guide/runbook.md says how to do it by hand"}
	case unknown != "":
		return &farm.Error{Op: "open gate", Subject: fmt.Sprintf("%s side %s", pair, side), Err: fmt.Errorf("%w: %s", farm.ErrRefused, unknown),
			Hint: "start the server behind the gate, then try again; its clients wait until then"}
	}
	return nil
}

func (a *app) mendRouting(ctx context.Context) error {
	d, r, err := a.openRouting()
	if err != nil {
		return err
	}
	defer d.Close()
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
	}, a.cmd("routing"))
}
