package placement

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"stowage/farm"
	"stowage/placement/bound"
	"stowage/placement/pack"
)

// Solve plans the farm. Errors wrap farm.ErrInput when the farm or the goals
// make no sense, and farm.ErrRefused when no plan keeps all of the goals; that
// one says what is in the way and, where one was found, the smallest
// change that helps.
//
// The caller sets Name, Made and Seconds.
func Solve(f *farm.Farm, g Goals) (Plan, error) {
	if ps := append(f.Check(), g.Check(f)...); len(ps) > 0 {
		return Plan{}, &farm.Error{Op: "plan farm", Subject: f.Name, Err: fmt.Errorf("%w: %s", farm.ErrInput, ps[0])}
	}
	if err := twosOnly(f, g); err != nil {
		return Plan{}, err
	}
	p := newProblem(f, g)
	plan, err := p.solve()
	if err != nil {
		hint := "give more hosts of the types to pack onto, or ask for less headroom, in farm.yaml and goals.yaml"
		if r, found := Remedy(f, g); found {
			hint = "this would make it possible: " + r.Change
		}
		return Plan{}, &farm.Error{Op: "plan farm", Subject: f.Name, Err: err, Hint: hint}
	}
	plan.Other = otherUnit(f, g)
	return plan, nil
}

// twosOnly refuses what makes no sense where only pairs of two instances are
// placed: nothing else to place, and rules that speak of others.
func twosOnly(f *farm.Farm, g Goals) error {
	left := planned(f, g)
	if len(left.Pairs) == 0 && len(f.Pairs) > 0 {
		return &farm.Error{Op: "plan farm", Subject: f.Name, Err: fmt.Errorf("%w: there are no pairs of two instances", farm.ErrInput),
			Hint: "use the unit instance: it places single instances, and primaries with several replicas, as they are"}
	}
	if left == f {
		return nil
	}
	if ps := g.Check(left); len(ps) > 0 {
		return &farm.Error{Op: "plan farm", Subject: f.Name, Err: fmt.Errorf("%w: %s (of the pairs of two instances: the unit shard leaves others alone)", farm.ErrInput, ps[0])}
	}
	return nil
}

func (p *problem) solve() (Plan, error) {
	l, proof, err := p.find()
	if err != nil {
		return Plan{}, err
	}
	if err := p.improve(&proof, l); err != nil {
		return Plan{}, err
	}
	plan, err := p.write(l, proof)
	if errors.Is(err, errNoOrder) {
		if plan, ok := p.untangled(l, proof, err); ok {
			return plan, nil
		}
	}
	return plan, err
}

// find proves what no plan can do without and finds a place for everything.
func (p *problem) find() (*layout, proof, error) {
	effort := bound.Quick
	if len(p.items) <= 1000 {
		effort = bound.Normal
	}
	proof, err := p.prove(effort)
	if err == nil {
		err = p.tooFew(proof)
	}
	if err != nil {
		return nil, proof, err
	}
	l, err := p.place(proof)
	return l, proof, err
}

// place finds a place for everything, within the budget.
func (p *problem) place(proof proof) (*layout, error) {
	l, err := p.search(proof)
	if err != nil {
		return nil, err
	}
	return p.withinBudget(l, proof)
}

// search finds where everything goes. Two ways of asking are tried, see view,
// and the better answer by the goals is taken.
//
// The method, after measurements on farms of 60 to 96,000 items: fixing the
// number of hosts and spreading the load over them packs tighter than filling
// one host after another, because no single resource runs out early. See
// package pack.
func (p *problem) search(proof proof) (*layout, error) {
	best := p.staying()
	if best == nil && p.free() == 0 {
		return p.asFrozen(), nil
	}
	var furthest *layout
	for n, v := range p.views() {
		if best != nil && (best.reaches(proof) && best.value(pack.Moved) == 0 || n > 0 && len(p.items) > mostDirect) {
			break
		}
		l, err := v.search(proof)
		if err != nil {
			return nil, err
		}
		switch {
		case l.missing() >= 0:
			furthest = l
		case v.hopeful && l.broken() != "":
		case best == nil || l.better(best):
			best = l
		}
	}
	if l, err := p.odd(best, proof); err != nil || l != nil {
		return l, err
	}
	if best == nil {
		best = p.deal()
	}
	if best == nil {
		if furthest == nil {
			return nil, fmt.Errorf("%w: no two hosts to pack onto take new instances and are apart, as regrouping shards into new pairs needs", farm.ErrRefused)
		}
		return nil, furthest.explainMissing()
	}
	return best, nil
}

