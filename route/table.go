package route

import (
	"fmt"
	"hash/crc32"
	"reflect"
	"slices"
	"time"

	"stowage/farm"
)

// FormatVersion of the table; docs/reference/routing.md describes it.
const FormatVersion = 1

// Slots is how many slots a new pair gets: fine enough for a 1 % step to be a
// whole number of slots, small enough to read.
const Slots = 1000

// Gate says whether clients may start something new.
type Gate string

const (
	Open   Gate = "open"
	Closed Gate = "closed"
)

// Table is the routing of a whole farm.
type Table struct {
	FormatVersion int                     `json:"format_version"`
	Generation    int64                   `json:"generation"`
	Written       time.Time               `json:"written"`
	Pairs         map[farm.PairName]*Pair `json:"pairs"`
}

// Pair is the routing of one pair.
type Pair struct {
	Shards []farm.ShardName       `json:"shards"`
	Sides  map[farm.SideName]Side `json:"sides"` // in rotation only
	Slots  int                    `json:"slots"`
	Routes []Route                `json:"routes"`
	// Replicas are addresses for reads that may be old. They follow the side
	// that is in rotation and never take a write.
	Replicas []string `json:"replicas,omitempty"`
}

// Side is one side in rotation.
type Side struct {
	Address string  `json:"address"` // host:port
	Weight  float64 `json:"weight"`  // percent of the slots it serves now
}

// Route is a range of slots and who serves it.
type Route struct {
	From int           `json:"from"`
	To   int           `json:"to"` // inclusive
	Home farm.SideName `json:"home"`
	Side farm.SideName `json:"side"`
	Gate Gate          `json:"gate"`
}

// NewPair is the routing of a pair at rest: each side serves its own half.
func NewPair(shards []farm.ShardName, a, b string) *Pair {
	half := Slots / 2
	p := &Pair{
		Shards: shards,
		Sides:  map[farm.SideName]Side{farm.A: {Address: a}, farm.B: {Address: b}},
		Slots:  Slots,
		Routes: []Route{
			{From: 0, To: half - 1, Home: farm.A, Side: farm.A, Gate: Open},
			{From: half, To: Slots - 1, Home: farm.B, Side: farm.B, Gate: Open},
		},
	}
	p.weigh()
	return p
}

// NewPrimary is the routing of a pair at rest in which side A serves all
// clients; replicas are for reads that may be old.
func NewPrimary(shards []farm.ShardName, a string, replicas ...string) *Pair {
	p := &Pair{
		Shards:   shards,
		Sides:    map[farm.SideName]Side{farm.A: {Address: a}},
		Slots:    Slots,
		Routes:   []Route{{From: 0, To: Slots - 1, Home: farm.A, Side: farm.A, Gate: Open}},
		Replicas: replicas,
	}
	p.weigh()
	return p
}

// ForFarm is the first routing of a pair, by its topology.
func ForFarm(f *farm.Farm, p farm.Pair) *Pair {
	shards := make([]farm.ShardName, 0, len(p.Shards))
	for _, s := range p.Shards {
		shards = append(shards, s.Name)
	}
	a := f.Address(p.Sides[farm.A])
	switch p.Topology {
	case farm.Single:
		return NewPrimary(shards, a)
	case farm.PrimaryReplica:
		var replicas []string
		for _, side := range p.SideNames()[1:] {
			replicas = append(replicas, f.Address(p.Sides[side]))
		}
		return NewPrimary(shards, a, replicas...)
	}
	return NewPair(shards, a, f.Address(p.Sides[farm.B]))
}

// Slot is where a client key falls: CRC-32 (IEEE) modulo slots, so that any
// language has it at hand.
func Slot(key string, slots int) int {
	return int(crc32.ChecksumIEEE([]byte(key)) % uint32(slots))
}

// Locate finds the route of a client key and the address that serves it.
func (p *Pair) Locate(key string) (Route, string) {
	slot := Slot(key, p.Slots)
	for _, r := range p.Routes {
		if slot >= r.From && slot <= r.To {
			return r, p.Sides[r.Side].Address
		}
	}
	return Route{}, "" // cannot happen in a checked table
}

// Check says what is wrong with a table, or nil.
func (t *Table) Check() error {
	if t.FormatVersion != FormatVersion {
		return fmt.Errorf("format_version is %d, this program reads %d", t.FormatVersion, FormatVersion)
	}
	for name, p := range t.Pairs {
		if err := p.check(); err != nil {
			return fmt.Errorf("pair %s: %w", name, err)
		}
	}
	return nil
}

func (p *Pair) check() error {
	if p == nil {
		return fmt.Errorf("is null")
	}
	next := 0
	for i, r := range p.Routes {
		if r.From != next || r.To < r.From {
			return fmt.Errorf("routes[%d] covers %d-%d, want a range that starts at %d", i, r.From, r.To, next)
		}
		if r.Gate != Open && r.Gate != Closed {
			return fmt.Errorf("routes[%d] gate is %q, want open or closed", i, r.Gate)
		}
		if r.Home != farm.A && r.Home != farm.B {
			return fmt.Errorf("routes[%d] home is %q, want A or B", i, r.Home)
		}
		if s, ok := p.Sides[r.Side]; !ok || s.Address == "" {
			return fmt.Errorf("routes[%d] is served by side %s, which is not in rotation", i, r.Side)
		}
		next = r.To + 1
	}
	if next != p.Slots || next == 0 {
		return fmt.Errorf("routes cover %d of %d slots", next, p.Slots)
	}
	return nil
}

// edited is what an edit makes of a pair of t, checked; t stays as it was.
// where names the table in errors. changed is false for an edit of nothing.
func edited(t *Table, pair farm.PairName, edit func(*Pair) error, where string) (next *Pair, changed bool, err error) {
	old, ok := t.Pairs[pair]
	if !ok {
		return nil, false, &farm.Error{Op: "change routing", Subject: string(pair),
			Err: fmt.Errorf("%w: %s has no such pair", farm.ErrInput, where)}
	}
	next = old.clone()
	if err := edit(next); err != nil {
		return nil, false, err
	}
	if reflect.DeepEqual(old, next) {
		return next, false, nil
	}
	if err := next.check(); err != nil {
		return nil, false, &farm.Error{Op: "change routing", Subject: string(pair), Err: err}
	}
	return next.clone(), true, nil
}

func (p *Pair) clone() *Pair {
	c := *p
	c.Shards = slices.Clone(p.Shards) // keeps an empty list apart from none
	c.Routes = slices.Clone(p.Routes)
	c.Replicas = slices.Clone(p.Replicas)
	c.Sides = make(map[farm.SideName]Side, len(p.Sides))
	for n, s := range p.Sides {
		c.Sides[n] = s
	}
	return &c
}
