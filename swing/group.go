package swing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"stowage/farm"
)

// Dance is how one side, or several that leave together, leave rotation and
// return. Steps are made of one.
type Dance interface {
	Out(context.Context) error
	UndoOut(context.Context) error
	CatchUp(context.Context) error
	Check(context.Context) error
	Warm(context.Context) error
	In(context.Context) error
	UndoIn(context.Context) error
}

// Member is one side of a Group.
type Member interface {
	Dance
	// Of is the pair, and the side of it.
	Of() (farm.PairName, farm.SideName)
}

// Group is the sides that leave together because they live on one host. Gates
// close one after the other: at no moment do the clients of two pairs wait.
type Group []Member

var (
	_ Member = (*Swing)(nil)
	_ Member = (*Stepdown)(nil)
	_ Member = (*Follower)(nil)
	_ Member = (*Alone)(nil)
	_ Dance  = Group(nil)
)

// Of implements Member.
func (s *Swing) Of() (farm.PairName, farm.SideName) { return s.Pair, s.Side }

// Out takes all sides out, or none: when one cannot leave, those that have left
// return before the error does. Both sides of a pair never leave together.
func (g Group) Out(ctx context.Context) error {
	if err := g.apart(); err != nil {
		return err
	}
	for n, s := range g {
		if err := s.Out(ctx); err != nil {
			for _, left := range slices.Backward(g[:n]) {
				back, cancel := cleanup(ctx)
				err = errors.Join(err, left.UndoOut(back))
				cancel()
			}
			return err
		}
	}
	return nil
}

// apart refuses two sides of one pair: nobody would serve its clients.
func (g Group) apart() error {
	of := map[farm.PairName]farm.SideName{}
	for _, s := range g {
		pair, side := s.Of()
		if other, ok := of[pair]; ok {
			return &farm.Error{Op: "out", Subject: string(pair), Err: fmt.Errorf("%w: sides %s and %s would be out at once", farm.ErrRefused, other, side),
				Hint: "they are on one host: move one of them to another host first"}
		}
		of[pair] = side
	}
	return nil
}

// UndoOut brings all sides back as they were, the last that left first. One
// that cannot return keeps no other out.
func (g Group) UndoOut(ctx context.Context) error { return g.back(ctx, Member.UndoOut) }

// UndoIn sends the clients of all sides to the twins again.
func (g Group) UndoIn(ctx context.Context) error { return g.back(ctx, Member.UndoIn) }

func (g Group) back(ctx context.Context, undo func(Member, context.Context) error) error {
	var errs []error
	for _, s := range slices.Backward(g) {
		errs = append(errs, undo(s, ctx))
	}
	return errors.Join(errs...)
}

// CatchUp, Check and Warm do so on all sides at once, and say what is wrong
// with each.
func (g Group) CatchUp(ctx context.Context) error { return g.atOnce(ctx, Member.CatchUp) }

// Check: see CatchUp.
func (g Group) Check(ctx context.Context) error { return g.atOnce(ctx, Member.Check) }

// Warm: see CatchUp.
func (g Group) Warm(ctx context.Context) error { return g.atOnce(ctx, Member.Warm) }

func (g Group) atOnce(ctx context.Context, do func(Member, context.Context) error) error {
	errs := make([]error, len(g))
	var wg sync.WaitGroup
	for n, s := range g {
		wg.Go(func() { errs[n] = do(s, ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// In brings the sides back one after the other. A side that does worse than its
// twin goes out again, and those behind it stay out; what has returned serves.
func (g Group) In(ctx context.Context) error {
	for _, s := range g {
		if err := s.In(ctx); err != nil {
			return err
		}
	}
	return nil
}
