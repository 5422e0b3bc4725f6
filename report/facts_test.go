package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"stowage/digest"
	"stowage/farm"
	"stowage/inventory"
	"stowage/placement"
)

// size of an invented farm.
type farmSize struct{ pairs, shards, hosts int }

var (
	demoSize = farmSize{12, 4, 6}
	etsySize = farmSize{60, 16, 30}
)

var began = time.Date(2026, 11, 21, 21, 5, 11, 120e6, time.UTC)

// inventFacts is a whole report's facts, as a run of that size might leave
// them. The plan is a real one; what was measured is drawn with a fixed seed.
func inventFacts(t *testing.T, size farmSize) Facts {
	t.Helper()
	f := inventFarm(size)
	goals := placement.Defaults()
	goals.Onto = []farm.HostTypeName{"r630-ssd"}
	plan, err := placement.Solve(f, goals)
	if err != nil {
		t.Fatal(err)
	}
	plan.Name, plan.Made, plan.Seconds = "downsize", "2026-11-21T21:04:58Z", 0.04
	return inventRun(f, plan)
}

// inventRun is the facts of a run of that plan.
func inventRun(f *farm.Farm, plan placement.Plan) Facts {
	r := rand.New(rand.NewPCG(7, uint64(len(f.Pairs))))
	events := inventEvents(plan, r)
	f.Name = "etsy-2016"
	facts := Facts{
		Farm: f.Name, Made: began.Add(3 * time.Minute), Zone: time.FixedZone("CET", 3600),
		Plan: &plan, Now: plan.Apply(f), Run: "move-downsize", Events: events,
		Inventory: inventInventory(f), Findings: inventFindings(), Compare: inventComparison(r), Proof: inventProof(r, events),
		Versions: []Fact{{"stowage", "0.1.0"}, {"mariadb-backup", "10.11.14-MariaDB"}},
	}
	at := began.Add(-70 * time.Second)
	for _, c := range []string{"stowage inventory", "stowage plan", "stowage move plans/downsize.json", "stowage digest compare before.digest after.digest", "stowage report"} {
		facts.Commands = append(facts.Commands, Command{Line: c, Started: at, Seconds: 4.2})
		at = at.Add(35 * time.Second)
	}
	return facts
}

func inventFarm(size farmSize) *farm.Farm {
	dense := (2*size.pairs + size.hosts - 1) / size.hosts
	f := &farm.Farm{
		Name: "etsy-2016", NextServerID: uint32(1001 + 2*size.pairs),
		HostTypes: []farm.HostType{
			{Name: "platter-22", Capacity: farm.Resources{farm.Disk: 2.2e12, farm.Memory: 96 << 30, farm.IOPS: 1800}, Watts: 200, Price: 4000},
			{Name: "r630-ssd", Capacity: farm.Resources{farm.Disk: 14e12, farm.Memory: 512 << 30, farm.IOPS: 70000}, MaxInstances: dense, Watts: 267, Price: 16000},
		},
	}
	r := rand.New(rand.NewPCG(3, 3))
	for i := range 2 * size.pairs {
		f.Hosts = append(f.Hosts, farm.Host{Name: farm.HostName(fmt.Sprintf("db%03d", i+1)), Type: "platter-22", Address: fmt.Sprintf("127.0.10.%d", i+1)})
	}
	for i := range size.hosts {
		f.Hosts = append(f.Hosts, farm.Host{Name: farm.HostName(fmt.Sprintf("ssd%02d", i+1)), Type: "r630-ssd", Address: fmt.Sprintf("127.0.11.%d", i+1), Dir: "/srv/mysql"})
	}
	for i := range size.pairs {
		p := farm.Pair{Name: farm.PairName(fmt.Sprintf("dbshard%03d", i+1)), Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{}}
		weight := 0.7 + 0.6*r.Float64()
		for j := range size.shards {
			p.Shards = append(p.Shards, farm.Shard{
				Name:  farm.ShardName(fmt.Sprintf("etsy_shard_%04d", i*size.shards+j+1)),
				Needs: farm.Resources{farm.Disk: weight * 1.3e12 / float64(size.shards), farm.Memory: 40e9 / float64(size.shards), farm.IOPS: weight * 900 / float64(size.shards)},
			})
		}
		for k, side := range farm.SideNames {
			p.Sides[side] = farm.Side{Host: f.Hosts[2*i+k].Name, Port: 23306, Datadir: "data"}
		}
		f.Pairs = append(f.Pairs, p)
	}
	return f
}

