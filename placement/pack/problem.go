package pack

import "fmt"

// Problem is what to place and where it may go. The zero value of every field
// means "no rule".
type Problem struct {
	// Items are what is placed, each as a whole. Every demand vector has the
	// same length as every capacity vector.
	Items []Item
	// Bins are those that exist, by name: hosts that run today, hosts in the
	// rack. Solution.Where speaks of them by index.
	Bins []Bin
	// Types are the shapes of bins. Beside the bins that exist, up to
	// Type.Limit more of each may be opened.
	Types []Type
	// Groups limit how many of some items may share a bin or a label.
	Groups []Group
	// Together lists items that must share a bin, one list a set.
	Together [][]int
	// Objectives in order of weight; empty: Count, then Moved.
	Objectives []Objective
}

// Item is one thing to place.
type Item struct {
	// Demand by dimension; not negative. A profile over the day is one
	// dimension for each resource and time slot.
	Demand []int64
	// Home is the bin it is in now, if any.
	Home Place
	// MoveCost is what it costs to take it from Home, in bytes. Items without
	// a home cost nothing to place.
	MoveCost int64
	// Frozen items stay at home, even where they are too much for it.
	Frozen bool
	// Pin is the only bin it may go to.
	Pin Place
	// NotBins and NotTypes are bins and types it may not go to. Home is no
	// exception.
	NotBins, NotTypes []int
}

// Place names a bin of Problem.Bins, or none. Make one with At.
type Place int

// Nowhere is the zero Place.
const Nowhere Place = 0

// At is the place of bin number b of Problem.Bins, counted from 0.
func At(b int) Place { return Place(b + 1) }

// Bin returns the index into Problem.Bins; ok is false for Nowhere.
func (p Place) Bin() (b int, ok bool) { return int(p) - 1, p > 0 }

// Type is the shape of a bin.
type Type struct {
	Capacity []int64
	Cost     int64 // of one bin in use, in any unit
	Watts    int64 // of one bin in use
	// Limit is how many may be opened beside those in Problem.Bins; negative:
	// as many as needed.
	Limit int
	// MaxItems is how many items one bin may hold; 0: any number. A set of
	// items that belong together counts each of them.
	MaxItems int
}

// Bin is a bin that exists.
type Bin struct {
	Type int
	// Used is taken by content that is not among the items; nil: nothing.
	Used []int64
	// Labels by kind: Labels[0] might be the rack and Labels[1] the power
	// feed. Equal numbers are one rack. Negative or missing: no label.
	Labels []int
	// Held: in use whatever the plan says, so that using it costs nothing
	// more. Bins with Used content or with frozen or pinned items are held as
	// well.
	Held bool
	// Closed bins take no newcomers; what is at home there may stay.
	Closed bool
	// Drained bins are closed, and only frozen items stay.
	Drained bool
}

// Group is a rule over some items: at most Max of them share one value of
// Domain.
type Group struct {
	Items  []int
	Domain Domain
	Max    int // 1: all apart
}

// Domain is what a group is counted by.
type Domain int

// Each counts by bin.
const Each Domain = 0

// Label counts by the label of that kind: an index into Bin.Labels. Bins
// without it, and bins opened beside Problem.Bins, are not counted.
func Label(kind int) Domain { return Domain(kind + 1) }

// Objective is what to have little of.
type Objective int

// Objectives. Count, Cost and Watts are of the bins in use. Moved is the sum
// of MoveCost of items that leave their home.
const (
	Count Objective = iota + 1
	Cost
	Watts
	Moved
)

// String is the objective's name.
func (o Objective) String() string {
	switch o {
	case Count:
		return "count"
	case Cost:
		return "cost"
	case Watts:
		return "watts"
	case Moved:
		return "moved"
	}
	return fmt.Sprintf("Objective(%d)", int(o))
}

// Options say how hard to search. The zero value is a good answer within
// seconds.
type Options struct {
	// Seed of everything random. Equal problems, options and seeds give equal
	// solutions, whatever the machine and its load, as long as Stop is nil.
	Seed uint64
	// Effort multiplies how long the search goes on without success; 0 is 1.
	Effort float64
	// LowerBound of the first objective, if one is known: reaching it ends
	// the search for less.
	LowerBound int64
	// Stop, asked now and then and from several goroutines, ends the search:
	// Solve returns the best it has. nil: never.
	Stop func() bool
}

// Solution says where everything goes.
type Solution struct {
	// Where is the bin of every item, an index into Bins, or -1 for those
	// without a place.
	Where []int
	// Bins are Problem.Bins, in their order, and then those that were opened.
	Bins []Opened
	// Unplaced are the items without a place, in order; empty when all have
	// one.
	Unplaced []int
	// Count, Cost and Watts of the bins in use.
	Count, Cost, Watts int64
	// Moved is the sum of MoveCost, and Moves the number, of items that
	// leave their home.
	Moved int64
	Moves int
	// Bound is a number that the first objective cannot be below: volume
	// only, or Options.LowerBound. 0 for Moved.
	Bound int64
	// Stopped says that Stop ended the search.
	Stopped bool
}

// Opened is one bin of a Solution.
type Opened struct {
	Type int
	Bin  Place // of Problem.Bins, or Nowhere
	Used bool  // counted in the objectives
}

// Value of one objective.
func (s *Solution) Value(o Objective) int64 {
	switch o {
	case Count:
		return s.Count
	case Cost:
		return s.Cost
	case Watts:
		return s.Watts
	case Moved:
		return s.Moved
	}
	return 0
}
