package pack

import (
	"fmt"
	"slices"
)

// judge checks a solution against the problem as it was put, and shares no
// code with the solver. It returns the first fault, or "".
func judge(p Problem, s Solution) string {
	if len(s.Where) != len(p.Items) {
		return fmt.Sprintf("%d places for %d items", len(s.Where), len(p.Items))
	}
	opened := make([]int, len(p.Types))
	for b, o := range s.Bins {
		if b < len(p.Bins) {
			if o.Bin != At(b) || o.Type != p.Bins[b].Type {
				return fmt.Sprintf("bin %d is not bin %d of the problem", b, b)
			}
		} else if opened[o.Type]++; o.Bin != Nowhere || p.Types[o.Type].Limit >= 0 && opened[o.Type] > p.Types[o.Type].Limit {
			return fmt.Sprintf("bin %d: one too many of type %d", b, o.Type)
		}
	}
	if len(s.Bins) < len(p.Bins) {
		return "bins are missing"
	}
	in := make([][]int, len(s.Bins))
	for i, b := range s.Where {
		if b >= 0 {
			in[b] = append(in[b], i)
		}
	}
	for b := range s.Bins {
		if fault := judgeBin(p, s, b, in[b]); fault != "" {
			return fmt.Sprintf("bin %d: %s", b, fault)
		}
	}
	var lost []int
	for i, b := range s.Where {
		if b < 0 {
			lost = append(lost, i)
		}
		if fault := judgeItem(p, s, i); fault != "" {
			return fmt.Sprintf("item %d: %s", i, fault)
		}
	}
	if !slices.Equal(lost, s.Unplaced) {
		return fmt.Sprintf("unplaced are %v, not %v", lost, s.Unplaced)
	}
	for n, set := range p.Together {
		for _, i := range set {
			if s.Where[i] != s.Where[set[0]] {
				return fmt.Sprintf("together %d is torn", n)
			}
		}
	}
	for n, g := range p.Groups {
		if fault := judgeGroup(p, s, g); fault != "" {
			return fmt.Sprintf("group %d: %s", n, fault)
		}
	}
	return judgeTotals(p, s)
}

func judgeBin(p Problem, s Solution, b int, in []int) string {
	typ := p.Types[s.Bins[b].Type]
	load, frozen := make([]int64, len(typ.Capacity)), make([]int64, len(typ.Capacity))
	items, frozenItems := 0, 0
	for _, i := range in {
		items++
		if p.Items[i].Frozen {
			frozenItems++
		}
		for d, v := range p.Items[i].Demand {
			load[d] += v
			if p.Items[i].Frozen {
				frozen[d] += v
			}
		}
	}
	for d := range load {
		used := int64(0)
		if b < len(p.Bins) && p.Bins[b].Used != nil {
			used = p.Bins[b].Used[d]
		}
		if load[d] > frozen[d] && used+load[d] > typ.Capacity[d] {
			return fmt.Sprintf("dimension %d holds %d of %d", d, used+load[d], typ.Capacity[d])
		}
	}
	if typ.MaxItems > 0 && items > frozenItems && items > typ.MaxItems {
		return fmt.Sprintf("%d items, at most %d", items, typ.MaxItems)
	}
	isUsed := items > 0
	if b < len(p.Bins) {
		isUsed = isUsed || p.Bins[b].Held || slices.ContainsFunc(p.Bins[b].Used, func(v int64) bool { return v > 0 })
		for i := 0; i < len(p.Items) && !isUsed; i++ {
			isUsed = isUsed || p.Items[i].Pin == At(b) || p.Items[i].Frozen && p.Items[i].Home == At(b)
		}
	}
	if isUsed != s.Bins[b].Used {
		return fmt.Sprintf("used is %v, want %v", s.Bins[b].Used, isUsed)
	}
	return ""
}

func judgeItem(p Problem, s Solution, i int) string {
	it, b := p.Items[i], s.Where[i]
	if it.Frozen {
		if At(b) != it.Home {
			return "frozen, and not at home"
		}
		return ""
	}
	if b < 0 {
		return ""
	}
	switch {
	case it.Pin != Nowhere && it.Pin != At(b):
		return "not where it is pinned"
	case slices.Contains(it.NotTypes, s.Bins[b].Type):
		return "in a forbidden type"
	case b >= len(p.Bins):
		return ""
	case slices.Contains(it.NotBins, b):
		return "in a forbidden bin"
	case p.Bins[b].Drained:
		return "in a drained bin"
	case p.Bins[b].Closed && it.Home != At(b):
		return "new in a closed bin"
	}
	return ""
}

// judgeGroup counts members that could be elsewhere only where one of them is
// not frozen: frozen items are facts.
func judgeGroup(p Problem, s Solution, g Group) string {
	count, free := map[int]int{}, map[int]bool{}
	for _, i := range g.Items {
		b := s.Where[i]
		if b < 0 {
			continue
		}
		value := b
		if g.Domain != Each {
			kind := int(g.Domain) - 1
			if b >= len(p.Bins) || kind >= len(p.Bins[b].Labels) || p.Bins[b].Labels[kind] < 0 {
				continue
			}
			value = p.Bins[b].Labels[kind]
		}
		count[value]++
		free[value] = free[value] || !p.Items[i].Frozen
	}
	for v, n := range count {
		if n > g.Max && free[v] {
			return fmt.Sprintf("%d share %d, at most %d may", n, v, g.Max)
		}
	}
	return ""
}

func judgeTotals(p Problem, s Solution) string {
	var want Solution
	for _, o := range s.Bins {
		if o.Used {
			want.Count++
			want.Cost += p.Types[o.Type].Cost
			want.Watts += p.Types[o.Type].Watts
		}
	}
	for i, it := range p.Items {
		if it.Home != Nowhere && it.Home != At(s.Where[i]) {
			want.Moved += it.MoveCost
			want.Moves++
		}
	}
	if s.Count != want.Count || s.Cost != want.Cost || s.Watts != want.Watts || s.Moved != want.Moved || s.Moves != want.Moves {
		return fmt.Sprintf("totals %d %d %d %d %d, want %d %d %d %d %d", s.Count, s.Cost, s.Watts, s.Moved, s.Moves,
			want.Count, want.Cost, want.Watts, want.Moved, want.Moves)
	}
	return ""
}
