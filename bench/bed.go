package bench

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"stowage/bench/result"
	"stowage/farm"
)

// Bed is what is below a directory, or is measured itself, where whoever calls has made or claimed it: nobody else uses it.
type Bed struct {
	// Devices are counted together: loop0, or the members of an array.
	Devices []string
	// Below is the disk under them that others use, too: that of the files behind loop devices. "" where there is none.
	Below string
}

// name is that of all its devices.
func (b *Bed) name() string { return strings.Join(b.Devices, "+") }

// sum adds up what several devices did. busy is that of the busiest.
func (m machine) sum(devices []string) counters {
	var all counters
	for _, name := range devices {
		c, _ := m.counters(name) // one that is gone counts nothing, and the check says so
		all.read, all.written, all.flushes = all.read+c.read, all.written+c.written, all.flushes+c.flushes
		all.operations += c.operations
		all.busy = max(all.busy, c.busy)
	}
	return all
}

// bed is what /sys says about the devices: the first, with the names of all.
func (m machine) bed(b *Bed) *result.Device {
	d := m.device(b.Devices[0])
	if len(b.Devices) > 1 {
		d.Name, d.Parts = b.name(), b.Devices
		d.ByID, d.Serial = "", ""
	}
	return d
}

// foreign is what others moved on the disk below, as a part of all that it moved. What a file system writes beyond what fio asked for is its
// own business, and no disturbance: on the devices themselves there is nobody else.
func foreign(devices, below counters) float64 {
	ours, all := devices.read+devices.written, below.read+below.written
	if all-ours <= slack || all <= 0 {
		return 0
	}
	return float64(all-ours) / float64(all)
}

// idlePart is what others move on the disk below as a part of all, judged by what moved in the pause before a run of so many seconds.
func idlePart(idle, ours counters, seconds float64) float64 {
	others := float64(idle.read+idle.written) / pause.Seconds() * seconds
	if others <= slack {
		return 0
	}
	return others / (others + float64(ours.read+ours.written))
}

func (c counters) since(from counters) counters {
	return counters{read: c.read - from.read, written: c.written - from.written, flushes: c.flushes - from.flushes, operations: c.operations - from.operations, busy: c.busy - from.busy}
}

// Below says on what a directory lies: the kind of file system, and the disk, "" where there is no single one of this machine. A directory in
// memory is refused, as Run does.
func Below(dir string) (filesystem, device string, err error) {
	if _, err := checkDirectory(dir); err != nil {
		return "", "", err
	}
	if dir, err = filepath.Abs(dir); err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", "", &farm.Error{Op: "look at", Subject: dir, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return "", "", &farm.Error{Op: "look at", Subject: dir, Err: err}
	}
	m := machine{root: "/"}
	at := m.mountOf(dir, st.Dev)
	device, _ = m.deviceOf(at) // why there is none does not matter here
	return at.fstype, device, nil
}

// counters are those of what is measured.
func (r *runner) counters() counters {
	if r.bed != nil {
		return r.machine.sum(r.bed.Devices)
	}
	c, _ := r.machine.counters(r.device)
	return c
}

// below is what the disk under the ground did.
func (r *runner) below() counters {
	if r.bed == nil {
		return counters{}
	}
	c, _ := r.machine.counters(r.bed.Below)
	return c
}
