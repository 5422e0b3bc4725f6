package bound

import (
	"fmt"
	"slices"
)

// domains splits a problem by fault domain. Where an item may not have all its
// copies in the other domains, what remains is forced into this one; the
// domains share no bins, so their bounds add up. There are no parts if bins
// without a domain could take everything, or if nothing is forced.
func (p Problem) domains() []domainPart {
	var names []string
	for _, b := range p.Bins {
		if b.Domain == "" {
			return nil
		}
		if !slices.Contains(names, b.Domain) {
			names = append(names, b.Domain)
		}
	}
	var parts []domainPart
	forced := false
	for _, name := range names {
		part := domainPart{name: name}
		for _, b := range p.Bins {
			if b.Domain == name {
				part.problem.Bins = append(part.problem.Bins, b)
			}
		}
		number := map[int]int{}
		for i, it := range p.Items {
			if it.PerDomain == 0 {
				continue
			}
			elsewhere := int64(it.PerDomain) * int64(len(names)-1)
			count := int64(it.Count) - elsewhere
			if count <= 0 {
				continue
			}
			if count > int64(it.PerDomain) {
				part.crowded = append(part.crowded, i)
			}
			it.Count = int(count)
			it.PerDomain = 0
			number[i] = len(part.problem.Items)
			part.problem.Items = append(part.problem.Items, it)
			forced = true
		}
		for _, group := range p.Apart {
			var g []int
			for _, i := range group {
				if k, ok := number[i]; ok {
					g = append(g, k)
				}
			}
			if len(g) > 0 {
				part.problem.Apart = append(part.problem.Apart, g)
			}
		}
		parts = append(parts, part)
	}
	if !forced {
		return nil
	}
	return parts
}

type domainPart struct {
	name    string
	problem Problem
	crowded []int // items with more copies than all domains may hold
}

func sumOfDomains(parts []domainPart, o Objective, opt Options) Result {
	sum := Result{Settled: true, Certificate: Certificate{Kind: "domains", Claim: "what each fault domain must hold, added up"}}
	for k, part := range parts {
		if len(part.crowded) > 0 {
			c := Certificate{Kind: "crowded", Items: part.crowded[:1], Claim: fmt.Sprintf("no packing exists: item %d has more copies than the domains may hold", part.crowded[0])}
			return Result{Infeasible: true, Certificate: c}
		}
		for i, it := range part.problem.Items {
			if !part.problem.fitsSomewhere(it) {
				c := Certificate{Kind: "oversized", Items: []int{i}, Infeasible: true, Objective: o, Claim: fmt.Sprintf("item %d of the domain fits into none of its bins", i)}
				return Result{Infeasible: true, Certificate: Certificate{Kind: "domains", Claim: "no packing exists: " + part.name + " cannot hold what it must", Domains: []DomainPart{{part.name, c}}}}
			}
		}
		o2 := opt
		o2.Upper = 0
		w := &meter{limit: work[opt.Effort] / int64(len(parts)), stop: opt.Stop}
		var r Result
		if same := slices.IndexFunc(parts[:k], func(q domainPart) bool { return q.alike(part) }); same >= 0 && same < len(sum.Certificate.Domains) {
			c := sum.Certificate.Domains[same].Certificate
			r = Result{Bound: c.Bound, Infeasible: c.Infeasible, Certificate: c, Settled: sum.Settled}
		} else {
			r = lower(part.problem, o, o2, w)
			r.Certificate.Objective, r.Certificate.Bound, r.Certificate.Infeasible = o, r.Bound, r.Infeasible
		}
		sum.Settled = sum.Settled && r.Settled
		sum.Bound += r.Bound
		sum.Certificate.Domains = append(sum.Certificate.Domains, DomainPart{part.name, r.Certificate})
		if r.Infeasible {
			sum.Infeasible = true
			sum.Certificate.Domains = []DomainPart{{part.name, r.Certificate}}
			sum.Certificate.Claim = "no packing exists: " + part.name + " cannot hold what it must"
			return sum
		}
	}
	return sum
}

// alike reports whether two domains pose the same problem.
func (a domainPart) alike(b domainPart) bool {
	return slices.EqualFunc(a.problem.Items, b.problem.Items, func(x, y Item) bool {
		return slices.Equal(x.Needs, y.Needs) && x.Count == y.Count && x.PerBin == y.PerBin
	}) && slices.EqualFunc(a.problem.Bins, b.problem.Bins, func(x, y Bin) bool {
		return slices.Equal(x.Room, y.Room) && x.MaxItems == y.MaxItems && x.Cost == y.Cost && x.Watts == y.Watts && x.Available == y.Available
	}) && slices.EqualFunc(a.problem.Apart, b.problem.Apart, slices.Equal)
}
