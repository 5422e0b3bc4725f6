package check

import (
	"fmt"
	"math"
	"sort"

	"stowage/farm"
	"stowage/placement"
)

// slack forgives rounding when needs are added up in another order than the
// planner's.
const slack = 1e-6

// Plan lists everything wrong with plan p for farm f, each as a blocker. An
// empty result means: every side has one place, the sides of a pair are apart,
// no host is overloaded at the end or on the way, no address, datadir or
// server_id is used twice, and the plan's own figures are true.
func Plan(f *farm.Farm, p placement.Plan) []farm.Finding {
	j := &judge{farm: f, plan: p, hosts: map[farm.HostName]farm.Host{}, types: map[farm.HostTypeName]farm.HostType{}, pairs: map[farm.PairName]farm.Pair{}}
	for _, t := range f.HostTypes {
		j.types[t.Name] = t
	}
	for _, h := range f.Hosts {
		j.hosts[h.Name] = h
	}
	for _, pair := range f.Pairs {
		j.pairs[pair.Name] = pair
	}
	for _, rule := range rules {
		rule(j)
	}
	j.sortFindings()
	return j.findings
}

// rules are everything a plan is judged by.
var rules = []func(*judge){
	(*judge).everySideOnce,
	(*judge).sidesApart,
	(*judge).rightHosts,
	(*judge).hostLoads,
	(*judge).movesMatch,
	(*judge).serverIDs,
	(*judge).placesUnique,
	(*judge).waveOrder,
	(*judge).onTheWay,
	(*judge).ownFigures,
}

type sideKey struct {
	pair farm.PairName
	side farm.SideName
}

type judge struct {
	farm     *farm.Farm
	plan     placement.Plan
	hosts    map[farm.HostName]farm.Host
	types    map[farm.HostTypeName]farm.HostType
	pairs    map[farm.PairName]farm.Pair
	findings []farm.Finding
}

func (j *judge) say(rule, subject, format string, args ...any) {
	j.findings = append(j.findings, farm.Finding{
		Check: rule, Severity: farm.Blocker, Subject: subject,
		Text: fmt.Sprintf(format, args...), Remedy: "make the plan again with `stowage plan`",
	})
}

// everySideOnce: each side of each pair has exactly one assignment, under its
// own instance name.
func (j *judge) everySideOnce() {
	seen := map[sideKey]int{}
	for _, a := range j.plan.Assignments {
		pair, ok := j.pairs[a.Pair]
		if _, side := pair.Sides[a.Side]; !ok || !side {
			j.say("assignment-known", string(a.Instance), "the farm has no side %s of pair %s", a.Side, a.Pair)
			continue
		}
		if pair.Instance(a.Side) != a.Instance {
			j.say("assignment-name", string(a.Instance), "side %s of pair %s is instance %s", a.Side, a.Pair, pair.Instance(a.Side))
		}
		seen[sideKey{a.Pair, a.Side}]++
	}
	for _, pair := range j.farm.Pairs {
		for side := range pair.Sides {
			if n := seen[sideKey{pair.Name, side}]; n != 1 {
				j.say("assignment-once", string(pair.Instance(side)), "it has %d places and needs 1", n)
			}
		}
	}
}

// sidesApart: the sides of a pair are on two hosts, and on two values of each
// spread label.
func (j *judge) sidesApart() {
	first := map[farm.PairName]farm.HostName{}
	for _, a := range j.plan.Assignments {
		other, ok := first[a.Pair]
		if !ok {
			first[a.Pair] = a.Host
			continue
		}
		if other == a.Host {
			j.say("sides-apart", string(a.Pair), "both sides are on host %s", a.Host)
			continue
		}
		for _, label := range j.plan.Goals.SpreadLabels {
			if v := j.hosts[a.Host].Labels[label]; v == "" || v == j.hosts[other].Labels[label] {
				j.say("labels-apart", string(a.Pair), "%s and %s do not differ in %s", other, a.Host, label)
			}
		}
	}
}

// rightHosts: every place is on a known host of a type to pack onto.
func (j *judge) rightHosts() {
	wanted := map[farm.HostTypeName]bool{}
	for _, t := range j.plan.Goals.Onto {
		wanted[t] = true
	}
	for _, a := range j.plan.Assignments {
		h, ok := j.hosts[a.Host]
		if !ok {
			j.say("host-known", string(a.Instance), "unknown host %s", a.Host)
		} else if len(wanted) > 0 && !wanted[h.Type] {
			j.say("host-type", string(a.Instance), "host %s is a %s, which the goals do not pack onto", a.Host, h.Type)
		}
	}
}

// load is what stands on one host.
type load struct {
	needs     farm.Resources
	instances int
}

