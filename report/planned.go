package report

import (
	"fmt"
	"strings"

	"stowage/farm"
	"stowage/placement"
)

// planned is the section on the plan: its bound and its moves.
type planned struct {
	Name, Made  string
	IsOptimal   bool
	Proof       string
	Goals       []Fact
	Waves       []wave
	Moves       int
	Bytes       string
	OpenAtFirst bool // few enough moves to show at once
}

// wave is moves that may run at the same time.
type wave struct {
	Number, Sides int
	Bytes         string
	Moves         []moveRow
}

type moveRow struct {
	Instance farm.InstanceName
	Pair     farm.PairName
	Side     farm.SideName
	From, To string
	Bytes    string
	ServerID uint32
}

func newPlanned(p *placement.Plan) *planned {
	if p == nil {
		return nil
	}
	out := &planned{
		Name: p.Name, Made: p.Made, IsOptimal: p.HostsUsed == p.LowerBound, Moves: len(p.Moves), Bytes: size(p.Bytes()),
		Goals: goals(p.Goals), OpenAtFirst: len(p.Moves) <= 12,
	}
	if out.IsOptimal {
		out.Proof = fmt.Sprintf("At least %s are needed, whatever the plan: %s. This plan uses exactly as many.", count(p.LowerBound, "host"), boundWords(p.BoundMethod))
	} else {
		out.Proof = fmt.Sprintf("At least %s are needed: %s. This plan uses %d, which is %s above that bound; it is not proved that fewer would not do.",
			count(p.LowerBound, "host"), boundWords(p.BoundMethod), p.HostsUsed, percent(p.Gap))
	}
	for _, e := range p.Evidence {
		out.Goals = append(out.Goals, Fact{"figures of " + string(e.Resource), strings.TrimPrefix(e.String(), string(e.Resource)+": ")})
	}
	for _, m := range p.Moves {
		if len(out.Waves) == 0 || out.Waves[len(out.Waves)-1].Number != m.Wave {
			out.Waves = append(out.Waves, wave{Number: m.Wave})
		}
		w := &out.Waves[len(out.Waves)-1]
		w.Sides++
		w.Moves = append(w.Moves, moveRow{
			Instance: m.Instance, Pair: m.Pair, Side: m.Side, Bytes: size(m.Bytes), ServerID: m.ServerID,
			From: fmt.Sprintf("%s:%d", m.From.Host, m.From.Port), To: fmt.Sprintf("%s:%d", m.To.Host, m.To.Port),
		})
	}
	sums := map[int]int64{}
	for _, m := range p.Moves {
		sums[m.Wave] += m.Bytes
	}
	for i := range out.Waves {
		out.Waves[i].Bytes = size(sums[out.Waves[i].Number])
	}
	return out
}

// boundWords turns the planner's name for its bound into a reason.
func boundWords(method string) string {
	if r, ok := strings.CutPrefix(method, "volume of "); ok {
		return "what all instances together need of " + r + " fills that many"
	}
	if method == "max_instances of the hosts" {
		return "no host may hold more instances than max_instances of its type"
	}
	return method
}

func goals(g placement.Goals) []Fact {
	var out []Fact
	if len(g.Onto) > 0 {
		var names []string
		for _, t := range g.Onto {
			names = append(names, string(t))
		}
		out = append(out, Fact{"packed onto", strings.Join(names, ", ")})
	}
	if len(g.Minimise) > 0 {
		out = append(out, Fact{"made small", strings.Join(g.Minimise, ", then ")})
	}
	var free []string
	for _, r := range farm.Resources(g.Headroom).Names() {
		free = append(free, percent(g.Headroom[r])+" of "+string(r))
	}
	if len(free) > 0 {
		out = append(out, Fact{"left free on every host", strings.Join(free, ", ")})
	}
	out = append(out, Fact{"twins apart by", strings.Join(append([]string{"host"}, g.SpreadLabels...), ", ")})
	out = append(out, Fact{"sides at once", count(g.Parallel, "side")})
	return out
}
