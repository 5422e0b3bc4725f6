package report

import (
	"slices"
	"strings"

	"stowage/farm"
)

// topologies are those of the pairs that the facts know.
func (f Facts) topologies() map[farm.PairName]farm.Topology {
	out := map[farm.PairName]farm.Topology{}
	if f.Plan != nil {
		for _, p := range f.Plan.Basis.Pairs {
			out[p.Name] = p.Topology
		}
	}
	if f.Now != nil {
		for _, p := range f.Now.Pairs {
			out[p.Name] = p.Topology
		}
	}
	return out
}

// served says who serves the clients of a lane while it has a tone.
func (l *lane) served(t tone) string {
	if l.OfShard {
		return map[tone]string{beside: "the old pair serves", waits: "held for a moment", past: "the new pair serves"}[t]
	}
	switch l.Topology {
	case farm.ActiveActive:
		return map[tone]string{beside: "both sides serve", alone: "twin alone", past: "new side serves"}[t]
	case farm.PrimaryReplica:
		return map[tone]string{beside: "primary and replica serve", alone: "the other side alone", waits: "writes held for a moment", past: "new side serves"}[t]
	case farm.Single:
		return map[tone]string{beside: "the one server serves", alone: "held at the gate", waits: "held for a moment", past: "the one server serves, on its new host"}[t]
	}
	return map[tone]string{beside: "served as before", alone: "twin alone", waits: "held for a moment", past: "new side serves"}[t]
}

// servedBy joins what lanes say of a tone, each once.
func servedBy(lanes []*lane, t tone) string {
	var out []string
	for _, l := range lanes {
		if text := l.served(t); text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return strings.Join(out, "; ")
}

// toneKeys are the looks of bars that a timeline of these lanes has.
func toneKeys(lanes []*lane) []planKey {
	seen := map[tone]bool{}
	plain := true
	for _, l := range lanes {
		plain = plain && l.Topology == farm.ActiveActive && !l.OfShard
		for _, s := range l.Segments {
			seen[s.Tone] = true
		}
	}
	words := map[tone]string{beside: "beside: clients are served as before", alone: "alone: the other side carries all clients", waits: "held: clients wait for a moment", past: "done: the new place serves"}
	if plain {
		words[beside], words[alone], words[past] = "beside: both old sides serve", "alone: the twin carries all clients", "done: the new side serves"
	}
	var out []planKey
	for _, t := range []tone{beside, alone, waits, past} {
		if seen[t] {
			out = append(out, planKey{string(t), words[t]})
		}
	}
	return out
}
