package pack

import (
	"errors"
	"fmt"
)

// ErrProblem is wrapped by every error of Solve: the problem contradicts
// itself or is out of range. That not everything finds a place is no error.
var ErrProblem = errors.New("not a packing problem")

// maxTotal bounds sums: below it every sum of demands is exact in a float64,
// which is what the search adds up in.
const maxTotal = 1 << 53

// maxTypes is the width of the bit set of types an item may go to.
const maxTypes = 64

// maxDims bounds the length of vectors: 5 resources over a day of quarter
// hours still fit.
const maxDims = 1000

// Check reports the first thing wrong with the problem, or nil. Errors wrap
// ErrProblem.
func (p *Problem) Check() error {
	for _, check := range []func() error{p.checkTypes, p.checkBins, p.checkItems, p.checkGroups, p.checkTotals} {
		if err := check(); err != nil {
			return fmt.Errorf("check %w: %w", ErrProblem, err)
		}
	}
	return nil
}

// dims is the length of all vectors, or -1 when there is none to ask.
func (p *Problem) dims() int {
	if len(p.Types) > 0 {
		return len(p.Types[0].Capacity)
	}
	return -1
}

func (p *Problem) checkTypes() error {
	if len(p.Types) > maxTypes {
		return fmt.Errorf("%d types of bin, at most %d are possible", len(p.Types), maxTypes)
	}
	if p.dims() > maxDims {
		return fmt.Errorf("%d dimensions, at most %d are possible", p.dims(), maxDims)
	}
	for t, typ := range p.Types {
		if err := checkVector(typ.Capacity, p.dims()); err != nil {
			return fmt.Errorf("type %d: capacity %w", t, err)
		}
		if typ.Cost < 0 || typ.Watts < 0 || typ.MaxItems < 0 {
			return fmt.Errorf("type %d: negative cost, watts or number of items", t)
		}
		if max(typ.Cost, typ.Watts) > 1<<40 {
			return fmt.Errorf("type %d: cost or watts above %d", t, int64(1)<<40)
		}
	}
	return nil
}

func checkVector(v []int64, dims int) error {
	if len(v) != dims {
		return fmt.Errorf("has %d dimensions, type 0 has %d", len(v), dims)
	}
	for d, x := range v {
		if x < 0 {
			return fmt.Errorf("%d of dimension %d is negative", x, d)
		}
	}
	return nil
}

func (p *Problem) checkBins() error {
	for b, bin := range p.Bins {
		if bin.Type < 0 || bin.Type >= len(p.Types) {
			return fmt.Errorf("bin %d: no type %d", b, bin.Type)
		}
		if bin.Used != nil {
			if err := checkVector(bin.Used, p.dims()); err != nil {
				return fmt.Errorf("bin %d: content %w", b, err)
			}
		}
	}
	return nil
}

func (p *Problem) checkItems() error {
	if len(p.Items) > 0 && len(p.Types) == 0 {
		return errors.New("items, and no type of bin")
	}
	for i := range p.Items {
		if err := p.checkItem(&p.Items[i]); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
	}
	seen := map[int]bool{}
	for n, set := range p.Together {
		for _, i := range set {
			if i < 0 || i >= len(p.Items) {
				return fmt.Errorf("together %d: no item %d", n, i)
			}
			if seen[i] {
				return fmt.Errorf("together %d: item %d is in two sets, or twice in one", n, i)
			}
			seen[i] = true
			if first := set[0]; p.Items[i].Frozen != p.Items[first].Frozen || p.Items[i].Frozen && p.Items[i].Home != p.Items[first].Home {
				return fmt.Errorf("together %d: items %d and %d are not frozen in one place", n, first, i)
			}
		}
	}
	return nil
}

func (p *Problem) checkItem(it *Item) error {
	if err := checkVector(it.Demand, p.dims()); err != nil {
		return fmt.Errorf("demand %w", err)
	}
	home, settled := it.Home.Bin()
	pin, pinned := it.Pin.Bin()
	switch {
	case it.Home < 0 || settled && home >= len(p.Bins):
		return fmt.Errorf("home: no bin %d", home)
	case it.Pin < 0 || pinned && pin >= len(p.Bins):
		return fmt.Errorf("pin: no bin %d", pin)
	case it.MoveCost < 0 || it.MoveCost > maxTotal:
		return fmt.Errorf("cost to move %d is out of range", it.MoveCost)
	case it.Frozen && !settled:
		return errors.New("frozen, and without a home")
	case it.Frozen && pinned && pin != home:
		return fmt.Errorf("frozen at bin %d and pinned to bin %d", home, pin)
	}
	for _, b := range it.NotBins {
		if b < 0 || b >= len(p.Bins) {
			return fmt.Errorf("forbidden: no bin %d", b)
		}
	}
	for _, t := range it.NotTypes {
		if t < 0 || t >= len(p.Types) {
			return fmt.Errorf("forbidden: no type %d", t)
		}
	}
	return nil
}

func (p *Problem) checkGroups() error {
	for g, group := range p.Groups {
		if group.Max < 0 || group.Domain < 0 {
			return fmt.Errorf("group %d: negative maximum or domain", g)
		}
		seen := map[int]bool{}
		for _, i := range group.Items {
			if i < 0 || i >= len(p.Items) {
				return fmt.Errorf("group %d: no item %d", g, i)
			}
			if seen[i] {
				return fmt.Errorf("group %d: item %d is there twice", g, i)
			}
			seen[i] = true
		}
	}
	for n, o := range p.Objectives {
		if o < Count || o > Moved {
			return fmt.Errorf("objective %d: unknown %v", n, o)
		}
	}
	return nil
}

func (p *Problem) checkTotals() error {
	for d := range p.dims() {
		var total uint64
		for i := range p.Items {
			if total += uint64(p.Items[i].Demand[d]); total > maxTotal {
				return fmt.Errorf("dimension %d: the items need more than %d together; use a larger unit", d, int64(maxTotal))
			}
		}
		for b := range p.Bins {
			if used := p.Bins[b].Used; used != nil && total+uint64(used[d]) > maxTotal {
				return fmt.Errorf("dimension %d: items and content of bin %d are more than %d; use a larger unit", d, b, int64(maxTotal))
			}
		}
	}
	var moved uint64
	for i := range p.Items {
		if moved += uint64(p.Items[i].MoveCost); moved > maxTotal {
			return fmt.Errorf("the costs to move are more than %d together; use a larger unit", int64(maxTotal))
		}
	}
	return nil
}
