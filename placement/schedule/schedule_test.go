package schedule

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

// world is a random problem: sides on hosts, and places they shall go to.
type world struct {
	moves []Move
	hosts []Host
	rules Rules
}

func randomWorld(r *rand.Rand) world {
	w := world{rules: Rules{Parallel: 1 + r.IntN(4), PerHost: 1 + r.IntN(2)}}
	n := 4 + r.IntN(4)
	for h := range n {
		w.hosts = append(w.hosts, Host{Name: fmt.Sprint("h", h), Rack: fmt.Sprint("r", h%2), Limit: []int64{int64(10 + r.IntN(20)), -1}, Used: make([]int64, 2)})
	}
	twins := map[[2]int]int{}
	for pair := range 4 + r.IntN(8) {
		at := r.Perm(n)
		need := int64(1 + r.IntN(8))
		for side := range 2 {
			from := at[side]
			w.hosts[from].Used[0] += need
			w.hosts[from].Used[1]++
			twins[[2]int{pair, side}] = from
			if r.IntN(3) > 0 {
				w.moves = append(w.moves, Move{Pair: pair, Side: side, From: from, To: at[2+side], Bytes: need * 1000, Needs: []int64{need, 1}})
			}
		}
	}
	for i := range w.hosts { // what is there fits, what comes may not
		w.hosts[i].Limit[0] = max(w.hosts[i].Limit[0], w.hosts[i].Used[0])
	}
	w.rules.At = func(pair, side int) int { return twins[[2]int{pair, side}] }
	return w
}

// replay is the judge: it walks the steps by the words of the doc comment and shares nothing with the maker.
func replay(w world, steps []Step) error {
	where := map[[2]int]int{}
	for i, m := range w.moves {
		where[[2]int{m.Pair, m.Side}] = w.moves[i].From
	}
	done := map[int]bool{}
	var waiting []Move // left in this stage
	used := make([]int64, len(w.hosts))
	for h := range w.hosts {
		used[h] = w.hosts[h].Used[0]
	}
	for i := 0; i < len(steps); {
		if i > 0 && steps[i].Stage != steps[i-1].Stage {
			for _, m := range waiting {
				used[m.From] -= m.Needs[0]
			}
			waiting = nil
		}
		wave, pairs, to := steps[i].Wave, map[int]bool{}, map[int]int{}
		n := 0
		for ; i < len(steps) && steps[i].Wave == wave; i++ {
			m := w.moves[steps[i].Move]
			if done[steps[i].Move] || pairs[m.Pair] {
				return fmt.Errorf("wave %d holds move %d again, or its pair", wave, steps[i].Move)
			}
			twin, ok := where[[2]int{m.Pair, 1 - m.Side}]
			if !ok {
				twin = w.rules.At(m.Pair, 1-m.Side)
			}
			if twin == m.To {
				return fmt.Errorf("wave %d puts both sides of pair %d on host %d", wave, m.Pair, m.To)
			}
			done[steps[i].Move], pairs[m.Pair] = true, true
			used[m.To] += m.Needs[0]
			if used[m.To] > w.hosts[m.To].Limit[0] {
				return fmt.Errorf("wave %d overloads host %d", wave, m.To)
			}
			if to[m.To]++; to[m.To] > w.rules.PerHost {
				return fmt.Errorf("wave %d sends %d to host %d", wave, to[m.To], m.To)
			}
			where[[2]int{m.Pair, m.Side}] = m.To
			waiting = append(waiting, m)
			n++
		}
		if n > w.rules.Parallel {
			return fmt.Errorf("wave %d has %d moves", wave, n)
		}
	}
	if len(done) != len(w.moves) {
		return fmt.Errorf("%d of %d moves made", len(done), len(w.moves))
	}
	return nil
}

