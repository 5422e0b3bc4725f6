package routetest

import (
	"errors"
	"reflect"
	"testing"

	"stowage/farm"
	"stowage/route"
)

// takesAndGivesUpPairs: a pair is added and taken away again, each twice; the
// others take no notice. One that serves a shard does not go, and one that is
// there at other addresses is not replaced.
func takesAndGivesUpPairs(t *testing.T, r route.Router) {
	g, ok := r.(route.Grower)
	if !ok {
		t.Skip("SKIPPED: this adapter takes no further pairs while it runs")
	}
	const third farm.PairName = "shardset001"
	const shard farm.ShardName = "etsy_shard_0002"
	fresh := func() *route.Pair { return route.NewPair([]farm.ShardName{}, "127.0.10.5:23306", "127.0.10.6:23306") }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	before := read(t, r)
	for range 2 {
		must(g.Add(t.Context(), third, fresh()))
	}
	want := before.Pairs
	want[third] = fresh()
	if now := read(t, r); !reflect.DeepEqual(now.Pairs, want) || now.Generation != before.Generation+1 {
		t.Errorf("with a further pair: generation %d, pairs %+v, want %+v", now.Generation, now.Pairs, want)
	}
	if err := g.Add(t.Context(), third, route.NewPair([]farm.ShardName{}, "127.0.10.7:23306", "127.0.10.8:23306")); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("a pair of that name at other addresses: %v", err)
	}
	change(t, r, first, func(p *route.Pair) { p.Drop(shard) })
	change(t, r, third, func(p *route.Pair) { p.List(shard) })
	must(g.Add(t.Context(), third, fresh())) // again, with a shard in it
	if err := g.Remove(t.Context(), third); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("a pair that serves a shard was removed: %v", err)
	}
	if now := read(t, r); !now.Pairs[third].Lists(shard) {
		t.Errorf("the refused removal left %+v", now.Pairs[third])
	}
	change(t, r, third, func(p *route.Pair) { p.Drop(shard) })
	change(t, r, first, func(p *route.Pair) { p.List(shard) })
	for range 2 {
		must(g.Remove(t.Context(), third))
	}
	delete(want, third)
	if now := read(t, r); !reflect.DeepEqual(now.Pairs, want) {
		t.Errorf("there and back: pairs %+v, want %+v", now.Pairs, want)
	}
}
