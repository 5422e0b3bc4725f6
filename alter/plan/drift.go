package plan

import (
	"fmt"
	"maps"
	"slices"

	"stowage/farm"
)

// Drift is in what the farm is not any more what the plan was made of, a line each.
func Drift(p Plan, now *farm.Farm) []string {
	var out []string
	for _, was := range p.Pairs {
		is, ok := now.Pair(was.Pair)
		if !ok {
			out = append(out, fmt.Sprintf("pair %s is not in farm.yaml any more", was.Pair))
			continue
		}
		if is.Topology != was.Topology {
			out = append(out, fmt.Sprintf("pair %s is %s, was %s", was.Pair, is.Topology, was.Topology))
		}
		now := sidesOf(*is)
		for _, side := range slices.Sorted(maps.Keys(was.Sides)) {
			if at, has := now[side]; !has || at != was.Sides[side] {
				out = append(out, fmt.Sprintf("side %s of %s is elsewhere now: %s, was %s", side, was.Pair, where(at, has), where(was.Sides[side], true)))
			}
		}
		for side, at := range now {
			if _, known := was.Sides[side]; !known {
				out = append(out, fmt.Sprintf("pair %s has a side %s now, on %s", was.Pair, side, at.Host))
			}
		}
		for _, t := range was.Tables {
			if !slices.ContainsFunc(is.Shards, func(s farm.Shard) bool { return s.Name == t.Shard }) {
				out = append(out, fmt.Sprintf("shard %s is not in pair %s any more", t.Shard, was.Pair))
			}
		}
	}
	return slices.Compact(out)
}

func where(s Side, is bool) string {
	if !is {
		return "nowhere"
	}
	return fmt.Sprintf("%s, port %d, %s", s.Host, s.Port, s.Datadir)
}
