package check

import (
	"fmt"

	"stowage/farm"
	"stowage/placement"
)

// waveOrder: waves and stages are counted from 1 without holes; a wave never
// holds both sides of a pair, and is no larger than the goals allow.
func (j *judge) waveOrder() {
	wave, size, stage := 0, 0, 1
	moving := map[string]bool{}
	for n, m := range j.plan.Moves {
		if m.Wave != wave {
			if m.Wave != wave+1 {
				j.say("wave-order", m.Name, "wave %d follows wave %d", m.Wave, wave)
			}
			wave, size, moving = m.Wave, 0, map[string]bool{}
		}
		if m.Stage < stage || m.Stage > stage+1 || n == 0 && m.Stage != 1 {
			j.say("stage-order", m.Name, "stage %d follows stage %d", m.Stage, stage)
		}
		stage = m.Stage
		what := j.what(m)
		if moving[what] {
			j.say("wave-pair", what, "both sides move in wave %d", m.Wave)
		}
		moving[what] = true
		if size++; size == j.plan.Goals.Parallel+1 {
			j.say("wave-size", fmt.Sprintf("wave %d", m.Wave), "more than %s swing at once", farm.Counted(j.plan.Goals.Parallel, "side"))
		}
	}
}

// what names the thing of which a move takes one side: a pair or a shard.
func (j *judge) what(m placement.Move) string {
	if j.byShard {
		return string(m.Shard)
	}
	return string(m.Pair)
}

// way is the farm on its way through the moves: what is where, counted
// with what everything needs today.
type way struct {
	*judge
	on     map[farm.HostName]*load
	copies map[farm.HostName]int
	at     map[string]map[farm.SideName]farm.HostName // by pair, or by shard
}

// onTheWay replays the stages: at no moment is a host that receives something
// over its capacity, counting everything that left it in the same stage, and
// never are both sides of a pair on one host. With the unit shard, old
// instances keep their shards until those have moved.
func (j *judge) onTheWay() {
	w := &way{judge: j, on: map[farm.HostName]*load{}, copies: map[farm.HostName]int{}, at: map[string]map[farm.SideName]farm.HostName{}}
	for name := range j.hosts {
		w.on[name] = j.newLoad()
	}
	for i := range j.farm.Pairs {
		pair := &j.farm.Pairs[i]
		for side, s := range pair.Sides {
			for _, what := range j.whats(pair) {
				if w.on[s.Host] != nil {
					w.arrives(what, side, s.Host)
				}
			}
		}
	}
	type departure struct {
		what string
		host farm.HostName
	}
	var left []departure
	for n, m := range j.plan.Moves {
		if n > 0 && m.Stage != j.plan.Moves[n-1].Stage {
			for _, d := range left {
				w.leaves(d.what, d.host)
			}
			left = left[:0]
		}
		what, from := j.what(m), m.From.Host
		if w.on[m.To.Host] == nil || w.on[from] == nil || w.at[what] == nil {
			continue // unknown names are other rules' findings
		}
		for side, host := range w.at[what] {
			if side != m.Side && host == m.To.Host {
				j.say("way-sides-apart", what, "in wave %d both sides are on host %s", m.Wave, m.To.Host)
			}
		}
		w.arrives(what, m.Side, m.To.Host)
		w.fits(m)
		left = append(left, departure{what, from})
	}
}

func (w *way) arrives(what string, side farm.SideName, host farm.HostName) {
	if w.at[what] == nil {
		w.at[what] = map[farm.SideName]farm.HostName{}
	}
	w.at[what][side] = host
	w.change(what, host, 1)
}

func (w *way) leaves(what string, host farm.HostName) { w.change(what, host, -1) }

func (w *way) change(what string, host farm.HostName, sign int) {
	w.copies[host] += sign
	if w.byShard && w.shards[farm.ShardName(what)] != nil {
		w.add(w.on[host], w.shards[farm.ShardName(what)], w.now(), float64(sign))
		return
	}
	if pair := w.pairs[farm.PairName(what)]; pair != nil && !w.byShard {
		for k := range pair.Shards {
			w.add(w.on[host], &pair.Shards[k], w.now(), float64(sign))
		}
		w.plain(w.on[host], w.plan.Goals.Overhead, float64(sign))
	}
}

// whats are the names of what moves as a whole in a pair.
func (j *judge) whats(pair *farm.Pair) []string {
	if !j.byShard {
		return []string{string(pair.Name)}
	}
	out := make([]string, len(pair.Shards))
	for i, s := range pair.Shards {
		out[i] = string(s.Name)
	}
	return out
}

// brings are the resources of which what moves uses any today.
func (w *way) brings(m placement.Move) map[farm.ResourceName]bool {
	out := map[farm.ResourceName]bool{}
	look := func(r farm.Resources) {
		for n, v := range r {
			out[n] = out[n] || v > 0
		}
	}
	if s := w.shards[m.Shard]; s != nil && w.byShard {
		look(s.Needs)
	} else if pair := w.pairs[m.Pair]; pair != nil && !w.byShard {
		look(w.plan.Goals.Overhead)
		for _, s := range pair.Shards {
			look(s.Needs)
		}
	}
	return out
}

func (w *way) fits(m placement.Move) {
	h := w.hosts[m.To.Host]
	t := w.types[h.Type]
	today, _ := w.today.Host(h.Name) // none of one that is to be bought: nothing is reserved there
	brings := w.brings(m)
	for n, c := range t.Capacity {
		if !brings[n] {
			continue // it overloads what it uses, and nothing else
		}
		if peak := w.peak(w.on[m.To.Host], n); peak > max(0, c-today.Reserved[n])+c*slack {
			w.say("way-load", string(m.To.Host), "in wave %d it would hold %s of %s %s", m.Wave, amount(n, peak), amount(n, c), n)
		}
	}
	if most := w.mostInstances(h); most > 0 && !w.byShard && w.copies[m.To.Host] > most {
		w.say("way-max-instances", string(m.To.Host), "in wave %d it would hold %s, at most %d", m.Wave, farm.Counted(w.copies[m.To.Host], "instance"), most)
	}
}
