package placement

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"stowage/farm"
)

// Solve plans the farm. Errors wrap farm.ErrInput when the farm or the goals
// make no sense, and farm.ErrRefused when no place was found for an instance;
// that one names the instance and what was lacking where.
//
// The caller sets Name, Made and Seconds.
func Solve(f *farm.Farm, g Goals) (Plan, error) {
	if ps := append(f.Check(), g.Check(f)...); len(ps) > 0 {
		return Plan{}, &farm.Error{Op: "plan farm", Subject: f.Name, Err: fmt.Errorf("%w: %s", farm.ErrInput, ps[0])}
	}
	p := newProblem(f, g)
	if err := p.possible(); err != nil {
		return Plan{}, &farm.Error{Op: "plan farm", Subject: f.Name, Err: err, Hint: "give more hosts of the types to pack onto, or ask for less headroom, in farm.yaml and goals.yaml"}
	}
	low := p.lowerBound()
	best, furthest := p.search(low.hosts)
	if best == nil {
		return Plan{}, &farm.Error{Op: "plan farm", Subject: f.Name, Err: furthest.explain(furthest.missing()), Hint: "give more hosts of the types to pack onto, or ask for less headroom, in farm.yaml and goals.yaml"}
	}
	return p.plan(best, low)
}

// possible refuses what no search could place: an instance larger than every
// host, or all of them larger than all hosts together.
func (p *problem) possible() error {
	if len(p.items) == 0 {
		return nil
	}
	if len(p.rooms) == 0 {
		return fmt.Errorf("%w: farm.yaml has no host of the types to pack onto (%s)", farm.ErrInput, joinTypes(p.goals.Onto))
	}
	for i, it := range p.items {
		for d, v := range it.needs {
			if most := p.roomiest(d); v > most*(1+tolerance) {
				return fmt.Errorf("%w: %s needs %s of %s and the roomiest host to pack onto offers %s%s",
					farm.ErrRefused, p.items[i].name, p.amount(d, v), p.dims[d], p.amount(d, most), p.lessHeadroom(d))
			}
		}
	}
	if low := p.lowerBound(); low.hosts > len(p.rooms) {
		return fmt.Errorf("%w: %s are not enough: %s", farm.ErrRefused, count(len(p.rooms), "host"), p.shortfall())
	}
	return nil
}

// shortfall names the dimension of which all rooms together have least.
func (p *problem) shortfall() string {
	if len(p.rooms) < 2 {
		return "the sides of a pair need two hosts"
	}
	worst, text := 1.0, ""
	for d, name := range p.dims {
		total := 0.0
		for i := range p.rooms {
			total += p.rooms[i].limits[d]
		}
		if ratio := p.demand[d] / total; p.demand[d] > 0 && ratio > worst {
			worst = ratio
			text = fmt.Sprintf("%s need %s of %s together, the hosts offer %s%s",
				count(len(p.items), "instance"), p.amount(d, p.demand[d]), name, p.amount(d, total), p.lessHeadroom(d))
		}
	}
	return text
}

func (p *problem) amount(d int, v float64) string {
	if p.dims[d] == slots {
		return farm.FormatQuantity(v, farm.KindPlain)
	}
	return farm.RoundQuantity(v, p.dims[d].Kind())
}

func (p *problem) lessHeadroom(d int) string {
	if h := p.goals.Headroom[p.dims[d]]; h > 0 {
		return fmt.Sprintf(" after %.3g%% headroom", h*100)
	}
	return ""
}

// explain says for item i, which found no place, what each host lacks.
func (l *layout) explain(i int) error {
	reasons := map[string]int{}
	for r := range l.rooms {
		reasons[l.reason(i, r)]++
	}
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
	return fmt.Errorf("%w: found no place for %s (%s): of %s, %s", farm.ErrRefused,
		l.items[i].name, l.wants(i), count(len(l.rooms), "host"), strings.Join(texts, ", "))
}

