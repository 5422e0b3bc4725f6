package act

import (
	"slices"
	"testing"

	"stowage/engine"
	"stowage/farm"
	"stowage/placement"
)

func TestStreamsAreLimited(t *testing.T) {
	now := &farm.Farm{Hosts: []farm.Host{
		{Name: "ssd01", Labels: map[string]string{"rack": "r1", "network": "n1"}},
		{Name: "ssd02", Labels: map[string]string{"rack": "r1"}},
	}}
	job := engine.Job{ID: "j", Kind: "move", Budgets: map[string]int{WholeFarm: 4, "host ssd01": StreamsPerHost, "host ssd02": StreamsPerHost}, Lanes: []engine.Lane{
		{Name: "p1", Holds: []string{WholeFarm, "host ssd01", "host ssd02"}, Parts: []engine.Part{{Subject: "p1/A", Steps: []engine.Step{{Name: "seed"}}}}},
	}}
	LimitStreams(&job, now, placement.Budgets{StreamsPerHost: 3, StreamsPerRack: 5, StreamsPerNetwork: 7})
	if got := job.Lanes[0].Holds; !slices.Equal(got, []string{WholeFarm, "host ssd01", "host ssd02", "rack r1", "network n1"}) {
		t.Errorf("the lane holds %v", got)
	}
	if b := job.Budgets; b["host ssd01"] != 3 || b["rack r1"] != 5 || b["network n1"] != 7 || b[WholeFarm] != 4 {
		t.Errorf("budgets %v", b)
	}
	if err := job.Validate(); err != nil {
		t.Error(err)
	}
	plain := engine.Job{Budgets: map[string]int{"host ssd01": StreamsPerHost}, Lanes: []engine.Lane{{Holds: []string{"host ssd01"}}}}
	LimitStreams(&plain, now, placement.Budgets{})
	if plain.Budgets["host ssd01"] != StreamsPerHost || len(plain.Lanes[0].Holds) != 1 {
		t.Errorf("without budgets: %+v", plain)
	}
}
