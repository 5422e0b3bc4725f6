package window

import (
	"testing"

	"stowage/capacity"
	"stowage/farm"
)

func TestOneByOne(t *testing.T) {
	f := &farm.Farm{HostTypes: []farm.HostType{{Name: "box"}}, Hosts: []farm.Host{{Name: "a", Type: "box"}, {Name: "b", Type: "box"}}}
	for i, size := range []float64{300, 200, 100} {
		f.Pairs = append(f.Pairs, farm.Pair{Name: farm.PairName(rune('A' + i)), Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{farm.A: {Host: "a"}, farm.B: {Host: "b"}},
			Shards: []farm.Shard{{Needs: farm.Resources{farm.Disk: size}}}})
	}
	b := OneByOne(f, &capacity.CopyRate{PerSecond: 10})
	if b.Bytes != 600 || b.Largest != "A" || *b.LargestTakes != 30 || b.BusiestBytes != 300 || *b.Window != 30 {
		t.Errorf("%+v", b)
	}
	if b := OneByOne(f, nil); b.Window != nil || b.LargestTakes != nil || b.Bytes != 600 {
		t.Errorf("without a rate: %+v", b)
	}
}