// reason is the first thing that forbids room r to item i.
func (l *layout) reason(i, r int) string {
	if l.rooms[r].host.Dir == "" {
		return "without dir in farm.yaml, so that nothing can be made there"
	}
	if l.shut[r] {
		return "already too full for what is on it"
	}
	if d := l.lacks(i, r); d >= 0 {
		if l.dims[d] == slots {
			return "at max_instances"
		}
		return "lacking " + string(l.dims[d])
	}
	switch c := l.clashes(i, r); c {
	case "twin":
		return "holding its twin"
	case "":
		return "free, but only by moving others first"
	default:
		return "with the same " + c + " as its twin"
	}
}

func (l *layout) wants(i int) string {
	var texts []string
	for d, v := range l.items[i].needs {
		if v > 0 && l.dims[d] != slots {
			texts = append(texts, fmt.Sprintf("%s %s", l.dims[d], l.amount(d, v)))
		}
	}
	return strings.Join(texts, ", ")
}

func joinTypes(ts []farm.HostTypeName) string {
	names := make([]string, len(ts))
	for i, t := range ts {
		names[i] = string(t)
	}
	return strings.Join(names, ", ")
}

// plan writes a finished layout down.
func (p *problem) plan(l *layout, low bound) (Plan, error) {
	plan := Plan{
		FormatVersion: FormatVersion, Farm: p.farm.Name, Goals: p.goals,
		HostsBefore: len(p.farm.HostsInUse()), HostsUsed: l.inUse(),
		LowerBound: low.hosts, BoundMethod: low.method,
		Assignments: []Assignment{}, Hosts: []HostUse{},
		Basis: basisOf(p.farm),
	}
	if low.hosts > 0 {
		plan.Gap = float64(plan.HostsUsed-low.hosts) / float64(low.hosts)
	}
	moves, err := p.moves(l)
	if err != nil {
		return Plan{}, &farm.Error{Op: "plan farm", Subject: p.farm.Name, Err: err}
	}
	plan.Moves = moves
	plan.NextServerID = p.farm.NextServerID + uint32(len(moves))
	p.assignments(&plan)
	for r := range p.rooms {
		if len(l.inside[r]) > 0 {
			plan.Hosts = append(plan.Hosts, l.hostUse(r))
		}
	}
	plan.CostBefore, plan.WattsBefore = costAndWatts(p.farm, p.farm.HostsInUse())
	used := make([]farm.HostName, len(plan.Hosts))
	for i, h := range plan.Hosts {
		used[i] = h.Name
	}
	plan.Cost, plan.Watts = costAndWatts(p.farm, used)
	return plan, nil
}

func (p *problem) assignments(plan *Plan) {
	after := plan.Apply(p.farm)
	for _, pair := range after.Pairs {
		for _, side := range farm.SideNames {
			s := pair.Sides[side]
			plan.Assignments = append(plan.Assignments, Assignment{pair.Name, side, pair.Instance(side), s.Host, s.Port})
		}
	}
}

func (l *layout) hostUse(r int) HostUse {
	h := l.rooms[r].host
	t, _ := l.farm.HostType(h.Type)
	u := HostUse{Name: h.Name, Type: h.Type, Use: map[farm.ResourceName]float64{}}
	worst := -1.0
	for d, name := range l.dims {
		limit := l.rooms[r].limits[d]
		if math.IsInf(limit, 1) {
			continue
		}
		if c := t.Capacity[name]; c > 0 {
			u.Use[name] = l.used[r][d] / c
		}
		if limit > 0 && l.used[r][d]/limit > worst {
			worst, u.Binding = l.used[r][d]/limit, string(name)
		}
	}
	for _, i := range l.inside[r] {
		u.Instances = append(u.Instances, l.items[i].name)
	}
	slices.Sort(u.Instances)
	return u
}

func costAndWatts(f *farm.Farm, hosts []farm.HostName) (cost, watts float64) {
	types := map[farm.HostName]farm.HostTypeName{}
	for _, h := range f.Hosts {
		types[h.Name] = h.Type
	}
	for _, h := range hosts {
		t, _ := f.HostType(types[h])
		cost += t.Price
		watts += t.Watts
	}
	return cost, watts
}

// errPorts and errServerIDs are the two numbers that can run out.
var (
	errPorts     = errors.New("no free port up to 65535")
	errServerIDs = errors.New("no server_id left below 4294967296")
)