// mostDirect is up to how many items a mirrored answer is tried to be bettered.
const mostDirect = 400

func (p *problem) views() []*view {
	var out []*view
	m := p.mirror()
	if m != nil {
		out = append(out, m)
	}
	switch {
	case p.goals.Unit != UnitShard:
		out = append(out, p.direct())
	case m != nil && m.ownShare() != nil:
		hopeful := *m
		hopeful.hopeful = true
		out = append(out, &hopeful)
	}
	return out
}

func (v *view) search(proof proof) (*layout, error) {
	asked := v.packing()
	// Few items need little search; the rest of the effort would go into proving by hand what the bound says.
	effort := min(1, max(0.05, float64(len(v.items))/400))
	if v.haste > 0 {
		effort *= v.haste
	}
	o := pack.Options{Seed: 1, Effort: effort, LowerBound: v.lower(proof, asked.Objectives[0])}
	answer, err := pack.Solve(asked, o)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", farm.ErrInput, err)
	}
	if slices.Contains(v.goals.Minimise, "balance") && len(answer.Unplaced) == 0 {
		v.balance(answer.Where)
	}
	return v.layout(answer.Where), nil
}

// layout is what the bin by item of the view means for the farm.
func (v *view) layout(where []int) *layout {
	l := v.asFrozen()
	for n, i := range v.items {
		bin := where[n]
		if bin < 0 {
			continue
		}
		l.where[i] = v.bins[bin][0]
		if v.mirrored {
			l.where[i+1] = v.bins[bin][1]
		}
	}
	return l
}

// layout is where everything goes.
type layout struct {
	*problem
	where []int // host by item; -1: it found no place
}

// asFrozen is the layout of what is frozen, and nothing else.
func (p *problem) asFrozen() *layout {
	l := &layout{problem: p, where: make([]int, len(p.items))}
	for i := range l.where {
		if l.where[i] = -1; p.isFrozen(i) {
			l.where[i] = p.items[i].from
		}
	}
	return l
}

// free counts the items that are not frozen.
func (p *problem) free() int {
	n := 0
	for i := range p.items {
		if !p.isFrozen(i) {
			n++
		}
	}
	return n
}

// missing is the first item without a place, or -1.
func (l *layout) missing() int {
	for i, r := range l.where {
		if r < 0 {
			return i
		}
	}
	return -1
}

// used says which hosts hold something.
func (l *layout) used() []bool {
	out := make([]bool, len(l.hosts))
	for _, r := range l.where {
		if r >= 0 {
			out[r] = true
		}
	}
	return out
}

// inUse counts the hosts that hold something.
func (l *layout) inUse() int {
	n := 0
	for _, is := range l.used() {
		if is {
			n++
		}
	}
	return n
}

// value is what the layout has of an objective.
func (l *layout) value(o pack.Objective) float64 {
	v := 0.0
	if o == pack.Moved {
		for i, r := range l.where {
			if l.items[i].from >= 0 && l.items[i].from != r {
				v += float64(l.items[i].bytes)
			}
		}
		return v
	}
	for r, is := range l.used() {
		if !is {
			continue
		}
		switch o {
		case pack.Cost:
			v += l.hosts[r].typ.Price
		case pack.Watts:
			v += l.hosts[r].typ.Watts
		default:
			v++
		}
	}
	return v
}

// better compares by the goals' objectives in their order.
func (l *layout) better(than *layout) bool {
	for _, o := range l.objectives() {
		if a, b := l.value(o), than.value(o); math.Abs(a-b) > 1e-9*math.Max(a, b) {
			return a < b
		}
	}
	return false
}

// reaches says whether no plan can be better in the first objective.
func (l *layout) reaches(proof proof) bool {
	first := l.objectives()[0]
	return first != pack.Moved && l.units(first) <= proof.units(first)
}

// units is what the layout has of hosts, cost or watts, as bounds count them.
func (l *layout) units(o pack.Objective) int64 {
	v := int64(0)
	for r, is := range l.used() {
		switch {
		case !is:
		case o == pack.Cost:
			v += l.price.units(l.hosts[r].typ.Price)
		case o == pack.Watts:
			v += l.watts.units(l.hosts[r].typ.Watts)
		default:
			v++
		}
	}
	return v
}

// errNoOrder says that hosts wait for each other's room; errPorts and
// errServerIDs are the two numbers that can run out.
var (
	errNoOrder   = errors.New("no order of moves")
	errPorts     = errors.New("no free port up to 65535")
	errServerIDs = errors.New("no server_id left below 4294967296")
)
