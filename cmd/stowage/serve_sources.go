package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"stowage/act"
	"stowage/digest"
	"stowage/farm"
	"stowage/placement"
	"stowage/report"
	"stowage/roll"
	"stowage/serve"
	"stowage/session"
	"stowage/store"
	"stowage/workspace"
)

// shelf is where the pages of serve have their facts from: the workspace, by the code of the verbs.
type shelf struct {
	app    app // says nothing on the terminal: what cannot be read is said on a page
	ws     *workspace.Workspace
	boards watchedBoards

	rolled roll.Watch

	farms   seen[*farm.Farm]
	plans   seen[serve.Plan]
	papers  seen[report.Piece]
	benches seen[serve.Bench]
	runways seen[serve.Shown]
	proms   seen[promAnswer]
	loads   seen[loadPages]
	windows seen[backupWindow]
	copies  seen[keptCopies]
	tenants seen[[]knownSpec]
	drawn   drawnPairs
	routed  keptTable
}

// serveSources are the facts of a workspace, for pages.
func (a *app) serveSources(ws *workspace.Workspace) serve.Sources {
	s := &shelf{app: *a, ws: ws}
	s.app.stderr, s.app.stdout = io.Discard, io.Discard
	s.app.heard = &s.proms
	s.proms.age, s.runways.age = forPages, forPages
	if a.agreed != nil {
		s.farms.put(a.agreed, ws.Path("farm.yaml"))
	}
	return serve.Sources{
		Farm: s.farm, Move: s.move, History: s.history, Topology: s.topology, Roll: s.rolls, Rolled: s.rolledHosts, Benches: s.allBenches, Bench: s.bench, Plans: s.allPlans, Plan: s.plan, PlanFacts: s.planFacts, Digests: s.digests, Proof: s.proof, Report: s.report, Metrics: s.metrics,
		Known: s.sources, Runway: s.runway, Load: s.load, Queries: s.queries, Findings: s.findings, Backups: s.backups, Reshape: s.reshapes,
		OverviewCommand: s.line("report"), BenchCommand: "ls " + shellWord(ws.Path("bench")),
	}
}

// line is a command line that works in any directory.
func (s *shelf) line(words ...string) string {
	return strings.Join(append([]string{"stowage -C", shellWord(s.ws.Dir)}, words...), " ")
}

// shellWord is a word as a shell takes it.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return strings.ContainsRune("/._-+,:=@#%", r) || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	if text != "" && strings.TrimFunc(text, plain) == "" && !strings.HasPrefix(text, "#") {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// desk opens the workspace for one look.
func (s *shelf) desk() (*session.Session, error) { return act.LookAt(s.ws, s.agreed) }

// agreed is farm.yaml, read again when it has changed: one of 100,000 shards takes seconds.
func (s *shelf) agreed() (*farm.Farm, error) {
	return s.farms.of(s.ws.Farm, s.ws.Path("farm.yaml"))
}

func (s *shelf) farm() (serve.Farm, error) {
	f, err := s.agreed()
	if err != nil {
		return serve.Farm{}, err
	}
	out := serve.Farm{Name: f.Name, Pairs: len(f.Pairs)}
	used := map[farm.HostName]bool{}
	for _, p := range f.Pairs {
		out.Shards += len(p.Shards)
		for _, side := range p.Sides {
			used[side.Host] = true
			out.Instances++
		}
	}
	out.Hosts, out.Spare = len(used), len(f.Hosts)-len(used)
	return out, nil
}

func (s *shelf) allPlans() ([]serve.Plan, error) {
	var out []serve.Plan
	for _, name := range s.ws.PlanNames() {
		p, err := s.planHead(name)
		var reading serve.BeingRead
		switch {
		case errors.As(err, &reading):
			p = serve.Plan{Name: name, BeingRead: reading.What}
		case err != nil:
			p = serve.Plan{Name: name, Fault: blame(err)}
		}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(x, y serve.Plan) int { return cmp.Compare(y.Made, x.Made) })
	return out, nil
}

