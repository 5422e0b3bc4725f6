package etsy

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"stowage/act"
	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/host"
)

// strikes deals faults out while the farm is moved, one after so many seconds,
// and puts each right again. The seed says which, in which order, for how long
// and upon which of the sides on their way; where those are is the machine's.
type strikes struct {
	*farmtest.Striker
	f      *realEtsy
	kind   string           // of the run
	faults []farmtest.Fault // each is dealt once before any comes again
	rnd    *rand.Rand
	deck   []farmtest.Fault
	struck map[string]int

	mu      sync.Mutex
	program *os.Process // that moves; nil between two runs
}

// etsyFaults strike while a farm is moved. Long is
// the longest that it lasts.
var etsyFaults = []farmtest.Fault{
	{What: "kill", Whom: farmtest.Twin, Long: 12 * time.Second},
	{What: "kill", Whom: farmtest.Target, Long: 12 * time.Second},
	{What: "kill", Whom: farmtest.Peer, Long: 12 * time.Second},
	{What: "freeze", Whom: farmtest.Twin, Long: 12 * time.Second},
	{What: "freeze", Whom: farmtest.Target, Long: 12 * time.Second},
	{What: "freeze", Whom: farmtest.Peer, Long: 12 * time.Second},
	{What: "cut", Whom: farmtest.Twin, Long: 20 * time.Second},
	{What: "cut", Whom: farmtest.Target, Long: 20 * time.Second},
	{What: "slow", Whom: farmtest.Target, Long: 40 * time.Second},
	{What: "agent", Whom: farmtest.Twin, Long: 10 * time.Second},
	{What: "agent", Whom: farmtest.Target, Long: 10 * time.Second},
	{What: "stowage"}, {What: "engine"}, {What: "both"}, {What: "interrupt"},
}

func (f *realEtsy) strikes(j farmtest.Journey, kind string, faults []farmtest.Fault, seed int) *strikes {
	f.T.Helper()
	s := &strikes{Striker: f.Striker(j), f: f, kind: kind, faults: faults, rnd: rand.New(rand.NewPCG(uint64(seed), 2016)), struck: map[string]int{}}
	s.Serve = func(i host.Instance) error {
		return f.Machine(i).Do(func() error { return s.Host.Start(context.Background(), i, 30*time.Second) })
	}
	s.Cut = func(i host.Instance) func() {
		f.Did(f.Machine(i).Cut())
		return func() { f.Did(f.Machine(i).Heal()) }
	}
	s.More = map[string]func(host.Instance) func(){
		"slow": func(i host.Instance) func() {
			f.Did(f.Machine(i).Slow("2mbit"))
			return func() { f.Did(f.Machine(i).Hurry()) }
		},
		"agent": func(i host.Instance) func() {
			h := farm.HostName(f.Machine(i).Name)
			a := f.AgentOf(h)
			_ = a.Cmd.Process.Kill()
			<-a.Exited
			return func() {
				if f.AgentOf(h) == a { // else its machine was rebooted meanwhile
					f.StartAgent(h)
				}
			}
		},
	}
	return s
}

// runs tells of the program that moves.
func (s *strikes) runs(p *os.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.program = p
}

// follow goes over to another plan.
func (s *strikes) follow(j farmtest.Journey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Casts = j.Casts
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
		s.Healing.Wait() // one at a time
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
func (s *strikes) deal() farmtest.Fault {
	if len(s.deck) == 0 {
		s.deck = append(s.deck, s.faults...)
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
func (s *strikes) try(ctx context.Context, x farmtest.Fault) bool {
	s.mu.Lock()
	program, casts := s.program, s.Casts
	s.mu.Unlock()
	if program == nil {
		return false
	}
	if x.Whom == "" {
		if len(farmtest.EnginesOf(program.Pid)) == 0 {
			return false // still starting
		}
		s.f.say("fault: %s", x.What)
		s.Strike(x, program)
		return true
	}
	var all []host.Instance
	var steps []string
	for _, r := range s.underWay() {
		for _, c := range casts {
			if r.Key.Host == "" && (c.Pair != r.Key.Pair || c.Side != r.Key.Side) || r.Key.Host != "" && s.f.Machine(c.Who[farmtest.Target]).Name != string(r.Key.Host) {
				continue
			}
			i := s.whoPlays(x.Whom, c)
			if pid, _ := s.Host.Running(ctx, i); pid != 0 {
				all, steps = append(all, i), append(steps, r.Step)
			}
		}
	}
	if len(all) == 0 {
		return false
	}
	n := s.rnd.IntN(len(all))
	told := fmt.Sprintf("%s %s %s on %s in %s, for %.1f s", x.What, x.Whom, all[n].Name, s.f.Machine(all[n]).Name, steps[n], x.Long.Seconds())
	s.f.say("fault: %s", told)
	s.Note("%s", told)
	s.Hit(x, all[n])
	return true
}

// whoPlays a role in a move. Where the twin is farm.yaml knows: pairs are moved
// side by side.
func (s *strikes) whoPlays(r farmtest.Role, c farmtest.Cast) host.Instance {
	_, fm, _, err := farmtest.FarmAccess(s.f.Dir)
	if r != farmtest.Twin || err != nil {
		return c.Who[r]
	}
	return s.f.At(farm.Pair{Name: c.Pair}.Instance(c.Side.Twin()), farmtest.PlaceOf(fm, c.Pair, c.Side.Twin()))
}

// underWay are the sides that are being moved, or the hosts that are being rolled, by name.
func (s *strikes) underWay() []*act.Row {
	board := act.NewBoard()
	_, events := farmtest.RunOfKind(s.f.Dir, s.kind)
	for _, e := range events {
		board.Apply(e)
	}
	var out []*act.Row
	for _, r := range board.Rows() {
		if !r.IsDone() && !r.Undone && (r.Key.Host != "" || r.Key.Pair != "") {
			out = append(out, r)
		}
	}
	return out
}