func (j *judge) loads() map[farm.HostName]*load {
	loads := map[farm.HostName]*load{}
	for _, a := range j.plan.Assignments {
		if loads[a.Host] == nil {
			loads[a.Host] = &load{needs: farm.Resources{}}
		}
		loads[a.Host].instances++
		for _, s := range j.pairs[a.Pair].Shards {
			for n, v := range s.Needs {
				loads[a.Host].needs[n] += v
			}
		}
	}
	return loads
}

// hostLoads: at the end no host carries more than its capacity less headroom,
// nor more instances than its type allows.
func (j *judge) hostLoads() {
	for name, l := range j.loads() {
		t := j.types[j.hosts[name].Type]
		for n, c := range t.Capacity {
			if most := c * (1 - j.plan.Goals.Headroom[n]); l.needs[n] > most*(1+slack) {
				j.say("host-load", string(name), "%s is %s of %s after headroom", n, amount(n, l.needs[n]), amount(n, most))
			}
		}
		if t.MaxInstances > 0 && l.instances > t.MaxInstances {
			j.say("max-instances", string(name), "%d instances, at most %d", l.instances, t.MaxInstances)
		}
	}
}

// movesMatch: there is exactly one move for each side that changes its place,
// from where it is to where it is assigned, and none for the others.
func (j *judge) movesMatch() {
	moves := map[sideKey]placement.Move{}
	for _, m := range j.plan.Moves {
		k := sideKey{m.Pair, m.Side}
		if _, twice := moves[k]; twice {
			j.say("move-once", string(m.Instance), "it moves twice")
		}
		moves[k] = m
		was, ok := j.pairs[m.Pair].Sides[m.Side]
		if !ok {
			j.say("move-known", string(m.Instance), "the farm has no side %s of pair %s", m.Side, m.Pair)
			continue
		}
		from := placement.Place{Host: was.Host, Address: j.hosts[was.Host].Address, Port: was.Port, Datadir: was.Datadir, Config: was.Config}
		if m.From != from {
			j.say("move-from", string(m.Instance), "it moves from %s:%d and is on %s:%d", m.From.Host, m.From.Port, was.Host, was.Port)
		}
		if to, ok := j.hosts[m.To.Host]; !ok || to.Address != m.To.Address || m.To.Port < 1 || m.To.Port > math.MaxUint16 || m.To.Datadir == "" {
			j.say("move-to", string(m.Instance), "%s:%d at %q is not a place", m.To.Host, m.To.Port, m.To.Datadir)
		}
		if m.To.Host == m.From.Host {
			j.say("move-to", string(m.Instance), "it moves to the host it is on")
		}
	}
	for _, a := range j.plan.Assignments {
		at := j.pairs[a.Pair].Sides[a.Side]
		if m, ok := moves[sideKey{a.Pair, a.Side}]; ok {
			at = farm.Side{Host: m.To.Host, Port: m.To.Port}
		}
		if a.Host != at.Host || a.Port != at.Port {
			j.say("move-matches", string(a.Instance), "assigned to %s:%d and the moves leave it on %s:%d", a.Host, a.Port, at.Host, at.Port)
		}
	}
}

