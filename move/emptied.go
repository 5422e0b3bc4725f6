package move

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"stowage/act"
	"stowage/engine"
	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
	"stowage/placement"
	"stowage/route"
)

// Emptied is the runbook that retires a pair whose shards have all gone
// elsewhere.
const Emptied = "emptied"

// emptiedOrder is what a part says that retires a pair.
type emptiedOrder struct {
	Runbook  string                            `json:"runbook"`
	Pair     farm.PairName                     `json:"pair"`
	Topology farm.Topology                     `json:"topology"`
	Sides    map[farm.SideName]placement.Place `json:"sides"`
	Soak     time.Duration                     `json:"soak"` // how long it stands by, out of routing, before it is stopped
}

// emptied is one pair on its way out.
type emptied struct {
	task
	order emptiedOrder
	sides []*oldSide
}

// oldSide is one side that has nothing to do any more.
type oldSide struct {
	name   farm.SideName
	here   host.Instance
	host   host.Host
	server *mysql.Server
}

var _ act.Work = (*emptied)(nil)

func (m *Mover) emptied(c engine.Call, step act.Step, beat func(string)) (*emptied, error) {
	e := &emptied{}
	var err error
	if e.task, err = m.task(c, step, beat, &e.order, nil); err != nil {
		return nil, err
	}
	e.About = farm.Event{Pair: e.order.Pair}
	for _, name := range e.order.Topology.Sides() {
		place := e.order.Sides[name]
		s := &oldSide{name: name, here: m.instance(farm.Pair{Name: e.order.Pair}.Instance(name), place)}
		if s.host, err = m.Host(place.Host); err != nil {
			return nil, err
		}
		s.server = mysql.Open(s.here.Name, s.here.Dial(), m.Admin, m.Log)
		e.sides = append(e.sides, s)
	}
	return e, nil
}

func (e *emptied) Close() {
	for _, s := range e.sides {
		_ = s.server.Close() // nothing is lost with a connection
	}
}

func (e *emptied) Remember() json.RawMessage { return nil }

// survey asks nothing before a run begins: the pair still has its shards then.
// The step preflight asks the same as the one that ends it.
func (e *emptied) Survey(context.Context) ([]farm.Finding, error) { return nil, nil }

func (e *emptied) preflight(ctx context.Context) error { return e.mayGo(ctx, true) }

// mayGo reads back, from farm.yaml, routing and the servers, that nothing lives
// on the pair and nobody reads from it.
func (e *emptied) mayGo(ctx context.Context, listed bool) error {
	wrong := func(hint, format string, args ...any) error {
		return &farm.Error{Op: "retire", Subject: string(e.order.Pair), Err: fmt.Errorf("%w: "+format, append([]any{farm.ErrRefused}, args...)...), Hint: hint}
	}
	now, err := e.mover.Workspace.Farm()
	if err != nil {
		return err
	}
	if pair, there := now.Pair(e.order.Pair); there && len(pair.Shards) > 0 {
		return wrong("move it elsewhere first", "farm.yaml has shard %s there", pair.Shards[0].Name)
	}
	table, err := e.mover.Router.Read(ctx)
	if err != nil {
		return err
	}
	if pair := table.Pairs[e.order.Pair]; pair != nil && len(pair.Shards) > 0 {
		return wrong("stowage routing shows it", "routing sends clients of %s there", pair.Shards[0])
	} else if pair != nil && !listed {
		return wrong("find out who changed routing during the move", "routing has it again")
	}
	running, err := e.running(ctx)
	if err != nil {
		return err
	}
	if err := e.abreast(ctx, running); err != nil {
		return err
	}
	for _, s := range running {
		has, err := s.server.Shards(ctx)
		if err != nil {
			return err
		}
		for name := range has {
			return wrong("find its owner: move it elsewhere or drop it, then move the plan again", "%s has a database %s that farm.yaml does not have there", s.here.Name, name)
		}
		if n, err := e.othersRead(ctx, s, running); err != nil {
			return err
		} else if n > 0 {
			return wrong("point them elsewhere, then move the plan again", "%s or tools still read the binary log of %s", farm.Counted(n, "server"), s.here.Name)
		}
	}
	return nil
}

