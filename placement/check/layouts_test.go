package check_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"stowage/farm"
	"stowage/placement"
	"stowage/placement/check"
)

// Whether a layout keeps the rules is judged twice, by the check and by the
// search through all plans, which share nothing: for any layout at all, also
// those that come from a good plan by moving one copy, changing two, or
// putting both sides on one host, they agree.
func TestEveryLayoutIsJudgedRight(t *testing.T) {
	for name, draw := range drawings(3, 5) {
		t.Run(name, func(t *testing.T) { layoutsJudgedRight(t, draw) })
	}
}

func layoutsJudgedRight(t *testing.T, draw func(int) task) {
	good, bad := 0, 0
	from, to := tries(120)
	for seed := from; seed < to; seed++ {
		x := draw(seed)
		if len(x.goals.Check(x.farm)) > 0 {
			continue
		}
		b := newBrute(x)
		if len(b.things) == 0 || len(b.hosts) < 2 {
			continue
		}
		dice := rand.New(rand.NewPCG(uint64(seed), 1))
		all := search(x)
		for range 40 {
			layout := b.anyLayout(dice)
			if len(all.layouts) > 0 && dice.IntN(4) > 0 {
				layout = b.nearly(dice, all.layouts[dice.IntN(len(all.layouts))])
			}
			right := b.keepsRules(layout)
			p, ok := b.plan(layout)
			if !ok {
				continue
			}
			var found []farm.Finding
			for _, f := range check.Standing(x.farm, p) {
				if slices.Contains(layoutRules, f.Check) {
					found = append(found, f)
				}
			}
			if right != (len(found) == 0) {
				t.Errorf("seed %d: layout %v is right: %v; found %v", seed, layout, right, found)
			}
			if right {
				good++
			} else {
				bad++
			}
		}
	}
	t.Logf("%d layouts keep the rules, %d do not", good, bad)
	if good < bad/20 || bad < good/20 {
		t.Error("the layouts are too much of one kind")
	}
}

// anyLayout puts everything anywhere; what is frozen stays.
func (b *brute) anyLayout(dice *rand.Rand) [][3]int {
	out := make([][3]int, len(b.things))
	for k, th := range b.things {
		out[k] = [3]int{dice.IntN(len(b.hosts)), dice.IntN(len(b.hosts)), nowhere}
		if th.second {
			out[k][2] = dice.IntN(len(b.hosts))
		}
		switch {
		case th.frozen:
			out[k] = b.now(k)
		case th.single:
			out[k][1] = nowhere
		}
	}
	return out
}

func (b *brute) now(k int) [3]int {
	sides := b.farm.Pairs[b.things[k].pair].Sides
	out := [3]int{nowhere, nowhere, nowhere}
	for n, side := range threeSides {
		if at, has := sides[side]; has {
			out[n] = b.index[at.Host]
		}
	}
	return out
}

// nearly is a good layout with a little changed, or nothing.
func (b *brute) nearly(dice *rand.Rand, good [][3]int) [][3]int {
	out := slices.Clone(good)
	k, l := dice.IntN(len(out)), dice.IntN(len(out))
	side, other := dice.IntN(2), dice.IntN(2)
	if b.things[k].second {
		side = dice.IntN(3)
	}
	if b.things[k].frozen || b.things[l].frozen || out[k][side] == nowhere || out[l][other] == nowhere {
		return out
	}
	switch dice.IntN(4) {
	case 0:
		out[k][side] = dice.IntN(len(b.hosts))
	case 1:
		out[k][side], out[l][other] = out[l][other], out[k][side]
	case 2:
		if twin := out[k][(side+1)%2]; twin != nowhere {
			out[k][side] = twin
		}
	}
	return out
}

// keepsRules looks at a whole layout by the rules of the search.
func (b *brute) keepsRules(layout [][3]int) bool {
	fresh := newBrute(b.task)
	for k, at := range layout {
		th := &fresh.things[k]
		if !th.frozen && !fresh.allowed(th, farm.A, at[0]) {
			return false
		}
		if !th.frozen && !th.single && (at[0] == at[1] || !fresh.allowed(th, farm.B, at[1]) || !fresh.labelsDiffer(at[0], at[1])) {
			return false
		}
		if !th.frozen && th.second && (at[2] == at[0] || at[2] == at[1] || !fresh.allowed(th, "C", at[2]) || !fresh.labelsDiffer(at[0], at[2]) || !fresh.labelsDiffer(at[1], at[2])) {
			return false
		}
		for _, h := range at {
			if h == nowhere {
				continue
			}
			for i, v := range th.needs {
				fresh.loads[h][i] += v
			}
		}
		fresh.where[k] = at
	}
	fresh.judge()
	return fresh.best.feasible
}

// plan is a layout as a plan without moves and figures. Shards are dealt to as
// few new pairs as they may be; ok is false where that cannot be said, because
// both copies of a shard are on one host.
func (b *brute) plan(layout [][3]int) (p placement.Plan, ok bool) {
	p.Goals, p.NextServerID = b.goals, b.farm.NextServerID
	pairs := map[[3]int][]farm.PairName{}
	held := map[farm.PairName]int{}
	for k, at := range layout {
		th := b.things[k]
		pair := b.farm.Pairs[th.pair]
		name := pair.Name
		if !th.whole {
			if at[0] == at[1] {
				return p, false
			}
			list := pairs[at]
			if most := b.goals.ShardsPerInstance; len(list) == 0 || most > 0 && held[list[len(list)-1]] == most {
				list = append(list, farm.PairName("new"+string(rune('a'+len(held)))))
				pairs[at] = list
			}
			name = list[len(list)-1]
			held[name]++
		}
		for n, side := range threeSides {
			if at[n] == nowhere {
				continue
			}
			a := placement.Assignment{Pair: name, Side: side, Instance: farm.Pair{Name: name}.Instance(side), Host: b.hosts[at[n]].Name, Port: pair.Sides[side].Port}
			if b.goals.Unit != placement.UnitShard {
				p.Assignments = append(p.Assignments, a)
				continue
			}
			for _, s := range th.shards {
				a.Shard = s.Name
				p.Assignments = append(p.Assignments, a)
			}
		}
	}
	return p, true
}
