package placement

import "stowage/placement/pack"

// Couples of hosts come in twos, and what is needed at least may be odd. Three
// hosts of which any two may hold the sides of a pair do the work of one and a
// half couples: each is in two couples, and gives half of what it has to each.

// mostOdd is up to how many items an odd number of hosts is tried.
const mostOdd = 40_000

// odd is a layout of shards on as many hosts as the bound says, where that is
// odd and the best is one host more; nil where none was found.
func (p *problem) odd(best *layout, proof proof) (*layout, error) {
	target := proof.hosts.value
	if best == nil || p.goals.Unit != UnitShard || best.inUse() != target+1 || target%2 == 0 || target < 3 || len(p.items) > mostOdd {
		return nil, nil
	}
	if p.objectives()[0] != pack.Count || p.goals.ShardsPerInstance > 0 || len(p.frozen)+len(p.bars)+len(p.goals.Together)+len(p.goals.Apart) > 0 {
		return nil, nil // where couples are chosen by rules they are not shared
	}
	v := p.mirror()
	if v == nil || len(v.bins) < (target+1)/2 {
		return nil, nil
	}
	v.bins = v.bins[:(target+1)/2]
	three := p.triangle(v.bins[len(v.bins)-2], v.bins[len(v.bins)-1])
	if three == nil {
		return nil, nil
	}
	v.bins = append(v.bins[:len(v.bins)-2:len(v.bins)-2], three...)
	v.halves = len(three)
	l, err := v.search(proof)
	if err != nil || l.broken() != "" || l.inUse() > target {
		return nil, err
	}
	return l, nil
}

// triangle is three couples of three of the four hosts of two couples.
func (p *problem) triangle(x, y []int) [][]int {
	hosts := append(append([]int(nil), x...), y...)
	for without := range hosts {
		var three []int
		for i, r := range hosts {
			if i != without && (p.hosts[r].most == 0 || p.hosts[r].most > 1) {
				three = append(three, r)
			}
		}
		if len(three) == 3 && p.clash(three[0], three[1]) == "" && p.clash(three[1], three[2]) == "" && p.clash(three[0], three[2]) == "" {
			return [][]int{{three[0], three[1]}, {three[1], three[2]}, {three[2], three[0]}}
		}
	}
	return nil
}
