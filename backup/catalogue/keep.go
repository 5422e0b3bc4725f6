package catalogue

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"stowage/farm"
)

// Verdict is what becomes of a chain, and why.
type Verdict struct {
	Chain Chain    `json:"chain"`
	Keep  bool     `json:"keep"`
	Why   []string `json:"why"`
	// Logs says that the pair can be restored to moments between and after its backups: binary logs from its first one on are kept, too.
	Logs bool `json:"logs"`
}

// Keep says which chains stay and which may go. The rules count backups from which something can be restored, of one pair, whichever side they are of;
// a chain stays as a whole while one of its backups stays. Besides, of each pair these stay: the newest chain that was proven, the newest that is whole, and the one with
// the newest backup that can be restored. Where a backup of a pair stands in the future, the clock is not to be trusted, and nothing of that
// pair goes. Logical backups of the same shards count by themselves. Days, weeks, months and years are those of UTC. The verdicts are in the order of Chains.
func Keep(now time.Time, rules farm.Keep, all []Backup) []Verdict {
	type pair struct {
		farm string
		name farm.PairName
		line string
	}
	byPair := map[pair][]*Verdict{}
	chains := Chains(all)
	out := make([]Verdict, len(chains))
	for i, c := range chains {
		out[i].Chain = c
		p := pair{c.Farm, c.Pair, c.line()}
		byPair[p] = append(byPair[p], &out[i])
	}
	for _, list := range byPair {
		keepOf(now, rules, list)
	}
	return out
}

// Dropped are the chains that may go, the oldest first.
func Dropped(vs []Verdict) []Chain {
	var out []Chain
	for _, v := range vs {
		if !v.Keep {
			out = append(out, v.Chain)
		}
	}
	return out
}

// point is a backup from which something can be restored.
type point struct {
	Backup
	of *Verdict
}

// keepOf judges the chains of one pair, the oldest first.
func keepOf(now time.Time, rules farm.Keep, list []*Verdict) {
	var points []point
	for _, v := range list {
		for _, b := range v.Chain.Restorable() {
			points = append(points, point{b, v})
		}
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.ID, b.ID)) }) // the newest first
	rules = positive(rules)
	keepLast(rules, points)
	for _, every := range calendar(rules) {
		every.keep(points)
	}
	protect(list, points)
	for _, v := range list {
		for _, b := range v.Chain.Backups {
			if b.At.After(now.Add(ahead)) {
				holdAll(list, fmt.Sprintf("the clock is behind: %s is dated %s", b.ID, b.At.UTC().Format(time.DateTime)))
				return
			}
		}
	}
	for _, v := range list {
		if v.Keep {
			continue
		}
		newerWhole := slices.ContainsFunc(list, func(x *Verdict) bool { return x.Chain.IsWhole() && x.Chain.Newest().At.After(v.Chain.Newest().At) })
		switch restorable := len(v.Chain.Restorable()) > 0; {
		case restorable:
			v.Why = []string{"no rule keeps any of its backups"}
		case newerWhole:
			v.Why = []string{"nothing can be restored from it, and a newer chain is whole"}
		default:
			v.keep("nothing can be restored from it, and no newer chain is whole", false)
		}
	}
}

func (v *Verdict) keep(why string, logs bool) {
	v.Keep, v.Logs = true, v.Logs || logs
	if !slices.Contains(v.Why, why) {
		v.Why = append(v.Why, why)
	}
}

// Hold keeps a chain for another reason than the rules, with the binary logs from it on.
func (v *Verdict) Hold(why string) {
	if !v.Keep {
		v.Why = nil // no rule keeps it
	}
	v.keep(why, true)
}

func holdAll(list []*Verdict, why string) {
	for _, v := range list {
		v.keep(why, true)
	}
}

// positive is rules without numbers below 0.
func positive(k farm.Keep) farm.Keep {
	for _, n := range []*int{&k.Last, &k.Daily, &k.Weekly, &k.Monthly, &k.Yearly} {
		*n = max(0, *n)
	}
	k.Within = max(0, k.Within)
	return k
}

// keepLast holds last and within.
func keepLast(rules farm.Keep, points []point) {
	for i, p := range points {
		if i < rules.Last {
			p.of.keep("last", true)
		}
		if rules.Within > 0 && points[0].At.Sub(p.At) <= rules.Within {
			p.of.keep("within", true)
		}
	}
}

// period is one of daily, weekly, monthly and yearly.
type period struct {
	name string
	most int
	of   func(time.Time) string
}

func calendar(k farm.Keep) []period {
	return []period{
		{"daily", k.Daily, func(t time.Time) string { return t.UTC().Format(time.DateOnly) }},
		{"weekly", k.Weekly, func(t time.Time) string {
			y, w := t.UTC().ISOWeek()
			return fmt.Sprintf("%d-%d", y, w)
		}},
		{"monthly", k.Monthly, func(t time.Time) string { return t.UTC().Format("2006-01") }},
		{"yearly", k.Yearly, func(t time.Time) string { return t.UTC().Format("2006") }},
	}
}

// keep holds the newest backup of each of the last so many periods that have one.
func (d period) keep(points []point) {
	last := ""
	for _, p := range points {
		if now := d.of(p.At); now != last {
			if d.most == 0 {
				return
			}
			d.most--
			last = now
			p.of.keep(d.name, d.name == "daily")
		}
	}
}

// protect: whatever the rules say, something stays from which the pair can be restored.
func protect(list []*Verdict, points []point) {
	if len(points) > 0 {
		points[0].of.keep("it has the newest backup that can be restored", true)
	}
	var proven, whole *Verdict
	for _, v := range list {
		if at := v.Chain.Proven(); !at.IsZero() && (proven == nil || at.After(proven.Chain.Proven())) {
			proven = v
		}
		if v.Chain.IsWhole() {
			whole = v
		}
	}
	if proven != nil {
		proven.keep("it is the newest that was proven", true)
	}
	if whole != nil {
		whole.keep("it is the newest that is whole", true)
	}
}

// LogsFrom is the backup from which on the archived binary log of an instance is of use: its oldest in the chains that are kept by last, daily or within, or
// whatever the rules say. Older chains are kept for the moments of their backups. False: there is none, or nobody knows which comes first, because a position says so
// of another one than its date does: a clock was wrong, or RESET MASTER began the log anew. Then the whole log is of use.
func LogsFrom(vs []Verdict, f string, instance farm.InstanceName) (Backup, bool) {
	var needed []Backup
	for _, v := range vs {
		if v.Chain.Farm == f && v.Chain.Instance == instance && v.Logs && v.Chain.line() == "" {
			needed = append(needed, v.Chain.Restorable()...)
		}
	}
	if len(needed) == 0 {
		return Backup{}, false
	}
	first := slices.MinFunc(needed, func(a, b Backup) int { return a.At.Compare(b.At) })
	isKnown := !slices.ContainsFunc(needed, func(b Backup) bool { return has(first.GTID, b.GTID) && !has(b.GTID, first.GTID) })
	return first, isKnown
}
