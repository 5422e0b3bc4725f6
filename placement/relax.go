package placement

import (
	"errors"
	"fmt"
	"math"

	"stowage/farm"
	"stowage/placement/bound"
)

// Relaxation is one change to farm or goals, and what it would bring.
type Relaxation struct {
	Change string `json:"change"`
	// Hosts a plan was found with after the change; 0: none was found.
	Hosts int `json:"hosts"`
	// Allowed is the smallest step of the change at which the bound no longer
	// forbids the target; empty: no step does. A plan may need more than that.
	Allowed string `json:"allowed_by_bound,omitempty"`

	turn func(f *farm.Farm, g *Goals)
}

// Apply is farm and goals with the change made; f is not changed.
func (r Relaxation) Apply(f *farm.Farm, g Goals) (*farm.Farm, Goals) {
	changed := f.Clone()
	if r.turn != nil {
		r.turn(changed, &g)
	}
	return changed, g
}

// knob is one thing that can be turned a step at a time.
type knob struct {
	of    farm.ResourceName // that there is more of; empty: something else
	words func(step int) string
	turn  func(step int, f *farm.Farm, g *Goals)
	steps int
}

// MostFreeing is up to how many pairs Freeing looks for anything: in larger
// farms each look takes too long.
const MostFreeing = 1000

// Freeing says what it would take to do with fewer hosts than plan p of farm f
// uses: the smallest change of each kind for which a plan was found, each
// found by solving the farm anew. Fewer means one, or a couple of hosts where
// sides are mirrored. More of what hosts have plenty of is not tried.
func Freeing(f *farm.Farm, p Plan) []Relaxation {
	if len(f.Pairs) > MostFreeing {
		return nil
	}
	asked := newProblem(f, p.Goals)
	target := p.HostsUsed - 1
	if target%2 == 1 && p.HostsUsed%2 == 0 && asked.notTwo == 0 {
		target-- // both sides of every pair are placed alike: hosts come in twos
	}
	var out []Relaxation
	if target < asked.fewest() {
		return out // the sides of a pair need two
	}
	scarce, open := p.scarce(), asked.allows(target)
	for _, k := range knobs(f, p.Goals) {
		if k.of != "" && !scarce[k.of] {
			continue
		}
		if r, ok := k.least(f, p.Goals, target, open); ok {
			out = append(out, r)
		}
	}
	return out
}

// plenty is the share of a resource that is in use, on all hosts together,
// below which more of it frees none.
const plenty = 0.7

// scarce are the resources of which hosts in use do not have plenty, after
// headroom.
func (p Plan) scarce() map[farm.ResourceName]bool {
	used, hosts := map[farm.ResourceName]float64{}, map[farm.ResourceName]float64{}
	out := map[farm.ResourceName]bool{}
	for _, h := range p.Hosts {
		for n, v := range h.Use {
			share := v / (1 - p.Goals.Headroom[n])
			used[n] += share
			hosts[n]++
			out[n] = out[n] || share > 1-1e-6 // one that is full holds up the others
		}
	}
	for n, sum := range used {
		out[n] = out[n] || sum > plenty*hosts[n]
	}
	return out
}

// Remedy is a change that makes an infeasible farm possible: the first kind of
// change that does, made as little as it can be. Large farms are not searched:
// each look takes seconds.
func Remedy(f *farm.Farm, g Goals) (Relaxation, bool) {
	if len(f.Pairs) > 500 {
		return Relaxation{}, false
	}
	for _, k := range append(knobs(f, g), moreHosts(f, g)...) {
		r, ok := k.least(f, g, math.MaxInt32, true)
		if !ok || r.Hosts == 0 {
			continue
		}
		if _, err := newProblem(r.Apply(f, g)).solve(); err == nil {
			return r, true
		}
	}
	return Relaxation{}, false
}

