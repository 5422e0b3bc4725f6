package matrix

import (
	"slices"
	"strings"
	"time"
)

// Defaults is what no axis says: no options, no queue settings, one device.
const (
	NoOptions = "defaults"
	Single    = "single"
)

// Filesystems and Levels are the words that matrix.yaml may use.
var (
	Filesystems = []string{"xfs", "ext4", "btrfs"}
	Levels      = []string{Single, "raid0", "raid1", "raid10"}
)

// Settings are the queue settings that may be an axis: files of /sys/block/NAME/queue. write_cache is not among them: a device that is told
// to be called write-through gets no flushes, and nobody would see it.
var Settings = []string{"scheduler", "nr_requests", "read_ahead_kb", "nomerges", "rq_affinity", "wbt_lat_usec", "max_sectors_kb", "rotational", "add_random", "io_poll"}

// Matrix is what matrix.yaml asks for.
type Matrix struct {
	// Directory is where everything that is made is made: files, the mount point, the journal.
	Directory string `json:"directory"`
	// Loops are files in it that serve as devices; Devices are real ones, by names that stay. One of the two is given.
	Loops   Loops    `json:"loops,omitzero"`
	Devices []string `json:"devices,omitempty"`

	Profile string        `json:"profile"`         // quick or full
	Steps   []string      `json:"steps,omitempty"` // none: those of the profile
	Runtime time.Duration `json:"runtime_ns"`      // of each run; 0: the profile's
	Rounds  int           `json:"rounds"`          // over all cells: so many runs has each step of a cell
	// Baseline is the cell that the others are compared with; empty: the first.
	Baseline string `json:"baseline,omitempty"`

	Axes    Axes      `json:"axes"`
	Exclude []Pattern `json:"exclude,omitempty"`
	Named   []Cell    `json:"cells,omitempty"` // besides those of the axes
}

// Loops are loop devices over files.
type Loops struct {
	Count int   `json:"count"`
	Size  int64 `json:"size_bytes"` // of each
}

// Axes are what is varied. An axis without values stays at its default.
type Axes struct {
	Filesystem []string `json:"filesystem"`
	Mkfs       Options  `json:"mkfs,omitempty"`
	Mount      Options  `json:"mount,omitempty"`
	Queue      []Queue  `json:"queue,omitempty"`
	RAID       []string `json:"raid,omitempty"`
	Size       []int64  `json:"size_bytes"` // of the data file
}

// Options are lists of options by file system; those of "" are for all that have no list of their own.
type Options map[string][]string

// of are the options for a file system.
func (o Options) of(filesystem string) []string {
	list, own := o[filesystem]
	if !own {
		list = o[""]
	}
	if len(list) == 0 {
		return []string{NoOptions}
	}
	return list
}

// Queue is what is written to files of /sys/block/NAME/queue.
type Queue map[string]string

// String is name=value of all settings, in the order of their names.
func (q Queue) String() string {
	var out []string
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range q {
			if !yield(name) {
				return
			}
		}
	}) {
		out = append(out, name+"="+q[name])
	}
	if len(out) == 0 {
		return NoOptions
	}
	return strings.Join(out, ",")
}

// Count is how many devices there are.
func (m *Matrix) Count() int {
	if len(m.Devices) > 0 {
		return len(m.Devices)
	}
	return m.Loops.Count
}

// Pattern is what an excluded cell has; what is empty is not looked at.
type Pattern struct {
	Filesystem string `json:"filesystem,omitempty"`
	Mkfs       string `json:"mkfs,omitempty"`
	Mount      string `json:"mount,omitempty"`
	Queue      Queue  `json:"queue,omitempty"`
	RAID       string `json:"raid,omitempty"`
	Size       int64  `json:"size_bytes,omitempty"`
}

// isOf says whether a cell has all of it. Queue settings match when the cell has these among others.
func (p Pattern) isOf(c Cell) bool {
	is := func(want, got string) bool { return want == "" || want == got }
	for name, value := range p.Queue {
		if c.Queue[name] != value {
			return false
		}
	}
	return is(p.Filesystem, c.Filesystem) && is(p.Mkfs, c.Mkfs) && is(p.Mount, c.Mount) && is(p.RAID, c.RAID) && (p.Size == 0 || p.Size == c.Size)
}
