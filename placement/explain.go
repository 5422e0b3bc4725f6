package placement

import (
	"fmt"
	"sort"
	"strings"

	"stowage/farm"
)

// Explanation says why something is where a plan puts it. Every sentence can
// be checked against the farm: amounts are those at the end of the runway.
type Explanation struct {
	Subject string   `json:"subject"`
	Kind    string   `json:"kind"` // host, pair or instance
	Facts   []string `json:"facts"`
	// Others counts the hosts that were not chosen by the first rule that
	// keeps the instance out of them as the plan stands.
	Others map[string]int `json:"other_hosts,omitempty"`
	// Fill is how full the host is, resource by resource.
	Fill []Fill        `json:"fill,omitempty"`
	Free []Relaxation  `json:"to_free_a_host,omitempty"`
	Each []Explanation `json:"instances,omitempty"`

	unasked bool // nobody looked for what would free a host
}

// Fill is one resource of one host.
type Fill struct {
	Resource string  `json:"resource"`
	Used     string  `json:"used"`
	Limit    string  `json:"limit"` // after headroom and what is reserved
	Share    float64 `json:"share"` // of the limit
}

// Explain says why a host, pair or instance of plan p is as it is. f is the
// farm the plan was made for. Errors wrap farm.ErrInput for an unknown name.
func Explain(f *farm.Farm, p Plan, name string) (Explanation, error) {
	l := p.layout(f)
	if r, ok := l.host[farm.HostName(name)]; ok {
		return l.explainHost(p, r), nil
	}
	var found []int
	for i := range l.items {
		pair := l.pair(i)
		if string(pair.Name) == name || string(pair.Instance(l.items[i].side)) == name || l.items[i].shard >= 0 && string(pair.Shards[l.items[i].shard].Name) == name {
			found = append(found, i)
		}
	}
	if h, ok := f.Host(farm.HostName(name)); ok && len(found) == 0 {
		return Explanation{Subject: name, Kind: "host", Facts: []string{fmt.Sprintf("A %s is not a host to pack onto: everything on it moves away.", h.Type)}}, nil
	}
	switch {
	case len(found) == 0:
		return Explanation{}, &farm.Error{Op: "explain", Subject: name, Err: fmt.Errorf("%w: the plan knows no host, pair, instance or shard of that name", farm.ErrInput)}
	case len(found) == 1:
		return l.explainItem(found[0]), nil
	}
	out := Explanation{Subject: name, Kind: "pair"}
	if from, to := l.sides(l.items[found[0]].thing); len(found) == to-from {
		out.Facts = append(out.Facts, l.whyApart(found))
	}
	for _, i := range found[:min(len(found), 64)] {
		out.Each = append(out.Each, l.explainItem(i))
	}
	return out, nil
}

// layout is a plan as the search knows it.
func (p Plan) layout(f *farm.Farm) *layout {
	problem := newProblem(f, p.Goals)
	l := &layout{problem: problem, where: make([]int, len(problem.items))}
	type key struct {
		what string
		side farm.SideName
	}
	at := map[key]int{}
	for _, a := range p.Assignments {
		r, ok := problem.host[a.Host]
		if !ok {
			r = -1
		}
		if a.Shard != "" {
			at[key{string(a.Shard), a.Side}] = r
		} else {
			at[key{string(a.Pair), a.Side}] = r
		}
	}
	for i, it := range problem.items {
		what := string(problem.pair(i).Name)
		if it.shard >= 0 {
			what = string(problem.pair(i).Shards[it.shard].Name)
		}
		r, ok := at[key{what, it.side}]
		if !ok {
			r = -1
		}
		l.where[i] = r
	}
	return l
}

func (l *layout) explainItem(i int) Explanation {
	it, r := l.items[i], l.where[i]
	out := Explanation{Subject: l.name(i), Kind: "instance", Others: map[string]int{}}
	if r < 0 {
		out.Facts = []string{"It stays on a host that is not packed onto."}
		return out
	}
	name := l.hosts[r].spec.Name
	was := l.pair(i).Sides[it.side].Host
	switch {
	case l.isFrozen(i):
		out.Facts = append(out.Facts, fmt.Sprintf("It is frozen and stays on %s.", name))
	case was == name:
		out.Facts = append(out.Facts, fmt.Sprintf("It is on %s already and stays: that copies nothing.", name))
	default:
		out.Facts = append(out.Facts, fmt.Sprintf("It goes from %s to %s, %s to copy.", was, name, farm.RoundQuantity(float64(it.bytes), farm.KindBytes)))
	}
	out.Facts = append(out.Facts, fmt.Sprintf("It needs %s%s.", l.wants(i), l.horizon()))
	on := l.loads()
	out.Fill = l.fill(r, on[r])
	if len(out.Fill) > 0 {
		worst := out.Fill[0]
		out.Facts = append(out.Facts, fmt.Sprintf("On %s %s binds: %s of %s are used (%.0f%%).", name, worst.Resource, worst.Used, worst.Limit, 100*worst.Share))
	}
	alone := *l
	alone.where = append([]int(nil), l.where...)
	alone.where[i] = -1
	for other := range l.hosts {
		if other != r {
			out.Others[l.whyNot(&alone, i, other, on)]++
		}
	}
	return out
}