// running are the sides that can be asked: one that is stopped already, or
// dead, has nothing to say.
func (e *emptied) running(ctx context.Context) (out []*oldSide, err error) {
	for _, s := range e.sides {
		pid, err := s.host.Running(ctx, s.here)
		if err != nil {
			return nil, err
		}
		if pid != 0 {
			out = append(out, s)
		}
	}
	return out, nil
}

// abreast waits until what was dropped on one side last is gone from the other.
func (e *emptied) abreast(ctx context.Context, running []*oldSide) error {
	for _, s := range running {
		r, err := s.server.Replication(ctx)
		if err != nil {
			return err
		}
		for _, twin := range running {
			if twin == s || !r.Running() || !r.Follows(twin.server.Address()) {
				continue
			}
			goal, err := twin.server.BinlogPosition(ctx)
			if err != nil {
				return err
			}
			if err := s.server.WaitFor(ctx, goal, e.mover.Settings.CatchUp); err != nil {
				return err
			}
		}
	}
	return nil
}

// othersRead counts who reads the side's binary log beside its twin: they would
// be left behind.
func (e *emptied) othersRead(ctx context.Context, s *oldSide, running []*oldSide) (int, error) {
	readers, others, err := s.server.Readers(ctx)
	if err != nil {
		return 0, err
	}
	twins := map[uint32]bool{}
	for _, twin := range running {
		f, err := twin.server.Facts(ctx)
		if err != nil {
			return 0, err
		}
		twins[f.ServerID] = twin != s
	}
	readers = slices.DeleteFunc(readers, func(r mysql.Reader) bool { return twins[r.ServerID] })
	return len(readers) + others, nil
}

// unlist takes the pair out of routing: routing sends no client there any more.
func (e *emptied) unlist(ctx context.Context) error {
	grower, err := e.grower()
	if err != nil {
		return err
	}
	return grower.Remove(ctx, e.order.Pair)
}

func (e *emptied) relist(ctx context.Context) error {
	grower, err := e.grower()
	if err != nil {
		return err
	}
	now, err := e.mover.Workspace.Farm()
	if err != nil {
		return err
	}
	pair, there := now.Pair(e.order.Pair)
	if !there {
		return &farm.Error{Op: "add to routing", Subject: string(e.order.Pair), Err: fmt.Errorf("%w: farm.yaml does not have it any more", farm.ErrRefused)}
	}
	return grower.Add(ctx, e.order.Pair, route.ForFarm(now, *pair))
}

func (e *emptied) grower() (route.Grower, error) {
	g, ok := e.mover.Router.(route.Grower)
	if !ok {
		return nil, &farm.Error{Op: "change routing", Subject: string(e.order.Pair), Err: fmt.Errorf("%w: this kind of routing cannot drop a pair while it runs", farm.ErrRefused),
			Hint: "docs/reference/routing.md says which do"}
	}
	return g, nil
}

// soak leaves the pair standing by.
func (e *emptied) soak(ctx context.Context) error {
	if e.order.Soak <= 0 {
		return nil
	}
	e.Report(farm.Event{Kind: farm.StepWaiting, Text: "the pair is empty and out of routing; it is stopped in " + e.order.Soak.String()})
	return pauseFor(ctx, e.order.Soak)
}

// retire takes the pair out of farm.yaml and stops its instances. Their files
// stay where they are: they are the owner's to delete.
func (e *emptied) retire(ctx context.Context) error {
	if err := e.mayGo(ctx, false); err != nil {
		return err
	}
	if err := e.Phase(ctx, "record", func(context.Context) error {
		return e.mover.awaitFarm(ctx, e.Report, func() error { return e.mover.removePair(e.order.Pair) })
	}); err != nil {
		return err
	}
	return e.Phase(ctx, "stop", e.stop)
}

func (e *emptied) stop(ctx context.Context) error {
	running, err := e.running(ctx)
	if err != nil {
		return err
	}
	for _, s := range running {
		if err := s.server.ForgetSource(ctx); err != nil {
			return err
		}
	}
	for _, s := range running {
		if err := s.host.Stop(ctx, s.here, 10*time.Minute); err != nil {
			return err
		}
	}
	return nil
}
