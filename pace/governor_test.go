package pace

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// replica is a server that can take so many bytes a second beside its own work
// before it falls behind, one second at a time.
type replica struct {
	room int64 // of copies; what comes beyond it makes it fall behind
	lag  time.Duration
}

func (r *replica) second(rate int64) Reading {
	over := float64(rate-r.room) / float64(max(1, r.room))
	r.lag = max(0, r.lag+time.Duration(min(1, max(-3, over))*float64(time.Second)))
	return Reading{Lag: r.lag, LagOf: "dbshard003b", Load: 1}
}

// flowOf is what a copy does that may go at rate and cannot go faster than most.
func flowOf(rate, most int64) int64 {
	if rate < 0 {
		return most
	}
	return min(rate, most)
}

// Whatever is read, in whatever order, the copy never stands still, is never
// faster than its ceiling, and is never slow without a reason.
func TestGovernorNeverStarvesNorExceeds(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		l := Defaults()
		if seed%2 == 0 {
			l.Ceiling = 1 + rng.Int64N(400e6)
		}
		g := NewGovernor(l)
		most := 1 + rng.Int64N(500e6)
		for range 500 {
			g.Step(flowOf(g.Rate(), most), Reading{Lag: time.Duration(rng.Int64N(int64(20 * time.Second))), LagOf: "a", Load: 8 * rng.Float64(), LoadOf: "b", LoadText: "c"})
			rate := g.Rate()
			floor := l.Floor
			if l.Ceiling >= 0 {
				floor = min(floor, max(1, l.Ceiling/2))
			}
			if rate >= 0 && rate < floor {
				t.Fatalf("seed %d: rate %d is below the floor %d", seed, rate, floor)
			}
			if l.Ceiling >= 0 && (rate > l.Ceiling || rate < 0) {
				t.Fatalf("seed %d: rate %d is above the ceiling %d", seed, rate, l.Ceiling)
			}
			if slow := rate >= 0 && rate != l.Ceiling; slow != (g.Reason() != "") {
				t.Fatalf("seed %d: rate %d, ceiling %d, reason %q", seed, rate, l.Ceiling, g.Reason())
			}
			if strings.HasSuffix(g.Reason(), ": ") {
				t.Fatalf("seed %d: a reason that says nothing: %q", seed, g.Reason())
			}
		}
	}
}

// Compared with a replica that can take less than the copy could send: lag stays
// near its limit, and most of the room is used.
func TestGovernorFindsTheRoomThereIs(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 2))
		l := Defaults()
		l.Ceiling = 200e6
		g := NewGovernor(l)
		r := &replica{room: 10e6 + rng.Int64N(180e6)}
		var worst time.Duration
		var sum float64
		const from, to = 120, 1200
		for s := range to {
			rate := flowOf(g.Rate(), 300e6)
			g.Step(rate, r.second(rate))
			if s >= from {
				worst, sum = max(worst, r.lag), sum+float64(rate)
			}
		}
		if worst > 3*l.Lag {
			t.Errorf("seed %d: room %d MB/s: lag reaches %v, limit %v", seed, r.room/1e6, worst, l.Lag)
		}
		if used := sum / (to - from) / float64(r.room); used < 0.6 {
			t.Errorf("seed %d: room %d MB/s: only %.0f %% of it is used", seed, r.room/1e6, 100*used)
		}
	}
}

// When the reason is gone the copy comes back to its ceiling, from the floor,
// within a minute and a half; and it does not linger with an old reason.
func TestGovernorComesBack(t *testing.T) {
	for _, ceiling := range []int64{NoLimit, 200e6, 20e6} {
		l := Defaults()
		l.Ceiling = ceiling
		g := NewGovernor(l)
		for range 60 {
			g.Step(flowOf(g.Rate(), 150e6), Reading{Lag: time.Minute, LagOf: "b", Load: 1})
		}
		if g.Rate() != min(l.Floor, max(1, g.limits.Floor)) || !strings.Contains(g.Reason(), "b is 60.0 s behind") {
			t.Fatalf("after a minute of lag: rate %d, reason %q", g.Rate(), g.Reason())
		}
		s := 0
		for ; g.Reason() != "" && s < 1000; s++ {
			g.Step(flowOf(g.Rate(), 150e6), Reading{Load: 1})
		}
		if s > 90 {
			t.Errorf("ceiling %d: came back after %d s", ceiling, s)
		}
	}
}

