package placement

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"stowage/farm"
)

// noRooms says that there is nothing to pack onto.
func (p *problem) noRooms() error {
	for _, h := range p.farm.Hosts {
		if t, ok := p.farm.HostType(h.Type); ok && p.goals.packsOnto(h.Type) && t.HoldsNone(h.Reserved) {
			return fmt.Errorf("%w: the options of host type %s give one instance more memory than is left on host %s after reserved: use smaller values, or shares (70%%)", farm.ErrInput, t.Name, h.Name)
		}
	}
	names := make([]string, len(p.goals.Onto))
	for i, t := range p.goals.Onto {
		names[i] = string(t)
	}
	return fmt.Errorf("%w: farm.yaml has no host of the types to pack onto (%s)", farm.ErrInput, farm.Some(names))
}

// tooLarge names the first item that is larger than every host.
func (p *problem) tooLarge() string {
	roomiest := make([]int64, len(p.dims))
	for d := range p.dims {
		roomiest[d] = p.roomiest(d)
	}
	for i, it := range p.items {
		if p.isFrozen(i) {
			continue
		}
		for d, v := range it.needs {
			if most := roomiest[d]; v > most {
				dim := p.dims[d]
				return fmt.Sprintf("%s needs %s of %s%s and the roomiest host to pack onto offers %s%s%s",
					p.name(i), p.needed(i, d), dim.resource, p.horizon(), dim.amount(most), p.lessHeadroom(dim.resource), p.lessOwn(d))
			}
		}
		if p.goals.Surface.Shards > 0 && p.shards(i) > p.goals.Surface.MostShards(p.all) {
			return fmt.Sprintf("%s alone holds %d of %d shards, more than the %.3g%% that may be behind one host", p.name(i), p.shards(i), p.all, 100*p.goals.Surface.Shards)
		}
	}
	return ""
}

// needed is what an item needs, for people: units of the search are cut off
// where nothing fits any more.
func (p *problem) needed(i, d int) string {
	it, dim := p.items[i], p.dims[d]
	if it.needs[d] < mostNeeded {
		return dim.amount(it.needs[d])
	}
	one := []dimension{dim}
	v := []float64{0}
	for s, shard := range p.pair(i).Shards {
		if it.shard < 0 || it.shard == s {
			later(p.farm, one, p.goals).add(v, shard)
		}
	}
	return farm.RoundQuantity(v[0], dim.resource.Kind())
}

// lessOwn says what a new instance takes off first.
func (p *problem) lessOwn(d int) string {
	if p.goals.Unit == UnitShard && p.own[d] > 0 {
		return fmt.Sprintf(" and %s for an instance", p.dims[d].amount(p.own[d]))
	}
	return ""
}

// horizon says for when needs are counted.
func (p *problem) horizon() string {
	if p.goals.RunwayDays > 0 {
		return fmt.Sprintf(" in %.0f days", p.goals.RunwayDays)
	}
	return ""
}

// roomiest is the largest limit of one dimension over all hosts.
func (p *problem) roomiest(d int) int64 {
	most := int64(0)
	for _, r := range p.hosts {
		switch {
		case r.outside:
		case p.goals.Unit == UnitShard && r.limit[d] != NoLimit:
			most = max(most, r.limit[d]-p.own[d])
		default:
			most = max(most, r.limit[d])
		}
	}
	return most
}

func (p *problem) lessHeadroom(n farm.ResourceName) string {
	if h := p.goals.Headroom[n]; h > 0 {
		return fmt.Sprintf(" after %.3g%% headroom", h*100)
	}
	return ""
}

// tooFew refuses where the bound says that the hosts cannot be enough.
func (p *problem) tooFew(proof proof) error {
	if proof.hosts.value <= len(p.hosts) {
		return nil
	}
	why := p.shortfall()
	if why == "" {
		if l, err := p.search(proof); err == nil && l.missing() >= 0 {
			return l.explainMissing()
		} else if err != nil {
			return err
		}
		why = fmt.Sprintf("more are needed (%s)", proof.hosts.method)
	}
	return fmt.Errorf("%w: %s not enough: %s", farm.ErrRefused, hostsAre(len(p.hosts)), why)
}

