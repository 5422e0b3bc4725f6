package routetest

import (
	"reflect"
	"slices"
	"testing"

	"stowage/farm"
	"stowage/route"
)

// shardGoesElsewhere: one shard is held, alone, and then served by another
// pair. In every state in between it is listed once or not at all, the shard
// beside it stays where it was, and so do routes and sides. An adapter that
// cannot do that for its clients says so in its guarantee.
func shardGoesElsewhere(t *testing.T, r route.Router) {
	const goes, stays farm.ShardName = "etsy_shard_0002", "etsy_shard_0001"
	before := read(t, r)
	steps := []struct {
		pair   farm.PairName
		edit   func(*route.Pair)
		serves []farm.PairName
	}{
		{second, func(p *route.Pair) { p.Drop(goes) }, []farm.PairName{first}}, // it is not there
		{first, func(p *route.Pair) { p.Drop(goes) }, nil},
		{first, func(p *route.Pair) { p.Drop(goes) }, nil}, // again, after a kill
		{second, func(p *route.Pair) { p.List(goes) }, []farm.PairName{second}},
		{second, func(p *route.Pair) { p.List(goes) }, []farm.PairName{second}},
		{second, func(p *route.Pair) { p.Drop(goes) }, nil}, // and all the way back
		{first, func(p *route.Pair) { p.List(goes) }, []farm.PairName{first}},
	}
	for n, s := range steps {
		change(t, r, s.pair, s.edit)
		table := read(t, r)
		if got := table.Serves(goes); !slices.Equal(got, s.serves) {
			t.Errorf("after change %d the shard is served by %v, want %v", n, got, s.serves)
		}
		if got := table.Serves(stays); !slices.Equal(got, []farm.PairName{first}) {
			t.Errorf("after change %d the shard beside it is served by %v, want %s", n, got, first)
		}
		for name, p := range table.Pairs {
			if was := before.Pairs[name]; !reflect.DeepEqual(p.Routes, was.Routes) || !reflect.DeepEqual(p.Sides, was.Sides) {
				t.Errorf("after change %d the routes of %s are %+v, want %+v", n, name, p.Routes, was.Routes)
			}
		}
	}
	if after := read(t, r); !reflect.DeepEqual(after.Pairs, before.Pairs) {
		t.Errorf("there and back: pairs %+v, want %+v", after.Pairs, before.Pairs)
	}
}