// inventEvents is a move in which 8 sides are worked on at once and one
// attempt failed.
func inventEvents(plan placement.Plan, r *rand.Rand) []farm.Event {
	type timed struct {
		step string
		from float64
		to   float64
	}
	steps := []timed{
		{"preflight", 0.2, 0.4}, {"seed", 2.5, 6}, {"start", 0.8, 1.6}, {"attach", 0.1, 0.3}, {"follow", 0.4, 2}, {"compare", 0.6, 1.5}, {"preload", 0.2, 0.6},
		{"out", 0.1, 0.3}, {"rewire", 0.3, 0.6}, {"catch-up", 0.1, 0.5}, {"check", 0.1, 0.3}, {"warm", 0.2, 0.8}, {"in", 2.2, 2.9}, {"retire", 0.6, 1.4},
	}
	var out []farm.Event
	free := make([]time.Time, 8)
	for i := range free {
		free[i] = began
	}
	for n, m := range plan.Moves {
		slot := 0
		for i := range free {
			if free[i].Before(free[slot]) {
				slot = i
			}
		}
		now := free[slot].Add(time.Duration(r.IntN(200)) * time.Millisecond)
		tell := func(kind farm.EventKind, step, text string, ms float64) {
			out = append(out, farm.Event{Time: now, Run: "move-downsize", Pair: m.Pair, Side: m.Side, Step: step, Kind: kind, Text: text, Millis: ms})
		}
		for _, s := range steps {
			took := time.Duration((s.from + (s.to-s.from)*r.Float64()) * float64(time.Second))
			tell(farm.StepStarted, s.step, "", 0)
			if n == 9 && s.step == "compare" {
				now = now.Add(took / 2)
				tell(farm.StepFailed, s.step, "compare rows dbshard: connection reset by peer", 0)
				now = now.Add(time.Second)
				tell(farm.StepStarted, s.step, "attempt 2", 0)
			}
			gates := map[string]int{"out": 1, "in": 3}[s.step]
			for range gates {
				now = now.Add(took / time.Duration(gates+1))
				closed := 14 + 30*math.Exp(0.6*r.NormFloat64())
				out = append(out, farm.Event{Time: now.Add(-time.Duration(closed * float64(time.Millisecond))), Run: "move-downsize", Pair: m.Pair, Side: m.Side, Step: s.step, Phase: "close", Kind: farm.GateClosed})
				tell(farm.GateOpened, s.step, "", closed)
			}
			now = now.Add(took / time.Duration(gates+1))
			tell(farm.StepDone, s.step, "", took.Seconds()*1000)
		}
		free[slot] = now
	}
	slices.SortStableFunc(out, func(a, b farm.Event) int { return a.Time.Compare(b.Time) })
	return out
}

func inventProof(r *rand.Rand, events []farm.Event) *Proof {
	p := &Proof{Acknowledged: 48211, Retried: 31, P50Before: 1.9, P99Before: 11.8, P50After: 1.2, P99After: 6.4, Seconds: 96}
	for _, e := range events {
		if e.Kind != farm.GateOpened {
			continue
		}
		for range 2 + r.IntN(5) {
			p.Pauses = append(p.Pauses, e.Millis*(0.15+0.95*r.Float64()))
		}
	}
	sorted := slices.Sorted(slices.Values(p.Pauses))
	p.PauseP50, p.PauseP95, p.PauseP99, p.MaxPauseMillis = quantile(sorted, 0.5), quantile(sorted, 0.95), quantile(sorted, 0.99), sorted[len(sorted)-1]
	return p
}

func inventFindings() []farm.Finding {
	return []farm.Finding{
		{Check: "relay-log-recovery", Severity: farm.Note, Subject: "dbshard004b", Text: "relay_log_recovery is off", Remedy: "set relay_log_recovery=1: a crashed replica then fetches its relay log anew"},
		{Check: "events-off", Severity: farm.Warning, Subject: "dbshard002a", Text: "the event scheduler is on, on both sides of the pair", Remedy: "leave it on on one side only"},
	}
}

func inventInventory(f *farm.Farm) *inventory.Inventory {
	inv := &inventory.Inventory{Farm: f.Name, Taken: began, Pairs: len(f.Pairs)}
	for _, p := range f.Pairs {
		for _, side := range farm.SideNames {
			inv.Instances = append(inv.Instances, inventory.Instance{Name: p.Instance(side), Version: "10.11.14-MariaDB"})
		}
	}
	return inv
}

