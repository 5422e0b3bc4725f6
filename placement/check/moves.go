package check

import (
	"fmt"
	"math"

	"stowage/farm"
	"stowage/placement"
)

// movesMatch: there is exactly one move for each side that changes its place,
// from where it is to where it is assigned, and none for the others. With the
// unit shard every side of every shard moves that is not frozen: to a new
// instance, be it on the same host.
func (j *judge) movesMatch() {
	if j.byShard {
		j.shardMovesMatch()
		return
	}
	moves := map[sideKey]placement.Move{}
	for _, m := range j.plan.Moves {
		k := sideKey{m.Pair, m.Side}
		if _, twice := moves[k]; twice {
			j.say("move-once", string(m.Instance), "it moves twice")
		}
		moves[k] = m
		j.movePlaces(m)
	}
	for _, a := range j.plan.Assignments {
		pair := j.pairs[a.Pair]
		if pair == nil {
			continue // said elsewhere
		}
		at := pair.Sides[a.Side]
		if m, ok := moves[sideKey{a.Pair, a.Side}]; ok {
			at = farm.Side{Host: m.To.Host, Port: m.To.Port}
		}
		if a.Host != at.Host || a.Port != at.Port {
			j.say("move-matches", string(a.Instance), "assigned to %s:%d and the moves leave it on %s:%d", a.Host, a.Port, at.Host, at.Port)
		}
	}
}

// movePlaces: a move goes from where its side is to a place that can be.
func (j *judge) movePlaces(m placement.Move) {
	pair, ok := j.pairs[m.Pair]
	if !ok || m.Shard != "" {
		j.say("move-known", string(m.Instance), "the farm has no side %s of pair %s to move as a whole", m.Side, m.Pair)
		return
	}
	was, ok := pair.Sides[m.Side]
	if !ok {
		j.say("move-known", string(m.Instance), "the farm has no side %s of pair %s", m.Side, m.Pair)
		return
	}
	if name := pair.Instance(m.Side); m.Instance != name || m.Name != string(name) || m.Source != m.From.Host || m.Target != m.To.Host {
		j.say("move-names", string(name), "what, from and to (%s, %s, %s) are not those of its places", m.Name, m.Source, m.Target)
	}
	j.moveFrom(m, was)
	if j.moveTo(m); m.To.Datadir == "" {
		j.say("move-to", m.Name, "there is no datadir for it on %s", m.To.Host)
	}
	j.findings = append(j.findings, Paths(j.farm, []placement.Move{m})...)
	if m.To.Host == m.From.Host {
		j.say("move-to", m.Name, "it moves to the host it is on")
	}
}

// Paths lists the moves whose new instance would be made where none may be. It
// is asked before every move, also of what is left of a plan.
func Paths(f *farm.Farm, moves []placement.Move) (out []farm.Finding) {
	for _, m := range moves {
		if m.Shard != "" || m.To.Datadir == "" {
			continue // its place is made of the host's dir, or there is none: said elsewhere
		}
		h, _ := f.Host(m.To.Host)
		if err := farm.CheckPlace(h.Dir, m.To.Datadir, m.To.Config); err != nil {
			out = append(out, farm.Finding{Check: "move-paths", Severity: farm.Blocker, Subject: m.Name, Text: "its new place on " + string(m.To.Host) + " is refused: " + err.Error(),
				Remedy: "make the plan again with `stowage plan`; where new instances are made is dir: of the host in farm.yaml"})
		}
	}
	return out
}

func (j *judge) moveFrom(m placement.Move, was farm.Side) {
	from := placement.Place{Host: was.Host, Address: j.hosts[was.Host].Address, Port: was.Port, Datadir: was.Datadir, Config: was.Config, GroupSuffix: was.GroupSuffix}
	if m.From != from {
		j.say("move-from", m.Name, "it moves from %s:%d and is on %s:%d", m.From.Host, m.From.Port, was.Host, was.Port)
	}
}

func (j *judge) moveTo(m placement.Move) {
	if to, ok := j.hosts[m.To.Host]; !ok || to.Address != m.To.Address || m.To.Port < 1 || m.To.Port > math.MaxUint16 {
		j.say("move-to", m.Name, "%s:%d is not a place", m.To.Host, m.To.Port)
	}
}

