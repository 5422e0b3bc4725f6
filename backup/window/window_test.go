package window

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stowage/farm"
)

// small is a farm of hosts with a network of 8000 bit/s, which is 1000 bytes a second, and pairs of two hosts each.
func small(hosts int, pairs ...[3]float64) *farm.Farm {
	f := &farm.Farm{Name: "f", HostTypes: []farm.HostType{{Name: "t", Capacity: farm.Resources{farm.Network: 8000}}}}
	for h := range hosts {
		f.Hosts = append(f.Hosts, farm.Host{Name: host(h), Type: "t", Labels: map[string]string{"rack": fmt.Sprintf("r%d", h%2)}})
	}
	for i, p := range pairs {
		f.Pairs = append(f.Pairs, farm.Pair{
			Name: farm.PairName(fmt.Sprintf("p%d", i)), Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{farm.A: {Host: host(int(p[0]))}, farm.B: {Host: host(int(p[1]))}},
			Shards: []farm.Shard{{Needs: farm.Resources{farm.Disk: p[2]}}},
		})
	}
	return f
}

func host(i int) farm.HostName { return farm.HostName(fmt.Sprintf("h%d", i)) }

func TestWhatBinds(t *testing.T) {
	two := small(4, [3]float64{0, 1, 6000}, [3]float64{0, 1, 6000})
	for name, x := range map[string]struct {
		f       *farm.Farm
		limits  Limits
		seconds float64
		bound   float64
		names   string
	}{
		"nothing to do":             {small(2), Limits{Stream: 100}, 0, 0, ""},
		"one backup":                {small(2, [3]float64{0, 1, 6000}), Limits{Stream: 100}, 60, 60, "one backup of p0"},
		"the networks":              {two, Limits{Stream: 1e6}, 6, 6, "network of h0"},
		"clients and what is free":  {withNetwork(two, 1600), Limits{Stream: 1e6, Free: 0.4}, 15, 15, "network of h0"},
		"clients use it all":        {withNetwork(small(2, [3]float64{0, 1, 600}), 40000), Limits{Stream: 1e6}, 60, 60, "network of h0"},
		"disks":                     {two, Limits{Stream: 1e6, Read: 500}, 12, 12, "disks of h0"},
		"the vault elsewhere":       {two, Limits{Stream: 1e6, Write: 100}, 120, 120, "the vault, written to"},
		"own disks":                 {two, Limits{Stream: 1e6, Write: 100, Sink: Own}, 60, 60, "disks of h0, written to"},
		"the vault's network":       {two, Limits{Stream: 1e6, Sink: Host, Vault: "h2"}, 12, 12, "network of h2, into it"},
		"the vault's disks":         {two, Limits{Stream: 1e6, Write: 200, Sink: Host, Vault: "h2"}, 60, 60, "disks of h2, written to"},
		"from the vault's own host": {small(2, [3]float64{0, 1, 6000}), Limits{Stream: 2000, Sink: Host, Vault: "h1"}, 3, 3, "one backup of p0"},
		"a rack":                    {small(4, [3]float64{0, 2, 6000}, [3]float64{0, 2, 6000}), Limits{Stream: 1e6, Rack: 100, RackLabel: "rack"}, 120, 120, "links out of rack r0"},
		"into the vault's rack":     {small(4, [3]float64{0, 2, 6000}), Limits{Stream: 1e6, Rack: 100, RackLabel: "rack", Sink: Host, Vault: "h1"}, 60, 60, "rack r"},
		"within the vault's rack":   {small(4, [3]float64{0, 2, 6000}), Limits{Stream: 1e6, Rack: 100, RackLabel: "rack", Sink: Host, Vault: "h2"}, 0.006, 0.006, "one backup of p0"},
		"streams of a host":         {small(2, [3]float64{0, 0, 500}, [3]float64{0, 0, 500}, [3]float64{0, 0, 500}), Limits{Stream: 100, PerHost: 1}, 15, 15, "1 stream at once, disks of h0"},
		"streams of a rack":         {small(4, [3]float64{0, 2, 500}, [3]float64{0, 2, 500}), Limits{Stream: 100, PerRack: 1}, 10, 10, "1 stream at once, streams out of rack r0"},
		"streams of the farm":       {small(4, [3]float64{0, 1, 500}, [3]float64{2, 3, 500}), Limits{Stream: 100, Parallel: 1}, 10, 10, "1 stream at once, streams of the farm"},
		"sides that are given":      {small(4, [3]float64{0, 1, 3000}, [3]float64{0, 2, 3000}), Limits{Stream: 1e6, Sides: map[farm.PairName]farm.SideName{"p0": farm.A, "p1": farm.A}}, 6, 6, "network of h0"},
		"one side that is given":    {small(4, [3]float64{0, 1, 3000}, [3]float64{0, 2, 3000}), Limits{Stream: 1e6, Sides: map[farm.PairName]farm.SideName{"p0": farm.A, "p1": "C"}}, 3, 3, "network of h0"},
		"pairs of two hosts in one": {small(4, [3]float64{0, 1, 3000}, [3]float64{0, 1, 3000}, [3]float64{0, 1, 3000}, [3]float64{0, 1, 3000}, [3]float64{2, 3, 1000}), Limits{Stream: 1e6}, 6, 6, "network of h0"},
	} {
		w := Of(x.f, x.limits)
		if math.Abs(w.Seconds-x.seconds) > 1e-6*(1+x.seconds) || math.Abs(w.Bound-x.bound) > 1e-6*(1+x.bound) || !strings.Contains(strings.Join(w.Binding.Names, ", "), x.names) {
			t.Errorf("%s: %g s, at least %g, %q; want %g, %g, %q", name, w.Seconds, w.Bound, w.Binding.Names, x.seconds, x.bound, x.names)
		}
		if w.Bound > 0 && math.Abs(w.Binding.Bytes/w.Binding.Rate-w.Bound) > 1e-6*w.Bound {
			t.Errorf("%s: %+v is not %g s", name, w.Binding, w.Bound)
		}
		fair(t, x.f, w)
	}
}

