package main

import (
	"slices"
	"testing"

	"stowage/farm"
	"stowage/tune"
)

// Findings become options of the host type that their server is on, each value once; of servers that the farm does not know, nothing.
func TestFindingsBecomeOptionsOfHostTypes(t *testing.T) {
	f := &farm.Farm{Hosts: []farm.Host{{Name: "h1", Type: "ssd"}, {Name: "h2", Type: "ssd"}, {Name: "h3", Type: "disk"}}}
	for _, x := range []struct{ pair, host string }{{"p1", "h1"}, {"p2", "h2"}, {"p3", "h3"}} {
		f.Pairs = append(f.Pairs, farm.Pair{Name: farm.PairName(x.pair), Topology: farm.Single, Sides: map[farm.SideName]farm.Side{farm.A: {Host: farm.HostName(x.host)}}})
	}
	of := func(rule, instance, variable, to string) tune.Finding {
		return tune.Finding{ID: rule, Option: &tune.Change{Instance: instance, Variable: variable, To: to}}
	}
	names := []string{}
	for _, p := range f.Pairs {
		names = append(names, string(p.Instance(farm.A)))
	}
	got := wantedOptions(f, tuneAll{Machines: []tuneMachine{
		{Report: tune.Report{Findings: []tune.Finding{of("DB-NEIGH", names[0], "innodb-flush-neighbors", "0"), of("DB-IOCAP", names[0], "innodb_io_capacity", "2000"), {ID: "BLK-SCHED"}}}},
		{Report: tune.Report{Findings: []tune.Finding{of("DB-NEIGH", names[1], "innodb_flush_neighbors", "0"), of("DB-IOCAP", names[1], "innodb_io_capacity", "4000"), of("DB-NEIGH", "stranger", "innodb_flush_neighbors", "0")}}},
		{Report: tune.Report{Findings: []tune.Finding{{ID: "DB-NEIGH", Change: &tune.Change{Instance: names[2], Variable: "innodb_flush_neighbors", To: "1"}}}}},
	}})
	var said []string
	for _, x := range got {
		said = append(said, string(x.Type)+" "+x.Option+"="+x.Value)
	}
	want := []string{"disk innodb_flush_neighbors=1", "ssd innodb_flush_neighbors=0", "ssd innodb_io_capacity=2000", "ssd innodb_io_capacity=4000"}
	if !slices.Equal(said, want) || len(got[1].Servers) != 2 {
		t.Errorf("%v, %+v", said, got)
	}
}
