package shardload

import (
	"slices"
	"time"

	"stowage/farm"
)

// HostWindow are the counters of a host's instances at the beginning and at the end of a window.
type HostWindow struct {
	Host       farm.HostName
	Begin, End map[farm.InstanceName]Process
	Lack       Lack // why nothing was read
}

// The measures of a host, as HostUse.Measures names them.
const (
	HostCPU        = "cpu"         // processors that were busy, on average
	HostWait       = "wait"        // processors that waited for disks
	HostProcessors = "processors"  // that there are
	HostMemory     = "memory"      // bytes that are used
	HostMemoryOf   = "memory-of"   // bytes that there are
	HostReads      = "reads"       // of the disks below data directories, a second
	HostWrites     = "writes"      // a second
	HostReadBytes  = "read-bytes"  // a second
	HostWriteBytes = "write-bytes" // a second
)

// HostUse is what a host used in a window, by measure. What was not measured is not in it.
type HostUse struct {
	Host     farm.HostName
	At       time.Time // the beginning, by the host's clock
	Measures map[string]float64
}

// HostUses are what hosts used, and why of others it is not known. Hosts that are one machine are distinguished by their servers'
// processes: nobody can say whose waiting, or whose memory besides, the machine's counters are.
func HostUses(windows []HostWindow) (uses []HostUse, lacks map[farm.HostName]Lack) {
	on := map[string]map[farm.HostName]bool{}
	for _, w := range windows {
		for _, p := range w.Begin {
			if on[p.Machine.ID] == nil {
				on[p.Machine.ID] = map[farm.HostName]bool{}
			}
			on[p.Machine.ID][w.Host] = true
		}
	}
	lacks = map[farm.HostName]Lack{}
	for _, w := range windows {
		u, lack := w.use(func(machine string) bool { return len(on[machine]) > 1 })
		if lack.Why != "" {
			lacks[w.Host] = lack
			continue
		}
		uses = append(uses, u)
	}
	return uses, lacks
}

func (w HostWindow) use(isShared func(machine string) bool) (HostUse, Lack) {
	switch {
	case w.Lack.Why != "":
		return HostUse{}, w.Lack
	case len(w.Begin) == 0:
		return HostUse{}, Lack{Why: "none of its instances runs"}
	}
	u := HostUse{Host: w.Host, Measures: map[string]float64{}}
	add := func(measure string, growth, seconds float64) { u.Measures[measure] += max(0, growth) / seconds }
	disks := map[string]bool{}
	names := make([]farm.InstanceName, 0, len(w.Begin))
	for name := range w.Begin {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		begin, end := w.Begin[name], w.End[name]
		seconds := end.At.Sub(begin.At).Seconds()
		switch {
		case end.PID == 0:
			return u, Lack{Why: string(name) + " ended within the window"}
		case end.PID != begin.PID || end.Started != begin.Started:
			return u, Lack{Why: string(name) + " was restarted within the window"}
		case seconds <= 0:
			return u, Lack{Why: "its clock was set back within the window"}
		case begin.Machine.Processors == 0:
			return u, Lack{Why: "its agent is of a version that does not count processors", Remedy: "upgrade the agent"}
		}
		isFirst := u.At.IsZero()
		if isFirst {
			u.At = begin.At
		}
		switch m := end.Machine; {
		case isShared(begin.Machine.ID):
			add(HostCPU, end.CPU-begin.CPU, seconds)
			u.Measures[HostMemory] += float64(end.Resident)
		case isFirst:
			add(HostCPU, m.Busy-begin.Machine.Busy, seconds)
			add(HostWait, m.Wait-begin.Machine.Wait, seconds)
			u.Measures[HostProcessors] = float64(m.Processors)
			u.Measures[HostMemory], u.Measures[HostMemoryOf] = float64(m.Memory-min(m.Memory, m.Spare)), float64(m.Memory)
		}
		switch d := end.Disk; {
		case isShared(begin.Machine.ID):
			if begin.HasIO && end.HasIO {
				add(HostReadBytes, float64(grown(end.ReadBytes, begin.ReadBytes)), seconds)
				add(HostWriteBytes, float64(grown(end.WriteBytes, begin.WriteBytes)), seconds)
			}
		case d.Name != "" && d.Name == begin.Disk.Name && !disks[d.Name]:
			disks[d.Name] = true
			add(HostReads, float64(grown(d.Reads, begin.Disk.Reads)), seconds)
			add(HostWrites, float64(grown(d.Writes, begin.Disk.Writes)), seconds)
			add(HostReadBytes, float64(grown(d.ReadBytes, begin.Disk.ReadBytes)), seconds)
			add(HostWriteBytes, float64(grown(d.WriteBytes, begin.Disk.WriteBytes)), seconds)
		}
	}
	return u, Lack{}
}
