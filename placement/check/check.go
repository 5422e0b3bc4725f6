package check

import (
	"fmt"
	"sort"

	"stowage/farm"
	"stowage/placement"
)

// slack forgives rounding when needs are added up in another order than the
// planner's.
const slack = 1e-6

// Plan lists everything wrong with plan p for farm f, each as a blocker. An
// empty result means: every side (or every side of every shard) has one place,
// the sides of a pair are apart, every rule of the goals is kept, no host is
// overloaded at the end of the runway in any hour of the day, nor on the way,
// no address, datadir or server_id is used twice, the plan's own figures are
// true, and its certificates prove its bounds.
func Plan(f *farm.Farm, p placement.Plan) []farm.Finding {
	return newJudge(f, p).by(append(append([]rule{}, standing...), accounting...))
}

// Standing is Plan for a farm whose shards have been measured again since the
// plan was made: whether it may still be carried out. What it says of itself
// (figures, bytes, proofs) is of that time, and not looked at.
func Standing(f *farm.Farm, p placement.Plan) []farm.Finding {
	return newJudge(f, p).by(standing)
}

// planned is the farm that a plan says something about, today and at the end of
// the runway: one of single shards leaves single instances, and sets with
// further replicas, where they are, and they grow there.
func planned(f *farm.Farm, p placement.Plan) (today, end *farm.Farm) {
	if p.Goals.Unit != placement.UnitShard {
		return f, f
	}
	grown := func(s farm.Shard) farm.Resources {
		out := farm.Resources{}
		out.Add(s.Needs)
		out.Add(farm.Resources{farm.Disk: max(0, s.Growth*p.Goals.RunwayDays)})
		for n := range out {
			if p.Goals.Growth != 0 {
				out[n] *= p.Goals.Growth
			}
		}
		return out
	}
	return f.TwosOnly(), f.TwosOnlyWhen(grown)
}

type rule func(*judge)

// standing is what must hold whenever a plan is carried out.
var standing = []rule{
	(*judge).sane,
	(*judge).everythingOnce,
	(*judge).sidesApart,
	(*judge).rightHosts,
	(*judge).hostLoads,
	(*judge).optionsFit,
	(*judge).bindings,
	(*judge).groups,
	(*judge).isolation,
	(*judge).stays,
	(*judge).surface,
	(*judge).movesMatch,
	(*judge).serverIDs,
	(*judge).placesUnique,
	(*judge).waveOrder,
	(*judge).inTime,
	(*judge).onTheWay,
}

// accounting is what a plan says of itself.
var accounting = []rule{
	(*judge).basis,
	(*judge).copied,
	(*judge).ownFigures,
	(*judge).hostFigures,
	(*judge).certificates,
}

type sideKey struct {
	pair farm.PairName
	side farm.SideName
}

type shardKey struct {
	shard farm.ShardName
	side  farm.SideName
}

type judge struct {
	farm      *farm.Farm // at the end of the runway
	today     *farm.Farm
	whole     *farm.Farm // with what is left where it is
	plan      placement.Plan
	hosts     map[farm.HostName]farm.Host // of the farm, and those to be bought
	bought    map[farm.HostName]bool
	types     map[farm.HostTypeName]farm.HostType
	pairs     map[farm.PairName]*farm.Pair
	shardOf   map[farm.ShardName]farm.PairName // the pair it is in now
	shards    map[farm.ShardName]*farm.Shard
	frozen    map[farm.PairName]bool
	profiles  map[farm.ProfileName]farm.Profile
	resources map[farm.ResourceName]int
	hours     int // that are looked at: all, or one where there are no profiles
	byShard   bool
	after     map[farm.HostName]*load // what is on every host after the plan
	findings  []farm.Finding
}

func newJudge(whole *farm.Farm, p placement.Plan) *judge {
	today, f := planned(whole, p)
	j := &judge{
		farm: f, today: today, whole: whole, plan: p, hosts: map[farm.HostName]farm.Host{}, bought: map[farm.HostName]bool{}, types: map[farm.HostTypeName]farm.HostType{},
		pairs: map[farm.PairName]*farm.Pair{}, shardOf: map[farm.ShardName]farm.PairName{}, shards: map[farm.ShardName]*farm.Shard{},
		frozen: map[farm.PairName]bool{}, profiles: map[farm.ProfileName]farm.Profile{}, resources: map[farm.ResourceName]int{}, hours: 1,
		byShard: p.Goals.Unit == placement.UnitShard,
	}
	for _, t := range f.HostTypes {
		j.types[t.Name] = t
		j.number(t.Capacity)
	}
	j.number(p.Goals.Overhead)
	for _, h := range f.Hosts {
		j.hosts[h.Name] = h
	}
	for _, b := range p.Goals.Buy {
		for _, h := range b.Hosts(f) {
			j.hosts[h.Name], j.bought[h.Name] = h, true
		}
	}
	for i := range f.Pairs {
		pair := &f.Pairs[i]
		j.pairs[pair.Name] = pair
		for k := range pair.Shards {
			s := &pair.Shards[k]
			j.shardOf[s.Name], j.shards[s.Name] = pair.Name, s
			j.number(s.Needs)
		}
	}
	j.number(farm.Resources{farm.Disk: 0}) // growth is of disk
	for _, name := range p.Goals.Frozen {
		j.frozen[name] = true
	}
	for _, profile := range f.Profiles {
		j.profiles[profile.Name], j.hours = profile, 24
	}
	j.after = j.loads()
	return j
}

func (j *judge) number(r farm.Resources) {
	for n := range r {
		if _, known := j.resources[n]; !known {
			j.resources[n] = len(j.resources)
		}
	}
}

// by judges by rules, and sorts what they find: some of it comes out of maps.
func (j *judge) by(rules []rule) []farm.Finding {
	for _, r := range rules {
		r(j)
	}
	sort.SliceStable(j.findings, func(a, b int) bool {
		x, y := j.findings[a], j.findings[b]
		if x.Subject != y.Subject {
			return x.Subject < y.Subject
		}
		return x.Text < y.Text
	})
	return j.findings
}

func (j *judge) say(rule, subject, format string, args ...any) {
	j.findings = append(j.findings, farm.Finding{
		Check: rule, Severity: farm.Blocker, Subject: subject,
		Text: fmt.Sprintf(format, args...), Remedy: "make the plan again with `stowage plan`",
	})
}

// sane: nothing follows from a farm that makes no sense.
func (j *judge) sane() {
	for _, p := range j.whole.Check() {
		j.say("farm", "farm", "%s", p)
	}
	for n, v := range j.plan.Goals.Headroom {
		if !(v >= 0 && v < 1) {
			j.say("goals", "goals", "headroom of %s is %v", n, v)
		}
	}
	g := j.plan.Goals
	amounts := farm.Resources{"runway": g.RunwayDays, "growth": g.Growth, "moved_most": g.MovedMost, "surface of shards": g.Surface.Shards, "surface of a customer": g.Surface.Customer}
	for n, v := range g.Overhead {
		amounts["overhead of "+n] = v
	}
	for n, v := range amounts {
		if !(v >= 0 && v < 1e300) {
			j.say("goals", "goals", "%s is %v", n, v)
		}
	}
	if g.ShardsPerInstance < 0 || g.MaxInstances < 0 {
		j.say("goals", "goals", "a negative number of shards or instances")
	}
}

func amount(n farm.ResourceName, v float64) string {
	return farm.RoundQuantity(v, n.Kind())
}
