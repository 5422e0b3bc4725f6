package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stowage/bench"
	"stowage/bench/engine"
	"stowage/bench/engine/sheet"
	"stowage/farm"
	"stowage/host"
	"stowage/internal/table"
	"stowage/tune"
	"stowage/tune/fix"
	"stowage/tune/prove"
)

// tunedTable is what --prove all prints: this machine as it is against this machine as the
// rules would have it.
type tunedTable struct {
	FormatVersion int             `json:"format_version"`
	Host          string          `json:"host"`
	Act           string          `json:"act"` // "prove" or "dry-run"
	Rule          string          `json:"rule"`
	Directory     string          `json:"directory"`
	Disks         []string        `json:"disks"`
	Journal       string          `json:"journal"`
	Trials        []prove.Trial   `json:"trials"`   // each setting alone
	Together      []prove.Trial   `json:"together"` // all of them at once, by each step
	Proofs        []prove.Proof   `json:"proofs"`   // of trials, in their order
	Whole         []prove.Proof   `json:"whole"`    // of together, in their order
	LeftOut       []prove.LeftOut `json:"left_out"`
	Leftover      []fix.Result    `json:"leftover"` // put back first: of a proof that was killed
	PutBack       bool            `json:"put_back"` // all settings are as they were before; false in a dry run, too
}

// tuneProveAll measures each setting that the rules propose alone, then all of them
// together, and puts everything back.
func (a *app) tuneProveAll(c *cobra.Command, t *tuneFlags, given []string, order bench.Order) error {
	dir, err := directory(given, t.root)
	if err != nil {
		return err
	}
	if t.dryRun {
		out, err := a.planAll(c.Context(), t, dir)
		if err != nil {
			return err
		}
		return a.emit(out, out.writeText, a.forReal())
	}
	s, tree := a.tuneSettings(t)
	defer s.close()
	j, err := fix.Open(filepath.Join("/", tuneJournal))
	if err != nil {
		return err
	}
	defer j.Close()
	p := &prove.Prover{Journal: j, Settings: s, Now: bootOf(tree), Measure: bench.ByTurns, Serve: a.throwAway, PutBack: true, Border: a.at}
	left, err := p.Leftover(c.Context()) // before the rules look: they must not see what a killed proof has set
	if err != nil {
		return err
	}
	out, err := a.planAll(c.Context(), t, dir)
	if err != nil {
		return err
	}
	out.Leftover = append(out.Leftover, left...)
	return a.carryOutAll(c.Context(), p, out, order)
}

// planAll asks all rules about this machine, and about the storage of one directory in particular.
func (a *app) planAll(ctx context.Context, t *tuneFlags, dir string) (tunedTable, error) {
	out := tunedTable{FormatVersion: 1, Act: "prove", Rule: prove.All, Journal: filepath.Join(cmpRoot(t.root), tuneJournal), Disks: []string{},
		Trials: []prove.Trial{}, Together: []prove.Trial{}, Proofs: []prove.Proof{}, Whole: []prove.Proof{}, LeftOut: []prove.LeftOut{}, Leftover: []fix.Result{}}
	if t.dryRun {
		out.Act = "dry-run"
	}
	facts, err := a.facts(ctx, t)
	if err != nil {
		return out, err
	}
	out.Host = facts.Host
	if dir == "" {
		homes := facts.DataHomes()
		if len(homes) != 1 {
			return out, &farm.Error{Op: "prove", Subject: prove.All, Err: fmt.Errorf("%w: instances keep their data in %d places: %s", farm.ErrRefused, len(homes), farm.Some(homes)),
				Hint: "name a directory on the storage that is meant: stowage tune --prove all DIR"}
		}
		dir = homes[0]
	}
	if out.Directory = dir; len(facts.Below(dir)) == 0 {
		return out, &farm.Error{Op: "prove on", Subject: dir, Err: fmt.Errorf("%w: its disk is unknown", farm.ErrRefused), Hint: "findmnt -T " + dir + " says what it is on; name a directory on a disk of this machine"}
	}
	out.Disks = append(out.Disks, facts.Below(dir)...)
	facts.Claim(dir)
	if err := whole(facts, prove.All); err != nil {
		return out, err
	}
	_, noServer := host.FindPrograms()
	trials, together, left := prove.PlanAll(tune.Rules(), tune.Audit(facts, tune.Rules()).Findings, facts, dir, noServer == nil)
	out.Trials, out.Together, out.LeftOut = append(out.Trials, trials...), append(out.Together, together...), append(out.LeftOut, left...)
	return out, nil
}

// throwAway is a server of our own below a directory, for prove.Prover.Serve.
func (a *app) throwAway(ctx context.Context, dir string, options [2][]string, o bench.Order) (prove.Runner, error) {
	order, err := engine.NewOrder("quick", sheet.Engines)
	if err != nil {
		return nil, err
	}
	if order.Loads, err = sheet.ParseLoads([]string{"write"}); err != nil {
		return nil, err
	}
	order.Ratios, order.Seed, order.Version = []float64{4}, o.Seed, version // a quarter of the data in the pool: pages are read and flushed
	order.Runtime, order.Warmup = max(o.Profile.Runtime, time.Second), max(o.Profile.Runtime, time.Second)/2
	if o.Size > 0 {
		order.Rows = int(min(max(o.Size/(sheet.Tables*sheet.RowBytes)/2, 10_000), 100_000)) // an index, and what splits leave, take the other half
	}
	s, err := engine.Open(ctx, dir, order)
	if err != nil {
		return nil, err
	}
	return server{s, options}, nil
}

