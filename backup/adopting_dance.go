package backup

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"stowage/act"
	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
	"stowage/route"
	"stowage/swing"
)

// dance is how a side comes back whose server is lost: another one that was restored takes its place. What it leaves cannot be asked, so it is a swing in place
// of the restored server, which is held to what its twin is.
type dance struct {
	*swing.Swing
	r *restoring
}

// TheSwing lets the steps of package swing work on a restore.
func (r *restoring) TheSwing() swing.Dance {
	if x := r.order.Side; x.Replica {
		return replicaDance{swing.NewFollower(r.side, x.Named, false, ""), r}
	}
	return dance{r.side, r}
}

// newSide is the swing of a restored instance that becomes a side.
func (r *restoring) newSide() *swing.Swing {
	x := r.order.Side
	s := &swing.Swing{
		Pair: x.Pair, Side: x.Side, Router: r.act.Router, Leaves: r.server, Returns: r.server, Twin: r.live, Apart: r.memory.Apart, Scheduler: r.firesEvents(),
		Settings: r.act.settings, Border: r.AtBorder, Rejoin: r.rejoin, DataFile: r.dataFile, First: r.KeepFirstMinute,
		MayDiffer: slices.DeleteFunc(swing.CheckedInPlace(), func(v string) bool { return slices.Contains(swing.Compared(), v) }), // its identity, and what its host makes of it
		Lasting:   act.FreshStarts{Starts: act.Starts{Editor: r.act.edited, Of: r.place}, Fresh: r.server, Settle: r.settle},
		Tell: func(kind farm.EventKind, phase, text string, millis float64) {
			r.Report(farm.Event{Kind: kind, Phase: phase, Text: text, Millis: millis})
		},
	}
	s.Note = func(text string) { r.WriteDown("measured", text, "") }
	return s
}

// firesEvents: its event scheduler runs once it serves, as its option file says.
func (r *restoring) firesEvents() bool {
	text := r.order.last().Options
	v, _ := host.Option(text, host.ServerGroup(text), "event_scheduler")
	return slices.Contains([]string{"ON", "on", "1"}, v)
}

// place is where a server's option file lies.
func (r *restoring) place(server *mysql.Server) (host.Host, host.Instance, error) {
	if server == r.server {
		return r.host, r.order.Instance, nil
	}
	h, err := r.act.Host(r.order.Side.Twin.Host)
	return h, r.order.Side.TwinAs, err
}

func (r *restoring) dataFile(ctx context.Context, of *mysql.Server, name string) ([]byte, error) {
	h, i, err := r.place(of)
	if err != nil {
		return nil, err
	}
	return h.ReadFile(ctx, filepath.Join(i.Datadir, name))
}

// Out sends the clients of the lost side to its twin. There is nobody to drain or to fence: what the twin has received of that side is all there is, and its
// clients find it applied.
func (d dance) Out(ctx context.Context) error {
	r := d.r
	if err := r.mustBeLost(ctx); err != nil {
		return err
	}
	if err := d.Await(ctx, d.Settings.Answer, d.Twin); err != nil {
		return err
	}
	t, err := d.Routing(ctx)
	if err != nil {
		return err
	}
	if p, ok := t.Pairs[d.Pair]; ok && p.Share(d.Side, d.Side) == 100 {
		if r.memory.Apart, err = d.Twin.Moment(ctx); err != nil {
			return err
		}
	}
	if err := d.Phase(ctx, "out", "barrier", r.appliedReceived); err != nil {
		return err
	}
	return d.Phase(ctx, "out", "flip", func(ctx context.Context) error {
		err := d.Router.Change(ctx, d.Pair, func(p *route.Pair) error {
			p.Serve(d.Side, d.Side.Twin(), d.Twin.Address(), 100)
			p.OpenGate(d.Side)
			return nil
		})
		if err == nil {
			r.Report(farm.Event{Kind: farm.StepProgress, Phase: "flip", Text: fmt.Sprintf("the clients of side %s are served by %s", d.Side, d.Twin.Name())})
		}
		return err
	})
}

// UndoOut leaves the clients where they are served.
func (d dance) UndoOut(context.Context) error {
	d.r.Report(farm.Event{Kind: farm.StepProgress, Text: fmt.Sprintf("the clients of side %s stay with %s: the server they came from is lost", d.Side, d.Twin.Name())})
	return nil
}

// Check is that of the swing, of rows that were compared since the server was started.
func (d dance) Check(ctx context.Context) error {
	if err := d.r.comparedSinceItsStart(ctx); err != nil {
		return err
	}
	if err := d.r.wantsOfSide(ctx); err != nil {
		return err
	}
	return d.Swing.Check(ctx)
}

// In compares only what never served: a server that has taken writes has rows of its own.
func (d dance) In(ctx context.Context) error {
	if err := d.r.comparedSinceItsStart(ctx); err != nil {
		return err
	}
	return d.Swing.In(ctx)
}

// wantsOfSide sets what the restored instance is held to: what its twin is, but for what tells the two apart.
func (r *restoring) wantsOfSide(ctx context.Context) error {
	was, err := r.live.Variables(ctx, swing.Compared()...)
	if err != nil {
		return err
	}
	for _, name := range []string{"gtid_domain_id", "auto_increment_offset"} {
		if v, ok := r.order.Side.Options[name]; ok {
			was[name] = v
		}
	}
	r.side.Baseline = &swing.Baseline{Variables: was}
	return nil
}

// likeItsTwin asks that before hours are spent on comparing rows.
func (r *restoring) likeItsTwin(ctx context.Context) error {
	if err := r.wantsOfSide(ctx); err != nil {
		return err
	}
	return r.side.CheckVariables(ctx)
}

// lostServer is the server that is replaced.
func (a *Act) lostServer(x *sideOrder) *mysql.Server {
	pair := farm.InstanceName(fmt.Sprintf("%s (lost)", x.name()))
	return a.Server(pair, x.LostAt)
}
