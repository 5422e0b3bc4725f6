package report

import (
	"fmt"
	"math"

	"stowage/farm"
)

// What counts as near, and as long.
const (
	nearLimit = 0.90         // of a limit: said
	atLimit   = 0.97         // of a limit: a warning
	longMove  = 24 * 3600.0  // seconds: one side copied for longer than a day
	longWhole = 14 * 86400.0 // seconds: all moves
)

// planRisk looks for one kind of risk. Risks are looked for in this order.
type planRisk func(c *census) (farm.Finding, bool)

// planRisks is the list of what is looked for.
var planRisks = []planRisk{
	riskDrift, riskUnknownShards, riskNotProved, riskTopology, riskShardUnit, riskBought,
	riskSharedDomain, riskNoLabels, riskNearLimit, riskShortNow, riskRunway, riskLateMoves,
	riskNoGrowth, riskNoNeeds, riskLongMoves, riskRates,
}

// risks are what the checker found wrong, and then what a reviewer should know.
func (c *census) risks(wrong []farm.Finding) []farm.Finding {
	out := []farm.Finding{}
	for i, w := range wrong {
		if i == 20 {
			out = append(out, farm.Finding{Check: w.Check, Severity: farm.Blocker, Subject: "plan", Text: fmt.Sprintf("%d more of what the checker found", len(wrong)-i), Remedy: "make a new plan"})
			break
		}
		w.Remedy = orText(w.Remedy, "do not carry this plan out: make a new one")
		out = append(out, w)
	}
	for _, look := range planRisks {
		if f, found := look(c); found {
			out = append(out, f)
		}
	}
	return sortedFindings(out)
}

