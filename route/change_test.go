package route_test

import (
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"stowage/farm"
	"stowage/route"
)

// TestChanges draws sequences of changes and judges every table after every
// one of them, slot by slot.
func TestChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := route.NewPair([]farm.ShardName{"s"}, "127.0.10.1:23306", "127.0.10.2:23306")
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			home := rapid.SampledFrom(farm.SideNames[:]).Draw(t, "home")
			other := routesOf(p, home.Twin())
			gate := p.GateIsClosed(home)
			switch rapid.SampledFrom([]string{"close", "open", "serve"}).Draw(t, "change") {
			case "close":
				p.CloseGate(home)
				gate = true
			case "open":
				p.OpenGate(home)
				gate = false
			case "serve":
				serve(t, p, home)
			}
			if p.GateIsClosed(home) != gate {
				t.Fatalf("gate of %s closed: %v, want %v", home, !gate, gate)
			}
			if got := routesOf(p, home.Twin()); !reflect.DeepEqual(got, other) {
				t.Fatalf("a change to home %s turned the other home's routes %+v into %+v", home, other, got)
			}
			judge(t, p)
		}
	})
}

func serve(t *rapid.T, p *route.Pair, home farm.SideName) {
	side := rapid.SampledFrom(farm.SideNames[:]).Draw(t, "side")
	percent := rapid.Float64Range(0, 100).Draw(t, "percent")
	switch rapid.IntRange(0, 3).Draw(t, "round") {
	case 0:
		percent = 100
	case 1:
		percent = math.Round(percent)
	}
	if _, ok := p.Sides[side.Twin()]; !ok {
		percent = 100 // a part can be left only to a side in rotation
	}
	p.Serve(home, side, "127.0.10.9:"+string(side), percent)
	step := 100.0 / (route.Slots / 2)
	if got := p.Share(home, side); math.Abs(got-percent) > step || percent > 0 && got == 0 {
		t.Fatalf("asked for %v %% of %s on %s, got %v %%", percent, home, side, got)
	}
}

func routesOf(p *route.Pair, home farm.SideName) (out []route.Route) {
	for _, r := range p.Routes {
		if r.Home == home {
			out = append(out, r)
		}
	}
	return out
}

// judge shares no code with package route.
func judge(t *rapid.T, p *route.Pair) {
	served := map[farm.SideName]int{}
	slot := 0
	for _, r := range p.Routes {
		if r.From != slot || r.To < r.From {
			t.Fatalf("routes %+v: slot %d is not covered once", p.Routes, slot)
		}
		for ; slot <= r.To; slot++ {
			home := farm.A
			if slot >= p.Slots/2 {
				home = farm.B
			}
			if r.Home != home {
				t.Fatalf("slot %d has come to home %s", slot, r.Home)
			}
			served[r.Side]++
		}
	}
	if slot != p.Slots {
		t.Fatalf("routes %+v cover %d of %d slots", p.Routes, slot, p.Slots)
	}
	sum := 0.0
	for name, s := range p.Sides {
		if served[name] == 0 || s.Address == "" {
			t.Fatalf("side %s is in rotation with %d slots at %q", name, served[name], s.Address)
		}
		if want := 100 * float64(served[name]) / float64(p.Slots); math.Abs(s.Weight-want) > 1e-9 {
			t.Fatalf("side %s weighs %v, want %v", name, s.Weight, want)
		}
		sum += s.Weight
	}
	if math.Abs(sum-100) > 1e-9 || len(p.Sides) != len(served) {
		t.Fatalf("weights %+v add up to %v for %v", p.Sides, sum, served)
	}
	for _, home := range farm.SideNames {
		if both := p.Share(home, farm.A) + p.Share(home, farm.B); math.Abs(both-100) > 1e-9 {
			t.Fatalf("both shares of %s are %v %%", home, both)
		}
	}
	table := route.Table{FormatVersion: route.FormatVersion, Pairs: map[farm.PairName]*route.Pair{"p": p}}
	if err := table.Check(); err != nil {
		t.Fatalf("Check refuses it: %v", err)
	}
}

// TestServeGrows: a ramp of 1, 10, 100 % only ever adds slots to the side, so
// that no client is sent back and forth.
func TestServeGrows(t *testing.T) {
	p := route.NewPair(nil, "127.0.10.1:1", "127.0.10.2:1")
	p.Serve(farm.A, farm.B, "127.0.10.2:1", 100)
	moved := map[int]bool{}
	for _, percent := range []float64{1, 10, 50, 100} {
		p.Serve(farm.A, farm.A, "127.0.10.5:1", percent)
		now := map[int]bool{}
		for _, r := range p.Routes {
			for slot := r.From; slot <= r.To && r.Home == farm.A && r.Side == farm.A; slot++ {
				now[slot] = true
			}
		}
		for slot := range moved {
			if !now[slot] {
				t.Errorf("at %v %% slot %d was sent back", percent, slot)
			}
		}
		if want := int(percent * 5); len(now) != want {
			t.Errorf("at %v %% %d slots moved, want %d", percent, len(now), want)
		}
		moved = now
	}
	if p.Sides[farm.A] != (route.Side{Address: "127.0.10.5:1", Weight: 50}) {
		t.Errorf("sides %+v", p.Sides)
	}
}

// TestServeInThreeRanges: a table edited by hand may have a home in two
// places; a change to the other home leaves both alone.
func TestServeInThreeRanges(t *testing.T) {
	p := &route.Pair{
		Slots: 1000,
		Sides: map[farm.SideName]route.Side{farm.A: {Address: "127.0.10.1:1"}, farm.B: {Address: "127.0.10.2:1"}},
		Routes: []route.Route{
			{From: 0, To: 249, Home: farm.A, Side: farm.A, Gate: route.Open},
			{From: 250, To: 749, Home: farm.B, Side: farm.B, Gate: route.Open},
			{From: 750, To: 999, Home: farm.A, Side: farm.A, Gate: route.Open},
		},
	}
	p.Serve(farm.B, farm.A, "127.0.10.1:1", 50)
	table := route.Table{FormatVersion: route.FormatVersion, Pairs: map[farm.PairName]*route.Pair{"p": p}}
	if err := table.Check(); err != nil {
		t.Errorf("routes %+v: %v", p.Routes, err)
	}
	if got := p.Share(farm.B, farm.A); got != 50 {
		t.Errorf("share %v, want 50", got)
	}
}
