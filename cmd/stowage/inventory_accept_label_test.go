package main

import (
	"testing"

	"stowage/farm"
)

// TestTheFirstLabelOfAHostIsTaken: a host may have no label yet, and the farm that was read stays as it is.
func TestTheFirstLabelOfAHostIsTaken(t *testing.T) {
	t.Parallel()
	f := &farm.Farm{Hosts: []farm.Host{{Name: "db1"}, {Name: "db2", Labels: map[string]string{"rack": "r1"}}}}
	for _, host := range []string{"db1", "db2"} {
		if set, why := setHost(f, change{Subject: host, Attribute: "label_zone", Value: "z"}); set == nil {
			t.Errorf("%s: %s", host, why)
		}
	}
	if len(f.Hosts[0].Labels) != 0 || len(f.Hosts[1].Labels) != 1 {
		t.Errorf("labels were changed: %v", f.Hosts)
	}
}
