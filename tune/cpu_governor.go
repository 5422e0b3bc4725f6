package tune

import (
	"slices"
	"strings"

	"stowage/farm"
)

var cpuGovernor = Rule{
	ID: "CPU-GOV", Title: "how processors choose their clock", Reads: "/sys/devices/system/cpu/cpufreq: scaling_driver, scaling_governor",
	Source: "Percona 2016, CPU governor performance; tuned's throughput-performance",
	Except: "racks whose power is capped",
	Prove:  "LOG4K-FDS-Q1T1",
	Check: func(f *Facts) Outcome {
		var out []Finding
		for _, g := range f.Governors {
			x := Finding{Severity: farm.Warning, Subject: "processors", Read: "/sys/devices/system/cpu/cpufreq: driver " + g.Driver + ", governor " + g.Name,
				Fix: "cpupower frequency-set -g performance", Persist: "tuned-adm profile throughput-performance, or a unit that runs cpupower", Revert: "cpupower frequency-set -g " + g.Name}
			switch {
			case strings.HasPrefix(g.Driver, "intel_pstate") && g.Name == "powersave":
				x.Severity = farm.Note
				x.Verdict = "powersave of intel_pstate is no brake: the hardware raises the clock by itself"
				x.Why = "the same word means the lowest clock with acpi-cpufreq; short commits may still begin on a slow processor"
			case g.Name == "ondemand", g.Name == "powersave", g.Name == "conservative":
				x.Verdict = "commits begin on slow processors"
				x.Why = "the clock is raised after a while of work; a query that takes a millisecond is over by then"
			default:
				continue
			}
			x.Change, x.Also = g.set("performance")
			out = append(out, x)
		}
		return judged(out, len(f.Governors), "no cpufreq: a guest, or the firmware decides")
	},
}

// set changes the governor of all processors that have this one; nothing where
// the wanted one is not known to be offered.
func (g Governor) set(to string) (first *Change, others []Change) {
	if !slices.Contains(g.Offered, to) {
		return nil, nil
	}
	for _, policy := range g.Policies {
		c := Change{Path: "/sys/devices/system/cpu/cpufreq/" + policy + "/scaling_governor", From: g.Name, To: to}
		if first == nil {
			first = &c
			continue
		}
		others = append(others, c)
	}
	return first, others
}
