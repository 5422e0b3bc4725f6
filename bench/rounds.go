package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"stowage/bench/result"
	"stowage/bench/stat"
	"stowage/farm"
)

// measureAll lays the files out, brings them to a steady state, and runs rounds until the intervals are narrow enough or a
// limit is reached. The same step stands first and last.
func (r *runner) measureAll(ctx context.Context) error {
	if r.order.Round == 0 { // of a visit whoever sends it says how long
		r.sayHowLong()
	}
	if err := r.layOut(ctx); err != nil {
		return err
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	if r.order.Round > 0 {
		return r.round(ctx, r.order.Profile.Steps, r.order.Round)
	}
	aa := r.aaStep()
	if err := r.measureAA(ctx, aa, true); err != nil {
		return err
	}
	for round := 1; round <= r.order.Profile.MaxRuns; round++ {
		steps := r.wanted(round)
		if len(steps) == 0 || !r.fits(steps, round) {
			break
		}
		if err := r.round(ctx, steps, round); err != nil {
			return err
		}
	}
	return r.measureAA(ctx, aa, false)
}

// round runs each of some steps once.
func (r *runner) round(ctx context.Context, steps []Step, round int) error {
	order := r.shuffled(steps, round)
	for i, s := range order {
		if r.has(s, round) {
			continue // an earlier session did it
		}
		if err := r.measure(ctx, s, round, order[i+1:]); err != nil {
			return err
		}
	}
	return nil
}

// layOut writes the files from end to end.
func (r *runner) layOut(ctx context.Context) error {
	p, began := r.order.Profile, time.Now()
	limit := p.LayoutLimit
	if !r.result.Settings.ChosenByTime || r.order.Previous != nil {
		limit = 0
	}
	r.say("writing %d MiB of random data", (r.files.data+r.files.log)/mib)
	var done float64
	for pass := range p.Passes {
		if pass > 0 {
			limit = 0
		}
		out, _, err := r.fio.run(ctx, r.place.dir, layoutJob(r.files, r.result.Settings.Engine, limit, r.order.Seed+uint64(pass)))
		if err != nil {
			return err
		}
		size, err := r.laidOut(out)
		if err != nil {
			return &farm.Error{Op: "lay out", Subject: r.place.dir, Err: err}
		}
		if written := size / mib * mib; written < r.files.data {
			if written < 16*mib {
				return &farm.Error{Op: "lay out", Subject: r.place.dir, Err: fmt.Errorf("%w: only %d MiB could be written in %v", farm.ErrInput, written/mib, limit), Hint: "give a size with --size; it will be written however long that takes"}
			}
			r.say("%d MiB were written in %v, and that is the size", written/mib, limit)
			r.files.data, r.result.Settings.Size = written, written
		}
		done++
	}
	if r.result.Precondition == nil {
		took := time.Since(began).Seconds()
		bytes := int64(done)*r.files.data + int64(done)*r.files.log
		r.result.Precondition = &result.Precondition{Bytes: bytes, Seconds: took, MBps: float64(bytes) / 1e6 / took, Passes: done}
	}
	return nil
}

// settle overwrites in windows until five of them in a row are steady, or time is up.
func (r *runner) settle(ctx context.Context) error {
	p := r.order.Profile
	if p.Settle == nil {
		return nil
	}
	s := Step{ID: p.Settle.ID, Load: *p.Settle}
	fill := &result.RandomFill{Step: s.ID}
	limit := p.settleLimit()
	for began := time.Now(); time.Since(began) < limit; {
		out, _, err := r.fio.run(ctx, r.place.dir, jobFile(s, r.files, r.result.Settings.Engine, p.Runtime, r.order.Seed+uint64(len(fill.IOPS)), false))
		if err != nil {
			return err
		}
		o, err := parseFio(out)
		if err != nil {
			return &farm.Error{Op: "overwrite", Subject: r.place.dir, Err: err}
		}
		fill.IOPS = append(fill.IOPS, o.Jobs[0].Write.IOPS)
		if fill.Settling = stat.Settled(fill.IOPS[max(0, len(fill.IOPS)-stat.Windows):]); fill.Settling.Steady {
			break
		}
		r.say("overwriting until it is steady, for %v more at most: %.0f IOPS, window %d", max(limit-time.Since(began), 0).Round(time.Second), o.Jobs[0].Write.IOPS, len(fill.IOPS))
	}
	r.result.Precondition.Random = fill
	return nil
}

// wanted are the steps that a round runs: all at first, then those whose interval is too wide.
func (r *runner) wanted(round int) []Step {
	p := r.order.Profile
	var out []Step
	for _, s := range p.Steps {
		row := r.row(s.ID)
		switch {
		case s.Long > 0 && round > 1:
		case round <= p.MinRuns, r.has(s, round), !row.IsTight(p.Target):
			out = append(out, s)
		}
	}
	return out
}

// fits says whether a round can be run within the budget. The least number of rounds always can.
func (r *runner) fits(steps []Step, round int) bool {
	p := r.order.Profile
	if p.Budget == 0 || round <= p.MinRuns {
		return true
	}
	need := time.Duration(len(steps)+1) * r.each()
	return r.before+time.Since(r.began)+need <= p.Budget
}

// each is how long a run takes with everything around it.
func (r *runner) each() time.Duration {
	if r.runs == 0 {
		return r.order.Profile.timeOf(Step{})
	}
	return r.taken / time.Duration(r.runs)
}

// shuffled is the order of a round, the same for the same seed. What needs a ceiling comes behind MIX in the first round.
func (r *runner) shuffled(steps []Step, round int) []Step {
	random := rand.New(rand.NewPCG(r.order.Seed, uint64(round)))
	steps = slices.Clone(steps)
	random.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	var first, later []Step
	for _, s := range steps {
		if s.Share > 0 {
			later = append(later, s)
			continue
		}
		first = append(first, s)
	}
	return append(first, later...)
}

func (r *runner) row(id string) *result.Step {
	for _, s := range r.result.Steps {
		if s.ID == id {
			return s
		}
	}
	return nil
}

func (r *runner) has(s Step, round int) bool {
	for _, x := range r.row(s.ID).Samples {
		if x.Round == round {
			return true
		}
	}
	return false
}

// aaStep is what is measured first and last: the read of a page where there is one, because it wears and changes nothing.
func (r *runner) aaStep() Step {
	for _, s := range r.order.Profile.Steps {
		if s.ID == "RND16K-R-Q1T1" {
			return s
		}
	}
	for _, s := range r.order.Profile.Steps {
		if s.Share == 0 && s.Long == 0 {
			return s
		}
	}
	return r.order.Profile.Steps[0]
}

func (r *runner) measureAA(ctx context.Context, s Step, isFirst bool) error {
	aa := r.result.Noise.AA
	if aa != nil && isFirst {
		return nil // of an earlier session
	}
	best := 0.0
	for range aaRuns {
		got, err := r.runStep(ctx, s, 0)
		if err != nil {
			return err
		}
		best = max(best, got[0].sample.IOPS)
	}
	if isFirst {
		r.result.Noise.AA = &result.AA{Step: s.ID, First: best}
		return r.save()
	}
	r.result.Noise.SetAA(s.ID, aa.First, best)
	return nil
}

// aaRuns is of how many runs the best counts at either end of an A/A pair: one that was spoilt by chance must not make all of a
// result look unsteady.
const aaRuns = 2

// measure runs a step once and keeps what came of it. after are the steps that this round still has.
func (r *runner) measure(ctx context.Context, s Step, round int, after []Step) error {
	got, err := r.runStep(ctx, s, round)
	if err != nil {
		return err
	}
	seq := r.count() + 1
	for i, id := range append([]string{s.ID}, besides(s)...) {
		m := got[i]
		m.sample.Seq, m.sample.Round = seq, round
		r.row(id).Add(m.sample, m.latency, m.writes, r.order.Profile.Target)
	}
	runs, left := r.ahead(round, after)
	r.order.Tell(Progress{Step: s.ID, IOPS: got[0].sample.IOPS, Round: round, Done: seq, Total: seq + runs, Left: left})
	r.result.Sessions[len(r.result.Sessions)-1].Ended = time.Now().UTC()
	return r.save()
}

func besides(s Step) []string {
	if s.Beside == nil {
		return nil
	}
	return []string{s.besideID()}
}

// runStep warms up, listens to the others, and runs the step with the kernel's counts taken before and after.
func (r *runner) runStep(ctx context.Context, s Step, round int) ([]measured, error) {
	began := time.Now()
	p := r.order.Profile
	length := p.length(s)
	if s.Share > 0 {
		s = r.held(s)
	}
	below := r.below()
	noise := r.machine.listen(func(d time.Duration) {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	})
	idle := r.below().since(below) // what others did while we did nothing
	engine, seed := r.result.Settings.Engine, r.order.Seed+uint64(1000*r.count()+round)
	if p.Warmup > 0 {
		if _, _, err := r.fio.run(ctx, r.place.dir, jobFile(s, r.files, engine, p.Warmup, seed+1, false)); err != nil {
			return nil, err
		}
	}
	job := jobFile(s, r.files, engine, length, seed, true)
	r.row(s.ID).Job = job
	cpus, from := r.machine.processors(), r.counters()
	below = r.below()
	start := time.Now()
	out, cpu, err := r.fio.run(ctx, r.place.dir, job)
	if err != nil {
		return nil, err
	}
	took := time.Since(start).Seconds()
	to := r.counters()
	noise.Steal = stealBetween(cpus, r.machine.processors())
	got, err := r.readRun(s, out, sampling(length))
	if err != nil {
		return nil, &farm.Error{Op: "measure", Subject: s.ID, Err: err, Hint: "a longer --runtime, or run the job that --json prints with fio by hand"}
	}
	check := r.check(got, from, to, took)
	if r.bed != nil {
		check.Foreign = foreign(to.since(from), r.below().since(below))
		if s.Load.Durable {
			// The file system below writes to its journal for every flush of ours, so that only the pause tells of others.
			check.Foreign = idlePart(idle, to.since(from), took)
		}
	}
	noise.Foreign = check.Foreign
	for i := range got {
		x := &got[i].sample
		x.Began, x.ClientCPU, x.Check, x.Noise = start.UTC(), cpu.Seconds()/took, check, noise
	}
	r.runs++
	r.taken, r.meant = r.taken+time.Since(began), r.meant+p.timeOf(s)
	return got, nil
}

// held is a step whose load beside it is held to a part of the ceiling.
func (r *runner) held(s Step) Step {
	row := r.row(s.besideID())
	if row.AskedIOPS == 0 { // once decided it stays: runs of different rates are not runs of one thing
		row.AskedIOPS = r.row(mix+"/"+s.Beside.ID).IOPS * s.Share
	}
	beside := *s.Beside
	beside.Rate = row.AskedIOPS
	s.Beside = &beside
	return s
}

func (r *runner) readRun(s Step, out []byte, window time.Duration) ([]measured, error) {
	o, err := parseFio(out)
	if err != nil {
		return nil, err
	}
	loads, names := []Load{s.Load}, append([]string{s.ID}, besides(s)...)
	if s.Beside != nil {
		loads = append(loads, *s.Beside)
	}
	if len(o.Jobs) != len(loads) {
		return nil, fmt.Errorf("fio reports on %d loads, and %d were asked for", len(o.Jobs), len(loads))
	}
	var all []measured
	for i, l := range loads {
		m, err := read(l, o.Jobs[i], r.place.dir, names[i], window)
		if err != nil {
			return nil, err
		}
		r.row(names[i]).Series.Window = window.Seconds()
		all = append(all, m)
	}
	return all, nil
}

// check adds up what fio did in all loads of a run and compares it with the device's counts.
func (r *runner) check(got []measured, from, to counters, seconds float64) result.Check {
	c := result.Check{Of: r.device, Why: r.why}
	for _, m := range got {
		c.FioRead += m.sample.Check.FioRead
		c.FioWritten += m.sample.Check.FioWritten
		c.Syncs += m.sample.Check.Syncs
	}
	if r.device != "" {
		compareCounts(&c, from, to, seconds)
	}
	return c
}
