package report

import (
	"strings"
	"testing"

	"stowage/farm"
	"stowage/placement"
)

// The document of a plan for all topologies says what has no copy, shows every
// side once, and no twin where there is none.
func TestPlanOfAllTopologies(t *testing.T) {
	f, g := planFarm()
	for i := range 6 {
		f.Pairs[i].Topology = farm.Single
		delete(f.Pairs[i].Sides, farm.B)
	}
	f.Hosts = append(f.Hosts, farm.Host{Name: "old99", Type: "old", Address: "10.0.3.1", Labels: map[string]string{"rack": "r1"}})
	set := &f.Pairs[7]
	set.Topology, set.Sides["C"] = farm.PrimaryReplica, farm.Side{Host: "old99", Port: 3306, Datadir: "/srv/shop08c/data", Config: "/srv/shop08c/my.cnf"}
	p, err := placement.Solve(f, g)
	if err != nil {
		t.Fatal(err)
	}
	p.Name, p.Farm = "all", f.Name
	facts := PlanFacts{Plan: p, Now: f, Freeing: placement.Freeing(f, p)}
	page, text := written(t, facts)
	for _, want := range []string{"shop08c", "shop01a", "Without a copy, and down until it is back"} {
		if !strings.Contains(page, want) || !strings.Contains(text, want) {
			t.Errorf("the document does not say %q", want)
		}
	}
	for _, not := range []string{"shop01b", "Do not carry it out", "placing single shards"} {
		if strings.Contains(page, not) || strings.Contains(text, not) {
			t.Errorf("the document says %q", not)
		}
	}
	for _, key := range []string{`class="keya"`, `class="keyb"`, `class="keyc" width="14" height="12"/></svg> side C`, ` sc" role="img"`} {
		if !strings.Contains(page, key) {
			t.Errorf("side C has no look or no legend: the document does not have %s", key)
		}
	}
	picture := newPacking(Facts{Plan: &p, Now: f})
	if len(picture.Sides) != 3 {
		t.Errorf("legend of the report: %v", picture.Sides)
	}
	seen := map[farm.InstanceName]int{}
	for _, row := range picture.Rows {
		seen[row.Instance]++
	}
	if len(picture.Rows) != 6+3+2*5 || seen["shop01a"] != 1 || seen["shop08c"] != 1 || seen["shop12b"] != 1 {
		t.Errorf("%d rows: %v", len(picture.Rows), seen)
	}
	for _, b := range picture.After.Boxes {
		for _, s := range b.Slabs {
			if strings.Contains(s.Title, "Its twin") && strings.Contains(s.Title, "none") {
				t.Errorf("a twin that is not there: %s", s.Title)
			}
		}
	}
}
