package bound

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// Objective is what a bound is a bound of.
type Objective string

const (
	Bins  Objective = "bins"  // how many bins are used
	Cost  Objective = "cost"  // the sum of Bin.Cost of the bins in use
	Watts Objective = "watts" // the sum of Bin.Watts of the bins in use
)

// Problem asks for a packing of all copies of all items into bins.
type Problem struct {
	Items []Item `json:"items"`
	Bins  []Bin  `json:"bins"`
	// Apart lists groups of items (indexes into Items) of which a bin holds at
	// most one copy of at most one item.
	Apart [][]int `json:"apart,omitempty"`
}

// Item is a class of identical items.
type Item struct {
	Name      string  `json:"name,omitempty"`
	Needs     []int64 `json:"needs"` // one number for each dimension, in the units of Bin.Room, rounded up
	Count     int     `json:"count"` // copies to place, at least 1
	PerBin    int     `json:"per_bin,omitempty"`
	PerDomain int     `json:"per_domain,omitempty"` // most copies in one Bin.Domain; 0: any number
}

// Bin is a type of bin.
type Bin struct {
	Name      string  `json:"name,omitempty"`
	Room      []int64 `json:"room"`                // after headroom, rounded down
	MaxItems  int     `json:"max_items,omitempty"` // copies in one bin; 0: any number
	Cost      int64   `json:"cost,omitempty"`
	Watts     int64   `json:"watts,omitempty"`
	Available int     `json:"available,omitempty"` // bins of this type there are; 0: any number
	Domain    string  `json:"domain,omitempty"`    // the fault domain all bins of this type stand in
}

// ErrInvalid is wrapped by every complaint about a problem that makes no
// sense. No bound is computed from such a problem: a prototype that did not
// look found a "lower bound" above a packing because of negative sizes.
var ErrInvalid = errors.New("invalid packing problem")

// most is the largest sum of anything in a problem. It leaves room for sums
// of a few such numbers in an int64.
const most = math.MaxInt64 / 8

// Check returns the first thing wrong with p, or nil.
func (p Problem) Check() error {
	if len(p.Bins) == 0 {
		return invalid("there is no type of bin")
	}
	d := len(p.Bins[0].Room)
	if d == 0 {
		return invalid("bins have no dimension")
	}
	for t, b := range p.Bins {
		if err := b.check(d); err != nil {
			return invalid("bin %d (%s) %w", t, b.Name, err)
		}
	}
	total := make([]int64, d+1)
	for i, it := range p.Items {
		if err := it.check(d); err != nil {
			return invalid("item %d (%s) %w", i, it.Name, err)
		}
		for k := range d + 1 {
			need := int64(1)
			if k < d {
				need = it.Needs[k]
			}
			hi, lo := bits.Mul64(uint64(need), uint64(it.Count))
			if hi != 0 || lo > most || total[k]+int64(lo) > most {
				return invalid("the needs in dimension %d add up to more than can be counted", k)
			}
			total[k] += int64(lo)
		}
		if !p.fitsSomewhere(it) {
			return invalid("item %d (%s) fits into no bin", i, it.Name)
		}
	}
	for g, group := range p.Apart {
		seen := map[int]bool{}
		for _, i := range group {
			if i < 0 || i >= len(p.Items) || seen[i] {
				return invalid("group %d names item %d, which is unknown or there twice", g, i)
			}
			seen[i] = true
		}
	}
	return nil
}

func (b Bin) check(d int) error {
	if len(b.Room) != d {
		return fmt.Errorf("has %d dimensions and the first bin has %d", len(b.Room), d)
	}
	for k, r := range b.Room {
		if r < 0 || r > most {
			return fmt.Errorf("has room %d in dimension %d", r, k)
		}
	}
	if b.MaxItems < 0 || b.Cost < 0 || b.Watts < 0 || b.Available < 0 || b.MaxItems > math.MaxInt32 || b.Available > math.MaxInt32 {
		return errors.New("has a negative or huge max_items, cost, watts or available")
	}
	if b.Cost > math.MaxInt32*1000 || b.Watts > math.MaxInt32*1000 {
		return fmt.Errorf("has a cost or watts above %d: use larger units", int64(math.MaxInt32)*1000)
	}
	return nil
}

func (it Item) check(d int) error {
	if len(it.Needs) != d {
		return fmt.Errorf("has %d dimensions and bins have %d", len(it.Needs), d)
	}
	for k, w := range it.Needs {
		if w < 0 {
			return fmt.Errorf("needs %d in dimension %d", w, k)
		}
	}
	if it.Count < 1 || it.Count > math.MaxInt32 || it.PerBin < 0 || it.PerDomain < 0 || it.PerBin > math.MaxInt32 || it.PerDomain > math.MaxInt32 {
		return fmt.Errorf("has count %d, per_bin %d, per_domain %d", it.Count, it.PerBin, it.PerDomain)
	}
	return nil
}

func (p Problem) fitsSomewhere(it Item) bool {
	for _, b := range p.Bins {
		fits := true
		for k, w := range it.Needs {
			fits = fits && w <= b.Room[k]
		}
		if fits {
			return true
		}
	}
	return false
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalid, fmt.Errorf(format, args...))
}

// price is what one bin of type t adds to objective o.
func (p Problem) price(o Objective, t int) int64 {
	switch o {
	case Cost:
		return p.Bins[t].Cost
	case Watts:
		return p.Bins[t].Watts
	default:
		return 1
	}
}

// copies is the number of things to place.
func (p Problem) copies() int64 {
	var n int64
	for _, it := range p.Items {
		n += int64(it.Count)
	}
	return n
}
