package agenda

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"stowage/due"
	"stowage/farm"
)

// FormatVersion is that of plans that this code writes and reads.
const FormatVersion = 1

// Limits are how many hosts may be out at once: of the farm, with one value of the label rack, and with one value of the label power; 0: no limit but that
// of the farm, which is one host where nobody says more.
type Limits struct {
	Hosts   int `json:"hosts"`
	PerRack int `json:"per_rack,omitempty"`
	PerFeed int `json:"per_feed,omitempty"`
}

// The labels of hosts that Limits are about.
const (
	RackLabel = "rack"
	FeedLabel = "power"
)

// Plan is in which order hosts are rolled.
type Plan struct {
	FormatVersion int    `json:"format_version"`
	Kind          string `json:"kind"` // "roll"
	Name          string `json:"name"`
	Made          string `json:"made,omitempty"` // RFC 3339
	Work          Work   `json:"work"`
	Limits        Limits `json:"limits"`
	// Windows are when a host may begin, if it would be done in time; none: at any time.
	Windows []due.Window `json:"windows,omitempty"`
	// Hosts are those that are rolled, in order, as farm.yaml had them.
	Hosts   []Host  `json:"hosts"`
	Batches []Batch `json:"batches"`
	// HostSeconds is how long one host is out, as far as anybody can tell; From says who does.
	HostSeconds float64 `json:"host_seconds"`
	From        string  `json:"host_seconds_from"`
	Seconds     float64 `json:"seconds"` // of all
}

// Kind is what Plan.Kind says.
const Kind = "roll"

// Host is one host of a plan, and what lives there.
type Host struct {
	Name      farm.HostName `json:"host"`
	Address   string        `json:"address"`
	Rack      string        `json:"rack,omitempty"`
	Feed      string        `json:"power,omitempty"`
	Instances []Instance    `json:"instances"`
	// Options are those of its type, for each of its instances, where the work asks for them.
	Options map[string]string `json:"options,omitempty"`
}

// Instance is one side of a pair, and where its twin serves meanwhile.
type Instance struct {
	Pair farm.PairName `json:"pair"`
	Side farm.SideName `json:"side"`
	Port int           `json:"port"`
	Role Role          `json:"role,omitempty"`
	// Twin is the host that serves meanwhile; "" for a single instance.
	Twin     farm.HostName `json:"twin_host"`
	TwinSide farm.SideName `json:"twin_side,omitempty"` // where it is not the other of A and B
}

// Role is what a side is in its pair, and so how it leaves.
type Role string

// The roles of sides.
const (
	Serves  Role = ""        // of an active-active pair: its twin serves both
	Primary Role = "primary" // a replica takes the writes meanwhile: two pauses of writes
	Replica Role = "replica" // readers are sent elsewhere
	Single  Role = "single"  // nobody else can serve: its clients wait
)

// InstanceOf is a side of a pair as a plan has it, and why it cannot leave; "" if it can.
func InstanceOf(p farm.Pair, side farm.SideName) (i Instance, wrong string) {
	s := p.Sides[side]
	i = Instance{Pair: p.Name, Side: side, Port: s.Port}
	switch {
	case p.Topology == farm.ActiveActive:
		i.Twin = p.Sides[side.Twin()].Host
	case p.Topology == farm.Single:
		i.Role = Single
		return i, ""
	case side != farm.A:
		i.Role, i.TwinSide, i.Twin = Replica, farm.A, p.Sides[farm.A].Host
	default:
		i.Role, i.TwinSide = Primary, farm.B
		for _, n := range p.SideNames()[1:] {
			if p.Sides[n].Host != s.Host {
				i.TwinSide = n
				break
			}
		}
		i.Twin = p.Sides[i.TwinSide].Host
	}
	if i.Twin == s.Host {
		return i, fmt.Sprintf("host %s carries both sides of %s: they would be out together", s.Host, p.Name)
	}
	return i, ""
}

