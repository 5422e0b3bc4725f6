package swing

import (
	"context"
	"slices"

	"stowage/farm"
	"stowage/mysql"
	"stowage/route"
)

// Follower is a replica of a pair with one writer that leaves for a while.
// Leaves and Returns are the replica, Twin is the primary. Clients that write
// notice nothing; those that read from it, because routing names it, are sent
// elsewhere: to the other replicas, or to the primary where there are none.
type Follower struct {
	oneWay
	// Named is the place of the replica in the list of routing; -1: it is not there.
	Named int
	// Open: it took writes before it left.
	Open bool
}

// NewFollower makes one of a swing in place.
func NewFollower(s *Swing, named int, open bool, strays string) *Follower {
	return &Follower{oneWay{s, strays}, named, open}
}

// Phases of a Follower, in order.
var (
	FollowerOut = []string{"flip", "drain"}
	FollowerIn  = []string{"flip"}
)

// Out takes the replica off the list, and waits until the work of its readers has ended.
func (f *Follower) Out(ctx context.Context) error {
	if err := f.awaitTable(ctx, f.Settings.Answer); err != nil {
		return err
	}
	if err := f.mend(ctx); err != nil {
		return err
	}
	readers := Clients{On: []*mysql.Server{f.Leaves}, Subject: string(f.Leaves.Name())}
	err := Handover{
		Within: func(ctx context.Context, name string, do func(context.Context) error) error {
			return f.Phase(ctx, "out", name, do)
		},
		Phases: []Phase{
			{Name: "flip", Do: f.forget},
			{Name: "drain", Do: func(ctx context.Context) error {
				if err := pause(ctx, max(f.Settings.Settle, f.Router.Guarantee().Settle)); err != nil {
					return err
				}
				if err := readers.AwaitNoLongWork(ctx, f.Settings, f.waiting); err != nil {
					return err
				}
				return readers.Drain(ctx, f.Settings, 0)
			}},
		},
		Back: func(ctx context.Context, _ error) error {
			short, cancel := cleanup(ctx)
			defer cancel()
			return f.name(short)
		},
	}.Run(ctx)
	if err != nil {
		return err
	}
	return f.keepPool(ctx)
}

// UndoOut puts the replica back on the list. It has followed all the time.
func (f *Follower) UndoOut(ctx context.Context) error {
	if err := f.awaitTable(ctx, f.Settings.Patience); err != nil {
		return err
	}
	f.forgetPool(ctx)
	return f.name(ctx)
}

// Check: as of whoever follows; and a replica that was started again takes no
// writes, where it took none before.
func (f *Follower) Check(ctx context.Context) error {
	closed, err := f.Returns.IsReadOnly(ctx)
	if err != nil {
		return err
	}
	if !closed && !f.Open {
		f.tell(farm.StepProgress, "check", string(f.Returns.Name())+" was started without read_only; setting it, as before", 0)
		if err := f.Returns.SetReadOnly(ctx, true); err != nil {
			return err
		}
	}
	return f.oneWay.Check(ctx)
}

// In puts the replica back on the list, at its place.
func (f *Follower) In(ctx context.Context) error {
	if err := f.awaitTable(ctx, f.Settings.Answer); err != nil {
		return err
	}
	if err := f.restoreScheduler(ctx, f.Returns); err != nil {
		return err
	}
	if err := f.Phase(ctx, "in", "flip", f.name); err != nil {
		return err
	}
	f.beginFirstMinute(ctx, nil)
	return nil
}

// UndoIn takes the replica off the list again.
func (f *Follower) UndoIn(ctx context.Context) error { return f.forget(ctx) }

func (f *Follower) forget(ctx context.Context) error {
	return f.Router.Change(ctx, f.Pair, func(p *route.Pair) error {
		p.Replicas = slices.DeleteFunc(p.Replicas, func(a string) bool { return a == f.Leaves.Address() })
		return nil
	})
}

func (f *Follower) name(ctx context.Context) error {
	if f.Named < 0 {
		return nil
	}
	return f.Router.Change(ctx, f.Pair, func(p *route.Pair) error {
		if !slices.Contains(p.Replicas, f.Returns.Address()) {
			p.Replicas = slices.Insert(p.Replicas, min(f.Named, len(p.Replicas)), f.Returns.Address())
		}
		return nil
	})
}
