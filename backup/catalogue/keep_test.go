package catalogue

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stowage/farm"
)

// kept are the verdicts by chain.
func kept(vs []Verdict) map[string]bool {
	out := map[string]bool{}
	for _, v := range vs {
		out[v.Chain.ID] = v.Keep
	}
	return out
}

// weeks are chains of a full backup and six incremental ones. The last backup is of day 0.
func weeks(n int) []Backup {
	var out []Backup
	for w := range n {
		begin := float64(-7*(n-w) + 1)
		last := full(begin)
		out = append(out, last)
		for d := range 6 {
			last = on(last, begin+float64(d+1))
			out = append(out, last)
		}
	}
	return out
}

func TestKeepByRules(t *testing.T) {
	all := weeks(60)
	for name, x := range map[string]struct {
		rules farm.Keep
		keep  int
	}{
		"no rules: the newest stays":           {farm.Keep{}, 1},
		"last 7 are one chain":                 {farm.Keep{Last: 7}, 1},
		"last 8 are two":                       {farm.Keep{Last: 8}, 2},
		"7 days are one chain":                 {farm.Keep{Daily: 7}, 1},
		"14 days within are three":             {farm.Keep{Within: 14 * day}, 3}, // to the day, so that the last of the third is just in it
		"a little less is two":                 {farm.Keep{Within: 14*day - time.Minute}, 2},
		"4 weeks are three chains":             {farm.Keep{Weekly: 4}, 3},  // Wednesday and the Sunday before are in one
		"two months are one chain":             {farm.Keep{Monthly: 2}, 1}, // so are 4 March and 28 February
		"three months are two":                 {farm.Keep{Monthly: 3}, 2},
		"two years":                            {farm.Keep{Yearly: 2}, 2},
		"all at once are no more than the sum": {farm.Keep{Last: 8, Daily: 9, Weekly: 4}, 3},
	} {
		vs := Keep(days(1), x.rules, all)
		n := 0
		for _, v := range vs {
			if v.Keep {
				n++
			}
			if len(v.Why) == 0 {
				t.Errorf("%s: %s without a reason", name, v.Chain.ID)
			}
		}
		if n != x.keep || len(vs) != 60 || !vs[59].Keep {
			t.Errorf("%s: %d kept, want %d", name, n, x.keep)
		}
	}
}

