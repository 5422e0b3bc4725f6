package swing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/route"
)

// handover sends a share of the side's clients from one server to another
// behind a closed gate. It is the one place where a route is flipped.
type handover struct {
	step    string
	from    *mysql.Server
	to      *mysql.Server
	toSide  farm.SideName // which side to is
	percent float64       // of the side's slots that to serves afterwards
	fence   bool          // from serves nobody afterwards: it stops taking writes
	open    bool          // to has to be opened for writes first
	undo    bool          // takes another handover back
	both    bool          // the clients of both sides of the pair: all that the server has
	// hurry is for clients that are served badly where they are: long work of theirs is waited for with the gate open so long at most, and then so
	// long behind it. 0: as the settings say.
	hurry time.Duration
}

// Phases of a handover, in order.
var (
	OutPhases = []string{"ready", "close", "drain", "fence", "barrier", "flip"}
	InPhases  = []string{"ready", "close", "drain", "barrier", "open", "flip", "watch"}
)

// handOver does what h says, or changes nothing. When it has been done
// already, by an attempt that was killed, it only makes sure of the fences.
func (s *Swing) handOver(ctx context.Context, h handover) error {
	if err := s.awaitTable(ctx, s.patience(h)); err != nil {
		return err
	}
	if err := s.mend(ctx); err != nil {
		return err
	}
	p, err := s.pair(ctx)
	if err != nil {
		return err
	}
	if s.shows(p, h) {
		return s.afterwards(ctx, h)
	}
	back := &wayBack{gate: s.gateIsClosed(p, h), closed: s.suspects(ctx, h, p)}
	wait := s.patience(h)
	if back.gate { // by an attempt that was killed: clients wait already
		wait = min(wait, 5*time.Second)
	}
	from := s.clients(h)
	return Handover{
		Within: func(ctx context.Context, name string, do func(context.Context) error) error {
			return s.Phase(ctx, h.step, name, do)
		},
		Ready: func(ctx context.Context) error {
			if err := s.Await(ctx, wait, h.from, h.to); err != nil || !h.open {
				return err
			}
			return s.rejoin(ctx) // to is Returns
		},
		Phases: []Phase{
			{Name: "ready", Do: func(ctx context.Context) error { return s.awaitNoLongWork(ctx, h, from) }},
			{Name: "close", Do: func(ctx context.Context) error { back.gate = true; return s.closeGates(ctx, s.homes(h)) }},
			{Name: "drain", Do: func(ctx context.Context) error {
				return s.drainWithin(ctx, cmp.Or(h.hurry, s.Settings.Drain), from, max(s.Settings.Settle, s.Router.Guarantee().Settle))
			}},
			{Name: "fence", Skip: !h.fence, Do: func(ctx context.Context) error { back.add(h.from); return s.fence(ctx, h.from) }},
			{Name: "barrier", Do: func(ctx context.Context) error { return s.barrier(ctx, h) }},
			{Name: "open", Skip: !h.open, Do: func(ctx context.Context) error { return s.open(ctx, h.to) }},
			{Name: "flip", Do: func(ctx context.Context) error { return s.flip(ctx, h) }},
		},
		Back: func(ctx context.Context, _ error) error { return s.backOut(ctx, h, back) },
	}.Run(ctx)
}

// homes are the sides whose clients a handover sends elsewhere.
func (s *Swing) homes(h handover) []farm.SideName {
	if h.both {
		return []farm.SideName{s.Side, s.Side.Twin()}
	}
	return []farm.SideName{s.Side}
}

// gateIsClosed reports whether any client of a handover is held.
func (s *Swing) gateIsClosed(p *route.Pair, h handover) bool {
	return slices.ContainsFunc(s.homes(h), p.GateIsClosed)
}

// share is how many percent of the clients of a handover a side serves, at least.
func (s *Swing) share(p *route.Pair, h handover, side farm.SideName) float64 {
	least := 100.0
	for _, home := range s.homes(h) {
		least = min(least, p.Share(home, side))
	}
	return least
}