// whyNot is the first rule that keeps an item out of a host as the plan stands.
func (l *layout) whyNot(alone *layout, i, r int, on []load) string {
	text := alone.reason(i, r, on)
	switch {
	case text != "free, but only by moving others first":
		return text
	case on[r].items == 0:
		return "not needed at all"
	}
	return "with room for it too, and not better"
}

// fill lists a host's resources, the fullest first.
func (l *layout) fill(r int, on load) []Fill {
	host := l.hosts[r]
	byName := map[farm.ResourceName]Fill{}
	for d, dim := range l.dims {
		if host.limit[d] == NoLimit || host.limit[d] == 0 {
			continue
		}
		share := float64(on.needs[d]) / float64(host.limit[d])
		if old, ok := byName[dim.resource]; !ok || share > old.Share {
			byName[dim.resource] = Fill{string(dim.resource), dim.amount(on.needs[d]), dim.amount(host.limit[d]), share}
		}
	}
	var out []Fill
	for _, f := range byName {
		out = append(out, f)
	}
	if host.most > 0 && l.goals.Unit != UnitShard {
		out = append(out, Fill{MaxInstances, fmt.Sprint(on.items), fmt.Sprint(host.most), float64(on.items) / float64(host.most)})
	}
	sort.Slice(out, func(a, b int) bool {
		if out[a].Share != out[b].Share {
			return out[a].Share > out[b].Share
		}
		return out[a].Resource < out[b].Resource
	})
	return out
}

func (l *layout) explainHost(p Plan, r int) Explanation {
	on := l.loads()
	out := Explanation{Subject: string(l.hosts[r].spec.Name), Kind: "host", Fill: l.fill(r, on[r])}
	if on[r].items == 0 {
		out.Facts = []string{"Nothing is on it after the plan: it is not needed."}
		return out
	}
	out.Facts = append(out.Facts, fmt.Sprintf("It holds %s, %s.", l.things(on[r].items), farm.Counted(on[r].shards, "shard")))
	if len(out.Fill) > 0 {
		out.Facts = append(out.Facts, fmt.Sprintf("%s binds: %s of %s (%.0f%%).", out.Fill[0].Resource, out.Fill[0].Used, out.Fill[0].Limit, 100*out.Fill[0].Share))
	}
	free, stuck := 0, []string{}
	for i, at := range l.where {
		if at != r {
			continue
		}
		can := false
		for other := range l.hosts {
			can = can || other != r && on[other].items > 0 && l.reason(i, other, on) == "free, but only by moving others first"
		}
		if can {
			free++
		} else {
			stuck = append(stuck, l.name(i))
		}
	}
	switch {
	case len(stuck) == 0:
		out.Facts = append(out.Facts, "Each of them alone would fit on another host in use, not all at once: the bound says how far that goes.")
	default:
		out.Facts = append(out.Facts, fmt.Sprintf("To empty it others would have to move first: no host in use has room for %s.", listed(stuck, 4)))
	}
	if out.Free = Freeing(l.farm, p); len(l.farm.Pairs) > MostFreeing {
		out.unasked = true
		out.Facts = append(out.Facts, "What would free a host is not looked for in a farm of this size: ask `stowage plan --dry-run` with other goals.")
	}
	return out
}

func listed(names []string, most int) string {
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// whyApart says how the sides of one thing are apart.
func (l *layout) whyApart(sides []int) string {
	number := map[int]string{2: "two"}[len(sides)]
	if number == "" {
		number = fmt.Sprint(len(sides))
	}
	labels := make([][]string, len(l.goals.SpreadLabels))
	var hosts []string
	for _, i := range sides {
		if l.where[i] < 0 {
			return "One of its sides is on a host that is not packed onto."
		}
		host := l.hosts[l.where[i]].spec
		hosts = append(hosts, string(host.Name))
		for n, label := range l.goals.SpreadLabels {
			labels[n] = append(labels[n], host.Labels[label])
		}
	}
	text := fmt.Sprintf("Its sides are on %s: %s hosts", anded(hosts), number)
	for n, label := range l.goals.SpreadLabels {
		text += fmt.Sprintf(", %s values of %s (%s)", number, label, anded(labels[n]))
	}
	return text + ". Each has room for all of the pair's load."
}

// anded is a, b and c.
func anded(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
