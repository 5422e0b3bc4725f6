package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stowage/bench"
	"stowage/farm"
	"stowage/tune"
	"stowage/tune/fix"
	"stowage/tune/prove"
)

// proofFlags say how a proof is measured.
type proofFlags struct {
	size    string
	runtime time.Duration
	maxRuns int
}

// without refuses what belongs to --prove where that is not given.
func (p proofFlags) without(c *cobra.Command, given []string) error {
	for _, name := range []string{"size", "runtime", "max-runs"} {
		if c.Flags().Changed(name) {
			return usage(c, fmt.Errorf("--%s goes with --prove only", name))
		}
	}
	if len(given) > 0 {
		return usage(c, fmt.Errorf("%s: a directory goes with --prove only", given[0]))
	}
	return nil
}

// leastRuns are two turns of A B B A: two looks that agree are wanted, and the first needs some runs to look at.
const leastRuns = 4

// order is how the steps of a proof are run.
func (p proofFlags) order(c *cobra.Command) (bench.Order, error) {
	o := bench.Order{Profile: bench.Quick(), Seed: rand.Uint64() >> 12, Version: version, Command: os.Args}
	if p.size != "" {
		size, err := farm.ParseQuantity("--size", p.size, farm.KindBytes)
		if err != nil {
			return o, usage(c, err)
		}
		o.Size = int64(size)
	}
	if c.Flags().Changed("runtime") {
		if p.runtime < 200*time.Millisecond {
			return o, usage(c, errors.New("--runtime is 200ms or more"))
		}
		o.Profile.SetRuntime(p.runtime)
	}
	if p.maxRuns < 2 {
		return o, usage(c, errors.New("--max-runs is 2 or more"))
	}
	o.Profile.MinRuns, o.Profile.MaxRuns, o.Profile.Budget = leastRuns, p.maxRuns, 0
	return o, nil
}

// tuneProofs is what --prove prints.
type tuneProofs struct {
	FormatVersion int           `json:"format_version"`
	Host          string        `json:"host"`
	Act           string        `json:"act"` // "prove" or "dry-run"
	Rule          string        `json:"rule"`
	Journal       string        `json:"journal"`
	Nothing       string        `json:"nothing"` // why there is nothing to prove, or empty
	Seconds       [2]float64    `json:"seconds"` // it takes at least and at most, about
	Trials        []prove.Trial `json:"trials"`
	Proofs        []prove.Proof `json:"proofs"`   // of the trials, in their order
	Leftover      []fix.Result  `json:"leftover"` // put back first: of a proof that was killed
}

// tuneProve tries what one rule proposes, and keeps what helps.
func (a *app) tuneProve(c *cobra.Command, t *tuneFlags, given []string) error {
	if t.fix || t.revert || t.record != "" || t.plan != "" || t.watch > 0 || len(t.rules) > 0 {
		return usage(c, errors.New("--prove goes with --measured, --dry-run, and with --root where that is given"))
	}
	if t.root != "" && !t.dryRun {
		return usage(c, errors.New("a recorded machine cannot be measured: --prove goes with --root only when --dry-run is given"))
	}
	order, err := t.proof.order(c)
	if err != nil {
		return err
	}
	if strings.EqualFold(t.prove, prove.All) {
		return a.tuneProveAll(c, t, given, order)
	}
	rules, unknown := tune.Only(tune.Rules(), []string{t.prove})
	if unknown != "" {
		return usage(c, fmt.Errorf("--prove %s: no such rule; docs/measuring/tune.md lists them", unknown))
	}
	if _, err := prove.Plan(rules[0], nil, nil, ""); err != nil {
		return err // whatever this machine is like
	}
	dir, err := directory(given, t.root)
	if err != nil {
		return err
	}
	if t.dryRun {
		out, err := a.planProof(c.Context(), t, rules[0], dir)
		if err != nil {
			return err
		}
		out.estimate(order)
		return a.emit(out, out.writeText, a.forReal())
	}
	s, tree := a.tuneSettings(t)
	defer s.close()
	j, err := fix.Open(filepath.Join("/", tuneJournal))
	if err != nil {
		return err
	}
	defer j.Close()
	p := &prove.Prover{Journal: j, Settings: s, Now: bootOf(tree), Measure: bench.ByTurns, Serve: a.throwAway, Border: a.at}
	left, err := p.Leftover(c.Context()) // before the rule looks: it must not see what a killed proof has set
	if err != nil {
		return err
	}
	out, err := a.planProof(c.Context(), t, rules[0], dir)
	if err != nil {
		return err
	}
	out.Leftover = append(out.Leftover, left...)
	out.estimate(order)
	return a.carryOutProof(c.Context(), p, out, order)
}

