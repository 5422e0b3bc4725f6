package check

import (
	"math"
	"sort"

	"stowage/farm"
	"stowage/placement"
)

// inTime: the moves keep to their budgets in the time the plan gives them. At
// no moment do more run than may, or both sides of a pair, or more than a host
// or a rack carries; a stage begins when the one before has ended; and the
// whole takes as long as the plan says.
func (j *judge) inTime() {
	moves := j.plan.Moves
	last := 0.0
	for _, m := range moves {
		if !(m.Begin >= 0) || !(m.Seconds >= 0) || math.IsInf(m.Begin+m.Seconds, 1) {
			j.say("time", m.Name, "it begins after %v s and takes %v s", m.Begin, m.Seconds)
			return
		}
		if stream := j.plan.Goals.Rates.Stream; stream > 0 && float64(m.Bytes) > stream*m.Seconds*(1+slack) {
			j.say("time", m.Name, "%d bytes in %.0f s are more than a stream carries", m.Bytes, m.Seconds)
		}
		last = max(last, m.Begin+m.Seconds)
	}
	if !near(j.plan.MoveSeconds, last) || !(j.plan.MoveBound >= 0) || j.plan.MoveBound > j.plan.MoveSeconds*(1+slack) {
		j.say("time", "plan", "the last move ends after %.0f s, and the plan says %.0f, at least %.0f", last, j.plan.MoveSeconds, j.plan.MoveBound)
	}
	j.stagesInTime()
	j.atOnce()
	j.criticalPath(last)
}

func near(a, b float64) bool { return math.Abs(a-b) <= slack*max(1, math.Abs(a), math.Abs(b)) }

func (j *judge) stagesInTime() {
	end, before, stage := 0.0, 0.0, 1
	for _, m := range j.plan.Moves {
		if m.Stage != stage {
			stage, before = m.Stage, end
		}
		if m.Begin < before-slack*max(1, before) {
			j.say("time", m.Name, "it begins after %.0f s, and the stage before ends after %.0f", m.Begin, before)
		}
		end = max(end, m.Begin+m.Seconds)
	}
}

// edge is a moment at which a move begins or ends.
type edge struct {
	at    float64
	begin bool
	move  int
}

// atOnce sweeps over all beginnings and ends. What ends at a moment makes room
// for what begins then.
func (j *judge) atOnce() {
	var edges []edge
	for n, m := range j.plan.Moves {
		end := m.Begin + m.Seconds
		edges = append(edges, edge{m.Begin, true, n}, edge{end - slack*max(1, end), false, n})
	}
	sort.SliceStable(edges, func(a, b int) bool {
		if edges[a].at != edges[b].at {
			return edges[a].at < edges[b].at
		}
		return !edges[a].begin && edges[b].begin
	})
	running, sides, rates := 0, map[string]int{}, map[string]float64{}
	for _, e := range edges {
		m := j.plan.Moves[e.move]
		sign := -1
		if e.begin {
			sign = 1
		}
		running += sign
		what := j.what(m)
		sides[what] += sign
		if e.begin && running > j.plan.Goals.Parallel {
			j.say("time", m.Name, "%d moves run at once, at most %d may", running, j.plan.Goals.Parallel)
			return // once is enough
		}
		if e.begin && sides[what] > 1 {
			j.say("time", what, "both sides are on the way after %.0f s", e.at)
		}
		if m.Seconds > 0 {
			for name, limit := range j.channels(m) {
				if rates[name] += float64(sign) * float64(m.Bytes) / m.Seconds; e.begin && rates[name] > limit*(1+slack) {
					j.say("time", m.Name, "%s carries more than %.0f bytes a second", name, limit)
				}
			}
		}
	}
}

// channels are what a move's bytes go through, with what each carries.
func (j *judge) channels(m placement.Move) map[string]float64 {
	r := j.plan.Goals.Rates
	out := map[string]float64{}
	if r.Host > 0 {
		out["out of host "+string(m.From.Host)], out["into host "+string(m.To.Host)] = r.Host, r.Host
	}
	rack := func(h farm.HostName) string { return j.hosts[h].Labels[r.RackLabel] }
	if from, to := rack(m.From.Host), rack(m.To.Host); r.Rack > 0 && r.RackLabel != "" && from != to {
		if from != "" { // hosts that are not packed onto need no label, and are not all in one rack
			out["out of rack "+from] = r.Rack
		}
		if to != "" {
			out["into rack "+to] = r.Rack
		}
	}
	return out
}

// criticalPath: each of its moves begins when the one before ends, and the
// last one is what ends last.
func (j *judge) criticalPath(last float64) {
	path := j.plan.Critical
	if len(j.plan.Moves) == 0 && len(path) == 0 {
		return
	}
	spans := map[string]map[float64]float64{} // by name and beginning
	for _, m := range j.plan.Moves {
		if spans[m.Name] == nil {
			spans[m.Name] = map[float64]float64{}
		}
		spans[m.Name][m.Begin] = m.Seconds
	}
	at := 0.0
	for _, c := range path {
		if seconds, is := spans[c.What][c.Begin]; !is || !near(seconds, c.Seconds) {
			j.say("time", c.What, "the critical path has a move of %.0f s after %.0f s that is none", c.Seconds, c.Begin)
		}
		if !near(c.Begin, at) {
			j.say("time", c.What, "on the critical path it begins after %.0f s, and the one before ends after %.0f", c.Begin, at)
		}
		at = c.Begin + c.Seconds
	}
	if !near(at, last) {
		j.say("time", "plan", "the critical path ends after %.0f s and the moves after %.0f", at, last)
	}
}
