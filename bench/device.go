package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"stowage/bench/result"
	"stowage/farm"
)

// machine is where facts about this machine are read; tests give it a tree of their own.
type machine struct{ root string }

func (m machine) read(path string) string {
	raw, err := os.ReadFile(filepath.Join(m.root, path))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

// mount is a line of mountinfo.
type mount struct {
	dev, point, options, fstype, source string
}

// mountOf finds the file system that a directory, given with all links resolved, lies on. It asks for the thread, which may have mounts of its own.
func (m machine) mountOf(dir string, dev uint64) mount {
	var best mount
	want := fmt.Sprintf("%d:%d", unix.Major(dev), unix.Minor(dev))
	for _, x := range m.mounts() {
		within := x.point == "/" || dir == x.point || strings.HasPrefix(dir, x.point+"/")
		// The device decides, then the longest mount point; of two mounts at one point the later covers the earlier.
		better := best.point == "" || (x.dev == want) == (best.dev == want) && len(x.point) >= len(best.point) || x.dev == want && best.dev != want
		if within && better {
			best = x
		}
	}
	return best
}

// mounts are all that can be seen from here.
func (m machine) mounts() (all []mount) {
	for line := range strings.Lines(m.read("/proc/thread-self/mountinfo")) {
		head, tail, ok := strings.Cut(line, " - ")
		h, t := strings.Fields(head), strings.Fields(tail)
		if !ok || len(h) < 6 || len(t) < 3 {
			continue
		}
		all = append(all, mount{dev: h[2], point: unescape(h[4]), options: h[5] + "," + t[2], fstype: t[0], source: unescape(t[1])})
	}
	return all
}

// unescape undoes what mountinfo does to blanks.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// deviceOf is the name of the one block device (the disk, not the partition) below a mount, or why there is none.
func (m machine) deviceOf(at mount) (name, why string) {
	number := at.dev
	if strings.HasPrefix(number, "0:") { // a file system with device numbers of its own
		if at.fstype == "btrfs" {
			if n := m.btrfsDevices(filepath.Base(at.source)); n > 1 {
				return "", fmt.Sprintf("this btrfs is on %s", farm.Counted(n, "device"))
			}
		}
		var st unix.Stat_t
		if !strings.HasPrefix(at.source, "/dev/") || unix.Stat(filepath.Join(m.root, at.source), &st) != nil {
			return "", fmt.Sprintf("%s (%s) is not on a block device of this machine", at.point, at.fstype)
		}
		number = fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev))
	}
	path, err := filepath.EvalSymlinks(filepath.Join(m.root, "/sys/dev/block", number))
	if err != nil {
		return "", fmt.Sprintf("/sys does not know the device %s", number)
	}
	if _, err := os.Stat(filepath.Join(path, "partition")); err == nil {
		path = filepath.Dir(path)
	}
	if m.read("/sys/block/"+filepath.Base(path)+"/stat") == "" {
		return "", fmt.Sprintf("the device %s counts nothing", filepath.Base(path))
	}
	return filepath.Base(path), ""
}

// btrfsDevices is of how many devices the btrfs is made that one of them belongs to.
func (m machine) btrfsDevices(name string) int {
	found, err := filepath.Glob(filepath.Join(m.root, "/sys/fs/btrfs/*/devices", name))
	if err != nil || len(found) == 0 {
		return 1
	}
	all, err := os.ReadDir(filepath.Dir(found[0]))
	if err != nil {
		return 1
	}
	return len(all)
}

