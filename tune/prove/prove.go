package prove

import (
	"context"
	"errors"
	"fmt"

	"stowage/bench"
	"stowage/bench/result"
	"stowage/bench/stat"
	"stowage/farm"
	"stowage/tune/fix"
)

// Prover carries trials out, one after the other.
type Prover struct {
	Journal  *fix.Journal
	Settings fix.Settings
	Now      fix.Now
	// Measure is bench.ByTurns.
	Measure func(ctx context.Context, dir string, o bench.Order, t bench.Turns) (a, b *result.Result, err error)
	// Serve opens a server of our own below a directory: its options in both states, of the option file.
	Serve func(ctx context.Context, dir string, options [2][]string, o bench.Order) (Runner, error)
	// PutBack keeps nothing, whatever helped.
	PutBack bool
	// Border is told when the journal is synced ("tune journal"), behind each write ("tune set"), on the way back ("tune revert"), and
	// before what helped is kept ("tune keep"). Tests kill the process there.
	Border func(string) error
}

// Proof is what came of a trial.
type Proof struct {
	Trial
	Kept    bool         `json:"kept"`
	Verdict stat.Verdict `json:"verdict"` // of the step with the setting against the step without
	Why     string       `json:"why"`     // it was kept or put back
	// Compared is the step, A without and B with the setting, and Comparison all there is to be said about that. Nil when it did
	// not come to that.
	Compared   *result.Compared   `json:"compared"`
	Comparison *result.Comparison `json:"comparison"`
	Unit       string             `json:"unit"` // of Compared: IOPS, MB/s, files/s, transactions/s
	Times      [2]int             `json:"runs"` // without and with
	// Settings are those that are not as this proof should have left them, or were changed by somebody else meanwhile.
	Settings []fix.Result `json:"settings"`
}

// Runs says how often the step was run in each state, for people.
func (p Proof) Runs() string {
	return fmt.Sprintf("%d and %s", p.Times[0], farm.Counted(p.Times[1], "run"))
}

// Leftover takes back what a proof has left that was killed. It has to be called
// before the first Prove.
func (p *Prover) Leftover(ctx context.Context) ([]fix.Result, error) {
	return p.Journal.TakeBack(ctx, p.Settings, p.Now, p.Border)
}

// Prove carries out one trial; the order says how, but for the step. Errors:
// those of bench.ByTurns, farm.ErrUndone when somebody else set the same
// setting meanwhile, farm.ErrOutcomeUnknown when a setting could not be put back.
// The Proof holds with an error as well.
func (p *Prover) Prove(ctx context.Context, t Trial, o bench.Order) (Proof, error) {
	out := Proof{Trial: t, Verdict: stat.Inconclusive, Settings: []fix.Result{}}
	o.Profile.MaxRuns += o.Profile.MaxRuns % 2 // whole turns, A B B A
	o.Profile.MinRuns = min(o.Profile.MinRuns, o.Profile.MaxRuns)
	measure := p.measureFio
	if isOurs(t.Step) {
		measure = p.measureOurs
	}
	keep, err := measure(ctx, &out, o)
	if out.Compared != nil {
		out.Verdict = out.Compared.Verdict
	}
	return out, errors.Join(err, p.end(ctx, &out, keep && err == nil && !p.PutBack))
}

// measureFio runs a step of the storage benchmark by turns.
func (p *Prover) measureFio(ctx context.Context, out *Proof, o bench.Order) (keep bool, err error) {
	out.Unit = "IOPS"
	if err := o.Profile.Only([]string{out.Step}); err != nil {
		return false, err
	}
	var seen looks
	a, b, err := p.Measure(ctx, out.Directory, o, bench.Turns{
		Switch: func(ctx context.Context, toB bool) error { return p.turn(ctx, out, toB) },
		Enough: func(a, b *result.Result) bool {
			c, _ := compare(out.Trial, a, b)
			return c != nil && seen.enough(c.Verdict)
		},
	})
	if err != nil {
		return false, err
	}
	out.Compared, out.Comparison = compare(out.Trial, a, b)
	if out.Compared == nil {
		return false, fmt.Errorf("the benchmark has not run %s", out.Step) // a bug of ours
	}
	out.Times = [2]int{out.Comparison.A.Runs, out.Comparison.B.Runs}
	keep, out.Why = seen.decide(*out.Compared, after(b, out.Step))
	return keep, nil
}

// turn switches to state B, with the setting, or back to A.
func (p *Prover) turn(ctx context.Context, out *Proof, toB bool) error {
	act, want := p.Journal.TakeBack, fix.Restored
	if toB {
		want = fix.Set
		act = func(ctx context.Context, s fix.Settings, now fix.Now, border func(string) error) ([]fix.Result, error) {
			return p.Journal.Try(ctx, s, now, out.Changes, border)
		}
	}
	results, err := act(ctx, p.Settings, p.Now, p.Border)
	if ctx.Err() != nil {
		return errors.Join(err, farm.ErrInterrupted) // end takes back what there is
	}
	for _, r := range results {
		if r.State != want {
			out.Settings = append(out.Settings, r)
			err = errors.Join(err, &farm.Error{Op: "set", Subject: r.Setting(), Err: fmt.Errorf("%w: %s: %s", farm.ErrUndone, r.State, r.Why), Hint: "see who else sets it (udev, tuned, another person), and run it again"})
		}
	}
	return err
}

// end leaves the setting as the proof has decided, whatever state the turns ended in, also when somebody wants to stop.
func (p *Prover) end(ctx context.Context, out *Proof, keep bool) error {
	ctx = context.WithoutCancel(ctx)
	if err := p.takeBack(ctx, out); err != nil || !keep {
		return err
	}
	if len(out.Options) > 0 {
		return p.keepLive(ctx, out)
	}
	if err := p.turn(ctx, out, true); err != nil {
		return errors.Join(err, p.takeBack(ctx, out))
	}
	if err := p.Border("tune keep"); err != nil {
		return err
	}
	if err := p.Journal.Keep(); err != nil {
		return err
	}
	out.Kept = true
	return nil
}

// takeBack makes the settings as they were before the proof, and says when that did not work.
func (p *Prover) takeBack(ctx context.Context, out *Proof) error {
	results, err := p.Journal.TakeBack(ctx, p.Settings, p.Now, p.Border)
	lost := 0
	for _, r := range results {
		if r.State != fix.Restored && r.State != fix.Already {
			out.Settings = append(out.Settings, r)
		}
		if r.State == fix.Failed || r.State == fix.Unknown {
			lost++
		}
	}
	if err != nil || lost > 0 {
		return errors.Join(err, &farm.Error{Op: "put back", Subject: out.Rule, Err: fmt.Errorf("%w: %s", farm.ErrOutcomeUnknown, farm.Counted(lost, "setting")), Hint: "the journal still has what they were: stowage tune --revert"})
	}
	return nil
}

// compare holds the step with the setting against the step without.
func compare(t Trial, a, b *result.Result) (*result.Compared, *result.Comparison) {
	c := result.Compare("without", a, "with", b)
	for i := range c.Steps {
		if c.Steps[i].ID == t.Step {
			return &c.Steps[i], c
		}
	}
	return nil, c
}

func after(b *result.Result, id string) *result.Step {
	for _, s := range b.Steps {
		if s.ID == id {
			return s
		}
	}
	return nil
}
