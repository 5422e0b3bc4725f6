package move

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"stowage/farm"
	"stowage/route"
)

// retire ends the old instance. Its files stay where they are: they are the
// owner's to delete. Accounts that the cutover kept out of it stay locked in
// them.
func (s *succession) retire(ctx context.Context) error {
	if err := s.mayRetire(ctx); err != nil {
		return err
	}
	to := s.order.Move.To
	for _, p := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"settle", s.settleConfig},
		{"record", func(context.Context) error {
			return s.mover.awaitFarm(ctx, s.Report, func() error {
				return s.mover.record(s.Pair, s.Side, farm.Side{Host: to.Host, Port: to.Port, Datadir: to.Datadir, Config: to.Config})
			})
		}},
		{"stop", s.stopOld},
	} {
		if err := s.Phase(ctx, "retire", p.name, p.do); err != nil {
			return err
		}
	}
	return nil
}

// mayRetire reads back that nobody needs the old instance any more.
func (s *succession) mayRetire(ctx context.Context) error {
	p, err := s.routing(ctx)
	if err != nil {
		return err
	}
	wrong := func(text, hint string) error {
		return &farm.Error{Op: "retire", Subject: string(s.old.Name), Err: errors.New(text), Hint: hint}
	}
	switch {
	case p.GateIsClosed(farm.A):
		return wrong("the gate of the pair is closed", "stowage status")
	case s.movesPrimary() && p.Sides[farm.A].Address != s.Returns.Address(),
		!s.movesPrimary() && (!slices.Contains(p.Replicas, s.Returns.Address()) || slices.Contains(p.Replicas, s.Leaves.Address())):
		return wrong("routing does not show the new instance", "find out who changed routing during the move")
	}
	pid, err := s.oldHost.Running(ctx, s.old)
	if err != nil || pid == 0 {
		return err
	}
	readers, others, err := s.Leaves.Readers(ctx)
	if err != nil {
		return err
	}
	if n := len(readers) + others; n > 0 {
		return wrong(fmt.Sprintf("%s or tools still read its binary log", farm.Counted(n, "server")), "point them at the new instance; it is tried again")
	}
	return nil
}

// routing is the pair's routing.
func (s *succession) routing(ctx context.Context) (*route.Pair, error) {
	t, err := s.Routing(ctx)
	if err != nil {
		return nil, err
	}
	p, ok := t.Pairs[s.Pair]
	if !ok {
		return nil, &farm.Error{Op: "read routing", Subject: string(s.Pair), Err: fmt.Errorf("%w: no such pair", farm.ErrInput)}
	}
	return p, nil
}
