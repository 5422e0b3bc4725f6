package route_test

import (
	"testing"

	"stowage/farm"
	"stowage/route"
)

// A client that follows the file finds its shard in the pair that lists it,
// waits while none does, and waits too when two do.
func TestFollowerLooksUpShards(t *testing.T) {
	const goes, stays farm.ShardName = "s2", "s1"
	const other farm.PairName = "dbshard002"
	path := t.TempDir() + "/routing.json"
	r := route.NewFile(path)
	err := r.Create(map[farm.PairName]*route.Pair{
		pairName: route.NewPair([]farm.ShardName{stays, goes}, "127.0.10.1:1", "127.0.10.2:1"),
		other:    route.NewPair([]farm.ShardName{}, "127.0.10.3:1", "127.0.10.4:1"),
	})
	if err != nil {
		t.Fatal(err)
	}
	f, err := route.Follow(path)
	if err != nil {
		t.Fatal(err)
	}
	change := func(pair farm.PairName, edit func(*route.Pair)) {
		t.Helper()
		if err := r.Change(t.Context(), pair, func(p *route.Pair) error { edit(p); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(shard farm.ShardName, pair farm.PairName, address string) {
		t.Helper()
		gotPair, _, got, ok := f.LookupShard(shard, "alice") // slot 735: home B
		if gotPair != pair || got != address || ok != (pair != "") {
			t.Errorf("%s is at %q %q %v, want %q %q", shard, gotPair, got, ok, pair, address)
		}
	}
	expect(goes, pairName, "127.0.10.2:1")
	expect("s3", "", "")
	change(pairName, func(p *route.Pair) { p.Drop(goes) })
	expect(goes, "", "")
	expect(stays, pairName, "127.0.10.2:1")
	change(other, func(p *route.Pair) { p.List(goes) })
	expect(goes, other, "127.0.10.4:1")
	change(pairName, func(p *route.Pair) { p.List(goes) })
	expect(goes, "", "")
	expect(stays, pairName, "127.0.10.2:1")
}
