package placement

import (
	"fmt"

	"stowage/farm"
	"stowage/placement/bound"
	"stowage/placement/pack"
)

// vbpEffort leaves half of ten seconds for the bound.
const vbpEffort = 0.3

// Pack packs a problem of alike bins as a farm is packed, and proves how good
// that is. It is how the solver is compared with public instances. searched and
// proved, asked now and then, end the search and the proof before they are
// through; what was found until then counts, and Solution.Stopped says so. Nil:
// never. Errors wrap farm.ErrInput.
func Pack(p pack.Problem, searched, proved func() bool) (pack.Solution, bound.Result, error) {
	asked := bound.Problem{}
	for _, t := range p.Types {
		asked.Bins = append(asked.Bins, bound.Bin{Room: t.Capacity, MaxItems: t.MaxItems})
	}
	kinds := map[string]int{}
	for _, it := range p.Items {
		key := fmt.Sprint(it.Demand)
		if k, ok := kinds[key]; ok {
			asked.Items[k].Count++
			continue
		}
		kinds[key] = len(asked.Items)
		asked.Items = append(asked.Items, bound.Item{Needs: it.Demand, Count: 1})
	}
	quick, err := bound.Lower(asked, bound.Bins, bound.Options{Stop: proved})
	if err != nil {
		return pack.Solution{}, quick, fmt.Errorf("%w: %w", farm.ErrInput, err)
	}
	answer, err := pack.Solve(p, pack.Options{Seed: 1, Effort: vbpEffort, LowerBound: quick.Bound, Stop: searched})
	if err != nil {
		return answer, quick, fmt.Errorf("%w: %w", farm.ErrInput, err)
	}
	if answer.Count == quick.Bound {
		return answer, quick, nil
	}
	better, err := bound.Lower(asked, bound.Bins, bound.Options{Effort: bound.Normal, Upper: answer.Count, Stop: proved})
	if err != nil || better.Bound < quick.Bound {
		return answer, quick, err
	}
	return answer, better, nil
}
