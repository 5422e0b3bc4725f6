package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"stowage/farm"
	"stowage/host"
	"stowage/internal/netlab"
	"stowage/move"
)

// strikes deals faults out while the farm is moved, one after so many seconds,
// and puts each right again. The seed says which, in which order, for how long
// and upon which of the sides on their way; where those are is the machine's.
type strikes struct {
	*striker
	f      *realEtsy
	rnd    *rand.Rand
	deck   []fault
	struck map[string]int

	mu      sync.Mutex
	program *os.Process // that moves; nil between two runs
}

// etsyFaults are the kinds; each is dealt once before any comes again. Long is
// the longest that it lasts.
var etsyFaults = []fault{
	{What: "kill", Whom: twin, Long: 12 * time.Second},
	{What: "kill", Whom: target, Long: 12 * time.Second},
	{What: "kill", Whom: peer, Long: 12 * time.Second},
	{What: "freeze", Whom: twin, Long: 12 * time.Second},
	{What: "freeze", Whom: target, Long: 12 * time.Second},
	{What: "freeze", Whom: peer, Long: 12 * time.Second},
	{What: "cut", Whom: twin, Long: 20 * time.Second},
	{What: "cut", Whom: target, Long: 20 * time.Second},
	{What: "slow", Whom: target, Long: 40 * time.Second},
	{What: "agent", Whom: twin, Long: 10 * time.Second},
	{What: "agent", Whom: target, Long: 10 * time.Second},
	{What: "stowage"}, {What: "engine"}, {What: "both"}, {What: "interrupt"},
}

func (f *realEtsy) strikes(j journey, seed int) *strikes {
	f.t.Helper()
	s := &strikes{striker: f.striker(j), f: f, rnd: rand.New(rand.NewPCG(uint64(seed), 2016)), struck: map[string]int{}}
	s.serve = func(i host.Instance) error {
		return f.machine(i).Do(func() error { return s.host.Start(context.Background(), i, 30*time.Second) })
	}
	s.cut = func(i host.Instance) func() {
		f.did(f.machine(i).Cut())
		return func() { f.did(f.machine(i).Heal()) }
	}
	s.more = map[string]func(host.Instance) func(){
		"slow": func(i host.Instance) func() {
			f.did(f.machine(i).Slow("2mbit"))
			return func() { f.did(f.machine(i).Hurry()) }
		},
		"agent": func(i host.Instance) func() {
			h := farm.HostName(f.machine(i).Name)
			a := f.agents[h]
			_ = a.cmd.Process.Kill()
			<-a.exited
			return func() { f.startAgent(h) }
		},
	}
	return s
}

// machine is where a server runs.
func (f *netFarm) machine(i host.Instance) *netlab.Machine {
	for _, m := range f.hosts {
		if m.Address == i.Address {
			return m
		}
	}
	panic("no machine has the address " + i.Address)
}

// runs tells of the program that moves.
func (s *strikes) runs(p *os.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.program = p
}

// follow goes over to another plan.
func (s *strikes) follow(j journey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.casts = j.casts
}

// strikeEvery strikes until ctx ends, and has put right the last fault when it
// returns.
func (s *strikes) strikeEvery(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.healing.Wait() // one at a time
		x := s.deal()
		for !s.try(ctx, x) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
		kind := x.What
		if x.Whom != "" {
			kind += " " + string(x.Whom)
		}
		s.struck[kind]++
	}
}

// deal draws the next fault.
func (s *strikes) deal() fault {
	if len(s.deck) == 0 {
		s.deck = append(s.deck, etsyFaults...)
		s.rnd.Shuffle(len(s.deck), func(i, j int) { s.deck[i], s.deck[j] = s.deck[j], s.deck[i] })
	}
	x := s.deck[0]
	s.deck = s.deck[1:]
	if x.Long > 0 {
		x.Long = time.Second + time.Duration(s.rnd.Int64N(int64(x.Long-time.Second)))
	}
	return x
}

// try strikes if there is somebody to strike: a program that runs, and, for a
// fault of one server, a side on its way whose server of that role runs.
func (s *strikes) try(ctx context.Context, x fault) bool {
	s.mu.Lock()
	program, casts := s.program, s.casts
	s.mu.Unlock()
	if program == nil {
		return false
	}
	if x.Whom == "" {
		if len(enginesOf(program.Pid)) == 0 {
			return false // still starting
		}
		s.f.say("fault: %s", x.What)
		s.strike(x, program)
		return true
	}
	var all []host.Instance
	var steps []string
	for _, r := range s.f.underWay() {
		for _, c := range casts {
			if c.pair != r.Key.Pair || c.side != r.Key.Side {
				continue
			}
			i := s.whoPlays(x.Whom, c)
			if pid, _ := s.host.Running(ctx, i); pid != 0 {
				all, steps = append(all, i), append(steps, r.Step)
			}
		}
	}
	if len(all) == 0 {
		return false
	}
	n := s.rnd.IntN(len(all))
	told := fmt.Sprintf("%s %s %s on %s in %s, for %.1f s", x.What, x.Whom, all[n].Name, s.f.machine(all[n]).Name, steps[n], x.Long.Seconds())
	s.f.say("fault: %s", told)
	s.note("%s", told)
	s.hit(x, all[n])
	return true
}

// whoPlays a role in a move. Where the twin is farm.yaml knows: pairs are moved
// side by side.
func (s *strikes) whoPlays(r role, c cast) host.Instance {
	_, fm, _, err := demoAccess(s.f.dir)
	if r != twin || err != nil {
		return c.who[r]
	}
	return s.f.at(farm.Pair{Name: c.pair}.Instance(c.side.Twin()), placeOf(fm, c.pair, c.side.Twin()))
}

// underWay are the sides that are being moved, by name.
func (f *realEtsy) underWay() []*move.Row {
	board := move.NewBoard()
	ended := map[farm.PairName]bool{}
	_, events := runSoFar(&app{dir: f.dir, log: quietLog()})
	for _, e := range events {
		board.Apply(e)
		ended[e.Pair] = e.Kind == farm.LaneEnded
	}
	var out []*move.Row
	for _, r := range board.Rows() {
		if !r.IsDone() && !ended[r.Key.Pair] && !r.Undone && r.Key.Pair != "" {
			out = append(out, r)
		}
	}
	return out
}
