package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"stowage/farm"
	"stowage/inventory/shardload"
)

// ticksPerSecond is the unit of times in /proc: 100 on all Linux that Go runs on (USER_HZ is part of the kernel's interface).
const ticksPerSecond = 100

// sectorBytes is the unit of /sys/block/DISK/stat, whatever the disk's own sectors are (Documentation/block/stat.rst).
const sectorBytes = 512

// Usage reads what the kernel has counted for a running instance: its process, its threads, the disk below its data
// directory, and the machine.
func (l *Local) Usage(ctx context.Context, i Instance) (shardload.Process, error) {
	pid, err := l.Running(ctx, i)
	if err == nil && pid == 0 {
		err = fmt.Errorf("%w: it does not run here", farm.ErrInput)
	}
	if err != nil {
		return shardload.Process{}, &farm.Error{Op: "read counters", Subject: string(i.Name), Err: err}
	}
	p := shardload.Process{At: time.Now(), PID: pid, Disk: diskBelow(i.Datadir)}
	if p.CPU, p.Started, err = processTimes(fmt.Sprintf("/proc/%d/stat", pid)); err != nil {
		return p, &farm.Error{Op: "read counters", Subject: string(i.Name), Err: err}
	}
	if p.Threads, err = ThreadTimes(pid); err != nil {
		return p, &farm.Error{Op: "read counters", Subject: string(i.Name), Err: err}
	}
	p.ReadBytes, p.WriteBytes, p.HasIO = processIO(pid)
	p.Resident = resident(pid)
	p.Machine = machine()
	return p, nil
}

// Threads are the CPU seconds of each thread of a running instance.
func (l *Local) Threads(ctx context.Context, i Instance) (map[int]float64, error) {
	pid, err := l.Running(ctx, i)
	if err != nil || pid == 0 {
		return nil, err
	}
	return ThreadTimes(pid)
}

// ThreadTimes are the CPU seconds of each thread of a process.
func ThreadTimes(pid int) (map[int]float64, error) {
	dir := fmt.Sprintf("/proc/%d/task", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	out := make(map[int]float64, len(entries))
	for _, e := range entries {
		tid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, e.Name(), "schedstat"))
		if err != nil {
			continue // it has just ended
		}
		first, _, _ := strings.Cut(string(raw), " ")
		if ns, err := strconv.ParseInt(first, 10, 64); err == nil {
			out[tid] = float64(ns) / 1e9
		}
	}
	if len(out) == 0 && len(entries) > 0 {
		return nil, errors.New("this kernel has no schedstat of threads")
	}
	return out, nil
}

// processTimes are utime and stime of all threads, also of those that have ended, and when the process was started.
func processTimes(file string) (cpu float64, started uint64, err error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return 0, 0, err
	}
	_, rest, ok := strings.Cut(string(raw), ") ") // the name in brackets may hold blanks
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return 0, 0, fmt.Errorf("%s: unknown form", file)
	}
	user, err1 := strconv.ParseUint(fields[11], 10, 64)
	system, err2 := strconv.ParseUint(fields[12], 10, 64)
	started, err3 := strconv.ParseUint(fields[19], 10, 64)
	return float64(user+system) / ticksPerSecond, started, errors.Join(err1, err2, err3)
}

// processIO is what reached disks; only its own account and root may read it.
func processIO(pid int) (read, written uint64, ok bool) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0, 0, false
	}
	defer f.Close()
	values := map[string]uint64{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		values[name], _ = strconv.ParseUint(value, 10, 64)
	}
	read, okRead := values["read_bytes"]
	written, okWritten := values["write_bytes"]
	return read, written - min(written, values["cancelled_write_bytes"]), okRead && okWritten
}

// resident is the memory of a process, in bytes; 0: not known.
func resident(pid int) uint64 {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	f := strings.Fields(string(raw))
	if len(f) < 2 {
		return 0
	}
	pages, _ := strconv.ParseUint(f[1], 10, 64)
	return pages * uint64(os.Getpagesize())
}

// machine reads the counters of all processors, and the memory, of this machine. Guests' time is within user's.
func machine() (m shardload.Machine) {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	m.ID = strings.TrimSpace(string(id))
	raw, _ := os.ReadFile("/proc/stat")
	for line := range strings.Lines(string(raw)) {
		f := strings.Fields(line)
		switch {
		case len(f) < 9 || !strings.HasPrefix(f[0], "cpu"):
			continue
		case f[0] != "cpu":
			m.Processors++
			continue
		}
		for n, field := range f[1:9] { // user nice system idle iowait irq softirq steal
			v, _ := strconv.ParseUint(field, 10, 64)
			switch n {
			case 3: // idle
			case 4:
				m.Wait = float64(v) / ticksPerSecond
			default:
				m.Busy += float64(v) / ticksPerSecond
			}
		}
	}
	raw, _ = os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(raw)) {
		name, rest, _ := strings.Cut(line, ":")
		kib, _ := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		switch name {
		case "MemTotal":
			m.Memory = kib << 10
		case "MemAvailable":
			m.Spare = kib << 10
		}
	}
	return m
}

// diskBelow is the block device that a directory's file system is on; without a name where it is on none.
func diskBelow(dir string) shardload.Disk {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return shardload.Disk{}
	}
	link := fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev))
	raw, err := os.ReadFile(link + "/stat")
	if err != nil {
		return shardload.Disk{}
	}
	target, err := os.Readlink(link)
	if err != nil {
		return shardload.Disk{}
	}
	f := strings.Fields(string(raw))
	if len(f) < 7 {
		return shardload.Disk{}
	}
	n := func(i int) uint64 {
		v, _ := strconv.ParseUint(f[i], 10, 64)
		return v
	}
	return shardload.Disk{Name: filepath.Base(target), Reads: n(0), ReadBytes: n(2) * sectorBytes, Writes: n(4), WriteBytes: n(6) * sectorBytes}
}
