package placement

import (
	"fmt"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/placement/bound"
	"stowage/placement/pack"
)

// bounding is the problem for package bound: items and hosts by kind, twins
// on different hosts, as often as they are. Labels, groups and pins are left out, so what holds for
// it holds for the problem with them. Hosts not packed onto are left out with
// what is frozen on them, see elsewhere; what is frozen on another host and
// too much for it is one item that fills it, because nothing else goes there.
// New instances count with what they need at least.
func (p *problem) bounding() bound.Problem {
	out := bound.Problem{}
	kinds := map[string]int{}
	add := func(i int, needs []int64, copies int) {
		key := vectorKey(needs)
		k, known := kinds[key]
		if !known {
			k = len(out.Items)
			kinds[key] = k
			out.Items = append(out.Items, bound.Item{Name: p.name(i), Needs: needs})
		}
		out.Items[k].Count += copies
		out.Items[k].PerBin = 0
		if !known && copies > 1 {
			out.Items[k].PerBin = 1
		}
	}
	own := p.leastOwn()
	for thing, i := range p.first {
		_, end := p.sides(thing)
		copies := end - i
		for k := i; k < end; k++ {
			if r := p.items[k].from; p.isFrozen(k) && (p.hosts[r].outside || p.hosts[r].full) {
				copies--
			}
		}
		if copies == 0 {
			continue
		}
		needs := p.items[i].needs
		switch {
		case p.items[i].shard >= 0 && own != nil:
			needs = sum(needs, own, 1)
		case p.goals.Unit == UnitShard && p.items[i].shard < 0 && p.goals.ShardsPerInstance == 0:
			needs = sum(needs, p.own, -1) // it is taken off the host
		}
		add(i, needs, copies)
	}
	shapes := map[string]int{}
	for _, r := range p.hosts {
		if r.outside {
			continue
		}
		key := r.shape()
		if k, ok := shapes[key]; ok {
			out.Bins[k].Available++
			continue
		}
		shapes[key] = len(out.Bins)
		out.Bins = append(out.Bins, bound.Bin{
			Name: key, Room: p.limitForBound(r), MaxItems: p.mostForBound(r), Available: 1, Cost: p.price.units(r.typ.Price), Watts: p.watts.units(r.typ.Watts),
		})
	}
	filled := map[int]bool{}
	for i, it := range p.items {
		if r := it.from; p.isFrozen(i) && p.hosts[r].full && !p.hosts[r].outside && !filled[r] {
			filled[r] = true
			add(i, p.clipped(r), 1)
		}
	}
	if len(p.dims) == 0 { // nothing is limited but the number of instances
		for i := range out.Items {
			out.Items[i].Needs = []int64{0}
		}
		for b := range out.Bins {
			out.Bins[b].Room = []int64{0}
		}
	}
	return out
}

// leastOwn is what a shard needs at least for the instance it will be in.
func (p *problem) leastOwn() []int64 {
	return (&view{problem: p, hopeful: true}).ownShare()
}

func sum(a, b []int64, sign int64) []int64 {
	out := make([]int64, len(a))
	for d := range a {
		out[d] = max(0, a[d]+sign*b[d])
	}
	return out
}

// limitForBound is what a host offers at most.
func (p *problem) limitForBound(r host) []int64 {
	if p.goals.Unit != UnitShard || p.goals.ShardsPerInstance > 0 {
		return r.limit
	}
	out := make([]int64, len(r.limit))
	for d, v := range r.limit {
		if out[d] = v; v != NoLimit {
			out[d] = max(0, v-p.own[d])
		}
	}
	return out
}

func (p *problem) mostForBound(r host) int {
	if p.goals.Unit != UnitShard {
		return r.most
	}
	return r.most * p.goals.ShardsPerInstance
}

// clipped is what a host offers at most, or what is frozen on it where that is
// less.
func (p *problem) clipped(r int) []int64 {
	out := append([]int64(nil), p.limitForBound(p.hosts[r])...)
	for d, v := range p.hosts[r].frozen.needs {
		out[d] = min(out[d], v)
	}
	return out
}

// elsewhere is the hosts not packed onto, which are in use whatever the plan.
func (p *problem) elsewhere() (hosts int, cost, watts int64) {
	for _, r := range p.hosts {
		if r.outside {
			hosts++
			cost += p.price.units(r.typ.Price)
			watts += p.watts.units(r.typ.Watts)
		}
	}
	return hosts, cost, watts
}

// method says in words what a certificate rests on.
func (p *problem) method(c bound.Certificate, items []bound.Item) string {
	switch {
	case c.Kind == "domains":
		return "what each fault domain must hold, added up"
	case len(c.Cuts) > 1:
		words := make([]string, len(c.Cuts))
		for i, cut := range c.Cuts {
			words[i] = p.cutWords(cut, items)
		}
		return "cheapest mix of host types for " + strings.Join(words, " and ")
	case len(c.Cuts) == 1:
		return p.cutWords(c.Cuts[0], items)
	}
	return c.Claim
}

func (p *problem) cutWords(c bound.Cut, items []bound.Item) string {
	sizes := p.sizes(c.Factors)
	switch c.Kind {
	case bound.Sum:
		return "volume of " + sizes
	case bound.Shape:
		return "sizes of " + sizes + ": large ones cannot share a host better (dual feasible function)"
	case bound.Clique:
		return fmt.Sprintf("%d; no two of them fit on one host", len(c.Items))
	case bound.Copies:
		return fmt.Sprintf("few of the size of %s fit on one host", items[c.Items[0]].Name)
	}
	return "no content of a host is worth more (dual of the configuration LP)"
}