// serverIDs: every new instance has an id that no instance of this farm ever
// had, and the farm's next id is above them all.
func (j *judge) serverIDs() {
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
	if j.plan.NextServerID < j.farm.NextServerID {
		j.say("server-id-next", "farm", "next_server_id would go down from %d to %d", j.farm.NextServerID, j.plan.NextServerID)
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
	for _, pair := range j.farm.Pairs {
		for _, side := range farm.SideNames {
			s := pair.Sides[side]
			claim(listens, "port-unique", fmt.Sprintf("%s:%d", j.hosts[s.Host].Address, s.Port), pair.Instance(side))
			claim(datadirs, "datadir-unique", fmt.Sprintf("%s on %s", s.Datadir, s.Host), pair.Instance(side))
		}
	}
	for _, m := range j.plan.Moves {
		claim(listens, "port-unique", fmt.Sprintf("%s:%d", m.To.Address, m.To.Port), m.Instance)
		claim(datadirs, "datadir-unique", fmt.Sprintf("%s on %s", m.To.Datadir, m.To.Host), m.Instance)
	}
}

// waveOrder: waves are counted from 1 without holes, never hold both sides of
// a pair, and are no larger than the goals allow.
func (j *judge) waveOrder() {
	wave, size := 0, 0
	pairs := map[farm.PairName]bool{}
	for _, m := range j.plan.Moves {
		if m.Wave != wave {
			if m.Wave != wave+1 {
				j.say("wave-order", string(m.Instance), "wave %d follows wave %d", m.Wave, wave)
			}
			wave, size, pairs = m.Wave, 0, map[farm.PairName]bool{}
		}
		if pairs[m.Pair] {
			j.say("wave-pair", string(m.Pair), "both sides move in wave %d", m.Wave)
		}
		pairs[m.Pair] = true
		if size++; size == j.plan.Goals.Parallel+1 {
			j.say("wave-size", fmt.Sprintf("wave %d", m.Wave), "more than %d sides swing at once", j.plan.Goals.Parallel)
		}
	}
}

// onTheWay replays the waves: at no moment is a host that receives something
// over its capacity, with what has not left it yet, and never are both sides
// of a pair on one host.
func (j *judge) onTheWay() {
	on := map[farm.HostName]*load{}
	at := map[sideKey]farm.HostName{}
	change := func(h farm.HostName, p farm.PairName, sign float64) {
		if on[h] == nil {
			on[h] = &load{needs: farm.Resources{}}
		}
		for _, s := range j.pairs[p].Shards {
			for n, v := range s.Needs {
				on[h].needs[n] += sign * v
			}
		}
		on[h].instances += int(sign)
	}
	for _, pair := range j.farm.Pairs {
		for side, s := range pair.Sides {
			at[sideKey{pair.Name, side}] = s.Host
			change(s.Host, pair.Name, 1)
		}
	}
	for start := 0; start < len(j.plan.Moves); {
		end := start
		for end < len(j.plan.Moves) && j.plan.Moves[end].Wave == j.plan.Moves[start].Wave {
			end++
		}
		wave := j.plan.Moves[start:end]
		for _, m := range wave {
			change(m.To.Host, m.Pair, 1)
		}
		for _, m := range wave {
			j.fits(m, on[m.To.Host])
			if m.To.Host == at[sideKey{m.Pair, m.Side.Twin()}] {
				j.say("way-sides-apart", string(m.Pair), "in wave %d both sides are on host %s", m.Wave, m.To.Host)
			}
		}
		for _, m := range wave {
			change(at[sideKey{m.Pair, m.Side}], m.Pair, -1)
			at[sideKey{m.Pair, m.Side}] = m.To.Host
		}
		start = end
	}
}

func (j *judge) fits(m placement.Move, l *load) {
	t := j.types[j.hosts[m.To.Host].Type]
	for n, c := range t.Capacity {
		if l.needs[n] > c*(1+slack) {
			j.say("way-load", string(m.To.Host), "in wave %d it would hold %s of %s %s", m.Wave, amount(n, l.needs[n]), amount(n, c), n)
		}
	}
	if t.MaxInstances > 0 && l.instances > t.MaxInstances {
		j.say("way-max-instances", string(m.To.Host), "in wave %d it would hold %d instances, at most %d", m.Wave, l.instances, t.MaxInstances)
	}
}

// ownFigures: what the plan says of itself is true.
func (j *judge) ownFigures() {
	if j.plan.FormatVersion != placement.FormatVersion {
		j.say("figures", "plan", "format_version is %d", j.plan.FormatVersion)
	}
	loads := j.loads()
	if j.plan.HostsUsed != len(loads) {
		j.say("figures", "plan", "hosts_used is %d and the assignments use %d", j.plan.HostsUsed, len(loads))
	}
	if j.plan.LowerBound > len(loads) {
		j.say("figures", "plan", "the lower bound %d is above the %d hosts that are enough", j.plan.LowerBound, len(loads))
	}
	listed := map[farm.HostName]bool{}
	for _, h := range j.plan.Hosts {
		l := loads[h.Name]
		if l == nil || listed[h.Name] {
			j.say("figures", string(h.Name), "it is listed as used and is not, or is listed twice")
			continue
		}
		listed[h.Name] = true
		if len(h.Instances) != l.instances {
			j.say("figures", string(h.Name), "%d instances are listed and %d are assigned", len(h.Instances), l.instances)
		}
		for n, c := range j.types[j.hosts[h.Name].Type].Capacity {
			if c > 0 && math.Abs(h.Use[n]-l.needs[n]/c) > slack {
				j.say("figures", string(h.Name), "use of %s is %.3f and not %.3f", n, l.needs[n]/c, h.Use[n])
			}
		}
	}
	if len(listed) != len(loads) {
		j.say("figures", "plan", "%d hosts are listed and %d are used", len(listed), len(loads))
	}
}

// sortFindings makes the order of findings that came out of maps stable.
func (j *judge) sortFindings() {
	sort.SliceStable(j.findings, func(a, b int) bool {
		x, y := j.findings[a], j.findings[b]
		if x.Subject != y.Subject {
			return x.Subject < y.Subject
		}
		return x.Text < y.Text
	})
}

func amount(n farm.ResourceName, v float64) string {
	return farm.RoundQuantity(v, n.Kind())
}
