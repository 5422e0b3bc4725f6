package swing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stowage/farm"
	"stowage/route"
)

// Routing is the table, as clients see it. What sends clients elsewhere (a
// proxy that was restarted, a writer that was killed) is put right first.
func (s *Swing) Routing(ctx context.Context) (*route.Table, error) {
	if err := s.mend(ctx); err != nil {
		return nil, err
	}
	return s.Router.Read(ctx)
}

// awaitTable waits for a table that can be read, as for a server that does not
// answer: somebody has just taken it away, or is about to mend it.
func (s *Swing) awaitTable(ctx context.Context, wait time.Duration) error {
	told := false
	for deadline := time.Now().Add(wait); ; told = true {
		_, err := s.Router.Read(ctx)
		if !errors.Is(err, route.ErrUnreadable) {
			return nil // what else is wrong is found, or mended, by who reads it next
		}
		if time.Now().After(deadline) {
			return err
		}
		if !told {
			s.tell(farm.StepWaiting, "routing", fmt.Sprintf("waits for a routing table: %v. %s", err, farm.Hint(err)), 0)
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// mend is done at the beginning of an attempt.
func (s *Swing) mend(ctx context.Context) error {
	m, ok := s.Router.(route.Mender)
	if !ok {
		return nil
	}
	mended, err := m.Mend(ctx)
	for _, text := range mended {
		s.tell(farm.StepProgress, "mend routing", text, 0)
	}
	return err
}

// ramp are the shares that come back: all at once where routing cannot split a
// side's clients.
func (s *Swing) ramp() []float64 {
	if s.Router.Guarantee().Whole {
		return []float64{100}
	}
	return s.Settings.Ramp
}

// drainRouter waits until the connections that came through the gate have
// ended, where clients come through the router.
func (s *Swing) drainRouter(ctx context.Context, budget time.Duration) error {
	d, ok := s.Router.(route.Drainer)
	if !ok {
		return nil
	}
	left, err := d.Drain(ctx, s.Pair, s.Side, budget)
	if err != nil || len(left) == 0 {
		return err
	}
	return &farm.Error{Op: "drain", Subject: string(s.Pair),
		Err:  workOpen(fmt.Sprintf("after %v there are still %s", budget, left[0])),
		Hint: "the gate is open again and nothing has changed; clients that keep connections open need routing.cut_after in farm.yaml, or a shorter life of connections in their pools"}
}