// planHead is a plan for lists.
func (s *shelf) planHead(name string) (serve.Plan, error) {
	return s.plans.soon("plan "+name, func() (serve.Plan, error) {
		p, err := s.ws.Plan(name)
		return serve.Plan{Name: name, Made: p.Made, HostsBefore: p.HostsBefore, HostsUsed: p.HostsUsed, Moves: len(p.Moves), Watts: p.Watts, WattsBefore: p.WattsBefore}, err
	}, s.ws.Path("plans/"+name+".json"))
}

// blame is an error and its remedy in one line.
func blame(err error) string {
	if hint := farm.Hint(err); hint != "" {
		return fmt.Sprintf("%v (%s)", err, hint)
	}
	return err.Error()
}

func (s *shelf) plan(name string) (serve.Shown, error) {
	piece, err := s.papers.soon("plan "+name, func() (report.Piece, error) {
		p, err := s.ws.Plan(name)
		if err != nil {
			return report.Piece{}, err
		}
		f, err := s.agreed()
		if err != nil {
			return report.Piece{}, err
		}
		return planDocument(p, f).Piece()
	}, s.ws.Path("plans/"+name+".json"), s.ws.Path("farm.yaml"))
	return serve.Shown{Piece: piece, Command: s.line("plan show", shellWord(name)), Kicker: "Plan " + name}, err
}

// planFacts is the plan as plan show --json prints it.
func (s *shelf) planFacts(name string) (any, error) { return s.ws.Plan(name) }

func (s *shelf) digests() ([]serve.Kept, error) {
	d, err := s.desk()
	if err != nil {
		return nil, err
	}
	defer d.Close()
	docs, err := d.Store.Documents("digest")
	out := []serve.Kept{}
	for _, doc := range slices.Backward(docs) {
		if !slices.ContainsFunc(out, func(k serve.Kept) bool { return k.Name == doc.Name }) {
			out = append(out, serve.Kept{Name: doc.Name, Made: doc.Made})
		}
	}
	return out, err
}

func (s *shelf) proof() (serve.Shown, error) {
	d, err := s.desk()
	if err != nil {
		return serve.Shown{}, err
	}
	defer d.Close()
	facts := report.Facts{Farm: d.Farm.Name, Made: time.Now()}
	var shown serve.Shown
	var c digest.Comparison
	doc, err := d.Store.LatestDocument("comparison", "", &c)
	switch {
	case err == nil:
		facts.Compare, shown.JSON, shown.Command, shown.Kicker, shown.Note = &c, c, s.line("digest compare", doc.Name), "digest compare "+doc.Name, ownChanges(c)
	case !errors.Is(err, store.ErrNone):
		return shown, err
	}
	var ledger report.Proof
	switch _, err := d.Store.LatestDocument("proof", "", &ledger); {
	case err == nil:
		facts.Proof = &ledger
	case !errors.Is(err, store.ErrNone):
		return shown, err
	}
	shown.Piece, err = report.ProofPiece(facts)
	return shown, err
}

// ownChanges counts classes of a comparison by their own change.
func ownChanges(c digest.Comparison) string {
	n := map[digest.Verdict]int{}
	for _, class := range c.Classes {
		n[class.Verdict]++
	}
	var out []string
	for _, v := range []digest.Verdict{digest.VerdictSlower, digest.VerdictFaster, digest.VerdictUnchanged, digest.VerdictInconclusive, digest.VerdictNew, digest.VerdictGone} {
		if n[v] > 0 {
			out = append(out, fmt.Sprintf("%d %s", n[v], v))
		}
	}
	return "Classes by their own change: " + strings.Join(out, ", ") + "."
}

func (s *shelf) report(w io.Writer) error {
	d, err := s.desk()
	if err != nil {
		return err
	}
	defer d.Close()
	facts, err := s.app.reportFacts(context.Background(), d, nil)
	if err != nil {
		return err
	}
	return report.Write(w, facts)
}

// planDocument is what plan show --html writes.
func planDocument(p placement.Plan, now *farm.Farm) *report.PlanDocument {
	facts := report.PlanFacts{Plan: p, Now: now}
	if report.AsksFreeing(p) {
		facts.Freeing = append([]placement.Relaxation{}, placement.Freeing(report.PlannedFarm(facts), p)...)
	}
	return report.NewPlanDocument(facts)
}