func hostsAre(n int) string {
	if n == 1 {
		return "1 host is"
	}
	return farm.Counted(n, "host") + " are"
}

// shortfall names the resource of which all hosts together have least, if any
// has less than is needed.
func (p *problem) shortfall() string {
	if least := p.fewest(); len(p.hosts) < 2 && least == 2 {
		return "the sides of a pair need two hosts"
	} else if len(p.hosts) < least {
		return fmt.Sprintf("the %s of a pair need as many hosts", farm.Counted(least, "side"))
	}
	worst, text := 1.0, ""
	look := func(needed, offered int64, what, amount, offer, less string) {
		if ratio := float64(needed) / math.Max(1, float64(offered)); ratio > worst {
			worst = ratio
			text = fmt.Sprintf("%s need %s of %s together%s, the hosts offer %s%s", p.things(len(p.items)), amount, what, p.horizon(), offer, less)
		}
	}
	asked := p.bounding()
	for d, dim := range p.dims {
		needed, offered := int64(0), int64(0)
		for _, it := range asked.Items {
			needed += int64(it.Count) * it.Needs[d]
		}
		for _, b := range asked.Bins {
			offered = min(NoLimit, offered+int64(b.Available)*min(b.Room[d], NoLimit/int64(b.Available)))
		}
		look(needed, offered, string(dim.resource), dim.amount(needed), dim.amount(offered), p.lessHeadroom(dim.resource))
	}
	slots, n := int64(0), int64(0)
	for _, it := range asked.Items {
		n += int64(it.Count)
	}
	for _, b := range asked.Bins {
		if b.MaxItems == 0 {
			return text
		}
		slots += int64(b.Available) * int64(b.MaxItems)
	}
	what := MaxInstances
	if p.goals.Unit == UnitShard {
		what = "shards_per_instance times max_instances"
	}
	look(n, slots, what, fmt.Sprint(n), fmt.Sprint(slots), "")
	return text
}

func (p *problem) things(n int) string {
	if p.goals.Unit == UnitShard {
		return fmt.Sprintf("%d copies of shards", n)
	}
	return farm.Counted(n, "instance")
}

// explainMissing says for the first item without a place what each host lacks.
func (l *layout) explainMissing() error {
	i := l.missing()
	on := l.loads()
	reasons := map[string]int{}
	for r := range l.hosts {
		reasons[l.reason(i, r, on)]++
	}
	return fmt.Errorf("%w: found no place for %s (%s): of %s, %s", farm.ErrRefused, l.name(i), l.wants(i), farm.Counted(len(l.hosts), "host"), counted(reasons))
}

// counted lists reasons, the commonest first.
func counted(reasons map[string]int) string {
	texts := make([]string, 0, len(reasons))
	for text := range reasons {
		texts = append(texts, text)
	}
	sort.Slice(texts, func(a, b int) bool {
		if reasons[texts[a]] != reasons[texts[b]] {
			return reasons[texts[a]] > reasons[texts[b]]
		}
		return texts[a] < texts[b]
	})
	for n, text := range texts {
		texts[n] = fmt.Sprintf("%d %s", reasons[text], text)
	}
	return strings.Join(texts, ", ")
}