func orText(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func riskDrift(c *census) (farm.Finding, bool) {
	if len(c.drift) == 0 {
		return farm.Finding{}, false
	}
	return farm.Finding{
		Check: "plan-drift", Severity: farm.Blocker, Subject: c.drift[0].Subject,
		Text:   fmt.Sprintf("farm.yaml has changed since the plan was made, in %s; the first: %s", count(len(c.drift), "place"), c.drift[0]),
		Remedy: "make a new plan: stowage move would refuse this one",
	}, true
}

func riskUnknownShards(c *census) (farm.Finding, bool) {
	return farm.Finding{
		Check: "plan-unknown-shards", Severity: farm.Warning, Subject: count(c.unknown, "shard"),
		Text:   "farm.yaml says nothing of them any more: they count as nothing in this document",
		Remedy: "read the document with the farm.yaml that the plan was made from",
	}, c.unknown > 0
}

func riskNotProved(c *census) (farm.Finding, bool) {
	_, lead := proofWords(c.plan, false)
	j := judge(c.plan)
	return farm.Finding{
		Check: "plan-gap", Severity: farm.Note, Subject: "plan",
		Text:   "not proved optimal: " + lead,
		Remedy: "none needed: the plan holds; a better one may exist within the gap",
	}, c.plan.HostsUsed > 0 && !j.isProved()
}

// riskTopology: where one side takes all writes, its move is a pause for them.
func riskTopology(c *census) (farm.Finding, bool) {
	moved := map[farm.PairName]bool{}
	first := farm.PairName("")
	for _, m := range c.plan.Moves {
		if pair := c.pairs[m.Pair]; pair != nil && pair.Topology.HasOneWriter() && m.Side == farm.A {
			if first == "" {
				first = m.Pair
			}
			moved[m.Pair] = true
		}
	}
	return farm.Finding{
		Check: "plan-topology", Severity: farm.Note, Subject: string(first),
		Text:   fmt.Sprintf("the primary of %s moves: writes of such a pair wait once, in the router", count(len(moved), "pair")),
		Remedy: "none needed: docs/guide/switchover.md has measured pauses; --approve-before cutover lets a person choose the moment",
	}, len(moved) > 0
}

func riskShardUnit(c *census) (farm.Finding, bool) {
	return farm.Finding{
		Check: "plan-unit", Severity: farm.Note, Subject: "plan",
		Text:   "shards are regrouped into new pairs, one by one; the clients of each wait once, and pairs that are empty then are retired",
		Remedy: "none needed: docs/guide/move-shard.md says how, and what clients must do",
	}, c.isByShard() && len(c.plan.Moves) > 0
}

func riskBought(c *census) (farm.Finding, bool) {
	n := c.bought()
	return farm.Finding{
		Check: "plan-buy", Severity: farm.Warning, Subject: count(n, "host"),
		Text:   "they do not exist yet: no address, no dir, and labels as goals.yaml deals them out",
		Remedy: "when they stand, enter them in farm.yaml as they are and plan again; stowage move needs that plan",
	}, n > 0
}

// riskSharedDomain: both sides of pairs behind one value of a label that the
// goals do not spread over.
func riskSharedDomain(c *census) (farm.Finding, bool) {
	for _, label := range labelsOf(c.after) {
		n, worst := 0, lost{}
		for _, l := range c.surfaceOf(c.after, byLabel(label)) {
			n += l.both
			if l.both > worst.both {
				worst = l
			}
		}
		if n > 0 {
			return farm.Finding{
				Check: "plan-shared-" + label, Severity: farm.Warning, Subject: worst.what,
				Text:   fmt.Sprintf("%s have both sides behind one %s; with %s %s are gone at once", count(n, "pair"), label, worst.what, count(worst.both, "pair")),
				Remedy: "goals.yaml: spread_labels: [" + label + "]",
			}, true
		}
	}
	return farm.Finding{}, false
}

func riskNoLabels(c *census) (farm.Finding, bool) {
	bare := 0
	for _, h := range c.after {
		if len(h.host.Labels) == 0 {
			bare++
		}
	}
	return farm.Finding{
		Check: "plan-labels", Severity: farm.Warning, Subject: count(bare, "host"),
		Text:   "no label says in which rack or on which power feed they are: both sides of a pair may share one",
		Remedy: "farm.yaml: labels: {rack: ..., power: ...}; goals.yaml: spread_labels: [rack, power]",
	}, bare > 0
}

func riskNearLimit(c *census) (farm.Finding, bool) {
	near, worst := 0, carrier{}
	for _, h := range c.after {
		// Instances are counted, not estimated: as many as allowed is no risk.
		if h.binding == slots {
			h.nearness, h.binding = c.fullestResource(h)
		}
		if h.nearness > nearLimit {
			near++
		}
		if h.nearness > worst.nearness {
			worst = h
		}
	}
	severity := farm.Note
	if worst.nearness > atLimit {
		severity = farm.Warning
	}
	return farm.Finding{
		Check: "plan-near-limit", Severity: severity, Subject: count(near, "host"),
		Text:   fmt.Sprintf("filled above %s of a limit at the end of the runway; the fullest is %s, %s of its %s", percent(nearLimit), worst.host.Name, percent(worst.nearness), worst.bindingText()),
		Remedy: "headroom on top of it is left free; more of it, or a longer runway, asks for more hosts",
	}, near > 0
}

// fullestResource is the resource of a host nearest its limit.
func (c *census) fullestResource(h carrier) (nearness float64, name string) {
	for _, n := range h.use.Names() {
		if share := h.use[n] / c.limit(n); share > nearness {
			nearness, name = share, string(n)
		}
	}
	return nearness, name
}

// riskShortNow: hosts that are short of something today, runway and growth
// left out of the account.
func riskShortNow(c *census) (farm.Finding, bool) {
	short, worst, most, what := 0, carrier{}, 0.0, farm.ResourceName("")
	for _, h := range c.before {
		over := false
		for n, all := range h.kind.Capacity {
			sum := h.host.Reserved[n]
			for _, x := range h.instances {
				sum += c.plan.Goals.Overhead[n]
				for _, s := range x.shards {
					sum += s.Needs[n]
				}
			}
			if n.IsRate() || all <= 0 || sum <= all*(1+1e-9) {
				continue
			}
			over = true
			if share := sum / all; share > most || share == most && n < what {
				most, worst, what = share, h, n
			}
		}
		if over {
			short++
		}
	}
	return farm.Finding{
		Check: "farm-short", Severity: farm.Note, Subject: count(short, "host"),
		Text:   fmt.Sprintf("asked for more than they have as the farm stands; the worst is %s, %s of its %s", worst.host.Name, percent(most), what),
		Remedy: "this plan ends that where they are emptied",
	}, short > 0
}

func riskRunway(c *census) (farm.Finding, bool) {
	return farm.Finding{
		Check: "plan-runway", Severity: farm.Warning, Subject: "goals.yaml",
		Text:   "the goals name no runway: the plan holds for what the farm needs today",
		Remedy: "goals.yaml: runway: 540 days",
	}, c.plan.Goals.RunwayDays == 0
}

// riskLateMoves: a host that gives something away is full before the moves end.
func riskLateMoves(c *census) (farm.Finding, bool) {
	leaves := map[farm.HostName]bool{}
	for _, m := range c.plan.Moves {
		leaves[m.Source] = true
	}
	days, late, first := c.plan.MoveSeconds/86400, 0, carrier{}
	least := math.Inf(1)
	for _, h := range c.before {
		full := h.disk.days(h.disk.whole)
		if !leaves[h.host.Name] || full > days {
			continue
		}
		late++
		if full < least {
			least, first = full, h
		}
	}
	return farm.Finding{
		Check: "plan-late", Severity: farm.Warning, Subject: string(first.host.Name),
		Text:   fmt.Sprintf("%s would be full before all moves are done (%s)", count(late, "disk"), longSpan(c.plan.MoveSeconds)),
		Remedy: "free space on them first, or move them in a plan of their own",
	}, late > 0
}

func riskNoGrowth(c *census) (farm.Finding, bool) {
	n := 0
	for _, p := range c.farm.Pairs {
		for _, s := range p.Shards {
			if s.Growth == 0 {
				n++
			}
		}
	}
	return farm.Finding{
		Check: "plan-growth", Severity: farm.Warning, Subject: fmt.Sprintf("%s of %s", whole(float64(n)), count(c.shards(), "shard")),
		Text:   "no growth is known: the runway counts them as they are",
		Remedy: "farm.yaml: growth: 40MB/day for each shard",
	}, n > 0 && c.plan.Goals.RunwayDays > 0
}

// riskNoNeeds: a resource that hosts limit and of which some shards say
// nothing while others do.
func riskNoNeeds(c *census) (farm.Finding, bool) {
	for _, n := range c.resources {
		silent := 0
		for _, p := range c.farm.Pairs {
			for _, s := range p.Shards {
				if _, said := s.Needs[n]; !said {
					silent++
				}
			}
		}
		if silent > 0 {
			return farm.Finding{
				Check: "plan-needs", Severity: farm.Warning, Subject: fmt.Sprintf("%s of %s", whole(float64(silent)), count(c.shards(), "shard")),
				Text:   fmt.Sprintf("nothing says how much %s they need: they count as nothing", n),
				Remedy: "farm.yaml: " + string(n) + " for each shard",
			}, true
		}
	}
	return farm.Finding{}, false
}

func riskLongMoves(c *census) (farm.Finding, bool) {
	n, longest := 0, -1
	for i, m := range c.plan.Moves {
		if m.Seconds > longMove {
			n++
		}
		if longest < 0 || m.Seconds > c.plan.Moves[longest].Seconds {
			longest = i
		}
	}
	switch {
	case n > 0:
		m := c.plan.Moves[longest]
		return farm.Finding{
			Check: "plan-long-move", Severity: farm.Warning, Subject: m.Name,
			Text:   fmt.Sprintf("%s to copy take longer than a day; the longest takes %s", count(n, "move"), longSpan(m.Seconds)),
			Remedy: "goals.yaml: rates, if copying is faster than that; binary logs must last as long",
		}, true
	case c.plan.MoveSeconds > longWhole:
		return farm.Finding{
			Check: "plan-long", Severity: farm.Note, Subject: "moves",
			Text:   fmt.Sprintf("all moves together take %s", longSpan(c.plan.MoveSeconds)),
			Remedy: "goals.yaml: parallel and rates, if network and disks allow more",
		}, true
	}
	return farm.Finding{}, false
}

func riskRates(c *census) (farm.Finding, bool) {
	return farm.Finding{
		Check: "plan-rates", Severity: farm.Note, Subject: "goals.yaml",
		Text:   "no rate of copying is given: times are those of 100 MB a second",
		Remedy: "goals.yaml: rates: {stream: 120MB/s}, as measured",
	}, c.plan.Goals.Rates.Stream == 0 && len(c.plan.Moves) > 0
}
