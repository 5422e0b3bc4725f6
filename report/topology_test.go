package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/internal/turns"
)

// topologyFarm is a farm of so many pairs, in racks of 20 pairs: the first is a single server, the second has two replicas.
func topologyFarm(pairs int) *farm.Farm {
	f := &farm.Farm{Name: "drawn"}
	for i := range pairs {
		p := farm.Pair{Name: farm.PairName(fmt.Sprintf("shop%05d", i)), Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{}}
		sides := []farm.SideName{farm.A, farm.B}
		switch i {
		case 0:
			p.Topology, sides = farm.Single, sides[:1]
		case 1:
			p.Topology, sides = farm.PrimaryReplica, append(sides, "C")
		}
		for _, side := range sides {
			h := farm.Host{Name: farm.HostName(fmt.Sprintf("db%05d%s", i, side)), Type: "old", Address: fmt.Sprintf("10.%d.%d.%d", i/250, i%250, side[0]), Labels: map[string]string{"rack": fmt.Sprintf("r%d", i/20)}}
			f.Hosts = append(f.Hosts, h)
			p.Sides[side] = farm.Side{Host: h.Name, Port: 3306}
		}
		for s := range 16 {
			p.Shards = append(p.Shards, farm.Shard{Name: farm.ShardName(fmt.Sprintf("s%05d_%02d", i, s))})
		}
		f.Pairs = append(f.Pairs, p)
	}
	return f
}

// pairsBoard is a board as one text, and what is in it.
func pairsBoard(t *testing.T, f TopologyFacts) (TopologyBoard, string) {
	t.Helper()
	b, err := NewTopologyBoard(f, "/moves")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b.Head)
	for _, x := range b.Blocks {
		text += string(x)
	}
	for _, bad := range []string{"ZgotmplZ", "NaN", "%!", " style="} {
		if strings.Contains(text, bad) {
			t.Errorf("a board of %d pairs holds %s", len(f.Farm.Pairs), bad)
		}
	}
	return b, text
}

// TestTopologyShowsWhoServes: every server with what it does, in the picture, in its title and in the table.
func TestTopologyShowsWhoServes(t *testing.T) {
	f := topologyFarm(9)
	behind := func(s float64) *float64 { return &s }
	at := func(i int, side farm.SideName) string { return f.Address(f.Pairs[i].Sides[side]) }
	_, text := pairsBoard(t, TopologyFacts{
		Farm: f, Asked: began, Age: "3 h",
		Route: func(name farm.PairName) (TopologyRoute, bool) {
			switch name {
			case "shop00000", "shop00001":
				return TopologyRoute{Weight: map[farm.SideName]float64{farm.A: 100}}, true
			case "shop00002":
				return TopologyRoute{Weight: map[farm.SideName]float64{farm.A: 100}}, true // B is out
			case "shop00003":
				return TopologyRoute{Weight: map[farm.SideName]float64{farm.A: 51, farm.B: 49}, Closed: []farm.SideName{farm.B}}, true
			case "shop00008":
				return TopologyRoute{}, false
			}
			return TopologyRoute{Weight: map[farm.SideName]float64{farm.A: 50, farm.B: 50}}, true
		},
		Work: []TopologyWork{{"shop00002/B", "warm"}, {"s00004_07", "copy"}, {"db00005A", "patch"}},
		Servers: map[farm.InstanceName]TopologyServer{
			"shop00001c": {Source: at(1, farm.B), Behind: behind(75)}, "shop00001b": {Source: at(1, farm.A), Behind: behind(0.4)},
			"shop00006b": {Error: "connection refused"}, "shop00007a": {Source: "10.9.9.9:3306", Behind: behind(2)},
		},
	})
	for _, want := range []string{
		"9 pairs on 18 hosts.", "3 h ago", "2026-11-21 21:05:11 UTC", "100\u00a0% serves", "A  db00001A:3306",
		"behind, 75 s", "follows, 0.4 s", "49\u00a0% gate closed", "at work: warm", "at work: copy", "at work: patch", "no answer: connection refused", `class="card dead"`, `class="card held"`,
		`<td>shop00002</td><td>active-active</td><td>db00002B:3306</td><td>at work: warm</td><td class="n">0` + "\u00a0%", `<th scope="row">shop00001c</th>`, `<td>B</td><td class="n">75</td>`,
		"B: shop00003b on db00003B:3306, gate closed, 49\u00a0% of the clients",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the board does not have %q", want)
		}
	}
	if n := strings.Count(text, `<g class="card `); n != 9 {
		t.Errorf("%d pairs are drawn, want 9", n)
	}
	if row := rowOf(text, "shop00007a"); strings.Contains(row, "<td>B</td>") {
		t.Errorf("a server that replicates from outside of its pair: %s", row)
	}
	// A primary whose replica follows the other replica: no arrow from A to C.
	if row := rowOf(text, "shop00001c"); !strings.Contains(row, "<td>B</td>") {
		t.Errorf("a replica of a replica: %s", row)
	}
	_, text = pairsBoard(t, TopologyFacts{Farm: f, RouteNote: "Who is in rotation is what farm.yaml says: there is no routing.json yet."})
	for _, want := range []string{"there is no routing.json yet", "no inventory has asked them", `<td>serves</td>`, `<td>follows</td>`} {
		if !strings.Contains(text, want) {
			t.Errorf("without routing and inventory the board does not have %q", want)
		}
	}
	if strings.Contains(text, `class="room"`) {
		t.Error("shares of clients are drawn that nobody knows")
	}
}

// rowOf is the row of an instance in a table.
func rowOf(text, instance string) string {
	_, row, _ := strings.Cut(text, `<th scope="row">`+instance+`</th>`)
	row, _, _ = strings.Cut(row, "</tr>")
	return row
}

