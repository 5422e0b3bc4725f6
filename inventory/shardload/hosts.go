package shardload

import (
	"maps"
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
	HostOperations = "operations"  // of the disks below data directories, a second: reads and writes, whose peaks need not meet
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
	on := hostsOn(windows)
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

// MachineUses are what whole machines used that several hosts share, whoever used them: waiting for disks and memory can be had of no
// single host there. Host is the machine's ID.
func MachineUses(windows []HostWindow) (uses []HostUse) {
	on, at, disks := hostsOn(windows), map[string]int{}, map[[2]string]bool{}
	for _, w := range windows {
		for _, name := range slices.Sorted(maps.Keys(w.Begin)) {
			begin, end := w.Begin[name], w.End[name]
			id := begin.Machine.ID
			if len(on[id]) < 2 || noWindow(name, begin, end).Why != "" {
				continue
			}
			n, isKnown := at[id]
			if !isKnown {
				n, at[id] = len(uses), len(uses)
				uses = append(uses, HostUse{Host: farm.HostName(id), At: begin.At, Measures: map[string]float64{}})
				uses[n].addMachine(begin, end)
			}
			if d := end.Disk.Name; d != "" && d == begin.Disk.Name && !disks[[2]string{id, d}] {
				disks[[2]string{id, d}] = true
				uses[n].addDisk(begin, end)
			}
		}
	}
	return uses
}

// hostsOn are the hosts of each machine.
func hostsOn(windows []HostWindow) map[string]map[farm.HostName]bool {
	on := map[string]map[farm.HostName]bool{}
	for _, w := range windows {
		for _, p := range w.Begin {
			if on[p.Machine.ID] == nil {
				on[p.Machine.ID] = map[farm.HostName]bool{}
			}
			on[p.Machine.ID][w.Host] = true
		}
	}
	return on
}

func (w HostWindow) use(isShared func(machine string) bool) (HostUse, Lack) {
	switch {
	case w.Lack.Why != "":
		return HostUse{}, w.Lack
	case len(w.Begin) == 0:
		return HostUse{}, Lack{Why: "none of its instances runs"}
	}
	u := HostUse{Host: w.Host, Measures: map[string]float64{}}
	disks := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(w.Begin)) {
		begin, end := w.Begin[name], w.End[name]
		if lack := noWindow(name, begin, end); lack.Why != "" {
			return u, lack
		}
		isFirst := u.At.IsZero()
		if isFirst {
			u.At = begin.At
		}
		if isShared(begin.Machine.ID) {
			u.addProcess(begin, end)
			continue
		}
		if isFirst {
			u.addMachine(begin, end)
		}
		if d := end.Disk.Name; d != "" && d == begin.Disk.Name && !disks[d] {
			disks[d] = true
			u.addDisk(begin, end)
		}
	}
	return u, Lack{}
}

// noWindow says why an instance's counters of the end do not go on from those of the beginning; nothing where they do.
func noWindow(name farm.InstanceName, begin, end Process) Lack {
	switch {
	case end.PID == 0:
		return Lack{Why: string(name) + " ended within the window"}
	case end.PID != begin.PID || end.Started != begin.Started:
		return Lack{Why: string(name) + " was restarted within the window"}
	case !end.At.After(begin.At):
		return Lack{Why: "its clock was set back within the window"}
	case begin.Machine.Processors == 0:
		return Lack{Why: "its agent is of a version that does not count processors", Remedy: "upgrade the agent"}
	}
	return Lack{}
}

// addProcess adds what a server's process used, of a machine that is several hosts.
func (u *HostUse) addProcess(begin, end Process) {
	u.add(HostCPU, end.CPU-begin.CPU, begin, end)
	u.Measures[HostMemory] += float64(end.Resident)
	if begin.HasIO && end.HasIO {
		u.add(HostReadBytes, float64(grown(end.ReadBytes, begin.ReadBytes)), begin, end)
		u.add(HostWriteBytes, float64(grown(end.WriteBytes, begin.WriteBytes)), begin, end)
	}
}

func (u *HostUse) addMachine(begin, end Process) {
	m := end.Machine
	u.add(HostCPU, m.Busy-begin.Machine.Busy, begin, end)
	u.add(HostWait, m.Wait-begin.Machine.Wait, begin, end)
	u.Measures[HostProcessors] = float64(m.Processors)
	u.Measures[HostMemory], u.Measures[HostMemoryOf] = float64(m.Memory-min(m.Memory, m.Spare)), float64(m.Memory)
}

func (u *HostUse) addDisk(begin, end Process) {
	was, is := begin.Disk, end.Disk
	u.add(HostOperations, float64(grown(is.Reads, was.Reads)+grown(is.Writes, was.Writes)), begin, end)
	u.add(HostReads, float64(grown(is.Reads, was.Reads)), begin, end)
	u.add(HostWrites, float64(grown(is.Writes, was.Writes)), begin, end)
	u.add(HostReadBytes, float64(grown(is.ReadBytes, was.ReadBytes)), begin, end)
	u.add(HostWriteBytes, float64(grown(is.WriteBytes, was.WriteBytes)), begin, end)
}

// add adds a counter's growth, as a rate of the window.
func (u *HostUse) add(measure string, growth float64, begin, end Process) {
	u.Measures[measure] += max(0, growth) / end.At.Sub(begin.At).Seconds()
}