func (j *judge) shardMovesMatch() {
	moves := map[shardKey]placement.Move{}
	for _, m := range j.plan.Moves {
		k := shardKey{m.Shard, m.Side}
		if _, twice := moves[k]; twice {
			j.say("move-once", string(m.Shard), "side %s moves twice", m.Side)
		}
		moves[k] = m
		if m.Name != string(m.Shard) || m.Source != m.From.Host || m.Target != m.To.Host {
			j.say("move-names", string(m.Shard), "what, from and to (%s, %s, %s) are not those of its places", m.Name, m.Source, m.Target)
		}
		pair := j.pairs[j.shardOf[m.Shard]]
		if pair == nil {
			j.say("move-known", string(m.Shard), "the farm has no such shard")
			continue
		}
		j.moveFrom(m, pair.Sides[m.Side])
		j.moveTo(m)
	}
	for _, a := range j.plan.Assignments {
		if j.isFrozen(j.shardOf[a.Shard]) {
			continue
		}
		m, ok := moves[shardKey{a.Shard, a.Side}]
		if !ok || m.To.Host != a.Host || m.To.Port != a.Port || m.Instance != a.Instance || m.Pair != a.Pair {
			j.say("move-matches", string(a.Shard), "assigned to %s on %s:%d, and no move leads there", a.Instance, a.Host, a.Port)
		}
	}
}

// serverIDs: every new instance has an id that no instance of this farm ever
// had, and the farm's next id is above them all. With the unit shard ids are
// given when the instances are made: there must be enough.
func (j *judge) serverIDs() {
	if j.plan.NextServerID < j.farm.NextServerID {
		j.say("server-id-next", "farm", "next_server_id would go down from %d to %d", j.farm.NextServerID, j.plan.NextServerID)
		return
	}
	if j.byShard {
		made := map[farm.InstanceName]bool{}
		for _, m := range j.plan.Moves {
			made[m.Instance] = true
		}
		if left := uint64(j.plan.NextServerID - j.farm.NextServerID); left < uint64(len(made)) {
			j.say("server-id-next", "farm", "next_server_id grows by %d and %d instances are made", left, len(made))
		}
		return
	}
	owner := map[uint32]farm.InstanceName{}
	for _, m := range j.plan.Moves {
		if first, taken := owner[m.ServerID]; taken {
			j.say("server-id-unique", string(m.Instance), "server_id %d is also given to %s", m.ServerID, first)
		}
		owner[m.ServerID] = m.Instance
		if m.ServerID < j.farm.NextServerID {
			j.say("server-id-new", string(m.Instance), "server_id %d may have been used: the farm's next is %d", m.ServerID, j.farm.NextServerID)
		}
		if m.ServerID >= j.plan.NextServerID {
			j.say("server-id-next", string(m.Instance), "server_id %d is not below the plan's next_server_id %d", m.ServerID, j.plan.NextServerID)
		}
	}
}

// placesUnique: while the moves run, old and new instances stand side by side;
// no two of them share an address and port, or a datadir.
func (j *judge) placesUnique() {
	listens, datadirs := map[string]farm.InstanceName{}, map[string]farm.InstanceName{}
	claim := func(taken map[string]farm.InstanceName, rule, what string, me farm.InstanceName) {
		if first, ok := taken[what]; ok {
			j.say(rule, string(me), "%s belongs to %s", what, first)
		}
		taken[what] = me
	}
	listen := func(host farm.HostName, port int) string {
		address := j.hosts[host].Address
		if j.bought[host] {
			address = "host " + string(host) // it has none yet
		}
		return fmt.Sprintf("%s:%d", address, port)
	}
	for i := range j.whole.Pairs {
		pair := &j.whole.Pairs[i]
		for _, side := range sidesOf(pair) {
			s := pair.Sides[side]
			claim(listens, "port-unique", listen(s.Host, s.Port), pair.Instance(side))
			claim(datadirs, "datadir-unique", s.Datadir+" on "+string(s.Host), pair.Instance(side))
		}
	}
	made := map[farm.InstanceName]bool{}
	for _, m := range j.plan.Moves {
		if j.byShard && made[m.Instance] {
			continue // the instance of another shard, on the same port: see everyShardOnce
		}
		made[m.Instance] = true
		claim(listens, "port-unique", listen(m.To.Host, m.To.Port), m.Instance)
		if !j.byShard {
			claim(datadirs, "datadir-unique", m.To.Datadir+" on "+string(m.To.Host), m.Instance)
		}
	}
}