// knobs are what may be turned, in the order in which people would.
func knobs(f *farm.Farm, g Goals) []knob {
	var out []knob
	for _, n := range farm.Resources(g.Headroom).Names() {
		if h := g.Headroom[n]; h > 0 {
			out = append(out, knob{
				of: n, steps: int(math.Ceil(h * 100)),
				words: func(step int) string {
					return fmt.Sprintf("headroom of %s %.3g%% instead of %.3g%%", n, 100*max(0, h-float64(step)/100), 100*h)
				},
				turn: func(step int, _ *farm.Farm, g *Goals) {
					g.Headroom = cloneHeadroom(g.Headroom)
					g.Headroom[n] = max(0, h-float64(step)/100)
				},
			})
		}
	}
	for i, t := range f.HostTypes {
		if !g.packsOnto(t.Name) {
			continue
		}
		for _, n := range t.Capacity.Names() {
			c := t.Capacity[n]
			out = append(out, knob{
				of: n, steps: 50,
				words: func(step int) string {
					return fmt.Sprintf("%s more %s in every %s", farm.RoundQuantity(c*float64(step)/100, n.Kind()), n, t.Name)
				},
				turn: func(step int, f *farm.Farm, _ *Goals) {
					more := farm.Resources{}
					more.Add(f.HostTypes[i].Capacity)
					more[n] = c * (1 + float64(step)/100)
					f.HostTypes[i].Capacity = more
				},
			})
		}
		if t.MaxInstances > 0 {
			out = append(out, knob{
				steps: t.MaxInstances,
				words: func(step int) string {
					return fmt.Sprintf("%s on a %s instead of %d", farm.Counted(t.MaxInstances+step, "instance"), t.Name, t.MaxInstances)
				},
				turn: func(step int, f *farm.Farm, _ *Goals) { f.HostTypes[i].MaxInstances += step },
			})
		}
	}
	if days := g.RunwayDays; days > 0 {
		out = append(out, knob{
			steps: 20,
			words: func(step int) string {
				return fmt.Sprintf("a runway of %.0f days instead of %.0f", days*(1-float64(step)/20), days)
			},
			turn: func(step int, _ *farm.Farm, g *Goals) { g.RunwayDays = days * (1 - float64(step)/20) },
		})
	}
	return append(out, rules(f, g)...)
}

// rules are knobs with one step: a rule that is given up.
func rules(f *farm.Farm, g Goals) []knob {
	var out []knob
	give := func(text string, turn func(g *Goals)) {
		out = append(out, knob{steps: 1, words: func(int) string { return text }, turn: func(_ int, _ *farm.Farm, g *Goals) { turn(g) }})
	}
	if g.Unit != UnitShard && f.HasTwosOnly() { // the unit shard places no others
		give("placing single shards (unit: shard) instead of whole instances", func(g *Goals) { g.Unit = UnitShard })
	}
	for i, label := range g.SpreadLabels {
		give("letting the sides of a pair share a "+label, func(g *Goals) {
			g.SpreadLabels = append(append([]string(nil), g.SpreadLabels[:i]...), g.SpreadLabels[i+1:]...)
		})
	}
	for i, a := range g.Apart {
		give("not keeping group "+a.Name+" apart", func(g *Goals) { g.Apart = append(append([]Group(nil), g.Apart[:i]...), g.Apart[i+1:]...) })
	}
	for i, a := range g.Together {
		give("not keeping group "+a.Name+" together", func(g *Goals) { g.Together = append(append([]Group(nil), g.Together[:i]...), g.Together[i+1:]...) })
	}
	if g.Surface != (Surface{}) {
		give("no limit to what is behind one host (surface)", func(g *Goals) { g.Surface = Surface{} })
	}
	if len(g.Pins) > 0 {
		give("no pins", func(g *Goals) { g.Pins = nil })
	}
	if len(g.Forbids) > 0 {
		give("nothing forbidden", func(g *Goals) { g.Forbids = nil })
	}
	return out
}