// Batch is hosts that may be out together. The next host begins as soon as there is room for it, and not when a whole batch has ended: batches show people
// the order, as the waves of a move do.
type Batch struct {
	Hosts []farm.HostName `json:"hosts"`
	// From and To are when, in seconds from the beginning, if every host takes as long as it is thought to.
	From float64 `json:"from_seconds"`
	To   float64 `json:"to_seconds"`
	// OneLeg are the pairs of which one side serves alone meanwhile.
	OneLeg []OneLeg `json:"one_leg"`
}

// OneLeg is a pair on one leg: its side is out, its twin on another host serves all. A single instance is on none.
type OneLeg struct {
	Pair farm.PairName `json:"pair"`
	Out  farm.SideName `json:"out"`
	On   farm.HostName `json:"twin_host"`
	Role Role          `json:"role,omitempty"` // of the side that is out
}

// String is what happens to the pair, for people.
func (l OneLeg) String() string {
	switch l.Role {
	case Primary:
		return fmt.Sprintf("%s/%s is out, the replica on %s takes the writes: two pauses of writes", l.Pair, l.Out, l.On)
	case Replica:
		return fmt.Sprintf("%s/%s is out, no write waits; who reads from it is sent elsewhere", l.Pair, l.Out)
	case Single:
		return fmt.Sprintf("%s/%s is out, and its clients wait for as long", l.Pair, l.Out)
	}
	return fmt.Sprintf("%s/%s is out, %s serves all its clients", l.Pair, l.Out, l.On)
}

// Took is how long one host is out, and who says so.
type Took struct {
	Seconds float64
	From    string
}

// Assumed is what is taken where nobody has said or measured it.
var Assumed = Took{60, "assumed: no host was rolled yet, and --takes does not say"}

// Matching are the hosts of a farm, in its order, that names and patterns speak of; none are those that speak of no host.
func Matching(f *farm.Farm, patterns []string) (hosts []farm.HostName, none []string, err error) {
	spoken := map[string]bool{}
	for _, h := range f.Hosts {
		found := false
		for _, p := range patterns {
			ok, err := path.Match(p, string(h.Name))
			if err != nil {
				return nil, nil, fmt.Errorf("%w: %q is not a pattern of hosts", farm.ErrInput, p)
			}
			if ok {
				found, spoken[p] = true, true
			}
		}
		if found {
			hosts = append(hosts, h.Name)
		}
	}
	for _, p := range patterns {
		if !spoken[p] {
			none = append(none, p)
		}
	}
	return hosts, none, nil
}

// Rules are what goals.yaml says of rolls.
type Rules struct {
	Limits  Limits
	Windows []due.Window
}

// Make plans. Problems say what keeps hosts from being rolled, each with its path in farm.yaml.
func Make(f *farm.Farm, work Work, rules Rules, took Took) (Plan, []farm.Problem, error) {
	p := Plan{FormatVersion: FormatVersion, Kind: Kind, Work: work, Limits: rules.Limits, Windows: rules.Windows, HostSeconds: took.Seconds, From: took.From}
	p.Limits.Hosts = max(1, p.Limits.Hosts)
	if work.Takes > 0 {
		p.HostSeconds, p.From = work.Takes.Seconds(), "as said"
	}
	names, none, err := Matching(f, work.Hosts)
	if err != nil {
		return p, nil, err
	}
	if len(none) > 0 {
		return p, nil, fmt.Errorf("%w: no host of farm.yaml is called %s", farm.ErrInput, none[0])
	}
	var problems []farm.Problem
	for n, h := range f.Hosts {
		if !slices.Contains(names, h.Name) {
			continue
		}
		host, wrong := hostOf(f, h, work, p.Limits)
		for _, text := range wrong {
			problems = append(problems, farm.Problem{Path: fmt.Sprintf("hosts[%d]", n), Text: text})
		}
		p.Hosts = append(p.Hosts, host)
	}
	if _, ok := due.Opens(p.Windows, someDay, p.HostTakes()); !ok {
		return p, problems, fmt.Errorf("%w: one host is out for %s (%s), and no window of goals.yaml is open for so long", farm.ErrInput, span(p.HostSeconds), p.From)
	}
	p.Hosts = replicasFirst(p.Hosts)
	p.arrange()
	return p, problems, nil
}

