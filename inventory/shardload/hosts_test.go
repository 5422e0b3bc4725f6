package shardload

import (
	"maps"
	"testing"
	"time"

	"stowage/farm"
)

var hostsAt = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// counted is a process at n times ten seconds, on a machine that does every second: 1.5 processors busy, 0.25 waiting, 40 reads,
// 10 writes, 1 MB read, 2 MB written, half of it by the process.
func counted(n float64, machine string) Process {
	u := func(v float64) uint64 { return uint64(10 * n * v) }
	return Process{
		At: hostsAt.Add(time.Duration(n*10) * time.Second), PID: 7, Started: 70, CPU: 10 * n * 0.5, HasIO: true, ReadBytes: u(0.5e6), WriteBytes: u(1e6), Resident: 2 << 30,
		Disk:    Disk{"vda", u(40), u(10), u(1e6), u(2e6)},
		Machine: Machine{ID: machine, Busy: 10 * n * 1.5, Wait: 10 * n * 0.25, Processors: 4, Memory: 16 << 30, Spare: 6 << 30},
	}
}

func hostOf(name farm.HostName, machine string, instances ...farm.InstanceName) HostWindow {
	w := HostWindow{Host: name, Begin: map[farm.InstanceName]Process{}, End: map[farm.InstanceName]Process{}}
	for _, i := range instances {
		w.Begin[i], w.End[i] = counted(1, machine), counted(7, machine)
	}
	return w
}

// TestHostsAreTheirMachines: two instances of one disk count it, and the machine, once.
func TestHostsAreTheirMachines(t *testing.T) {
	uses, lacks := HostUses([]HostWindow{hostOf("h1", "m1", "a", "b"), hostOf("h2", "m2", "c")})
	want := map[string]float64{HostCPU: 1.5, HostWait: 0.25, HostProcessors: 4, HostMemory: 10 << 30, HostMemoryOf: 16 << 30, HostOperations: 50, HostReads: 40, HostWrites: 10, HostReadBytes: 1e6, HostWriteBytes: 2e6}
	if len(uses) != 2 || len(lacks) != 0 || !uses[0].At.Equal(hostsAt.Add(10*time.Second)) {
		t.Fatalf("%+v, %+v", uses, lacks)
	}
	for _, u := range uses {
		if !maps.Equal(u.Measures, want) {
			t.Errorf("%s: %v", u.Host, u.Measures)
		}
	}
}

// TestHostsOfOneMachineAreTheirProcesses by their processes.
func TestHostsOfOneMachineAreTheirProcesses(t *testing.T) {
	uses, _ := HostUses([]HostWindow{hostOf("h1", "m", "a", "b"), hostOf("h2", "m", "c")})
	for i, n := range []float64{2, 1} {
		want := map[string]float64{HostCPU: 0.5 * n, HostMemory: n * (2 << 30), HostReadBytes: 0.5e6 * n, HostWriteBytes: 1e6 * n}
		if !maps.Equal(uses[i].Measures, want) {
			t.Errorf("%s: %v, want %v", uses[i].Host, uses[i].Measures, want)
		}
	}
}

// TestASharedMachineIsCountedOnce with its disk, whole, whoever used it; one that is a host of its own is none.
func TestASharedMachineIsCountedOnce(t *testing.T) {
	uses := MachineUses([]HostWindow{hostOf("h1", "m", "a", "b"), hostOf("h2", "m", "c"), hostOf("h3", "alone", "d")})
	want := map[string]float64{HostCPU: 1.5, HostWait: 0.25, HostProcessors: 4, HostMemory: 10 << 30, HostMemoryOf: 16 << 30, HostOperations: 50, HostReads: 40, HostWrites: 10, HostReadBytes: 1e6, HostWriteBytes: 2e6}
	if len(uses) != 1 || uses[0].Host != "m" || !maps.Equal(uses[0].Measures, want) {
		t.Errorf("%+v", uses)
	}
}

// TestWhatIsNoWindowOfAHost: each says why, and none is a number.
func TestWhatIsNoWindowOfAHost(t *testing.T) {
	for why, spoil := range map[string]func(*HostWindow, *Process){
		"a ended within the window":                                func(w *HostWindow, p *Process) { delete(w.End, "a"); *p = Process{} },
		"a was restarted within the window":                        func(_ *HostWindow, p *Process) { p.Started++ },
		"its clock was set back within the window":                 func(_ *HostWindow, p *Process) { p.At = hostsAt },
		"none of its instances runs":                               func(w *HostWindow, _ *Process) { w.Begin = nil },
		"no answer":                                                func(w *HostWindow, _ *Process) { w.Lack.Why = "no answer" },
		"its agent is of a version that does not count processors": func(w *HostWindow, _ *Process) { b := w.Begin["a"]; b.Machine.Processors = 0; w.Begin["a"] = b },
	} {
		w := hostOf("h", "m", "a")
		end := w.End["a"]
		spoil(&w, &end)
		if end.PID != 0 {
			w.End["a"] = end
		}
		uses, lacks := HostUses([]HostWindow{w})
		if len(uses) != 0 || lacks["h"].Why != why {
			t.Errorf("%s: %+v, %+v", why, uses, lacks)
		}
	}
}