// inventComparison has a class of every verdict.
func inventComparison(r *rand.Rand) *digest.Comparison {
	c := &digest.Comparison{
		CommonFactor: 0.61, CommonFactorCI: digest.Interval{0.56, 0.67}, CommonAvg: 0.66,
		Overall: digest.Overall{Verdict: digest.VerdictFaster, AvgRatio: 0.66, P95Ratio: 0.6, LoadBefore: 1.92, LoadAfter: 1.31, LoadByCalls: 0.04, LoadByAvg: -0.65},
		Before:  digest.Side{Events: 182340, Seconds: 60, QueryTime: digest.Latency{Max: 0.211, P50: 0.00041, P95: 0.0061, P99: 0.0142}},
		After:   digest.Side{Events: 186112, Seconds: 60, QueryTime: digest.Latency{Max: 0.094, P50: 0.00027, P95: 0.0037, P99: 0.0081}}, BlockSeconds: 2, BlocksBefore: 30, BlocksAfter: 30,
		Alpha: 0.05, Margin: 0.10, SelfCheck: &digest.AACheck{Splits: 20, Judged: 200, FalseAlarms: 3, Share: 0.015}, Notes: []string{},
	}
	for _, row := range []struct {
		text    string
		verdict digest.Verdict
		reason  string
		p95     float64
		ratio   float64
		wide    float64
		calls   float64
	}{
		{"select listing_id, title, price from listings where shop_id = ? and state = ? order by updated desc limit ?", digest.VerdictUnchanged, "", 0.0052, 0.62, 0.05, 812},
		{"insert into receipts (receipt_id, shop_id, buyer, total, created) values (...)", digest.VerdictFaster, "by p95", 0.0094, 0.31, 0.12, 401},
		{"update listings set quantity = quantity - ?, updated = ? where listing_id = ?", digest.VerdictUnchanged, "", 0.0071, 0.58, 0.07, 398},
		{"select * from shops where shop_id = ?", digest.VerdictUnchanged, "", 0.0008, 0.60, 0.04, 1204},
		{"select count(*) from favorites where listing_id = ?", digest.VerdictSlower, "by avg", 0.0021, 0.97, 0.09, 96},
		{"commit", digest.VerdictFaster, "by median", 0.0060, 0.42, 0.06, 400},
		{"select receipt_id from receipts where shop_id = ? and created > ?", digest.VerdictInconclusive, "a change of p95 below 1.92 times cannot be distinguished from chance", 0.0110, 0.70, 0.62, 11},
		{"select checksum from feedback where buyer = ? group by shop_id having sum(total) > ?", digest.VerdictInconclusive, "too few events", 0.0300, 1.4, 3.2, 0.4},
		{"delete from cart where buyer = ? and added < ?", digest.VerdictGone, "", 0.0040, 0, 0, 2},
		{"select ?", digest.VerdictNew, "", 0.0001, 0, 0, 20},
	} {
		ch := digest.Change{Fingerprint: row.text, ID16: fmt.Sprintf("%016X", r.Uint64()), Verdict: row.verdict, Reason: row.reason, CallsBefore: row.calls, CallsAfter: row.calls * (0.97 + 0.06*r.Float64())}
		if row.verdict != digest.VerdictNew {
			ch.Before = inventClass(r, row.p95, row.calls)
		} else {
			ch.CallsBefore = 0
		}
		if row.verdict != digest.VerdictGone {
			ch.After = inventClass(r, row.p95*max(row.ratio, 0.2), row.calls)
		} else {
			ch.CallsAfter = 0
		}
		if row.ratio > 0 {
			ch.P95Ratio, ch.OwnP95Ratio = row.ratio, row.ratio/c.CommonFactor
			if row.reason != "too few events" {
				ch.CI = digest.Interval{row.ratio * math.Exp(-row.wide), row.ratio * math.Exp(row.wide)}
				ch.OwnCI = digest.Interval{ch.OwnP95Ratio * math.Exp(-row.wide*0.8), ch.OwnP95Ratio * math.Exp(row.wide*0.8)}
			}
		}
		switch row.verdict {
		case digest.VerdictSlower:
			c.Overall.SlowerCount++
		case digest.VerdictFaster:
			c.Overall.FasterCount++
		}
		c.Classes = append(c.Classes, ch)
	}
	return c
}

func inventClass(r *rand.Rand, p95, calls float64) *digest.ClassSide {
	s := &digest.ClassSide{Count: uint64(calls * 60)}
	middle := math.Log(p95) - 1.645*0.8
	var all []float64
	for range 2000 {
		v := math.Exp(middle + 0.8*r.NormFloat64())
		all = append(all, v)
		s.Spark[min(31, max(0, int(math.Log2(v*1e9))-10))]++
	}
	slices.Sort(all)
	s.QueryTime = digest.Latency{P50: quantile(all, 0.5), P95: p95, P99: quantile(all, 0.99), Max: all[len(all)-1]}
	return s
}
