package catalogue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"stowage/farm"
)

// drawnYear is a farm's pair over some months: chains of any length on either side, backups that are damaged, and a clock that is sometimes wrong.
func drawnYear(r *rand.Rand) (all []Backup, now time.Time) {
	at := time.Date(2027+r.IntN(2), time.Month(1+r.IntN(12)), 25+r.IntN(4), r.IntN(24), 0, 0, 0, time.UTC) // leap days and ends of years lie behind it
	wrong := time.Duration(0)
	base := map[string]*Backup{}
	for n := range 20 + r.IntN(400) {
		at = at.Add(time.Duration(1+r.IntN(40)) * time.Hour)
		switch r.IntN(20) {
		case 0:
			wrong = time.Duration(r.IntN(96)-48) * time.Hour
		case 1, 2, 3:
			wrong = 0
		}
		side := []string{"a", "b"}[min(1, r.IntN(8)/7)]
		b := full(0)
		b.Instance, b.Side, b.On = farm.InstanceName("p1"+side), farm.SideName(side), farm.HostName("h"+side)
		b.At = at.Add(wrong)
		b.ID = fmt.Sprintf("p1%s/%d", side, n)
		b.ToLSN, b.GTID, b.Bytes = uint64(1000+n), fmt.Sprintf("0-1-%d", 1000+n), int64(n)
		if was := base[side]; was != nil && r.IntN(7) > 0 {
			b.Kind, b.Base, b.FromLSN = Incremental, was.ID, was.ToLSN
		}
		base[side] = &b
		if r.IntN(60) == 0 {
			b.Damaged = "a flipped byte"
		}
		all = append(all, b)
	}
	return all, at
}

// What a prune removes is never needed by what stays, and what the rules promise stays; binary logs stay from the first backup on that needs them.
func TestAYearOfPrunes(t *testing.T) {
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 1))
		all, now := drawnYear(r)
		rules := farm.Keep{Last: r.IntN(4), Daily: r.IntN(10), Weekly: r.IntN(6), Monthly: r.IntN(14), Yearly: r.IntN(3), Within: time.Duration(r.IntN(200)) * time.Hour}
		stays, logs := map[string]bool{}, map[string]bool{}
		vs := Keep(now, rules, all)
		for _, v := range vs {
			for _, b := range v.Chain.Backups {
				stays[b.ID], logs[b.ID] = v.Keep, v.Keep && v.Logs
			}
		}
		fail := func(format string, args ...any) {
			t.Helper()
			t.Errorf("seed %d, %+v: %s", seed, rules, fmt.Sprintf(format, args...))
		}
		var good []Backup // from which something can be restored, by their bases alone
		for _, b := range all {
			x, whole := b, b.Damaged == ""
			for whole && x.Base != "" {
				x = all[slices.IndexFunc(all, func(y Backup) bool { return y.ID == x.Base })]
				whole = x.Damaged == ""
			}
			if whole {
				good = append(good, b)
			}
			if stays[b.ID] && b.Base != "" && !stays[b.Base] {
				fail("%s stays, and its base %s goes", b.ID, b.Base)
			}
		}
		slices.SortFunc(good, func(a, b Backup) int { return b.At.Compare(a.At) })
		promised(good, rules, func(b Backup, rule string, withLogs bool) {
			if !stays[b.ID] || withLogs && !logs[b.ID] {
				fail("%s of %s is promised by %s; it stays: %v, with logs: %v", b.ID, b.At, rule, stays[b.ID], logs[b.ID])
			}
		})
		for _, instance := range []farm.InstanceName{"p1a", "p1b"} {
			from, ok := LogsFrom(vs, "f", instance)
			for _, b := range good {
				if b.Instance == instance && logs[b.ID] && ok && (b.GTID < from.GTID || b.At.Before(from.At)) {
					fail("logs go up to %s, and %s at %s stays, and needs them", from.GTID, b.ID, b.GTID)
				}
			}
		}
	}
}

// promised says it in other words than Keep: good are the newest first.
func promised(good []Backup, rules farm.Keep, must func(b Backup, rule string, logs bool)) {
	for n, b := range good {
		if n < max(1, rules.Last) {
			must(b, "last", true)
		}
		if rules.Within > 0 && !b.At.Before(good[0].At.Add(-rules.Within)) {
			must(b, "within", true)
		}
	}
	for _, rule := range []struct {
		name string
		most int
		of   func(time.Time) int
	}{
		{"daily", rules.Daily, func(t time.Time) int { return int(t.Unix() / 86400) }},
		{"weekly", rules.Weekly, func(t time.Time) int { return int((t.Unix()/86400 + 3) / 7) }}, // 1970 began on a Thursday
		{"monthly", rules.Monthly, func(t time.Time) int { return t.Year()*12 + int(t.Month()) }},
		{"yearly", rules.Yearly, time.Time.Year},
	} {
		var seen []int
		for _, b := range good {
			if p := rule.of(b.At.UTC()); !slices.Contains(seen, p) && len(seen) < rule.most {
				seen = append(seen, p)
				must(b, rule.name, rule.name == "daily")
			}
		}
	}
}
