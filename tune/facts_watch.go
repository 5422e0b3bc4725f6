package tune

import (
	"fmt"
	"slices"
	"strings"
)

// Watch is what was counted while somebody watched the machine.
type Watch struct {
	Seconds float64
	Disks   map[string][]Use // one for each interval between two looks, in their order
}

// Use is what a disk did in one interval.
type Use struct {
	Busy float64 // part of the time in which it had a request: 1 is all of it
	IOPS float64
	Wait float64 // milliseconds a request; 0 without any
}

// FileUse is what a server did to one file in the meantime.
type FileUse struct {
	Path       string
	Operations uint64
	Bytes      uint64
}

// CPUTime is what the processors did, in seconds of one of them.
type CPUTime struct {
	Busy, Stolen float64 // Stolen: a guest could have run, and the hypervisor ran somebody else
	Watched      float64 // in so many seconds; 0: since the machine was started
}

func (c CPUTime) since() string {
	if c.Watched > 0 {
		return fmt.Sprintf("in %.0f s", c.Watched)
	}
	return "since the machine was started"
}

// RunQueue is how long the threads of a process ran, and how long they could have run
// and waited for a processor, in seconds.
type RunQueue struct {
	Ran, Waited float64
	Watched     float64 // in so many seconds; 0: since the threads began
}

func (q RunQueue) since() string {
	if q.Watched > 0 {
		return fmt.Sprintf("in %.0f s", q.Watched)
	}
	return "since they began"
}

// Throttle is what the limit of a control group has taken from its processes.
type Throttle struct {
	Group             string // "/system.slice/mariadb.service"
	Periods, Held     int64  // periods in which it ran, and those in which it was held back
	MissingOfTheGroup bool   // its counters could not be read
}

// average is a disk's use over intervals; which are chosen by number.
func average(uses []Use, chosen []int) (out Use) {
	requests := 0.0
	for _, n := range chosen {
		out.Busy += uses[n].Busy / float64(len(chosen))
		out.IOPS += uses[n].IOPS / float64(len(chosen))
		out.Wait += uses[n].Wait * uses[n].IOPS
		requests += uses[n].IOPS
	}
	if requests > 0 {
		out.Wait /= requests
	}
	return out
}

// series is how busy a disk was over time, in percent, in ten parts at most.
func series(uses []Use) string {
	parts := min(len(uses), 10)
	var out []string
	for n := range parts {
		var chosen []int
		for i := n * len(uses) / parts; i < (n+1)*len(uses)/parts; i++ {
			chosen = append(chosen, i)
		}
		out = append(out, fmt.Sprintf("%.0f", 100*average(uses, chosen).Busy))
	}
	return strings.Join(out, " ")
}

// busiestFiles are those of instances on these disks with the most operations, for people.
func (f *Facts) busiestFiles(members []string) (said string, known bool) {
	var all []FileUse
	total := uint64(0)
	for _, i := range f.Instances {
		if len(i.Files) == 0 || !slices.ContainsFunc(f.Below(i.Datadir), func(d string) bool { return slices.Contains(members, d) }) {
			continue
		}
		for _, x := range i.Files {
			all = append(all, x)
			total += x.Operations
		}
	}
	if total == 0 {
		return "", false
	}
	slices.SortStableFunc(all, func(a, b FileUse) int {
		switch {
		case a.Operations > b.Operations:
			return -1
		case a.Operations < b.Operations:
			return 1
		}
		return 0
	})
	var out []string
	for _, x := range all[:min(len(all), 3)] {
		out = append(out, fmt.Sprintf("%s (%.0f %% of %d operations)", x.Path, 100*float64(x.Operations)/float64(total), total))
	}
	return strings.Join(out, ", "), true
}
