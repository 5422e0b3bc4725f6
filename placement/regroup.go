package placement

import (
	"fmt"
	"sort"

	"stowage/farm"
)

// regroup names the new pairs that shards are dealt to, gives their instances
// ports and ids, and lists where every shard then lives. A couple of hosts
// holds as few new pairs as the goals' shards_per_instance allows; shards go
// to them in the order of the farm.
func (l *layout) regroup(plan *Plan) error {
	type couple struct{ a, b int }
	groups := map[couple][]int{} // A items by couple of hosts
	var order []couple
	for i := 0; i < len(l.items); i += 2 {
		if l.isFrozen(i) {
			l.stayWhole(plan, i)
			continue
		}
		c := couple{l.where[i], l.where[i+1]}
		if groups[c] == nil {
			order = append(order, c)
		}
		groups[c] = append(groups[c], i)
	}
	sort.SliceStable(order, func(x, y int) bool {
		if order[x].a != order[y].a {
			return order[x].a < order[y].a
		}
		return order[x].b < order[y].b
	})
	ports := newPorts(l.whole)
	taken := map[farm.PairName]bool{}
	for _, p := range l.whole.Pairs {
		taken[p.Name] = true
	}
	names := map[farm.ShardName]farm.PairName{}
	at := map[farm.InstanceName]int{}
	number, id := 0, l.farm.NextServerID
	for _, c := range order {
		for _, part := range l.parts(groups[c]) {
			pair := newPairName(&number, taken)
			for n, side := range farm.SideNames {
				host := l.hosts[[2]int{c.a, c.b}[n]].spec
				port, err := ports.next(host.Address, host.Name)
				if err != nil {
					return fmt.Errorf("%w: host %s: %w", farm.ErrRefused, host.Name, err)
				}
				id++
				at[farm.Pair{Name: pair}.Instance(side)] = port
				for _, i := range part {
					shard := l.pair(i).Shards[l.items[i].shard].Name
					names[shard] = pair
					plan.Assignments = append(plan.Assignments, Assignment{
						Pair: pair, Side: side, Instance: farm.Pair{Name: pair}.Instance(side), Shard: shard, Host: host.Name, Port: port,
					})
				}
			}
		}
	}
	for i := range plan.Moves {
		m := &plan.Moves[i]
		m.Pair = names[m.Shard]
		m.Instance = farm.Pair{Name: m.Pair}.Instance(m.Side)
		m.To.Port, m.To.Datadir, m.To.Config, m.To.GroupSuffix = at[m.Instance], "", "", ""
	}
	plan.NextServerID = id
	return nil
}

// stayWhole lists the shards of a frozen pair where they are.
func (l *layout) stayWhole(plan *Plan, i int) {
	pair := l.pair(i)
	for _, side := range farm.SideNames {
		at := pair.Sides[side]
		for _, s := range pair.Shards {
			plan.Assignments = append(plan.Assignments, Assignment{
				Pair: pair.Name, Side: side, Instance: pair.Instance(side), Shard: s.Name, Host: at.Host, Port: at.Port,
			})
		}
	}
}

// parts deals items to instances of at most shards_per_instance.
func (l *layout) parts(items []int) [][]int {
	most := l.goals.ShardsPerInstance
	if most <= 0 {
		return [][]int{items}
	}
	var out [][]int
	for n := 0; n < len(items); n += most {
		out = append(out, items[n:min(n+most, len(items))])
	}
	return out
}

// newPairName is the next name for a new pair that is not taken.
func newPairName(number *int, taken map[farm.PairName]bool) farm.PairName {
	for {
		*number++
		if name := farm.PairName(fmt.Sprintf("shardset%03d", *number)); !taken[name] {
			return name
		}
	}
}
