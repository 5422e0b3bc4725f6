package tune

import (
	"fmt"

	"stowage/farm"
)

var memNUMA = Rule{
	ID: "MEM-NUMA", Title: "memory of several processors", Reads: "/sys/devices/system/node, vm.zone_reclaim_mode, innodb_numa_interleave and innodb_buffer_pool_size",
	Source: "Percona Server 5.7, NUMA; the servers' own variables, not tables of versions (MariaDB 10.11 has innodb_numa_interleave, its page says otherwise)",
	Except: "several small instances: one pinned to each node is better than interleaving all",
	Prove:  "OLTP-R",
	Check: func(f *Facts) Outcome {
		if len(f.Nodes) < 2 {
			return notApplicable("one NUMA node, or it could not be read")
		}
		var out []Finding
		if mode := f.Sys["vm.zone_reclaim_mode"]; mode != "" && mode != "0" {
			x := Finding{Severity: farm.Warning, Subject: "vm.zone_reclaim_mode", Read: "/proc/sys/vm/zone_reclaim_mode: " + mode,
				Verdict: "the kernel frees pages of this node before it takes any of the other one", Why: "it drops cache and writes pages out while half of the memory is free"}
			fixSysctl(&x, f, "vm.zone_reclaim_mode", "/proc/sys/vm/zone_reclaim_mode", "0")
			out = append(out, x)
		}
		least := f.Nodes[0].Memory
		for _, n := range f.Nodes {
			least = min(least, n.Memory)
		}
		for _, i := range f.Instances {
			pool, where, ok := i.number("innodb_buffer_pool_size")
			spread, _, known := i.setting("innodb_numa_interleave")
			if !ok || pool <= least || known && is(spread, "ON", "1") {
				continue
			}
			x := Finding{Severity: farm.Warning, Subject: i.Name, Read: fmt.Sprintf("%s; %d nodes, the smallest has %s; innodb_numa_interleave is not on", where, len(f.Nodes), bytes(least)),
				Verdict: "its buffer pool is larger than a node and filled from one side: one node swaps while the other has room",
				Why:     "pages are taken where the thread runs that touches them first, and that is one thread at start-up"}
			fixOption(&x, i, "innodb_numa_interleave", "ON", "OFF")
			x.Fix += "; or numactl --interleave=all in the unit"
			out = append(out, x)
		}
		return found(out...)
	},
}