// TestTopologyHasLevels: a page of a farm that is ten times as large is hardly larger, every pair is still to be found, and what a run does to one side
// changes one block.
func TestTopologyHasLevels(t *testing.T) {
	turns.One(t, 8)
	for _, c := range []struct {
		pairs      int
		group      string
		has        string
		blocks     int
		kilobytes  int
		elements   int
		isComplete bool
	}{
		{12, "", `<g class="card `, 1, 40, 700, true},
		{48, "", `<g class="card `, 4, 120, 2400, true},
		{600, "", `class="wide planchart topology"`, 5, 700, 16000, true},
		{6000, "", `class="wide planchart groups"`, 6, 200, 7500, false},
		{60000, "", `class="wide planchart groups"`, 8, 300, 10000, false},
		{6000, "r17", `<g class="card `, 2, 50, 1100, false},
	} {
		f := TopologyFacts{Farm: topologyFarm(c.pairs), Group: c.group}
		b, text := pairsBoard(t, f)
		elements := strings.Count(text, "<") - strings.Count(text, "</")
		if !strings.Contains(text, c.has) || len(b.Blocks) != c.blocks || len(text) > c.kilobytes<<10 || elements > c.elements {
			t.Errorf("%d pairs %s: %d blocks, %d kB, %d elements, has %s: %v", c.pairs, c.group, len(b.Blocks), len(text)>>10, elements, c.has, strings.Contains(text, c.has))
		}
		if c.isComplete && strings.Count(text, `<th scope="row">shop`) != 2*c.pairs {
			t.Errorf("%d pairs: %d servers in tables, want %d", c.pairs, strings.Count(text, `<th scope="row">shop`), 2*c.pairs)
		}
		f.Work = []TopologyWork{{"shop00340/B", "seed"}}
		if c.pairs <= 340 {
			f.Work[0].Name = "shop00011/B"
		}
		after, again := pairsBoard(t, f)
		changed := 0
		for i := range min(len(after.Blocks), len(b.Blocks)) {
			if after.Blocks[i] != b.Blocks[i] {
				changed++
			}
		}
		most := 1
		if strings.Contains(c.has, "groups") {
			most = 2 // its group, and the pairs to look at
		}
		if !strings.Contains(again, "at work") || changed == 0 || changed > most || after.Key != b.Key {
			t.Errorf("%d pairs %s: work on one side changes %d blocks, key %q to %q", c.pairs, c.group, changed, b.Key, after.Key)
		}
	}
	f := TopologyFacts{Farm: topologyFarm(6000)}
	_, text := pairsBoard(t, f)
	for _, want := range []string{`href="/moves?group=r17"`, "r17: 20 pairs, 40 serves", "Pairs to look at: none", "By rack: 300"} {
		if !strings.Contains(text, want) {
			t.Errorf("6,000 pairs: the board does not have %q", want)
		}
	}
	for i := range 500 {
		f.Work = append(f.Work, TopologyWork{fmt.Sprintf("shop%05d/A", i+100), "seed"})
	}
	if _, text = pairsBoard(t, f); !strings.Contains(text, "Pairs to look at: 12 of 500") || !strings.Contains(text, "to look at</text>") {
		t.Error("500 pairs at work are not counted")
	}
}

// TestTopologyNamesAreText: a farm file may have any name.
func TestTopologyNamesAreText(t *testing.T) {
	const evil = `<script>alert(1)</script>"'><img src=x>`
	for _, pairs := range []int{3, 60, 1300} {
		f := topologyFarm(pairs)
		for i := range f.Pairs {
			f.Pairs[i].Name = farm.PairName(evil + fmt.Sprint(i))
		}
		for i := range f.Hosts {
			f.Hosts[i].Labels["rack"] = evil
		}
		_, text := pairsBoard(t, TopologyFacts{Farm: f, RouteNote: evil, Age: evil, Asked: began, Work: []TopologyWork{{evil + "2", evil}}, Servers: map[farm.InstanceName]TopologyServer{farm.InstanceName(evil + "1a"): {Error: evil}}})
		if strings.Contains(text, "<script") || strings.Contains(text, "<img") {
			t.Errorf("%d pairs: a name is markup", pairs)
		}
	}
}

// TestTimelineOfALargeMove: a hundred thousand lanes are a page of bounded size, and those that failed are on it.
func TestTimelineOfALargeMove(t *testing.T) {
	var events []farm.Event
	for i := range 20000 {
		pair := farm.PairName(fmt.Sprintf("p%05d", i))
		for j, kind := range []farm.EventKind{farm.StepStarted, farm.StepDone} {
			text := ""
			if i == 12345 && j == 1 {
				kind, text = farm.StepFailed, "no room"
			}
			events = append(events, farm.Event{Pair: pair, Side: farm.A, Kind: kind, Text: text, Step: "seed", Number: 1, Of: 1, Time: at(float64(i) + float64(j)/2)})
		}
	}
	p, err := ActPiece(Facts{Run: "move-1", Events: events, Made: began})
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(p.Body), `<text class="lane"`); n > mostDrawnLanes || len(p.Body) > 900<<10 {
		t.Errorf("%d lanes drawn, %d kB", n, len(p.Body)>>10)
	}
	if !strings.Contains(string(p.Body), ">p12345 A<") || !strings.Contains(string(p.Body), "Of 20,000 sides 400 are drawn") {
		t.Error("the lane that failed is not drawn, or nobody says that others are not")
	}
	if lanes := readLanes(events[:200]); !slices.Equal(drawnLanes(lanes), lanes) {
		t.Error("lanes of a small move are left out")
	}
}
