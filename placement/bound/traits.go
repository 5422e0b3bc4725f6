package bound

import "slices"

// grouped makes formulas for items in groups of similar size: within a group
// an item is worth a constant plus a multiple of its size in each dimension
// that matters.
func grouped(m *model, size func(i, k int) float64, order []int32, groups int, dims []int) traits {
	t := traits{of: make([][]trait, m.n)}
	n := len(order)
	for g := range groups {
		from, to := g*n/groups, (g+1)*n/groups
		if from == to {
			continue
		}
		base := int32(len(t.rows))
		t.rows = append(t.rows, exactly)
		for range dims {
			t.rows = append(t.rows, exactly)
		}
		for _, i := range order[from:to] {
			t.of[i] = append(t.of[i], trait{base, 1})
			for k, dim := range dims {
				t.of[i] = append(t.of[i], trait{base + 1 + int32(k), size(int(i), dim)})
			}
		}
	}
	return t
}

// bySize lists the items, smallest first.
func bySize(n int, size func(i int) float64) []int32 {
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		x, y := size(int(a)), size(int(b))
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		default:
			return 0
		}
	})
	return order
}