func TestWhatNeverGoes(t *testing.T) {
	old := full(-400)
	proof := days(-399)
	old.ProvenAt = &proof
	middle := full(-30)
	broken := on(with(full(-10), func(b *Backup) { b.Damaged = "x" }), -9)
	tail := full(-5)
	tailBad := with(on(tail, -4), func(b *Backup) { b.Damaged = "x" })
	lost := on(full(-500), -499) // its full one is nowhere
	all := []Backup{old, middle, broken, with(full(-10), func(b *Backup) { b.Damaged = "x" }), tail, tailBad, lost}
	got := kept(Keep(noon, farm.Keep{}, all))
	want := map[string]bool{
		old.ID:        true,  // the newest that is proven
		middle.ID:     true,  // the newest that is whole
		tail.ID:       true,  // has the newest from which something can be restored
		full(-10).ID:  true,  // nothing can be restored from it, and no newer chain is whole
		full(-500).ID: false, // nothing can be restored from it, and a newer one is whole
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	// The other pair has its own.
	other := with(full(-300), func(b *Backup) { b.ID, b.Pair, b.Instance = "p2a/x", "p2", "p2a" })
	if !kept(Keep(noon, farm.Keep{}, append(all, other)))[other.ID] {
		t.Error("the only chain of a pair goes")
	}
	// Sides of one pair share the rules.
	b := with(full(-1), func(b *Backup) { b.ID, b.Side, b.Instance = "p1b/x", farm.B, "p1b" })
	if kept(Keep(noon, farm.Keep{Last: 1}, []Backup{middle, b}))[middle.ID] {
		t.Error("last: 1 keeps one for each side")
	}
}

// TestAClockThatJumpedBackDropsNothing, and one that jumped ahead drops no more than the rules say of the backups that are there.
func TestAClockThatJumpedBackDropsNothing(t *testing.T) {
	all := weeks(9)
	for _, v := range Keep(days(-3), farm.Keep{Last: 1}, all) {
		if !v.Keep || !strings.Contains(strings.Join(v.Why, ","), "the clock is behind") {
			t.Errorf("%s: %v %q", v.Chain.ID, v.Keep, v.Why)
		}
	}
	rules := farm.Keep{Daily: 7, Within: 14 * day}
	if now, later := kept(Keep(days(1), rules, all)), kept(Keep(days(4000), rules, all)); !maps.Equal(now, later) {
		t.Errorf("%v, and years later %v", now, later)
	}
}

// TestWeeksGoOverNewYear: 31 December and 1 January are in one week, and so one of them is enough for it.
func TestWeeksGoOverNewYear(t *testing.T) {
	at := func(text string) Backup {
		day, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return full(day.Sub(noon).Hours() / 24)
	}
	before, old, young := at("2025-12-20"), at("2025-12-31"), at("2026-01-01")
	want := map[string]bool{before.ID: true, old.ID: false, young.ID: true}
	if got := kept(Keep(noon, farm.Keep{Weekly: 2}, []Backup{before, old, young})); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestLogsFrom(t *testing.T) {
	vs := Keep(days(1), farm.Keep{Last: 2, Daily: 8, Monthly: 6}, weeks(40))
	if from, ok := LogsFrom(vs, "f", "p1a"); !ok || !from.At.Equal(days(-13)) { // the begin of the second newest chain
		t.Errorf("logs from %s", from.ID)
	}
	if from, ok := LogsFrom(vs, "f", "p1b"); ok {
		t.Errorf("logs of an instance without backups from %s", from.ID)
	}
}

// drawn are backups of two pairs, on both sides, some of them damaged, without their base, or proven.
func drawn(t *rapid.T) []Backup {
	var all []Backup
	last := map[string]*Backup{}
	at := -900.0
	for i := range rapid.IntRange(0, 40).Draw(t, "backups") {
		at += rapid.SampledFrom([]float64{0.01, 1, 1, 1, 7, 33, 200}).Draw(t, "step")
		if at > 0 {
			break
		}
		instance := rapid.SampledFrom([]string{"p1a", "p1b", "p2a"}).Draw(t, "instance")
		b := full(at)
		if base := last[instance]; base != nil && rapid.IntRange(0, 3).Draw(t, "incremental") > 0 {
			b = on(*base, at)
		}
		b.ID = fmt.Sprintf("%s/%03d", instance, i)
		b.Pair, b.Instance = farm.PairName(instance[:2]), farm.InstanceName(instance)
		if b.Base != "" {
			b.Base = last[instance].ID
		}
		if rapid.IntRange(0, 9).Draw(t, "damaged") == 0 {
			b.Damaged = "x"
		}
		if rapid.IntRange(0, 4).Draw(t, "proven") == 0 {
			p := b.At
			b.ProvenAt = &p
		}
		last[instance] = &b
		if rapid.IntRange(0, 14).Draw(t, "missing") > 0 {
			all = append(all, b)
		}
	}
	return all
}

func drawnRules(t *rapid.T) farm.Keep {
	n := func(what string) int { return rapid.IntRange(0, 5).Draw(t, what) }
	return farm.Keep{Last: n("last"), Daily: n("daily"), Weekly: n("weekly"), Monthly: n("monthly"), Yearly: n("yearly"), Within: time.Duration(rapid.IntRange(0, 400).Draw(t, "within")) * day}
}

// TestKeepHolds: what the rules keep is kept, by a second reading of them that shares no code; what never goes is there; keeping again drops nothing; and rules that
// ask for more keep no less.
func TestKeepHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, rules := drawn(t), drawnRules(t)
		vs := Keep(noon, rules, all)
		keeps := kept(vs)
		inChain := map[string]Verdict{}
		total := 0
		for _, v := range vs {
			total += len(v.Chain.Backups)
			for _, b := range v.Chain.Backups {
				inChain[b.ID] = v
			}
		}
		if total != len(all) {
			t.Fatalf("%d backups in chains, of %d", total, len(all))
		}
		for _, pair := range []farm.PairName{"p1", "p2"} {
			for _, id := range asked(rules, vs, pair) {
				if !inChain[id].Keep {
					t.Fatalf("%s is asked for, and its chain goes: %q", id, inChain[id].Why)
				}
			}
			holdsNewest(t, vs, pair)
		}
		var left []Backup
		for _, v := range vs {
			if v.Keep {
				left = append(left, v.Chain.Backups...)
			}
		}
		if again := Dropped(Keep(noon, rules, left)); len(again) > 0 {
			t.Fatalf("a second time drops %s", again[0].ID)
		}
		more := rules
		for _, n := range []*int{&more.Last, &more.Daily, &more.Weekly, &more.Monthly, &more.Yearly} {
			*n += rapid.IntRange(0, 2).Draw(t, "more")
		}
		more.Within += time.Duration(rapid.IntRange(0, 100).Draw(t, "longer")) * day
		for id, keep := range kept(Keep(noon, more, all)) {
			if !keep && keeps[id] {
				t.Fatalf("%+v keeps %s, and %+v does not", rules, id, more)
			}
		}
	})
}