// hostOf is a host as it is in farm.yaml, and what keeps it from being rolled.
func hostOf(f *farm.Farm, h farm.Host, work Work, limits Limits) (out Host, wrong []string) {
	out = Host{Name: h.Name, Address: h.Address, Rack: h.Labels[RackLabel], Feed: h.Labels[FeedLabel], Instances: []Instance{}}
	if limits.PerRack > 0 && out.Rack == "" {
		wrong = append(wrong, fmt.Sprintf("host %s has no label %s, and hosts_out_per_rack in goals.yaml limits how many of a rack are out at once", h.Name, RackLabel))
	}
	if limits.PerFeed > 0 && out.Feed == "" {
		wrong = append(wrong, fmt.Sprintf("host %s has no label %s, and hosts_out_per_power in goals.yaml limits how many of a feed are out at once", h.Name, FeedLabel))
	}
	for _, p := range f.Pairs {
		for _, side := range p.SideNames() {
			if p.Sides[side].Host != h.Name {
				continue
			}
			i, why := InstanceOf(p, side)
			if why == "" && i.Role == Single && !work.Downtime {
				why = fmt.Sprintf("host %s carries %s, a single instance: no other server can serve its clients. --allow-downtime lets them wait at the gate meanwhile", h.Name, p.Name)
			}
			if why != "" {
				wrong = append(wrong, why)
			}
			out.Instances = append(out.Instances, i)
		}
	}
	if work.asksOptions() {
		if out.Options = f.OptionsOn(h.Name, len(out.Instances)); len(out.Options) == 0 {
			wrong = append(wrong, fmt.Sprintf("host type %s of host %s has no options", h.Type, h.Name))
		}
	}
	return out, wrong
}

// replicasFirst is the hosts in their order, but for this: a replica is rolled before its primary, so that the new version is seen where nobody writes. Where
// hosts carry primaries of each other the order stays as it is.
func replicasFirst(hosts []Host) (out []Host) {
	left := slices.Clone(hosts)
	waits := func(h Host) bool { // for the host of a replica
		for _, i := range h.Instances {
			if i.Role == Primary && slices.ContainsFunc(left, func(o Host) bool { return o.Name != h.Name && o.has(i.Pair, Replica) }) {
				return true
			}
		}
		return false
	}
	for len(left) > 0 {
		n := max(0, slices.IndexFunc(left, func(h Host) bool { return !waits(h) }))
		out = append(out, left[n])
		left = slices.Delete(left, n, n+1)
	}
	return out
}

func (h Host) has(pair farm.PairName, role Role) bool {
	return slices.ContainsFunc(h.Instances, func(i Instance) bool { return i.Pair == pair && i.Role == role })
}

// arrange puts the hosts into batches: each takes, in their order, whatever fits beside what it has.
func (p *Plan) arrange() {
	left := slices.Clone(p.Hosts)
	var order []Host
	p.Batches = []Batch{}
	for len(left) > 0 {
		var batch room
		var later []Host
		for _, h := range left {
			if batch.takes(h, p.Limits) {
				batch.hosts = append(batch.hosts, h)
			} else {
				later = append(later, h)
			}
		}
		n := float64(len(p.Batches))
		b := Batch{From: n * p.HostSeconds, To: (n + 1) * p.HostSeconds, OneLeg: []OneLeg{}}
		for _, h := range batch.hosts {
			b.Hosts = append(b.Hosts, h.Name)
			for _, i := range h.Instances {
				b.OneLeg = append(b.OneLeg, OneLeg{i.Pair, i.Side, i.Twin, i.Role})
			}
		}
		p.Batches, order, left = append(p.Batches, b), append(order, batch.hosts...), later
	}
	p.Hosts, p.Seconds = order, float64(len(p.Batches))*p.HostSeconds
}

