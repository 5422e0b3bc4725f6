// Package routetest is the conformance suite of route.Router: every adapter
// must pass Run, and an adapter that does is safe to swing a farm with.
//
// It answers: "does this adapter replace the table whole or not at all, lose
// no change, and never show a half?" It knows nothing about how the table is
// kept, and its rules never look at a file or a server themselves.
//
// Beside the suite it starts what adapters talk to: a real HAProxy, a real
// etcd, and a Wire that loses requests and answers.
package routetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"stowage/farm"
	"stowage/route"
)

// Open makes a new router that holds these pairs, apart from every other one.
type Open func(t *testing.T, pairs map[farm.PairName]*route.Pair) route.Router

// Subject is an adapter under test. What is nil is not tested.
type Subject struct {
	Open Open
	// Changes is how many changes readers are shown, and in how many steps 8
	// writers write; 0: 1000. A twentieth of it suits an adapter that is slow.
	Changes int
	// Again is another router on the table that Open made last: another
	// program.
	Again func(t *testing.T) route.Router
	// Cut makes what keeps the table unreachable, until heal.
	Cut func(t *testing.T) (heal func())
	// Spoil makes what is kept unreadable.
	Spoil func(t *testing.T)
}

// Pairs of the tables under test.
const first, second farm.PairName = "dbshard001", "dbshard002"

// Run runs the rules that need nothing but a router.
func Run(t *testing.T, open Open) { Subject{Open: open}.Run(t) }

// Run runs every rule as a subtest of its own.
func (s Subject) Run(t *testing.T) {
	if s.Changes == 0 {
		s.Changes = 1000
	}
	for _, c := range []struct {
		name string
		test func(*testing.T, route.Router)
	}{
		{"SaysWhatItGuarantees", saysWhatItGuarantees},
		{"ReadsWhatWasCreated", readsWhatWasCreated},
		{"ChangeIsSeen", changeIsSeen},
		{"ChangeOfNothingWritesNothing", changeOfNothingWritesNothing},
		{"FailingEditChangesNothing", failingEditChangesNothing},
		{"InvalidEditIsRefused", invalidEditIsRefused},
		{"UnknownPairIsRefused", unknownPairIsRefused},
		{"TablesAreCopies", tablesAreCopies},
		{"ShardGoesElsewhere", shardGoesElsewhere},
		{"TakesAndGivesUpPairs", takesAndGivesUpPairs},
		{"ConcurrentChangesLoseNone", s.concurrentChangesLoseNone},
		{"ReadersSeeWholeTables", s.readersSeeWholeTables},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, s.Open(t, pairs())) })
	}
	if s.Again != nil {
		t.Run("AnotherProgramSeesAndChanges", func(t *testing.T) { s.anotherProgram(t, s.Open(t, pairs())) })
	}
	if s.Cut != nil {
		t.Run("UnreachableChangesNothing", func(t *testing.T) { s.unreachable(t, s.Open(t, pairs())) })
	}
	if s.Spoil != nil {
		t.Run("SpoiltIsNamedAndKept", func(t *testing.T) { s.spoilt(t, s.Open(t, pairs())) })
	}
}

func pairs() map[farm.PairName]*route.Pair {
	return map[farm.PairName]*route.Pair{
		first:  route.NewPair([]farm.ShardName{"etsy_shard_0001", "etsy_shard_0002"}, "127.0.10.1:23306", "127.0.10.2:23306"),
		second: route.NewPair([]farm.ShardName{}, "127.0.10.3:23306", "127.0.10.4:23306"),
	}
}

func readsWhatWasCreated(t *testing.T, r route.Router) {
	table := read(t, r)
	if table.FormatVersion != route.FormatVersion || table.Generation < 1 {
		t.Errorf("format %d, generation %d, want %d and at least 1", table.FormatVersion, table.Generation, route.FormatVersion)
	}
	if table.Written.IsZero() {
		t.Error("the table does not say when it was written")
	}
	if want := pairs(); !reflect.DeepEqual(table.Pairs, want) {
		t.Errorf("pairs %+v, want %+v", table.Pairs, want)
	}
}

