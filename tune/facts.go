package tune

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Facts are what is known about one machine. Whatever was not read has its
// zero value; rules take that for "not known", never for an answer.
type Facts struct {
	Host      string
	Kernel    Version
	Vendor    string            // of the machine, as its firmware says: "Dell Inc.", "Amazon EC2"
	Product   string            // "PowerEdge R630"
	Memory    int64             // bytes
	Sys       map[string]string // /proc/sys: "vm.swappiness" -> "60"
	Swaps     []string          // devices and files
	HugePages string            // transparent_hugepage/enabled: always, madvise or never
	Nodes     []Node            // NUMA
	Governors []Governor
	Clock     string   // current_clocksource
	CPU       *CPUTime // nil: not known
	Watch     *Watch   // nil: nobody watched

	Disks       []Disk
	Mounts      []Mount
	Fstab       []FstabLine
	Filesystems []Filesystem // geometry, as xfs_info and dumpe2fs tell it
	Arrays      []Array      // Linux software RAID
	Controllers []Controller // RAID controllers
	Unanswered  string       // why RAID controllers that are there, or may be, did not answer; "" when all did
	Lines       []Line       // of rules, scripts and boot parameters that set what rules here are about
	Systemd     bool         // units were readable
	TrimTimer   bool         // fstrim.timer is enabled

	Instances []Instance
	Measured  map[string]Measured // disk -> what a benchmark found on it
	Unread    []Unread
}

// Node is one NUMA node.
type Node struct {
	ID     int
	Memory int64 // bytes
}

// Governor is how some of the processors choose their clock.
type Governor struct {
	Driver, Name string
	Policies     []string // which: "policy0"
	Offered      []string // others that these could have
}

// Mount is one line of /proc/mounts.
type Mount struct {
	Device, Dir, Type string
	Options           []string
}

// FstabLine is one line of /etc/fstab.
type FstabLine struct {
	Number int
	Mount
}

// Line is one line of a text file: a udev rule, a boot parameter.
type Line struct {
	File   string
	Number int
	Text   string
}

func (l Line) at() string { return fmt.Sprintf("%s:%d", l.File, l.Number) }

// Filesystem is the geometry of one filesystem; all sizes in bytes.
type Filesystem struct {
	Dir, Device, Type string
	Block             int64
	Size              int64
	Groups            int   // XFS allocation groups
	Stripe            int64 // per disk: XFS sunit, ext4 stride
	Width             int64 // whole stripe: XFS swidth, ext4 stripe width
}

// Array is one md device.
type Array struct {
	Name     string // "md0"
	Level    string // "raid10"
	Chunk    int64  // bytes
	Disks    int
	Degraded int    // missing members; -1: not known
	Action   string // sync_action: "idle", "resync", "check"; "" when it is not known
}

// Measured is what a storage benchmark found, by step: "LOG4K-FDS-Q1T1".
type Measured map[string]Step

// Step is one step of a benchmark.
type Step struct {
	IOPS float64 `json:"iops"`
	MBps float64 `json:"mbps"`
	Lat  struct {
		P50 float64 `json:"p50"`
		P99 float64 `json:"p99"`
	} `json:"lat_us"`
}

// step is the first measured step whose id begins so.
func (m Measured) step(prefix string) (string, Step, bool) {
	best := ""
	for id := range m {
		if strings.HasPrefix(id, prefix) && (best == "" || id < best) {
			best = id
		}
	}
	return best, m[best], best != ""
}

// Measure adds what was found on a disk. What was found on an array or a volume
// holds for the disks below it, too: none of them is slower.
func (f *Facts) Measure(disk string, m Measured) {
	if f.Measured == nil {
		f.Measured = map[string]Measured{}
	}
	f.Measured[disk] = m
	for _, d := range f.below(disk) {
		if f.Measured[d.Name] == nil {
			f.Measured[d.Name] = m
		}
	}
}

// Version is a version of a kernel or a server.
type Version struct {
	Text                string // "10.11.14-MariaDB-0+deb12u2"
	Major, Minor, Patch int
}

// ParseVersion reads the numbers a version begins with; what is missing is 0.
func ParseVersion(text string) Version {
	v := Version{Text: strings.TrimSpace(text)}
	rest := v.Text
	for _, n := range []*int{&v.Major, &v.Minor, &v.Patch} {
		end := 0
		for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
			end++
		}
		if *n, _ = strconv.Atoi(rest[:end]); end == len(rest) || rest[end] != '.' { // too many digits: 0, as unknown
			return v
		}
		rest = rest[end+1:]
	}
	return v
}

// Known reports whether the version could be read.
func (v Version) Known() bool { return v.Major > 0 }

// AtLeast compares; an unknown version is older than all.
func (v Version) AtLeast(major, minor, patch int) bool {
	for _, d := range []int{v.Major - major, v.Minor - minor, v.Patch - patch} {
		if d != 0 {
			return d > 0
		}
	}
	return true
}

// has reports whether the mount has one of these options, and which.
func (m Mount) has(options ...string) (string, bool) {
	for _, o := range m.Options {
		for _, want := range options {
			if o == want || strings.HasPrefix(o, want+"=") && !strings.Contains(want, "=") {
				return o, true
			}
		}
	}
	return "", false
}

// kept is what is mounted from a disk: neither kernel trees nor memory. What
// is mounted twice, as bind mounts are, counts once.
func (f *Facts) kept() []Mount {
	var out []Mount
	for _, m := range f.Mounts {
		twice := slices.ContainsFunc(out, func(o Mount) bool { return o.Device == m.Device })
		switch m.Type {
		case "ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs":
			if !twice {
				out = append(out, m)
			}
		}
	}
	return out
}

// mountOf is the mount that holds a path: the longest directory, the last of
// those mounted there.
func (f *Facts) mountOf(path string) (Mount, bool) {
	best, ok := Mount{}, false
	for _, m := range f.Mounts {
		dir := strings.TrimSuffix(m.Dir, "/")
		if (path == dir || strings.HasPrefix(path, dir+"/")) && len(m.Dir) >= len(best.Dir) {
			best, ok = m, true
		}
	}
	return best, ok
}

// bytes is a size for people.
func bytes(n int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= u.size {
			return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/float64(u.size)), ".0") + " " + u.name
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