// room is the hosts of a batch that is being filled.
type room struct{ hosts []Host }

// takes reports whether a host may be out beside those of the batch. The first may always.
func (r room) takes(h Host, l Limits) bool {
	if len(r.hosts) == 0 {
		return true
	}
	if len(r.hosts) >= l.Hosts {
		return false
	}
	rack, feed := 0, 0
	for _, o := range r.hosts {
		if o.Rack == h.Rack {
			rack++
		}
		if o.Feed == h.Feed {
			feed++
		}
		for _, i := range o.Instances {
			if slices.ContainsFunc(h.Instances, func(j Instance) bool { return j.Pair == i.Pair }) {
				return false
			}
		}
	}
	return (l.PerRack == 0 || rack < l.PerRack) && (l.PerFeed == 0 || feed < l.PerFeed)
}

// Drift is what differs between the farm that a plan was made for and this one, as far as the plan depends on it.
func Drift(p Plan, now *farm.Farm) []string {
	var out []string
	names, _, err := Matching(now, p.Work.Hosts)
	if err != nil {
		return []string{err.Error()}
	}
	for _, name := range names {
		if !slices.ContainsFunc(p.Hosts, func(h Host) bool { return h.Name == name }) {
			out = append(out, fmt.Sprintf("host %s is one of %s, and the plan does not have it", name, words(p.Work.Hosts)))
		}
	}
	for _, was := range p.Hosts {
		h, ok := now.Host(was.Name)
		if !ok {
			out = append(out, fmt.Sprintf("host %s is not in farm.yaml any more", was.Name))
			continue
		}
		is, wrong := hostOf(now, h, p.Work, p.Limits)
		out = append(out, wrong...)
		out = append(out, was.differs(is)...)
	}
	return out
}

func (h Host) differs(is Host) (out []string) {
	for _, x := range []struct{ what, was, is string }{{"address", h.Address, is.Address}, {"rack", h.Rack, is.Rack}, {"power", h.Feed, is.Feed}} {
		if x.was != x.is {
			out = append(out, fmt.Sprintf("%s of host %s is %q, was %q", x.what, h.Name, x.is, x.was))
		}
	}
	if !maps.Equal(h.Options, is.Options) {
		out = append(out, fmt.Sprintf("options of host %s are %s, were %s", h.Name, Step{Options: is.Options}.pairs(), Step{Options: h.Options}.pairs()))
	}
	for _, i := range h.Instances {
		if !slices.Contains(is.Instances, i) {
			out = append(out, fmt.Sprintf("side %s of %s on host %s, port %d, with its twin on %s, is elsewhere now", i.Side, i.Pair, h.Name, i.Port, i.Twin))
		}
	}
	for _, i := range is.Instances {
		if !slices.ContainsFunc(h.Instances, func(j Instance) bool { return j.Pair == i.Pair && j.Side == i.Side }) {
			out = append(out, fmt.Sprintf("host %s carries side %s of %s, which the plan does not know", h.Name, i.Side, i.Pair))
		}
	}
	return out
}

// someDay is any: windows come back every week.
var someDay = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// HostTakes is how long one host is out.
func (p Plan) HostTakes() time.Duration { return time.Duration(p.HostSeconds * float64(time.Second)) }

// Turn is when a batch is expected to be out.
type Turn struct {
	Batch
	Begin, End time.Time
}

// Schedule is when the batches are expected to be out, if the first may begin at some moment: each one after the one before, in a window in which it
// is done in time.
func (p Plan) Schedule(from time.Time) []Turn {
	var out []Turn
	for _, b := range p.Batches {
		begin, ok := due.Opens(p.Windows, from, p.HostTakes())
		if !ok { // Make refuses such plans
			begin = from
		}
		from = begin.Add(p.HostTakes())
		out = append(out, Turn{b, begin, from})
	}
	return out
}
