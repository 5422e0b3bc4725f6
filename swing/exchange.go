package swing

import (
	"context"
	"fmt"
	"time"

	"stowage/farm"
)

// An exchange sends the clients of both sides of a pair from the twin, which serves
// all of them, to the side that is out, behind one gate. It is for a change that must never be in
// rotation on one side alone: a value that a client writes into a new column would be dropped by a
// twin that does not have the column yet.

// ExchangePhases are the phases of an exchange, in order.
var ExchangePhases = []string{"ready", "close", "drain", "fence", "barrier", "open", "flip"}

func (s *Swing) exchange(step string) handover {
	return handover{step: step, from: s.Twin, to: s.Returns, toSide: s.Side, percent: 100, fence: true, open: true, both: true}
}

// Exchange lets the side that is out serve all clients of the pair, and fences its twin. It is done as a whole, or
// nothing has changed when it returns an error; when it has been done already, it only makes sure of the fences.
func (s *Swing) Exchange(ctx context.Context, step string) error {
	if err := s.handOver(ctx, s.exchange(step)); err != nil {
		return err
	}
	return s.restoreScheduler(ctx, s.Returns)
}

// UndoExchange takes back an exchange that was cut short before any client was sent: the side takes no writes, the twin takes them again, and the gates are open.
// It refuses one that has been done.
func (s *Swing) UndoExchange(ctx context.Context, step string) error {
	if err := s.awaitTable(ctx, s.Settings.Patience); err != nil {
		return err
	}
	if err := s.mend(ctx); err != nil {
		return err
	}
	p, err := s.pair(ctx)
	if err != nil {
		return err
	}
	h := s.exchange("undo " + step)
	if s.shows(p, h) {
		return &farm.Error{Op: "undo " + step, Subject: string(s.Pair), Err: fmt.Errorf("%w: its clients are served by %s already", farm.ErrRefused, s.Returns.Name())}
	}
	if s.gateIsClosed(p, h) && s.closedAt.IsZero() {
		s.closedAt = time.Now() // by an attempt of before: how long it was is not known here
	}
	if err := s.Await(ctx, s.Settings.Patience, s.Returns, s.Twin); err != nil {
		return err
	}
	if err := s.fence(ctx, s.Returns); err != nil {
		return err
	}
	if err := s.reopen(ctx, s.Twin); err != nil {
		return err
	}
	if !s.gateIsClosed(p, h) {
		return nil
	}
	return s.openGates(ctx, s.homes(h), "taken back")
}

// IsExchanged reports whether the side serves all clients of the pair.
func (s *Swing) IsExchanged(ctx context.Context) (bool, error) {
	p, err := s.pair(ctx)
	if err != nil {
		return false, err
	}
	return s.shows(p, s.exchange("")), nil
}
