package bench

import (
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"stowage/bench/result"
	"stowage/farm"
)

// Ground is a directory of a bench that makes its load by something else than fio: the same marker, lock and refusals as bench run, the same
// facts about the machine, and the same ear for others. It is to be closed.
type Ground struct {
	Dir         string // ours, empty, and gone with Close
	Environment result.Environment
	// Own says that the directory the bench was given is the mount point of the only file system that is on its disk: what that counts is ours.
	Own     bool
	machine machine
	place   *place
	device  string
}

// Occupy takes a directory for the bench that calls itself by (MadeByEngine). swept is how many bytes a killed run had left there.
func Occupy(dir, by string) (g *Ground, swept int64, err error) {
	at, err := checkDirectory(dir)
	if err != nil {
		return nil, 0, err
	}
	dir, err = filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, 0, &farm.Error{Op: "measure", Subject: dir, Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return nil, 0, &farm.Error{Op: "measure", Subject: dir, Err: err}
	}
	g = &Ground{machine: machine{root: "/"}}
	if g.place, swept, err = openPlaceFor(dir, by); err != nil {
		return nil, 0, err
	}
	g.Dir = g.place.dir
	g.Environment, _ = g.machine.facts(dir, st.Dev, at)
	g.Environment.Arch = runtime.GOARCH
	if d := g.Environment.Device; d != nil {
		g.device, g.Own = d.Name, dir == g.Environment.Mount && dir != "/" && g.machine.isAlone(g.machine.mountOf(dir, st.Dev), d.Name)
	}
	return g, swept, nil
}

// isAlone says whether no other file system that is mounted lies on a disk.
func (m machine) isAlone(at mount, disk string) bool {
	for _, other := range m.mounts() {
		if name, _ := m.deviceOf(other); name == disk && other.dev != at.dev {
			return false
		}
	}
	return true
}

// Close removes everything that is ours.
func (g *Ground) Close() error { return g.place.close() }

// Available is the memory that could be had without swapping, and the space that is free.
func (g *Ground) Available() (memory, disk int64) {
	return g.machine.number("/proc/meminfo", "MemAvailable:") * 1024, g.Environment.Free
}

// Counts is what the device below has done since it was plugged in, by everybody; zero where no single device is below.
type Counts struct {
	Read, Written, Flushes int64 // bytes, bytes, requests
	Operations             int64 // reads and writes
	ticks                  processors
}

// Counts reads them, and what the processors did.
func (g *Ground) Counts() Counts {
	c, _ := g.machine.counters(g.device)
	return Counts{Read: c.read, Written: c.written, Flushes: c.flushes, Operations: c.operations, ticks: g.machine.processors()}
}

// Steal is the part of the processors' time between the two that the hypervisor took.
func Steal(from, to Counts) float64 { return stealBetween(from.ticks, to.ticks) }

// Listen is for the pause before a run, in which ours do nothing: how long others waited for processors and I/O, and the bytes a second they
// moved on the device. wait sleeps, or less when it is interrupted.
func (g *Ground) Listen(wait func(time.Duration)) (d result.Disturbance, foreign float64) {
	from, began := g.Counts(), time.Now()
	d = g.machine.listen(wait)
	to := g.Counts()
	if took := time.Since(began).Seconds(); took > 0 {
		foreign = float64(to.Read-from.Read+to.Written-from.Written) / took
	}
	return d, foreign
}