// server is a prove.Runner.
type server struct {
	*engine.Session
	options [2][]string
}

func (s server) Run(ctx context.Context, toB bool) (float64, error) {
	state := 0
	if toB {
		state = 1
	}
	sample, err := s.Session.Run(ctx, s.options[state])
	return max(sample.TPS, 1e-3), err
}

// carryOutAll runs all trials, one after the other; one that fails ends it.
func (a *app) carryOutAll(ctx context.Context, p *prove.Prover, out tunedTable, order bench.Order) error {
	screen := benchScreen{app: a, began: time.Now()}
	order.Tell = screen.tell
	run := func(trials []prove.Trial, into *[]prove.Proof) error {
		for _, t := range trials {
			a.say("%s: %s on %s, by turns", nameOf(t), t.Step, t.Directory)
			proof, err := p.Prove(ctx, t, order)
			screen.end()
			unfit := errors.Is(err, farm.ErrInput) || errors.Is(err, farm.ErrRefused)
			if unfit && !errors.Is(err, farm.ErrOutcomeUnknown) { // no space for a server: the others can be measured all the same
				proof.Why, err = errorsCause(err).Error(), nil
			}
			if err != nil && proof.Why == "" {
				proof.Why = errorsCause(err).Error()
			}
			*into = append(*into, proof)
			if err != nil {
				return err
			}
		}
		return nil
	}
	err := run(out.Trials, &out.Proofs)
	if err == nil {
		err = run(out.Together, &out.Whole)
	}
	out.PutBack = !errors.Is(err, farm.ErrOutcomeUnknown)
	if printErr := a.emit(out, out.writeText, a.cmd("tune")); printErr != nil {
		return errors.Join(err, printErr)
	}
	if errors.Is(err, farm.ErrInterrupted) {
		return &farm.Error{Op: "prove", Subject: prove.All, Err: err, Hint: "all settings were put back; run it again"}
	}
	return err
}

// nameOf says what a trial tries, for people.
func nameOf(t prove.Trial) string {
	if t.Rule == prove.All {
		return "all together"
	}
	c := append(append([]tune.Change{}, t.Options...), t.Changes...)[0]
	name := c.Setting()
	if c.Path != "" {
		name = strings.TrimSpace(c.Disk() + " " + filepath.Base(c.Path))
	}
	if len(t.Options) > 0 {
		name = c.Variable
	}
	from := c.From
	if from == "" {
		from = "(default)"
	}
	text := fmt.Sprintf("%s %s -> %s", name, from, c.To)
	if more := len(t.Changes) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func (v tunedTable) writeText(w io.Writer) error {
	for _, r := range v.Leftover {
		fmt.Fprintf(w, "%-12s  %s: %s -> %s, left by a proof that was killed\n", r.State, r.Setting(), r.To, r.From)
	}
	fmt.Fprintf(w, "%s: the settings as they are, against those that the rules propose, on %s (%s)\n", v.Host, v.Directory, strings.Join(v.Disks, ", "))
	if len(v.Trials) == 0 {
		fmt.Fprintln(w, "  nothing to try: no rule proposes a setting here that can be switched")
	} else {
		v.writeTable(w)
	}
	for _, l := range v.LeftOut {
		fmt.Fprintf(w, "left out: %s, %s: %s\n  -> %s\n", l.Rule, l.Subject, l.Why, l.Instead)
	}
	if !v.PutBack {
		return nil
	}
	fmt.Fprintln(w, "everything was put back; to keep one that helped: stowage tune --prove RULE, or --fix --rule RULE")
	return nil
}

func (v tunedTable) writeTable(w io.Writer) {
	t := table.New(w, "  rule\tsetting\tmeasured by\tas it is\tas proposed\ttimes\tverdict").Cut("setting", "verdict")
	rows := func(trials []prove.Trial, proofs []prove.Proof) {
		for i, x := range trials {
			if i >= len(proofs) || proofs[i].Compared == nil {
				why := ""
				if i < len(proofs) {
					why = ": " + proofs[i].Why
				}
				t.Row("  %s\t%s\t%s\t\t\t\tnot measured%s", x.Rule, nameOf(x), x.Step, why)
				continue
			}
			p := proofs[i]
			c := p.Compared
			t.Row("  %s\t%s\t%s\t%s\t%s\t%.2f%s\t%s", x.Rule, nameOf(x), x.Step, amountOf(c.A, p.Unit), amountOf(c.B, p.Unit), c.Ratio, within2(p), c.Verdict)
		}
	}
	rows(v.Trials, v.Proofs)
	rows(v.Together, v.Whole)
	_ = t.Flush() // w keeps its error
}

func within2(p prove.Proof) string {
	if p.Compared.CI == nil {
		return ""
	}
	return fmt.Sprintf(" (%.2f to %.2f), %s", p.Compared.CI.Low, p.Compared.CI.High, p.Runs())
}

func amountOf(n float64, unit string) string {
	if n < 10 {
		return fmt.Sprintf("%.1f %s", n, unit)
	}
	return fmt.Sprintf("%.0f %s", n, unit)
}