// clients are those that a handover sends elsewhere. Work on the twin that is older than the swing is not theirs, unless all are.
func (s *Swing) clients(h handover) Clients {
	return Clients{On: []*mysql.Server{h.from}, Subject: string(h.from.Name()), Foreign: func(ctx context.Context, on *mysql.Server) (time.Time, error) {
		if on != s.Twin || h.both {
			return time.Time{}, nil
		}
		return s.Apart.At(ctx, s.Twin)
	}}
}

func (s *Swing) waiting(text string) { s.tell(farm.StepWaiting, "ready", text, 0) }

// awaitNoLongWork waits with the gate open. In a hurry it does not insist: where every statement is long there is no better moment.
func (s *Swing) awaitNoLongWork(ctx context.Context, h handover, from Clients) error {
	settings := s.Settings
	if h.hurry > 0 {
		settings.Patience = min(settings.Patience, h.hurry)
	}
	err := from.AwaitNoLongWork(ctx, settings, s.waiting)
	if h.hurry > 0 && errors.As(err, new(workOpen)) {
		return nil
	}
	return err
}

// drain waits for the router's connections, and then for the clients' work.
func (s *Swing) drain(ctx context.Context, c Clients, settle time.Duration) error {
	return s.drainWithin(ctx, s.Settings.Drain, c, settle)
}

func (s *Swing) drainWithin(ctx context.Context, budget time.Duration, c Clients, settle time.Duration) error {
	if err := s.drainRouter(ctx, budget); err != nil {
		return err
	}
	settings := s.Settings
	settings.Drain = budget
	return c.Drain(ctx, settings, settle)
}

// patience is how long an attempt waits for servers that do not answer.
func (s *Swing) patience(h handover) time.Duration {
	if h.undo {
		return s.Settings.Patience
	}
	return s.Settings.Answer
}

// wayBack is what has to be put right when a handover is taken back.
type wayBack struct {
	gate   bool            // it is closed, or may be
	closed []*mysql.Server // serve the side, and take no writes, or may not
}

func (w *wayBack) add(server *mysql.Server) {
	if !slices.Contains(w.closed, server) {
		w.closed = append(w.closed, server)
	}
}

// suspects are the servers that routing still names and that an earlier attempt,
// killed or given up, may have fenced. One that cannot be asked is suspected
// when that attempt has left the gate closed.
func (s *Swing) suspects(ctx context.Context, h handover, p *route.Pair) []*mysql.Server {
	var out []*mysql.Server
	for _, x := range []struct {
		server *mysql.Server
		side   farm.SideName
		ours   bool // this handover, or what it takes back, fences it
	}{{h.from, h.toSide.Twin(), h.fence}, {h.to, h.toSide, h.open}} {
		if !x.ours || s.share(p, h, x.side) == 0 || p.Sides[x.side].Address != x.server.Address() {
			continue
		}
		on, err := x.server.IsReadOnly(ctx)
		if on || err != nil && s.gateIsClosed(p, h) {
			out = append(out, x.server)
		}
	}
	return out
}

// pair is what routing says of the pair.
func (s *Swing) pair(ctx context.Context) (*route.Pair, error) {
	t, err := s.Router.Read(ctx)
	if err != nil {
		return nil, err
	}
	p, ok := t.Pairs[s.Pair]
	if !ok {
		return nil, &farm.Error{Op: "read routing", Subject: string(s.Pair), Err: fmt.Errorf("%w: no such pair", farm.ErrInput)}
	}
	return p, nil
}

// shows reports whether routing shows the result of h with the gate open.
func (s *Swing) shows(p *route.Pair, h handover) bool {
	return !s.gateIsClosed(p, h) && p.Sides[h.toSide].Address == h.to.Address() &&
		s.share(p, h, h.toSide) >= h.percent
}

// afterwards makes sure of what a finished handover left: writes where they
// belong. It is what remains to be done when we were killed after the flip.
func (s *Swing) afterwards(ctx context.Context, h handover) error {
	if h.open && !s.willStartOpen(ctx, h.to) {
		if err := s.Await(ctx, s.patience(h), h.to); err != nil {
			return err
		}
		if err := s.open(ctx, h.to); err != nil {
			return err
		}
	}
	if h.fence {
		if err := s.Await(ctx, s.patience(h), h.from); err != nil {
			return err
		}
		return s.fence(ctx, h.from)
	}
	return nil
}

