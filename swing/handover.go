package swing

import (
	"context"
	"errors"
	"fmt"
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
}

// Phases of a handover, in order.
var (
	OutPhases = []string{"ready", "close", "drain", "fence", "barrier", "flip"}
	InPhases  = []string{"ready", "close", "drain", "barrier", "open", "flip", "watch"}
)

// handOver does what h says, or changes nothing. When it has been done
// already, by an attempt that was killed, it only makes sure of the fences.
func (s *Swing) handOver(ctx context.Context, h handover) (err error) {
	done, err := s.isServed(ctx, h)
	if err != nil {
		return err
	}
	if done {
		return s.afterwards(ctx, h)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.backOut(ctx, h))
		}
	}()
	type part struct {
		name string
		skip bool
		do   func(context.Context) error
	}
	for _, p := range []part{
		{"ready", false, func(ctx context.Context) error { return s.ready(ctx, h.from) }},
		{"close", false, s.closeGate},
		{"drain", false, func(ctx context.Context) error { return s.drain(ctx, h.from) }},
		{"fence", !h.fence, func(ctx context.Context) error { return s.fence(ctx, h.from) }},
		{"barrier", false, func(ctx context.Context) error { return s.barrier(ctx, h) }},
		{"open", !h.open, func(ctx context.Context) error { return h.to.SetReadOnly(ctx, false) }},
		{"flip", false, func(ctx context.Context) error { return s.flip(ctx, h) }},
	} {
		if p.skip {
			continue
		}
		if err := s.Phase(ctx, h.step, p.name, p.do); err != nil {
			return err
		}
	}
	return nil
}

// isServed reads whether routing shows the result of h with the gate open.
func (s *Swing) isServed(ctx context.Context, h handover) (bool, error) {
	t, err := s.Router.Read(ctx)
	if err != nil {
		return false, err
	}
	p, ok := t.Pairs[s.Pair]
	if !ok {
		return false, &farm.Error{Op: "read routing", Subject: string(s.Pair), Err: fmt.Errorf("%w: no such pair", farm.ErrInput)}
	}
	return !p.GateIsClosed(s.Side) && p.Sides[h.toSide].Address == h.to.Address() &&
		p.Share(s.Side, h.toSide) >= h.percent, nil
}

// afterwards makes sure of what a finished handover left: writes where they
// belong. It is what remains to be done when we were killed after the flip.
func (s *Swing) afterwards(ctx context.Context, h handover) error {
	if h.open {
		if err := h.to.SetReadOnly(ctx, false); err != nil {
			return err
		}
	}
	if h.fence {
		return s.fence(ctx, h.from)
	}
	return nil
}

// ready waits, with the gate open, until no transaction is open that would keep
// it closed for long. Clients notice nothing of that wait.
func (s *Swing) ready(ctx context.Context, from *mysql.Server) error {
	for deadline := time.Now().Add(s.Settings.Patience); ; {
		long, err := from.LongWorkSince(ctx, s.foreign(from), s.Settings.Long)
		if err != nil {
			return err
		}
		if len(long) == 0 {
			return nil
		}
		text := fmt.Sprintf("%d sessions hold work open, the first: %s", len(long), long[0])
		if time.Now().After(deadline) {
			return &farm.Error{Op: "wait for long work", Subject: string(from.Name()), Err: errors.New(text),
				Hint: "nothing has been changed for this switch; end the long transaction, it will be tried again"}
		}
		s.tell(farm.StepWaiting, "ready", text, 0)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// foreign is the moment before which work on a server is not of the clients
// that are to be switched.
func (s *Swing) foreign(from *mysql.Server) time.Time {
	if from == s.Twin {
		return s.Apart
	}
	return time.Time{}
}

func (s *Swing) closeGate(ctx context.Context) error {
	s.closedAt = time.Now()
	s.tell(farm.GateClosed, "close", "", 0)
	return s.Router.Change(ctx, s.Pair, func(p *route.Pair) error {
		p.CloseGate(s.Side)
		return nil
	})
}

// drain waits until the work that was open when the gate closed has ended. On
// a server that also serves its own clients, their later work is not waited
// for.
func (s *Swing) drain(ctx context.Context, from *mysql.Server) error {
	left, err := from.QuiesceSince(ctx, s.foreign(from), s.Settings.Settle, s.Settings.Drain)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return &farm.Error{Op: "drain", Subject: string(from.Name()),
			Err:  fmt.Errorf("%d sessions still hold work open after %v, the first: %s", len(left), s.Settings.Drain, left[0]),
			Hint: "the gate is open again and nothing has changed; wait for the long transaction or end it, it will be tried again"}
	}
	return nil
}

// fence stops events and writes. Nothing is in flight any more: the fence is
// for a client that slept through the gate.
func (s *Swing) fence(ctx context.Context, from *mysql.Server) error {
	if err := from.SetScheduler(ctx, false); err != nil {
		return err
	}
	return from.SetReadOnly(ctx, true)
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
		if p.Share(s.Side, h.toSide) < h.percent {
			p.Serve(s.Side, h.toSide, h.to.Address(), h.percent)
		}
		p.OpenGate(s.Side)
		return nil
	})
	if err == nil {
		s.tellOpen(fmt.Sprintf("%g %% served by %s", h.percent, h.to.Name()))
	}
	return err
}

func (s *Swing) tellOpen(text string) {
	s.tell(farm.GateOpened, "flip", text, float64(time.Since(s.closedAt))/float64(time.Millisecond))
}

// backOut leaves nothing fenced: the server that served the clients takes
// writes again, then the gate opens where it was.
func (s *Swing) backOut(ctx context.Context, h handover) error {
	ctx, cancel := cleanup(ctx)
	defer cancel()
	if done, err := s.isServed(ctx, h); err == nil && done {
		return nil // it failed after the flip; the next attempt finds it done
	}
	if h.fence {
		if err := h.from.SetReadOnly(ctx, false); err != nil {
			return fmt.Errorf("%w: %w", farm.ErrOutcomeUnknown, err)
		}
		if err := s.restoreScheduler(ctx, h.from); err != nil {
			return err
		}
	}
	err := s.Router.Change(ctx, s.Pair, func(p *route.Pair) error {
		p.OpenGate(s.Side)
		return nil
	})
	if err == nil {
		s.tellOpen("backed out")
	}
	return err
}

func (s *Swing) restoreScheduler(ctx context.Context, on *mysql.Server) error {
	if !s.Scheduler {
		return nil
	}
	return on.SetScheduler(ctx, true)
}