// One bad second is no reason: a checkpoint, a large transaction.
func TestGovernorIsPatient(t *testing.T) {
	g := NewGovernor(Defaults())
	for range 100 {
		g.Step(100e6, Reading{Lag: time.Minute, LagOf: "b", Load: 1})
		g.Step(100e6, Reading{Lag: time.Minute, LagOf: "b", Load: 1})
		g.Step(100e6, Reading{Load: 1})
	}
	if g.Rate() != NoLimit {
		t.Errorf("rate %d for %q", g.Rate(), g.Reason())
	}
}

func TestGovernorReason(t *testing.T) {
	l := Defaults()
	l.Ceiling = 200e6
	g := NewGovernor(l)
	for range 5 {
		g.Step(100e6, Reading{Lag: 5100 * time.Millisecond, LagOf: "dbshard003b", Load: 1})
	}
	if got, want := g.Reason(), "22 of 200 MB/s: dbshard003b is 5.1 s behind"; got != want {
		t.Errorf("reason %q, want %q", got, want)
	}
}

// A copy that begins slowly rises while nothing is wrong, until nothing holds it, and is slowed from where it is when something is.
func TestGovernorBeginsSlowly(t *testing.T) {
	l := Defaults()
	l.Begin = 32 << 20
	g := NewGovernor(l)
	if g.Rate() != 32<<20 || g.Reason() == "" {
		t.Fatalf("begins at %d: %q", g.Rate(), g.Reason())
	}
	const disk = 200 << 20
	was := g.Rate()
	for range 60 {
		g.Step(min(disk, max(g.Rate(), 0)), Reading{Load: 1})
		now := g.Rate()
		if now == NoLimit {
			break
		}
		if now <= was {
			t.Fatalf("calm, and it went from %d to %d", was, now)
		}
		was = now
	}
	if g.Rate() != NoLimit {
		t.Errorf("after a minute of calm it is held to %d", g.Rate())
	}
	g = NewGovernor(l)
	for range 10 {
		g.Step(g.Rate(), Reading{Load: 9, LoadOf: "a", LoadText: "too much"})
	}
	if g.Rate() >= 16<<20 {
		t.Errorf("ten seconds of too much, and it goes at %d", g.Rate())
	}
	l.Ceiling = 10 << 20
	if g := NewGovernor(l); g.Rate() != 10<<20 {
		t.Errorf("a ceiling below where it would begin: %d", g.Rate())
	}
}

// Where nobody is there to be disturbed a copy is not held; once something has slowed it, it rises step by step even so.
func TestGovernorOfQuietServers(t *testing.T) {
	l := Defaults()
	l.Begin = 32 << 20
	g := NewGovernor(l)
	g.Step(g.Rate(), Reading{Load: 1, Quiet: true})
	if g.Rate() != NoLimit || g.Reason() != "" {
		t.Errorf("nobody is there, and the rate is %d: %q", g.Rate(), g.Reason())
	}
	for range 5 {
		g.Step(100e6, Reading{Lag: time.Minute, LagOf: "b", Load: 1, Quiet: true})
	}
	was := g.Rate()
	g.Step(was, Reading{Load: 1, Quiet: true})
	if now := g.Rate(); was == NoLimit || now <= was || now > 2*was {
		t.Errorf("a replica was too far behind, and the rate went from %d to %d at once", was, now)
	}
}

// A copy that is at its floor for a while is not the cause of what is seen; that is said each time anew, and not of a copy that is faster.
func TestGovernorSlowsInVain(t *testing.T) {
	g := NewGovernor(Defaults())
	said := 0
	for n := range 200 {
		g.Step(max(0, g.Rate()), Reading{Load: 9, LoadOf: "a", LoadText: "too much"})
		if g.SlowedInVain() {
			if said++; g.Rate() != Defaults().Floor {
				t.Fatalf("at %d bytes a second, in second %d", g.Rate(), n)
			}
		}
	}
	if said != 13 { // the first after one second at the floor already: four megabytes are its first rate
		t.Errorf("said %d times in 200 s", said)
	}
}