func withNetwork(f *farm.Farm, bits float64) *farm.Farm {
	c := f.Clone()
	for i := range c.Pairs {
		c.Pairs[i].Shards[0].Needs[farm.Network] = bits // half of it on each side
	}
	return c
}

// fair: every pair once, from one of its sides, and no resource carries more than it may.
func fair(t interface {
	Errorf(string, ...any)
	Helper()
}, f *farm.Farm, w Window) {
	t.Helper()
	if len(w.Backups) != len(f.Pairs) {
		t.Errorf("%d backups of %d pairs", len(w.Backups), len(f.Pairs))
	}
	a := newAtlas(f, w.Limits)
	through := map[int]float64{}
	running := map[int][]Backup{}
	for _, b := range w.Backups {
		p, ok := f.Pair(b.Pair)
		given := w.Limits.Sides[b.Pair]
		if !ok {
			t.Errorf("%+v is of no pair", b)
			continue
		}
		if _, has := p.Sides[given]; has && given != b.Side || p.Sides[b.Side].Host != b.Host || b.Instance != p.Instance(b.Side) || b.Bytes != p.Needs()[farm.Disk] {
			t.Errorf("%+v is not a side of %+v", b, p)
		}
		if b.Seconds < b.Bytes/w.Limits.Stream*(1-1e-9) {
			t.Errorf("%+v is faster than a stream", b)
		}
		for _, r := range a.path(b.Host) {
			through[r] += b.Bytes
			running[r] = append(running[r], b)
		}
	}
	for r, bytes := range through {
		if x := a.all[r]; bytes/x.rate > w.Seconds*(1+1e-9) {
			t.Errorf("%s carries %g bytes in %g s", x.name, bytes, w.Seconds)
		}
		for _, b := range running[r] {
			at := 0
			for _, c := range running[r] {
				if c.Begin <= b.Begin+1e-9 && c.End() > b.Begin+1e-9*(1+w.Seconds) {
					at++
				}
			}
			if most := a.all[r].slots; most > 0 && at > most {
				t.Errorf("%s has %d streams at %g s", a.all[r].name, at, b.Begin)
			}
		}
	}
	if w.Seconds < w.Bound*(1-1e-6) {
		t.Errorf("%g s are less than the bound of %g", w.Seconds, w.Bound)
	}
}

// TestAnyFarm: whatever the farm and the limits, the window is possible, and the bound is one: no choice of sides is below it.
func TestAnyFarm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := rapid.IntRange(2, 6).Draw(t, "hosts")
		var pairs [][3]float64
		for range rapid.IntRange(0, 8).Draw(t, "pairs") {
			a := rapid.IntRange(0, hosts-1).Draw(t, "a")
			b := (a + rapid.IntRange(1, hosts-1).Draw(t, "b")) % hosts
			pairs = append(pairs, [3]float64{float64(a), float64(b), float64(rapid.IntRange(0, 50).Draw(t, "bytes")) * 100})
		}
		f := small(hosts, pairs...)
		rate := rapid.SampledFrom([]float64{0, 0, 150, 700})
		l := Limits{
			Stream: rapid.SampledFrom([]float64{100, 400, 5000}).Draw(t, "stream"), Read: rate.Draw(t, "read"), Write: rate.Draw(t, "write"), Rack: rate.Draw(t, "rack"), RackLabel: "rack",
			PerHost: rapid.IntRange(0, 2).Draw(t, "per host"), PerRack: rapid.IntRange(0, 3).Draw(t, "per rack"), Parallel: rapid.IntRange(0, 4).Draw(t, "parallel"),
			Sink: rapid.SampledFrom([]Sink{Away, Own, Host}).Draw(t, "sink"), Vault: "h1",
		}
		w := Of(f, l)
		fair(t, f, w)
		if again := Of(f, l); !slices.Equal(again.Backups, w.Backups) {
			t.Errorf("a second time it is another")
		}
		// Every choice of sides, by the work that each resource has to do.
		a := newAtlas(f, l)
		jobs := a.jobs()
		for choice := range 1 << len(jobs) {
			work := map[int]float64{}
			least := 0.0
			for i, j := range jobs {
				o := j.sides[choice>>i&1]
				least = max(least, j.bytes/o.rate)
				for _, r := range o.path {
					work[r] += j.bytes
					least = max(least, work[r]/a.cap(r))
				}
			}
			if least < w.Bound*(1-1e-6) {
				t.Fatalf("sides %b take %g s, and the bound is %g by %q", choice, least, w.Bound, w.Binding.Names)
			}
		}
	})
}