// device reads what /sys says about a disk.
func (m machine) device(name string) *result.Device {
	sys := "/sys/block/" + name
	d := &result.Device{Name: name, Queue: map[string]string{}, Model: m.read(sys + "/device/model"), Serial: m.read(sys + "/device/serial"), Thermal: map[string][2]int64{}}
	sectors, _ := strconv.ParseInt(m.read(sys+"/size"), 10, 64) // a device that does not say has none
	d.Size = sectors * 512
	entries, _ := os.ReadDir(filepath.Join(m.root, sys, "queue")) // what is not there is left out
	for _, e := range entries {
		if text := m.read(sys + "/queue/" + e.Name()); text != "" && !strings.Contains(text, "\n") {
			d.Queue[e.Name()] = text
		}
	}
	slaves, _ := os.ReadDir(filepath.Join(m.root, sys, "slaves")) // most devices have none
	for _, s := range slaves {
		d.Parts = append(d.Parts, s.Name())
	}
	d.ByID = m.byID(name)
	return d
}

// byID is a name of the disk that stays after a reboot.
func (m machine) byID(name string) string {
	dir := filepath.Join(m.root, "/dev/disk/by-id")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	var names []string
	for _, e := range entries {
		if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && filepath.Base(to) == name {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// counters is what a disk has done since it was plugged in.
type counters struct {
	read, written, flushes int64 // bytes, bytes, requests
	operations             int64 // reads and writes that were completed
	busy                   int64 // milliseconds
}

// counters reads /sys/block/NAME/stat: sectors of 512 bytes whatever the disk's are; flushes since kernel 5.5.
func (m machine) counters(name string) (counters, bool) {
	f := strings.Fields(m.read("/sys/block/" + name + "/stat"))
	if name == "" || len(f) < 10 {
		return counters{}, false
	}
	at := func(i int) int64 {
		if i >= len(f) {
			return 0
		}
		n, _ := strconv.ParseInt(f[i], 10, 64) // the kernel writes numbers
		return n
	}
	return counters{operations: at(0) + at(4), read: at(2) * 512, written: at(6) * 512, busy: at(9), flushes: at(15)}, true
}

// facts is the machine, the file system and the device below a directory. Why says why there is no device.
func (m machine) facts(dir string, dev uint64, at unix.Statfs_t) (e result.Environment, why string) {
	mnt := m.mountOf(dir, dev)
	e = m.about()
	e.Directory, e.Mount, e.Filesystem, e.MountSource, e.MountOptions = dir, mnt.point, mnt.fstype, mnt.source, mnt.options
	e.Capacity, e.Free = int64(at.Blocks)*at.Bsize, int64(at.Bavail)*at.Bsize
	name, why := m.deviceOf(mnt)
	if name != "" {
		e.Device = m.device(name)
	}
	return e, why
}

// about is the machine itself.
func (m machine) about() result.Environment {
	e := result.Environment{
		Host: m.read("/proc/sys/kernel/hostname"), Kernel: m.read("/proc/sys/kernel/osrelease"), CPUs: strings.Count(m.read("/proc/cpuinfo"), "processor\t:"),
		Memory: m.number("/proc/meminfo", "MemTotal:") * 1024, Load: m.load(),
	}
	for line := range strings.Lines(m.read("/proc/cpuinfo")) {
		switch key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) {
		case "model name":
			e.CPUModel = strings.TrimSpace(value)
		case "flags":
			e.Hypervisor = slices.Contains(strings.Fields(value), "hypervisor")
		}
	}
	// Xen, and what is no x86: /sys says it, or the device tree.
	e.Hypervisor = e.Hypervisor || m.read("/sys/hypervisor/type") != "" || m.read("/proc/device-tree/hypervisor/compatible") != ""
	return e
}

// number is the one behind a word at the beginning of a line.
func (m machine) number(path, word string) int64 {
	for line := range strings.Lines(m.read(path)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == word {
			n, _ := strconv.ParseInt(f[1], 10, 64) // the kernel writes numbers
			return n
		}
	}
	return 0
}

func (m machine) load() float64 {
	f := strings.Fields(m.read("/proc/loadavg"))
	if len(f) == 0 {
		return 0
	}
	n, _ := strconv.ParseFloat(f[0], 64) // the kernel writes numbers
	return n
}
