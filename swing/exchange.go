package swing

import "context"

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

// IsExchanged reports whether the side serves all clients of the pair.
func (s *Swing) IsExchanged(ctx context.Context) (bool, error) {
	p, err := s.pair(ctx)
	if err != nil {
		return false, err
	}
	return s.shows(p, s.exchange("")), nil
}