func (s *Swing) closeGate(ctx context.Context) error {
	return s.closeGates(ctx, []farm.SideName{s.Side})
}

func (s *Swing) closeGates(ctx context.Context, homes []farm.SideName) error {
	s.closedAt = time.Now()
	s.tell(farm.GateClosed, "close", "", 0)
	return s.Router.Change(ctx, s.Pair, func(p *route.Pair) error {
		for _, home := range homes {
			p.CloseGate(home)
		}
		return nil
	})
}

// barrier waits until the next server has everything that from has written or
// applied: above all what these clients were acknowledged, wherever that was.
func (s *Swing) barrier(ctx context.Context, h handover) error {
	goal, err := h.from.BinlogPosition(ctx)
	if err != nil {
		return err
	}
	return h.to.WaitFor(ctx, goal, s.Settings.Barrier)
}

// flip sends the clients to the next server and opens the gate, in one
// replacement of the table.
func (s *Swing) flip(ctx context.Context, h handover) error {
	err := s.Router.Change(ctx, s.Pair, func(p *route.Pair) error {
		// Never take back slots that a later step of the ramp, cut short by a
		// kill, has already sent: their clients were not drained here.
		for _, home := range s.homes(h) {
			if p.Share(home, h.toSide) < h.percent {
				p.Serve(home, h.toSide, h.to.Address(), h.percent)
			}
			p.OpenGate(home)
		}
		return nil
	})
	if err == nil {
		s.tellOpen(fmt.Sprintf("%g %% served by %s", h.percent, h.to.Name()))
	}
	return err
}

// openGate lets the clients go on where they are, and tells of it where they had to wait.
func (s *Swing) openGate(ctx context.Context, text string) error {
	was := false
	err := s.Router.Change(ctx, s.Pair, func(p *route.Pair) error {
		was = p.GateIsClosed(s.Side)
		p.OpenGate(s.Side)
		return nil
	})
	if err == nil && was {
		s.tellOpen(text)
	}
	return err
}

func (s *Swing) tellOpen(text string) {
	s.tell(farm.GateOpened, "flip", text, float64(time.Since(s.closedAt))/float64(time.Millisecond))
}

// backOut leaves nothing fenced: the server that served the clients takes
// writes again, then the gate opens where it was. While that server does not
// answer the gate stays closed: behind it may be a fence.
func (s *Swing) backOut(ctx context.Context, h handover, back *wayBack) error {
	short, cancel := cleanup(ctx)
	defer cancel()
	if p, err := s.pair(short); err == nil && s.shows(p, h) {
		return nil // it failed after the flip; the next attempt finds it done
	}
	var shut error
	if h.both { // its twin is held: what it takes now would be applied there over newer rows
		shut = s.fence(short, h.to)
	}
	for _, server := range back.closed {
		if err := s.reopen(ctx, server); err != nil {
			return errors.Join(shut, err)
		}
	}
	if !back.gate {
		return shut
	}
	last, cancel := cleanup(ctx)
	defer cancel()
	return errors.Join(shut, s.openGates(last, s.homes(h), "backed out"))
}

// openGates lets the clients of some sides go on where they are.
func (s *Swing) openGates(ctx context.Context, homes []farm.SideName, text string) error {
	err := s.Router.Change(ctx, s.Pair, func(p *route.Pair) error {
		for _, home := range homes {
			p.OpenGate(home)
		}
		return nil
	})
	if err == nil {
		s.tellOpen(text)
	}
	return err
}

func (s *Swing) restoreScheduler(ctx context.Context, on *mysql.Server) error {
	fires := s.Scheduler
	if s.TwinFires != nil && on == s.Twin {
		fires = *s.TwinFires
	}
	if !fires {
		return nil
	}
	return on.SetScheduler(ctx, true)
}