func changeIsSeen(t *testing.T, r route.Router) {
	before := read(t, r)
	change(t, r, first, func(p *route.Pair) { p.CloseGate(farm.A) })
	after := read(t, r)
	if after.Generation != before.Generation+1 {
		t.Errorf("generation %d after %d, want one more", after.Generation, before.Generation)
	}
	if p := after.Pairs[first]; !p.GateIsClosed(farm.A) || p.GateIsClosed(farm.B) {
		t.Errorf("routes %+v, want the gate of A closed and of B open", p.Routes)
	}
	if !reflect.DeepEqual(after.Pairs[second], before.Pairs[second]) {
		t.Errorf("the other pair changed: %+v", after.Pairs[second])
	}
	change(t, r, first, func(p *route.Pair) {
		p.Serve(farm.A, farm.B, "127.0.10.2:23306", 100)
		p.OpenGate(farm.A)
	})
	last := read(t, r)
	if p := last.Pairs[first]; last.Generation != before.Generation+2 || p.Share(farm.A, farm.B) != 100 || p.GateIsClosed(farm.A) {
		t.Errorf("generation %d, routes %+v, want %d and all slots on B, open", last.Generation, p.Routes, before.Generation+2)
	}
}

func changeOfNothingWritesNothing(t *testing.T, r route.Router) {
	before := read(t, r)
	for _, pair := range []farm.PairName{first, second} {
		change(t, r, pair, func(p *route.Pair) { p.OpenGate(farm.A) }) // it is open
	}
	if after := read(t, r); !reflect.DeepEqual(after, before) {
		t.Errorf("table %+v, want %+v untouched", after, before)
	}
}

func failingEditChangesNothing(t *testing.T, r route.Router) {
	before := read(t, r)
	cause := errors.New("thought better of it")
	err := r.Change(t.Context(), first, func(p *route.Pair) error {
		p.CloseGate(farm.A)
		p.Sides[farm.B] = route.Side{Address: "127.0.99.9:1"}
		p.Shards[0] = "overwritten"
		return cause
	})
	if !errors.Is(err, cause) {
		t.Errorf("error %v, want the edit's own", err)
	}
	if after := read(t, r); !reflect.DeepEqual(after, before) {
		t.Errorf("table %+v, want %+v untouched", after, before)
	}
	change(t, r, first, func(p *route.Pair) { p.CloseGate(farm.B) }) // and nothing is left locked
}

func invalidEditIsRefused(t *testing.T, r route.Router) {
	before := read(t, r)
	for name, edit := range map[string]func(*route.Pair){
		"gap between routes":   func(p *route.Pair) { p.Routes[1].From++ },
		"overlap of routes":    func(p *route.Pair) { p.Routes[1].From-- },
		"slots not covered":    func(p *route.Pair) { p.Routes = p.Routes[:1] },
		"no routes":            func(p *route.Pair) { p.Routes = nil },
		"side not in rotation": func(p *route.Pair) { delete(p.Sides, farm.B) },
		"side without address": func(p *route.Pair) { p.Sides[farm.A] = route.Side{} },
		"gate ajar":            func(p *route.Pair) { p.Routes[0].Gate = "ajar" },
		"unknown home":         func(p *route.Pair) { p.Routes[0].Home = "C" },
	} {
		if err := r.Change(t.Context(), first, func(p *route.Pair) error { edit(p); return nil }); err == nil {
			t.Errorf("%s was accepted", name)
		}
		if after := read(t, r); !reflect.DeepEqual(after, before) {
			t.Errorf("%s: table %+v, want %+v untouched", name, after, before)
		}
	}
}

func unknownPairIsRefused(t *testing.T, r route.Router) {
	err := r.Change(t.Context(), "dbshard999", func(*route.Pair) error {
		t.Error("the edit of an unknown pair was called")
		return nil
	})
	if !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), "dbshard999") {
		t.Errorf("error %v, want unusable input that names the pair", err)
	}
}

// tablesAreCopies: what a caller does to a table it was given is its own
// business.
func tablesAreCopies(t *testing.T, r route.Router) {
	before := read(t, r)
	spoilt := read(t, r)
	spoilt.Pairs[first].CloseGate(farm.A)
	delete(spoilt.Pairs, second)
	var kept *route.Pair
	change(t, r, first, func(p *route.Pair) { kept = p })
	kept.CloseGate(farm.B)
	if after := read(t, r); !reflect.DeepEqual(after, before) {
		t.Errorf("table %+v, want %+v: a copy was not a copy", after, before)
	}
}