func TestNoHostIsOverloadedOnTheWay(t *testing.T) {
	made, stages, stuck := 0, 0, 0
	for seed := range uint64(3000) {
		w := randomWorld(rand.New(rand.NewPCG(seed, 1)))
		steps, err := Make(w.moves, w.hosts, w.rules)
		var s *Stuck
		if errors.As(err, &s) {
			stuck++
			if len(s.Left) == 0 || len(s.Hosts) == 0 || len(s.Left)+len(steps) != len(w.moves) {
				t.Fatalf("seed %d: stuck says %+v", seed, s)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := replay(w, steps); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		made++
		if len(steps) > 0 && steps[len(steps)-1].Stage > 1 {
			stages++
		}
	}
	if made < 500 || stages < 50 || stuck < 20 {
		t.Errorf("%d made, %d of them with stages, %d stuck: the test has no teeth", made, stages, stuck)
	}
}

func TestRoomThatAnotherMoveGives(t *testing.T) {
	hosts := []Host{{Name: "full", Limit: []int64{10}, Used: []int64{10}}, {Name: "other", Limit: []int64{10}, Used: []int64{8}}, {Name: "empty", Limit: []int64{10}, Used: []int64{0}}}
	moves := []Move{
		{Pair: 1, From: 1, To: 0, Bytes: 8, Needs: []int64{8}},
		{Pair: 2, From: 0, To: 2, Bytes: 10, Needs: []int64{10}},
	}
	steps, err := Make(moves, hosts, Rules{Parallel: 4, PerHost: 1})
	if err != nil || len(steps) != 2 || steps[0].Move != 1 || steps[1].Move != 0 || steps[1].Stage != 2 {
		t.Errorf("steps %+v, %v", steps, err)
	}
	// Two full hosts that want each other's place wait for ever.
	moves = []Move{{Pair: 1, From: 0, To: 1, Needs: []int64{10}}, {Pair: 2, From: 1, To: 0, Needs: []int64{8}}}
	_, err = Make(moves, hosts, Rules{Parallel: 4, PerHost: 1})
	var s *Stuck
	if !errors.As(err, &s) || fmt.Sprint(s.Hosts) != "[full other]" {
		t.Errorf("got %v", err)
	}
}

func TestTimesKeepTheRules(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := randomWorld(r)
		steps, err := Make(w.moves, w.hosts, w.rules)
		if err != nil || len(steps) == 0 {
			continue
		}
		rates := Rates{Stream: 100, Host: float64(100 * (1 + r.IntN(2))), Rack: float64(100 * (1 + r.IntN(3))), Fixed: float64(r.IntN(5))}
		line := Time(steps, w.moves, w.hosts, w.rules, rates)
		if line.Seconds < line.Bound*(1-1e-9) {
			t.Fatalf("seed %d: %v s is below the bound %v s", seed, line.Seconds, line.Bound)
		}
		for i, a := range line.Spans {
			at := a.Begin + a.Seconds/2
			all, in, out, rack := 0, 0, 0, 0
			for k, b := range line.Spans {
				if b.Begin > at || b.Begin+b.Seconds <= at {
					continue
				}
				x, y := w.moves[steps[i].Move], w.moves[steps[k].Move]
				if k != i && (x.Pair == y.Pair || steps[k].Stage != steps[i].Stage) {
					t.Fatalf("seed %d: steps %d and %d run at once", seed, i, k)
				}
				all++
				if x.To == y.To {
					in++
				}
				if x.From == y.From {
					out++
				}
				if w.hosts[y.To].Rack == w.hosts[x.To].Rack && w.hosts[y.From].Rack != w.hosts[y.To].Rack {
					rack++
				}
			}
			if all > w.rules.Parallel || in > w.rules.PerHost || float64(in*100) > rates.Host || float64(out*100) > rates.Host || float64((rack-1)*100) >= rates.Rack {
				t.Fatalf("seed %d: at %v s %d at once, %d in, %d out, %d into the rack", seed, at, all, in, out, rack)
			}
		}
		// The critical path is a chain: each begins when the one before ends, the last ends last.
		for n, i := range line.Critical {
			if n > 0 && line.Spans[i].Begin != line.Spans[line.Critical[n-1]].Begin+line.Spans[line.Critical[n-1]].Seconds {
				t.Fatalf("seed %d: critical path %v has a gap", seed, line.Critical)
			}
		}
		first, last := line.Spans[line.Critical[0]], line.Spans[line.Critical[len(line.Critical)-1]]
		if first.Begin != 0 || last.Begin+last.Seconds != line.Seconds {
			t.Fatalf("seed %d: critical path from %v to %v of %v", seed, first.Begin, last.Begin+last.Seconds, line.Seconds)
		}
	}
}

func TestTimeWithoutRatesIsTheFixedPart(t *testing.T) {
	hosts := []Host{{Limit: []int64{9}, Used: []int64{2}}, {Limit: []int64{9}, Used: []int64{0}}}
	moves := []Move{{Pair: 1, From: 0, To: 1, Needs: []int64{1}, Bytes: 1 << 40}, {Pair: 2, From: 0, To: 1, Needs: []int64{1}}}
	rules := Rules{Parallel: 1, PerHost: 1}
	steps, err := Make(moves, hosts, rules)
	if err != nil {
		t.Fatal(err)
	}
	if line := Time(steps, moves, hosts, rules, Rates{Fixed: 3}); line.Seconds != 6 || line.Bound != 6 || len(line.Critical) != 2 {
		t.Errorf("got %+v", line)
	}
}
