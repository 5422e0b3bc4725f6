package bench

import (
	"context"
	"errors"
	"slices"
	"time"

	"stowage/bench/result"
	"stowage/farm"
)

// Turns are two states of one storage that can be switched between while it is in use.
type Turns struct {
	// Switch brings the storage into state A or B; it is in A when ByTurns begins. Called between runs, never during one. Where it
	// ends is not ByTurns' business: after an error, or at the end, it may be either.
	Switch func(ctx context.Context, toB bool) error
	// Enough is asked after every A B B A from Profile.MinRuns runs of each on, with both results as far as they are.
	Enough func(a, b *result.Result) bool
}

// ByTurns measures A B B A A B B A ..., until that is enough or each has had Profile.MaxRuns runs. What drifts slowly, and what others
// do, meets both alike; so there is no A/A pair, which tells how far two results are off that were made one after the other.
// Both results are of one layout of the files. Errors are those of Run, and those of Switch. Nothing is resumed and nothing saved.
func ByTurns(ctx context.Context, dir string, o Order, t Turns) (a, b *result.Result, err error) {
	o.Previous, o.Save = nil, nil
	one, err := open(ctx, dir, o)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, one.place.close()) }()
	if err := one.layOut(ctx); err != nil {
		return nil, nil, err
	}
	if err := one.settle(ctx); err != nil {
		return nil, nil, err
	}
	two := one.twin()
	err = takeTurns(ctx, one, two, t)
	for _, r := range []*runner{one, two} {
		r.finish(ctx, err == nil)
	}
	return one.result, two.result, err
}

// turnsOf is the state of each run in four: A B B A.
var turnsOf = [4]bool{false, true, true, false}

func takeTurns(ctx context.Context, a, b *runner, t Turns) error {
	p, inB, total := a.order.Profile, false, 2*a.order.Profile.MaxRuns
	for turn := range total {
		toB, round := turnsOf[turn%4], turn/2+1
		r := a
		if toB {
			r = b
		}
		if toB != inB {
			if err := ctx.Err(); err != nil {
				return farm.ErrInterrupted
			}
			if err := t.Switch(ctx, toB); err != nil {
				return err
			}
			inB = toB
		}
		if turn == 1 {
			if err := b.lookAgain(ctx); err != nil {
				return err
			}
		}
		if err := r.takeTurn(ctx, round, turn, total); err != nil {
			return err
		}
		if turn%4 == 3 && round >= p.MinRuns {
			a.result.Judge()
			b.result.Judge()
			if t.Enough(a.result, b.result) {
				return nil
			}
		}
	}
	return nil
}

// takeTurn runs every step once.
func (r *runner) takeTurn(ctx context.Context, round, turn, total int) error {
	steps := r.order.Profile.Steps
	for i, s := range steps {
		got, err := r.runStep(ctx, s, round)
		if err != nil {
			return err
		}
		for n, id := range append([]string{s.ID}, besides(s)...) {
			m := got[n]
			m.sample.Seq, m.sample.Round = turn*len(steps)+i+1, round
			r.row(id).Add(m.sample, m.latency, m.writes, r.order.Profile.Target)
		}
		done, all := turn*len(steps)+i+1, total*len(steps)
		r.order.Tell(Progress{Step: s.ID, IOPS: got[0].sample.IOPS, Round: round, Done: done, Total: all, Left: time.Duration(all-done) * r.each()})
	}
	return nil
}

// twin is a runner of the same files with a document of its own, for another state.
func (r *runner) twin() *runner {
	x := *r
	x.order.Seed += 1 << 20 // or each of its runs would ask for what the one before it has asked for, which some cache may know
	doc := *r.result
	doc.Sessions = slices.Clone(doc.Sessions)
	doc.Steps = nil
	for _, s := range r.order.Profile.Steps {
		doc.Steps = append(doc.Steps, r.rows(s)...)
	}
	x.result = &doc
	return &x
}

// lookAgain notes the environment as it is in this state.
func (r *runner) lookAgain(ctx context.Context) error {
	env, _, err := r.environment(r.result.Environment.Directory)
	if err != nil {
		return err
	}
	env.Free = r.result.Environment.Free // before the files were there
	r.result.Environment = env
	if env.Device != nil {
		r.thermal(ctx, 0)
	}
	return nil
}

// Turns is about how long it takes to lay out the files and to run each state so many times.
func (p Profile) Turns(runs int) time.Duration {
	var once time.Duration
	for range p.Steps {
		once += p.Warmup + pause + 500*time.Millisecond + p.Runtime
	}
	return time.Duration(2*runs)*once + p.LayoutLimit
}
