package capacity

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"stowage/farm"
)

// drawn is a farm with pairs of all topologies on random hosts.
func drawn(r *rand.Rand) *farm.Farm {
	f := &farm.Farm{HostTypes: []farm.HostType{{Name: "box", Capacity: farm.Resources{farm.CPU: 8, farm.Disk: 1e12, farm.Memory: 64e9}}}}
	for i := range 4 + r.IntN(6) {
		f.Hosts = append(f.Hosts, farm.Host{Name: farm.HostName(rune('a' + i)), Type: "box"})
	}
	host := func() farm.HostName { return f.Hosts[r.IntN(len(f.Hosts))].Name }
	for i := range 1 + r.IntN(12) {
		p := farm.Pair{Name: farm.PairName(rune('A' + i)), Topology: []farm.Topology{farm.ActiveActive, farm.PrimaryReplica, farm.Single}[r.IntN(3)],
			Shards: []farm.Shard{{Name: farm.ShardName(rune('A' + i)), Needs: farm.Resources{farm.CPU: 4 * r.Float64(), farm.Disk: 3e11 * r.Float64(), farm.Memory: 1e10 * r.Float64()}}}}
		p.Sides = map[farm.SideName]farm.Side{farm.A: {Host: host()}}
		if p.Topology != farm.Single {
			p.Sides[farm.B] = farm.Side{Host: host()}
		}
		f.Pairs = append(f.Pairs, p)
	}
	return f
}

// TestOneHostDies: nobody but a twin of somebody on the dead host takes load over; disk and memory of heirs stay; CPU grows by what the pairs on the
// dead host gain, and by nothing else; a pair is gone exactly where it has no server elsewhere.
func TestOneHostDies(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for range 300 {
		f := drawn(r)
		for _, d := range Deaths(f) {
			gone, lost := 0, 0
			gains := map[farm.HostName]float64{}
			for _, p := range f.Pairs {
				a, b, two := p.Sides[farm.A].Host, p.Sides[farm.B].Host, p.Topology != farm.Single
				if a != d.Host && (!two || b != d.Host) {
					continue
				}
				lost++
				switch cpu := p.Shards[0].Needs[farm.CPU]; {
				case !two || a == b:
					gone++
				case a == d.Host: // the other side served half, or was the replica
					gains[b] += cpu / 2
				case p.Topology == farm.ActiveActive:
					gains[a] += cpu / 2
				}
			}
			if len(d.Gone) != gone || d.Pairs != lost || len(d.Heirs) != len(gains) {
				t.Fatalf("%s dies: %d pairs, %d gone, %d heirs; not %d, %d, %d", d.Host, d.Pairs, len(d.Gone), len(d.Heirs), lost, gone, len(gains))
			}
			for _, h := range d.Heirs {
				for _, u := range h.Uses {
					want := 0.0
					if u.Resource == farm.CPU {
						want = gains[h.Host]
					}
					if math.Abs(u.Then-u.Before-want) > 1e-3 || u.IsOver != (u.Then > u.Limit && u.Then > u.Before) {
						t.Fatalf("%s dies, %s of %s: %v to %v, not %v more; over %v of %v", d.Host, u.Resource, h.Host, u.Before, u.Then, want, u.IsOver, u.Limit)
					}
				}
			}
		}
	}
}

func TestScalingBendsWhereItWasMeasured(t *testing.T) {
	half, two := 0.5, 2.0
	c := &Curve{Points: []Point{{Instances: 1, CPU: 1, IOPS: &half}, {Instances: 3, CPU: 2, IOPS: &two}}}
	f := twoHosts()
	f.HostTypes[0].Capacity[farm.CPU] = 16
	f.Pairs[0].Shards[0].Needs[farm.CPU], f.Pairs[0].Shards[0].Needs[farm.IOPS] = 2, 100
	s := Scale(f, c)
	if len(s) == 0 || len(s[0].Rows) < 2 {
		t.Fatalf("%+v", s)
	}
	row := s[0].Rows[1]
	if *row.CPUMeasured != row.CPU*1.5 || *row.IOPSMeasured != row.IOPS*1.25 {
		t.Errorf("2 instances, half way between 1 and 3: %v and %v of %v and %v", *row.CPUMeasured, *row.IOPSMeasured, row.CPU, row.IOPS)
	}
	for _, curve := range []*Curve{nil, {Points: c.Points[:1]}, {Points: []Point{{Instances: 3, CPU: 1}, {Instances: 4, CPU: 1}}}} {
		if x := Scale(f, curve)[0].Rows[0]; x.CPUMeasured != nil || x.IOPSMeasured != nil {
			t.Errorf("what was not measured has a number: %+v", x)
		}
	}
}

// TestCopyRates: the rate of a copy is that of its bytes: what the step does before and afterwards does not count, nor does an attempt that was given up.
func TestCopyRates(t *testing.T) {
	from := time.Unix(1e9, 0)
	e := func(seconds float64, pair farm.PairName, kind farm.EventKind, bytes int64) farm.Event {
		return farm.Event{Time: from.Add(time.Duration(seconds * float64(time.Second))), Run: "r", Pair: pair, Step: "seed", Kind: kind, Bytes: bytes}
	}
	got := CopyRates([]farm.Event{
		e(0, "a", farm.StepStarted, 0), e(0, "b", farm.StepStarted, 0),
		e(1, "a", farm.StepProgress, 100), e(1, "b", farm.StepProgress, 500), e(3, "b", farm.StepProgress, 900),
		e(11, "a", farm.StepProgress, 1100), e(30, "a", farm.StepProgress, 1100), // its log is applied
		e(40, "b", farm.StepProgress, 200), e(42, "b", farm.StepProgress, 240), // again
		e(50, "c", farm.StepProgress, 10), e(50.5, "c", farm.StepProgress, 99),
	})
	if len(got) != 2 || got[0] != 100 || got[1] != 20 {
		t.Errorf("%v", got)
	}
	if r := MedianRate(got, "x"); r.PerSecond != 60 || r.Copies != 2 || MedianRate(nil, "x") != nil {
		t.Errorf("%+v", r)
	}
}
