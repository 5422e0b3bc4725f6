package placement

import (
	"fmt"

	"stowage/farm"
)

// OtherUnit is what the same goals give with the other unit: whole instances
// and single shards are both real choices.
type OtherUnit struct {
	Unit       Unit  `json:"unit"`
	HostsUsed  int   `json:"hosts_used"`
	LowerBound int   `json:"lower_bound"`
	Moves      int   `json:"moves"`
	Bytes      int64 `json:"bytes"` // to copy
}

// mostCompared is up to how many pairs a plan is made with the other unit as
// well: so many take no noticeable time.
const mostCompared = 200

// otherUnit plans with the other unit, or is nil where that keeps not all of
// the goals or does not place the same.
func otherUnit(f *farm.Farm, g Goals) *OtherUnit {
	if len(f.Pairs) > mostCompared || !f.HasTwosOnly() { // the unit shard leaves others where they are, and their hosts out
		return nil
	}
	switch g.Unit {
	case UnitShard:
		g.Unit = UnitInstance
	default:
		g.Unit = UnitShard
	}
	if len(g.Check(f)) > 0 {
		return nil
	}
	p, err := newProblem(f, g).solve()
	if err != nil {
		return nil
	}
	return &OtherUnit{Unit: g.Unit, HostsUsed: p.HostsUsed, LowerBound: p.LowerBound, Moves: len(p.Moves), Bytes: p.Bytes()}
}

// choice says how the other unit compares, or "" where it needs no fewer hosts.
func (p Plan) choice() string {
	o := p.Other
	if o == nil || o.HostsUsed >= p.HostsUsed {
		return ""
	}
	fewer := p.HostsUsed - o.HostsUsed
	size := farm.RoundQuantity(float64(o.Bytes), farm.KindBytes)
	if o.Unit == UnitShard {
		return fmt.Sprintf("with --unit shard %s fewer: %d copies of shards regrouped into new pairs, %s to copy", farm.Counted(fewer, "host"), o.Moves, size)
	}
	return fmt.Sprintf("with --unit instance %s fewer: %s of whole instances, %s to copy", farm.Counted(fewer, "host"), farm.Counted(o.Moves, "move"), size)
}