// saysWhatItGuarantees: preflight prints it, and the swing waits by it.
func saysWhatItGuarantees(t *testing.T, r route.Router) {
	g := r.Guarantee()
	if g.Kind != route.Gated && g.Kind != route.FlipOnly || g.Text == "" || g.Settle < 0 {
		t.Errorf("guarantee %+v", g)
	}
	want := map[route.Kind]farm.Severity{route.Gated: farm.Note, route.FlipOnly: farm.Warning}[g.Kind]
	if f := g.Finding(); f.Severity != want || !strings.Contains(f.Text, string(g.Kind)+": "+g.Text) || f.Remedy == "" {
		t.Errorf("preflight would print %s", f)
	}
}

// anotherProgram: two routers on one table see each other's changes at once,
// and lose none when they write at the same time.
func (s Subject) anotherProgram(t *testing.T, one route.Router) {
	two := s.Again(t)
	for n := range 4 {
		w, r := one, two
		if n%2 == 1 {
			w, r = two, one
		}
		shard := farm.ShardName(fmt.Sprintf("turn_%d", n))
		change(t, w, first, func(p *route.Pair) { p.Shards = []farm.ShardName{shard} })
		if got := read(t, r).Pairs[first].Shards; len(got) != 1 || got[0] != shard {
			t.Errorf("the other program sees %v, want %s", got, shard)
		}
	}
	before := read(t, one)
	each := max(2, s.Changes/40)
	var wg sync.WaitGroup
	for n, r := range []route.Router{one, two} {
		wg.Go(func() {
			for i := range each {
				err := r.Change(context.Background(), first, func(p *route.Pair) error {
					p.Shards = append(p.Shards, farm.ShardName(fmt.Sprintf("by_%d_%d", n, i)))
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	after := read(t, two)
	if got := len(after.Pairs[first].Shards); got != 1+2*each || after.Generation != before.Generation+int64(2*each) {
		t.Errorf("%d shards in generation %d after %d, want %d and %d more", got, after.Generation, before.Generation, 1+2*each, 2*each)
	}
}

// unreachable: an adapter that cannot make sure refuses, and has changed
// nothing when it can again, unless it said that it does not know.
func (s Subject) unreachable(t *testing.T, r route.Router) {
	before := read(t, r)
	heal := s.Cut(t)
	refused := r.Change(t.Context(), first, func(p *route.Pair) error { p.CloseGate(farm.A); return nil })
	if refused == nil {
		t.Error("a change of what cannot be reached was made")
	}
	if table, err := r.Read(t.Context()); err == nil {
		t.Errorf("what cannot be reached was read: %+v", table)
	}
	heal()
	var after *route.Table
	eventually(t, func() (err error) { after, err = r.Read(t.Context()); return err })
	if !errors.Is(refused, farm.ErrOutcomeUnknown) && !reflect.DeepEqual(after.Pairs, before.Pairs) {
		t.Errorf("pairs %+v after a change that was refused (%v), want %+v", after.Pairs, refused, before.Pairs)
	}
	// Who keeps it may still be finding itself again, as members of a cluster do.
	eventually(t, func() error {
		return r.Change(t.Context(), first, func(p *route.Pair) error { p.CloseGate(farm.A); return nil })
	})
}

func eventually(t *testing.T, do func() error) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		err := do()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("it stays unreachable: %v", err)
		}
	}
}

// spoilt: what cannot be understood is an error that says where it stands; a
// change does not write over it.
func (s Subject) spoilt(t *testing.T, r route.Router) {
	s.Spoil(t)
	_, err := r.Read(t.Context())
	if err == nil {
		t.Fatal("a spoilt table was read")
	}
	err = r.Change(t.Context(), first, func(p *route.Pair) error { p.CloseGate(farm.A); return nil })
	if err == nil {
		t.Error("a spoilt table was changed")
	}
	if _, err := r.Read(t.Context()); !errors.Is(err, farm.ErrInput) || farm.Hint(err) == "" {
		t.Errorf("error %v, hint %q: want unusable input, and what to do", err, farm.Hint(err))
	}
}

func (s Subject) concurrentChangesLoseNone(t *testing.T, r route.Router) {
	const workers = 8
	each := max(2, s.Changes/50)
	before := read(t, r)
	var wg sync.WaitGroup
	errs := make(chan error, workers*each)
	for w := range workers {
		pair := []farm.PairName{first, second}[w%2]
		wg.Go(func() {
			for n := range each {
				shard := farm.ShardName(fmt.Sprintf("added_%d_%d", w, n))
				errs <- r.Change(context.Background(), pair, func(p *route.Pair) error {
					p.Shards = append(p.Shards, shard)
					return nil
				})
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	after := read(t, r)
	if got, want := after.Generation-before.Generation, int64(workers*each); got != want {
		t.Errorf("generation grew by %d, want %d", got, want)
	}
	seen := map[farm.ShardName]int{}
	for _, p := range after.Pairs {
		for _, s := range p.Shards {
			seen[s]++
		}
	}
	for w := range workers {
		for n := range each {
			if shard := farm.ShardName(fmt.Sprintf("added_%d_%d", w, n)); seen[shard] != 1 {
				t.Errorf("change %s is there %d times, want once", shard, seen[shard])
			}
		}
	}
}

// readersSeeWholeTables: each change writes one number in three places; a
// reader that finds two numbers has seen a half.
func (s Subject) readersSeeWholeTables(t *testing.T, r route.Router) {
	changes := s.Changes
	if testing.Short() { // `make test`: the part whole of test-all has them all
		changes /= 4
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			last := int64(0)
			for reads := 0; ; reads++ {
				select {
				case <-stop:
					if reads == 0 {
						t.Error("a reader never read")
					}
					return
				default:
				}
				time.Sleep(200 * time.Microsecond) // a reader without a pause takes the processor from the one who writes
				table, err := r.Read(context.Background())
				if err != nil {
					t.Errorf("read during changes: %v", err)
					return
				}
				if table.Generation < last {
					t.Errorf("generation %d after %d", table.Generation, last)
					return
				}
				last = table.Generation
				if err := whole(table); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for n := 1; n <= changes; n++ {
		change(t, r, first, func(p *route.Pair) {
			p.Sides[farm.A] = route.Side{Address: fmt.Sprintf("127.0.10.1:%d", n), Weight: 50}
			p.Sides[farm.B] = route.Side{Address: fmt.Sprintf("127.0.10.2:%d", n), Weight: 50}
			p.Shards = []farm.ShardName{farm.ShardName(fmt.Sprintf("etsy_shard:%d", n))}
		})
	}
	close(stop)
	wg.Wait()
	if got := read(t, r).Pairs[first].Sides[farm.A].Address; got != fmt.Sprintf("127.0.10.1:%d", changes) {
		t.Errorf("last address %s", got)
	}
}

func whole(table *route.Table) error {
	if err := table.Check(); err != nil {
		return fmt.Errorf("a reader saw generation %d: %w", table.Generation, err)
	}
	p := table.Pairs[first]
	if p == nil || table.Pairs[second] == nil {
		return fmt.Errorf("a reader saw generation %d without a pair", table.Generation)
	}
	if len(p.Shards) == 2 {
		return nil // before the first change
	}
	number := func(s string) string { return s[strings.LastIndex(s, ":")+1:] }
	a, b, s := number(p.Sides[farm.A].Address), number(p.Sides[farm.B].Address), number(string(p.Shards[0]))
	if a != b || a != s {
		return fmt.Errorf("a reader saw generation %d with parts of changes %s, %s and %s", table.Generation, a, b, s)
	}
	return nil
}

func read(t *testing.T, r route.Router) *route.Table {
	t.Helper()
	table, err := r.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func change(t *testing.T, r route.Router, pair farm.PairName, edit func(*route.Pair)) {
	t.Helper()
	if err := r.Change(t.Context(), pair, func(p *route.Pair) error { edit(p); return nil }); err != nil {
		t.Fatal(err)
	}
}