// sizes names what factors add up.
func (p *problem) sizes(factors []int64) string {
	var names []string
	for k, f := range factors {
		if f == 0 {
			continue
		}
		name := MaxInstances
		if k < len(p.dims) {
			name = string(p.dims[k].resource)
			if h := p.dims[k].hour; h >= 0 {
				name = fmt.Sprintf("%s at %02d:00", name, h)
			}
		}
		names = append(names, name)
	}
	return strings.Join(names, " and ")
}

// proof is what is known of how good a plan can be.
type proof struct {
	hosts        proved
	cost, watts  int64 // in units of their grain; 0: none
	certificates []bound.Certificate
}

type proved struct {
	value  int
	method string
}

// prove bounds the hosts, and what else host types are weighed by.
func (p *problem) prove(effort bound.Effort) (proof, error) {
	hosts, cost, watts := p.elsewhere()
	if len(p.items) == 0 {
		return proof{hosts: proved{0, "nothing to place"}}, nil
	}
	if len(p.hosts) == hosts && p.free() > 0 {
		return proof{}, p.noRooms()
	}
	if p.free() == 0 && len(p.bounding().Items) == 0 {
		return proof{hosts: proved{hosts, "everything is frozen"}, cost: cost, watts: watts}, nil
	}
	if text := p.tooLarge(); text != "" {
		return proof{}, fmt.Errorf("%w: %s", farm.ErrRefused, text)
	}
	out := proof{}
	for _, o := range p.boundedObjectives() {
		if err := p.proveOne(&out, o, bound.Options{Effort: effort}); err != nil {
			return out, err
		}
	}
	return out, nil
}

// proveOne bounds one objective and keeps the better of what was known and
// what was found.
func (p *problem) proveOne(out *proof, o bound.Objective, how bound.Options) error {
	asked := p.bounding()
	hosts, cost, watts := p.elsewhere()
	if how.Upper > 0 {
		how.Upper = max(1, how.Upper-map[bound.Objective]int64{bound.Bins: int64(hosts), bound.Cost: cost, bound.Watts: watts}[o])
	}
	r, err := bound.Lower(asked, o, how)
	if err != nil {
		return fmt.Errorf("%w: %w", farm.ErrInput, err)
	}
	if r.Infeasible {
		out.hosts = proved{len(p.hosts) + 1, p.method(r.Certificate, asked.Items)}
		return nil
	}
	switch o {
	case bound.Bins:
		out.hosts = proved{int(r.Bound) + hosts, p.method(r.Certificate, asked.Items)}
		switch least := p.fewest(); {
		case least == 2 && out.hosts.value <= 2:
			out.hosts = proved{2, "the two sides of a pair must be on different hosts"}
		case out.hosts.value < least && least == 1:
			out.hosts = proved{least, "there is something to place"}
		case out.hosts.value < least:
			out.hosts = proved{least, fmt.Sprintf("the %s of a pair must be on different hosts", farm.Counted(least, "side"))}
		}
	case bound.Cost:
		out.cost = r.Bound + cost
	case bound.Watts:
		out.watts = r.Bound + watts
	}
	out.certificates = slices.DeleteFunc(out.certificates, func(c bound.Certificate) bool { return c.Objective == o })
	out.certificates = append(out.certificates, r.Certificate)
	return nil
}

// improve looks longer for a bound of the first objective, now that a plan is
// known which may already be the best.
func (p *problem) improve(out *proof, l *layout) error {
	first := p.objectives()[0]
	used := l.inUse()
	if first == pack.Moved || l.reaches(*out) || len(p.items) > mostPerRoom*used {
		return nil
	}
	o := map[pack.Objective]bound.Objective{pack.Count: bound.Bins, pack.Cost: bound.Cost, pack.Watts: bound.Watts}[first]
	return p.proveOne(out, o, bound.Options{Effort: bound.Normal, Upper: l.units(first)})
}

// mostPerRoom is up to how many items on a host a better bound than sums is
// looked for: with more, hosts fill up whatever the sizes, and sums are as good.
const mostPerRoom = 20

// boundedObjectives are hosts, and cost and watts where host types have any.
func (p *problem) boundedObjectives() []bound.Objective {
	out := []bound.Objective{bound.Bins}
	price, watts := false, false
	for _, r := range p.hosts {
		price, watts = price || r.typ.Price > 0, watts || r.typ.Watts > 0
	}
	if price {
		out = append(out, bound.Cost)
	}
	if watts {
		out = append(out, bound.Watts)
	}
	return out
}

// lower is the bound of an objective, in units of package pack; a mirrored
// view counts couples.
func (v *view) lower(p proof, o pack.Objective) int64 {
	mirrored := v.mirrored
	if mirrored && len(v.frozen) > 0 {
		return 0 // hosts that are in use anyway are not distinguished
	}
	switch o {
	case pack.Count:
		if mirrored {
			return int64(p.hosts.value+1) / 2
		}
		return int64(p.hosts.value)
	case pack.Cost:
		return p.cost
	case pack.Watts:
		return p.watts
	}
	return 0
}

// units is the bound of an objective, as a layout counts it.
func (p proof) units(o pack.Objective) int64 {
	switch o {
	case pack.Count:
		return int64(p.hosts.value)
	case pack.Cost:
		return p.cost
	case pack.Watts:
		return p.watts
	}
	return 0
}