// moreHosts is the knob that an infeasible farm has besides: hosts more.
func moreHosts(f *farm.Farm, g Goals) []knob {
	var out []knob
	for _, t := range f.HostTypes {
		if g.packsOnto(t.Name) {
			out = append(out, knob{
				steps: 64,
				words: func(step int) string { return farm.Counted(step, "more host") + " of type " + string(t.Name) },
				turn:  func(step int, f *farm.Farm, g *Goals) { g.Buy = buyMore(f, *g, t.Name, step) },
			})
		}
	}
	return out
}

// buyMore is what may be bought with more of one type, in the racks and on the
// feeds that there are.
func buyMore(f *farm.Farm, g Goals, t farm.HostTypeName, more int) []Purchase {
	out := append([]Purchase(nil), g.Buy...)
	for i := range out {
		if out[i].Type == t {
			out[i].Most += more
			return out
		}
	}
	p := Purchase{Type: t, Most: more}
	for _, label := range g.SpreadLabels {
		seen := map[string]bool{}
		for _, h := range f.Hosts {
			if v := h.Labels[label]; v != "" && !seen[v] {
				seen[v] = true
				if p.Labels == nil {
					p.Labels = map[string][]string{}
				}
				p.Labels[label] = append(p.Labels[label], v)
			}
		}
	}
	return append(out, p)
}

func cloneHeadroom(h map[farm.ResourceName]float64) map[farm.ResourceName]float64 {
	out := map[farm.ResourceName]float64{}
	for n, v := range h {
		out[n] = v
	}
	return out
}

// least turns the knob as little as it can for a plan with at most target
// hosts. The bound is asked first: it is quick, and what it forbids need not
// be searched.
//
// open says that the bound forbids nothing as it is: then only a plan that was
// found says anything.
func (k knob) least(f *farm.Farm, g Goals, target int, open bool) (Relaxation, bool) {
	at := func(step int) *problem {
		goals, changed := g, f.Clone()
		k.turn(step, changed, &goals)
		return newProblem(changed, goals)
	}
	allowed := firstStep(1, k.steps, func(step int) bool { return at(step).allows(target) })
	if allowed > k.steps {
		return Relaxation{}, false
	}
	hosts := map[int]int{}
	found := firstStep(allowed, k.steps, func(step int) bool {
		n, ok := at(step).within(target)
		hosts[step] = n
		return ok
	})
	if open && found > k.steps {
		return Relaxation{}, false
	}
	r := Relaxation{Allowed: k.words(allowed), Change: k.words(allowed), turn: k.at(allowed)}
	if found <= k.steps {
		r.Change, r.Hosts, r.turn = k.words(found), hosts[found], k.at(found)
	}
	return r, true
}

// at is the knob turned by so many steps.
func (k knob) at(step int) func(*farm.Farm, *Goals) {
	return func(f *farm.Farm, g *Goals) { k.turn(step, f, g) }
}

// firstStep is the first step from lo to hi at which ok holds, taking it to
// hold from there on; hi+1 when it does not hold at hi.
func firstStep(lo, hi int, ok func(int) bool) int {
	if lo > hi || !ok(hi) {
		return hi + 1
	}
	for lo < hi {
		if mid := (lo + hi) / 2; ok(mid) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// allows says whether the bound leaves room for a plan with so many hosts.
func (p *problem) allows(target int) bool {
	effort := bound.Quick
	if len(p.items) <= 400 {
		effort = bound.Normal
	}
	proof, err := p.prove(effort)
	return err == nil && proof.hosts.value <= min(target, len(p.hosts))
}

// within looks for a plan with at most so many hosts, with an order of moves
// that leads there.
func (p *problem) within(target int) (hosts int, ok bool) {
	q := *p
	q.goals.Minimise = []string{"hosts"}
	if len(p.items) > mostDirect {
		q.haste = 0.3
	}
	proof := proof{hosts: proved{value: min(target, len(p.hosts))}}
	l, err := q.place(proof)
	if err != nil || l.inUse() > target {
		return 0, false
	}
	plan, err := q.write(l, proof)
	if errors.Is(err, errNoOrder) {
		plan, ok = q.untangled(l, proof, err)
	} else {
		ok = err == nil
	}
	return plan.HostsUsed, ok && plan.HostsUsed <= target
}