// TestBoundOfOneSide: where nothing can be chosen the bound is the work of the resource that has most, whichever it is.
func TestBoundOfOneSide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := rapid.IntRange(2, 6).Draw(t, "hosts")
		var pairs [][3]float64
		for range rapid.IntRange(1, 8).Draw(t, "pairs") {
			h := float64(rapid.IntRange(0, hosts-1).Draw(t, "host"))
			pairs = append(pairs, [3]float64{h, h, float64(rapid.IntRange(1, 50).Draw(t, "bytes")) * 100})
		}
		l := Limits{Stream: 5000, Read: 700, Write: rapid.SampledFrom([]float64{0, 150, 900, 2000}).Draw(t, "write"), Rack: rapid.SampledFrom([]float64{0, 300, 1000}).Draw(t, "rack"), RackLabel: "rack"}
		f := small(hosts, pairs...)
		a := newAtlas(f, l)
		work, want := map[int]float64{}, 0.0
		for _, j := range a.jobs() {
			want = max(want, j.bytes/j.sides[0].rate)
			for _, r := range j.sides[0].path {
				work[r] += j.bytes
				want = max(want, work[r]/a.cap(r))
			}
		}
		if w := Of(f, l); math.Abs(w.Bound/want-1) > 1e-6 {
			t.Errorf("bound %g by %q, want %g", w.Bound, w.Binding.Names, want)
		}
	})
}

// TestReplicasFirst: of hosts that have as little to do, that of a replica is read.
func TestReplicasFirst(t *testing.T) {
	f := small(2, [3]float64{0, 1, 3000})
	f.Pairs[0].Topology = farm.PrimaryReplica
	if b := Of(f, Limits{Stream: 100, Sink: Own}).Backups[0]; b.Side != farm.B {
		t.Errorf("%+v", b)
	}
}

// TestWhoCannotBeServedWaits: a second backup through a link that the first one fills would only make both late.
func TestWhoCannotBeServedWaits(t *testing.T) {
	w := Of(small(1, [3]float64{0, 0, 3000}, [3]float64{0, 0, 2000}), Limits{Stream: 5000, PerHost: 2})
	if len(w.Backups) != 2 || w.Backups[0].Seconds != 3 || w.Backups[1].Begin != 3 || w.Seconds != 5 {
		t.Errorf("%+v", w.Backups)
	}
}

// TestTheLongestIsNotLast: one backup that takes long by itself begins before many short ones of a host that has as much to do.
func TestTheLongestIsNotLast(t *testing.T) {
	pairs := [][3]float64{{2, 2, 1000}}
	for range 10 {
		pairs = append(pairs, [3]float64{0, 0, 110})
	}
	w := Of(small(4, pairs...), Limits{Stream: 100, PerHost: 2, Rack: 200, RackLabel: "rack"})
	if w.Backups[0].Host != "h2" && w.Backups[1].Host != "h2" || w.Seconds > 11+1e-9 {
		t.Errorf("%g s: %+v", w.Seconds, w.Backups[:2])
	}
}

func TestLanes(t *testing.T) {
	w := Of(small(4, [3]float64{0, 0, 900}, [3]float64{0, 0, 500}, [3]float64{2, 2, 1000}), Limits{Stream: 100, PerHost: 1})
	lanes := w.Lanes()
	if len(lanes) != 2 || lanes[0].Host != "h0" || lanes[0].Bytes != 1400 || lanes[0].End != 14 || len(lanes[0].Backups) != 2 || lanes[0].Backups[1].Begin != 9 || lanes[1].End != 10 {
		t.Errorf("%+v", lanes)
	}
}

// TestALargeFarm: where hosts have many pairs, sides and streams even out to within 5 % of the bound.
func TestALargeFarm(t *testing.T) {
	var pairs [][3]float64
	for i := range 1000 {
		pairs = append(pairs, [3]float64{float64(i % 49), float64((i*7 + 3) % 47), 1e6 + float64(i*i%1000003)})
	}
	f := small(50, pairs...)
	for _, l := range []Limits{{Stream: 400, PerHost: 2}, {Stream: 400, PerHost: 2, Write: 12500}} {
		w := Of(f, l)
		if w.Seconds > 1.05*w.Bound {
			t.Errorf("%g s, at least %g: %q", w.Seconds, w.Bound, w.Binding.Names[:1])
		}
	}
}
