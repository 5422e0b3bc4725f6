package verify

import (
	"stowage/placement/bound"
)

// names are the fault domains; ok is false if some bins are in none.
func (j *judge) names() (names map[string]bool, ok bool) {
	names = map[string]bool{}
	for _, b := range j.p.Bins {
		if b.Domain == "" {
			return nil, false
		}
		names[b.Domain] = true
	}
	return names, true
}

// crowded: an item has more copies than all domains together may hold.
func (j *judge) crowded(c bound.Certificate) (int64, error) {
	names, ok := j.names()
	if !ok || !c.Infeasible || len(c.Items) != 1 || c.Items[0] < 0 || c.Items[0] >= len(j.p.Items) {
		return 0, wrong("it names items %v", c.Items)
	}
	it := j.p.Items[c.Items[0]]
	if it.PerDomain == 0 || int64(it.Count) <= int64(it.PerDomain)*int64(len(names)) {
		return 0, wrong("the domains hold all copies of item %d", c.Items[0])
	}
	return NoPacking, nil
}

// oversized: an item fits into no bin.
func (j *judge) oversized(c bound.Certificate) (int64, error) {
	if !c.Infeasible || len(c.Items) != 1 || c.Items[0] < 0 || c.Items[0] >= len(j.p.Items) {
		return 0, wrong("it names items %v", c.Items)
	}
	for t := range j.p.Bins {
		if j.atMost(c.Items[0], t) > 0 {
			return 0, wrong("item %d fits into bin %d", c.Items[0], t)
		}
	}
	return NoPacking, nil
}

// domains: each domain holds at least the copies that the others may not; no
// bin is in two domains, so what they need adds up.
func (j *judge) domains(c bound.Certificate) (int64, error) {
	names, ok := j.names()
	if !ok {
		return 0, wrong("some bins are in no domain")
	}
	seen := map[string]bool{}
	sum := int64(0)
	for _, part := range c.Domains {
		if !names[part.Domain] || seen[part.Domain] || part.Certificate.Kind == "domains" || part.Certificate.Objective != c.Objective {
			return 0, wrong("its part for domain %q", part.Domain)
		}
		seen[part.Domain] = true
		inner := &judge{p: j.forced(part.Domain, len(names)), steps: j.steps}
		if err := inner.sane(); err != nil {
			return 0, err
		}
		b, err := inner.certificate(part.Certificate)
		j.steps = inner.steps
		if err != nil {
			return 0, err
		}
		if b == NoPacking {
			if !c.Infeasible {
				continue // any bound holds, but this one does not count on it
			}
			return NoPacking, nil
		}
		if sum += b; sum < 0 {
			return 0, wrong("its parts add up to too much")
		}
	}
	if c.Infeasible || c.Bound > sum {
		return 0, wrong("its parts add up to %d", sum)
	}
	return c.Bound, nil
}

// forced is the problem of one of n domains.
func (j *judge) forced(domain string, n int) bound.Problem {
	var p bound.Problem
	for _, b := range j.p.Bins {
		if b.Domain == domain {
			p.Bins = append(p.Bins, b)
		}
	}
	where := map[int]int{}
	for i, it := range j.p.Items {
		others := it.PerDomain * (n - 1)
		if it.PerDomain == 0 || it.Count <= others {
			continue
		}
		it.Count -= others
		it.PerDomain = 0
		where[i] = len(p.Items)
		p.Items = append(p.Items, it)
	}
	for _, group := range j.p.Apart {
		var g []int
		for _, i := range group {
			if at, ok := where[i]; ok {
				g = append(g, at)
			}
		}
		p.Apart = append(p.Apart, g)
	}
	return p
}