// asked are the backups that the rules ask for, from what restic's manual says of them.
func asked(rules farm.Keep, vs []Verdict, pair farm.PairName) []string {
	var points []Backup
	for _, v := range vs {
		if v.Chain.Pair == pair {
			points = append(points, v.Chain.Restorable()...)
		}
	}
	slices.SortFunc(points, func(a, b Backup) int { return b.At.Compare(a.At) })
	var out []string
	for _, rule := range []struct {
		most   int
		bucket func(time.Time) string
	}{
		{rules.Last, func(t time.Time) string { return t.String() }},
		{rules.Daily, func(t time.Time) string { y, m, d := t.Date(); return fmt.Sprint(y, m, d) }},
		{rules.Weekly, func(t time.Time) string { // by its Monday
			return t.AddDate(0, 0, -(int(t.Weekday())+6)%7).Format(time.DateOnly)
		}},
		{rules.Monthly, func(t time.Time) string { return fmt.Sprint(t.Year(), t.Month()) }},
		{rules.Yearly, func(t time.Time) string { return fmt.Sprint(t.Year()) }},
	} {
		newest := map[string]bool{}
		for _, b := range points {
			if key := rule.bucket(b.At); !newest[key] && len(newest) < rule.most {
				newest[key] = true
				out = append(out, b.ID)
			}
		}
	}
	for _, b := range points {
		if rules.Within > 0 && !b.At.Before(points[0].At.Add(-rules.Within)) {
			out = append(out, b.ID)
		}
	}
	return out
}

// holdsNewest: the newest proven chain, the newest whole one, and the newest backup that can be restored stay.
func holdsNewest(t *rapid.T, vs []Verdict, pair farm.PairName) {
	var proven, whole, point time.Time
	stays := map[string]time.Time{}
	for _, v := range vs {
		c := v.Chain
		if c.Pair != pair {
			continue
		}
		for _, b := range c.Restorable() {
			note := func(what string, at *time.Time) {
				if b.At.After(*at) {
					*at = b.At
				}
				if v.Keep && b.At.After(stays[what]) {
					stays[what] = b.At
				}
			}
			note("point", &point)
			if b.ProvenAt != nil {
				note("proven", &proven)
			}
		}
		if c.IsWhole() {
			if at := c.Newest().At; at.After(whole) {
				whole = at
			}
			if at := c.Newest().At; v.Keep && at.After(stays["whole"]) {
				stays["whole"] = at
			}
		}
	}
	for what, at := range map[string]time.Time{"proven": proven, "whole": whole, "point": point} {
		if !at.Equal(stays[what]) {
			t.Fatalf("%s: the newest that is %s stands at %s, and what stays at %s", pair, what, at, stays[what])
		}
	}
}
