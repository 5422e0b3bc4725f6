package move

import (
	"context"
	"slices"

	"stowage/mysql"
	"stowage/route"
)

// swap lets the new replica take the old one's place for reads that may be
// old. Sessions on the old one go on there until it is retired.
func (s *succession) swap(ctx context.Context) error {
	if err := s.comparedSinceItsStart(ctx, s.compare); err != nil {
		return err
	}
	for _, p := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"near", s.follow},
		{"open", s.settleReplica},
		{"flip", func(ctx context.Context) error { return s.name(ctx, s.Leaves, s.Returns) }},
	} {
		if err := s.Phase(ctx, "swap", p.name, p.do); err != nil {
			return err
		}
	}
	return nil
}

// swapBack names the old replica again. It has followed all the time.
func (s *succession) swapBack(ctx context.Context) error {
	return s.name(ctx, s.Returns, s.Leaves)
}

// settleReplica gives the new replica the options it shall start with from now
// on, and what the old one had set. It stays read-only.
func (s *succession) settleReplica(ctx context.Context) error {
	if err := s.settleConfig(ctx); err != nil {
		return err
	}
	if err := s.Returns.SetScheduler(ctx, s.Scheduler); err != nil {
		return err
	}
	return s.Returns.SetReadOnly(ctx, true) // MySQL: for every account; it has run with read_only, which spares some
}

// name puts one address into the list of replicas in place of another.
func (s *succession) name(ctx context.Context, old, new *mysql.Server) error {
	return s.Router.Change(ctx, s.Pair, func(p *route.Pair) error {
		at := slices.Index(p.Replicas, old.Address())
		switch {
		case slices.Contains(p.Replicas, new.Address()):
			p.Replicas = slices.DeleteFunc(p.Replicas, func(a string) bool { return a == old.Address() })
		case at >= 0:
			p.Replicas[at] = new.Address()
		default:
			p.Replicas = append(p.Replicas, new.Address())
		}
		return nil
	})
}