// directory is the one that was named, with all links resolved; "" when none was.
func directory(given []string, root string) (string, error) {
	if len(given) == 0 {
		return "", nil
	}
	fail := func(why string) error {
		return &farm.Error{Op: "prove on", Subject: given[0], Err: fmt.Errorf("%w: %s", farm.ErrInput, why), Hint: "name a directory on the storage that the setting is about; devices are not written to"}
	}
	if root != "" {
		if !filepath.IsAbs(given[0]) {
			return "", fail("a directory of a recorded machine begins with /")
		}
		return filepath.Clean(given[0]), nil
	}
	dir, err := filepath.Abs(given[0])
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", fail(errorsCause(err).Error())
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", fail("it is not a directory")
	}
	return dir, nil
}

// planProof asks the rule about this machine, and about the storage of dir in particular.
func (a *app) planProof(ctx context.Context, t *tuneFlags, rule tune.Rule, dir string) (tuneProofs, error) {
	out := tuneProofs{FormatVersion: 1, Act: "prove", Rule: rule.ID, Journal: filepath.Join(cmpRoot(t.root), tuneJournal),
		Trials: []prove.Trial{}, Proofs: []prove.Proof{}, Leftover: []fix.Result{}}
	if t.dryRun {
		out.Act = "dry-run"
	}
	facts, err := a.facts(ctx, t)
	if err != nil {
		return out, err
	}
	out.Host = facts.Host
	if dir != "" {
		if len(facts.Below(dir)) == 0 {
			return out, &farm.Error{Op: "prove on", Subject: dir, Err: fmt.Errorf("%w: its disk is unknown", farm.ErrRefused), Hint: "findmnt -T " + dir + " says what it is on; name a directory on a disk of this machine"}
		}
		facts.Claim(dir)
	}
	if err := whole(facts, rule.ID); err != nil {
		return out, err
	}
	report := tune.Audit(facts, []tune.Rule{rule})
	trials, err := prove.Plan(rule, report.Findings, facts, dir)
	if err != nil {
		return out, err
	}
	out.Trials = append(out.Trials, trials...)
	where := ""
	if dir != "" {
		where = " about " + strings.Join(facts.Below(dir), ", ") + ", which " + dir + " lies on"
	}
	switch {
	case len(trials) > 0:
	case len(report.NotApplicable) > 0:
		out.Nothing = "the rule does not apply: " + report.NotApplicable[0].Why
	case len(report.Findings) > 0 && dir != "":
		out.Nothing = "the rule finds nothing" + where
	case len(report.Findings) > 0:
		out.Nothing = "what the rule finds cannot be switched by this kernel"
	default:
		out.Nothing = "the rule is followed"
	}
	return out, nil
}

// whole refuses a machine with an array that is not: its disks are busy with themselves, or about to be.
func whole(facts *tune.Facts, rule string) error {
	degraded, _ := tune.Only(tune.Rules(), []string{"RAID-DEGR"})
	for _, f := range tune.Audit(facts, degraded).Findings {
		return &farm.Error{Op: "prove", Subject: rule, Err: fmt.Errorf("%w: %s: %s (%s)", farm.ErrRefused, f.Subject, f.Verdict, f.Read), Hint: f.Fix + "; then measure"}
	}
	return nil
}

// estimate is how long all trials take.
func (p *tuneProofs) estimate(o bench.Order) {
	for _, t := range p.Trials {
		profile := o.Profile
		if profile.Only([]string{t.Step}) == nil { // a step of ours
			p.Seconds[0] += profile.Turns(min(leastRuns+2, profile.MaxRuns)).Seconds()
			p.Seconds[1] += profile.Turns(profile.MaxRuns).Seconds()
		}
	}
}

// carryOutProof runs the trials one after the other; one that fails ends it.
func (a *app) carryOutProof(ctx context.Context, p *prove.Prover, out tuneProofs, order bench.Order) (err error) {
	screen := benchScreen{app: a, began: time.Now()}
	order.Tell = screen.tell
	kept := 0
	for _, trial := range out.Trials {
		a.say("%s: %s on %s, by turns", trial.Rule, trial.Step, trial.Directory)
		var proof prove.Proof
		proof, err = p.Prove(ctx, trial, order)
		screen.end()
		out.Proofs = append(out.Proofs, proof)
		if proof.Kept {
			kept++
		}
		if err != nil {
			break
		}
	}
	if printErr := a.emit(out, out.writeText, a.cmd("tune")); printErr != nil {
		return errors.Join(err, printErr)
	}
	switch {
	case errors.Is(err, farm.ErrInterrupted):
		return &farm.Error{Op: "prove", Subject: out.Rule, Err: err, Hint: "the setting was put back; nothing was kept, so run it again"}
	case err != nil:
		return err
	case kept < len(out.Trials):
		return farm.ErrFindings
	}
	return nil
}