// reason is the first thing that forbids host r to item i.
func (l *layout) reason(i, r int, on []load) string {
	host := l.hosts[r]
	switch {
	case host.shut != "" && l.items[i].from != r:
		return host.shut
	case host.full:
		return "overfull with what is frozen there"
	case l.isBarred(i, r):
		return "ruled out by pin or forbid"
	}
	for twin, end := l.sides(l.items[i].thing); twin < end; twin++ {
		if twin == i || l.where[twin] < 0 {
			continue
		}
		switch c := l.clash(l.where[twin], r); c {
		case "":
		case "twin":
			return "holding its twin"
		default:
			return "with the same " + c + " as its twin"
		}
	}
	if l.items[i].shard >= 0 {
		return l.reasonOfShard(i, r, on)
	}
	if host.most > 0 && on[r].instances+1 > host.most {
		return "at max_instances"
	}
	if text := l.lacking(l.items[i].needs, r, on); text != "" {
		return text
	}
	if text := l.grouped(i, r, on); text != "" {
		return text
	}
	return "free, but only by moving others first"
}

// lacking is the resource of which host r has least left for needs, if it has
// too little.
func (l *layout) lacking(needs []int64, r int, on []load) string {
	text, worst := "", int64(0)
	for d, v := range needs {
		if over := on[r].needs[d] + v - l.hosts[r].limit[d]; over > worst {
			worst, text = over, fmt.Sprintf("lacking %s", l.dims[d].resource)
		}
	}
	return text
}

// reasonOfShard is the reason for a shard, which has to go to an instance that
// is there or may still be made.
func (l *layout) reasonOfShard(i, r int, on []load) string {
	needs := l.items[i].needs
	if on[r].instances == l.hosts[r].frozen.instances {
		if most := l.hosts[r].most; most > 0 && on[r].instances+1 > most {
			return "at max_instances"
		}
		needs = sum(needs, l.own, 1)
	}
	if text := l.lacking(needs, r, on); text != "" {
		return text
	}
	if text := l.grouped(i, r, on); text != "" {
		return text
	}
	return "free, but only by moving others first"
}

// grouped is the rule about several pairs that keeps item i out of host r, or "".
func (l *layout) grouped(i, r int, on []load) string {
	pair := l.pair(i).Name
	for _, g := range l.goals.Apart {
		if !slices.Contains(g.Pairs, pair) {
			continue
		}
		for k, at := range l.where {
			if other := l.pair(k).Name; at == r && other != pair && slices.Contains(g.Pairs, other) {
				return "holding " + string(other) + ", which group " + g.Name + " keeps apart"
			}
		}
	}
	for _, union := range l.unions() {
		if !slices.Contains(union, pair) {
			continue
		}
		for k, at := range l.where {
			if other := l.pair(k).Name; at >= 0 && at != r && k != i && l.items[k].side == l.items[i].side && slices.Contains(union, other) && (other != pair || l.items[i].shard >= 0) {
				return "not where " + string(other) + " is, with which it belongs together"
			}
		}
	}
	if l.goals.Surface.Shards > 0 && on[r].shards+l.shards(i) > l.goals.Surface.MostShards(l.all) {
		return "holding as many shards as one failure may hit"
	}
	if l.goals.Surface.Customer > 0 {
		return l.customersFull(i, r)
	}
	return ""
}

// customersFull names a customer of whose shards host r holds too many for
// item i.
func (l *layout) customersFull(i, r int) string {
	all, held := l.customerShards(), map[farm.CustomerName]int{}
	for k, at := range l.where {
		if at == r {
			for c, n := range l.customersOf(k) {
				held[c] += n
			}
		}
	}
	var names []farm.CustomerName
	for c, n := range l.customersOf(i) {
		if held[c]+n > l.goals.Surface.MostOfCustomer(all[c]) {
			names = append(names, c)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "holding as many shards of " + string(slices.Min(names)) + " as one failure may hit"
}

func (l *layout) wants(i int) string {
	var texts []string
	seen := map[farm.ResourceName]bool{}
	for d, v := range l.items[i].needs {
		if n := l.dims[d].resource; v > 0 && !seen[n] {
			seen[n] = true
			texts = append(texts, fmt.Sprintf("%s %s", n, l.dims[d].amount(v)))
		}
	}
	return strings.Join(texts, ", ")
}
