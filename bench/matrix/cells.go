package matrix

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Cell is one way to set the storage up.
type Cell struct {
	Name       string `json:"name"`
	Filesystem string `json:"filesystem"`
	Mkfs       string `json:"mkfs"`  // options, or "defaults"
	Mount      string `json:"mount"` // options, or "defaults"
	Queue      Queue  `json:"queue,omitempty"`
	RAID       string `json:"raid"`
	Size       int64  `json:"size_bytes"` // of the data file
	// Twin: it is the first cell once more, to see what a cell differs from itself by.
	Twin bool `json:"twin,omitempty"`
}

// twinMark ends the name of the twin.
const twinMark = " (A/A)"

// sameAs says whether two cells are set up alike, whatever their names.
func (c Cell) sameAs(d Cell) bool {
	return c.Filesystem == d.Filesystem && c.Mkfs == d.Mkfs && c.Mount == d.Mount && c.Queue.String() == d.Queue.String() && c.RAID == d.RAID && c.Size == d.Size
}

// Cells are what is measured: the product of the axes without what is excluded, then the named ones; behind the first its twin.
func (m *Matrix) Cells() []Cell {
	own := m.own()
	if len(own) == 0 {
		return nil
	}
	twin := own[0]
	twin.Name += twinMark
	twin.Twin = true
	return append([]Cell{own[0], twin}, own[1:]...)
}

// own are the cells without the twin.
func (m *Matrix) own() []Cell {
	var out []Cell
	for _, c := range m.product() {
		if !m.excludes(c) {
			out = append(out, c)
		}
	}
	return append(out, m.Named...)
}

func (m *Matrix) excludes(c Cell) bool {
	for _, p := range m.Exclude {
		if p.isOf(c) {
			return true
		}
	}
	return false
}

// product is every combination of the axes.
func (m *Matrix) product() []Cell {
	a := m.Axes
	levels, queues := a.RAID, a.Queue
	if len(levels) == 0 {
		levels = []string{Single}
	}
	if len(queues) == 0 {
		queues = []Queue{nil}
	}
	var out []Cell
	for _, fs := range a.Filesystem {
		for _, level := range levels {
			for _, mkfs := range a.Mkfs.of(fs) {
				for _, mount := range a.Mount.of(fs) {
					for _, queue := range queues {
						for _, size := range a.Size {
							c := Cell{Filesystem: fs, Mkfs: mkfs, Mount: mount, Queue: queue, RAID: level, Size: size}
							c.Name = m.nameOf(c)
							out = append(out, c)
						}
					}
				}
			}
		}
	}
	return out
}

// nameOf says of a cell what others of its file system have otherwise: "ext4 noatime,nobarrier raid1".
func (m *Matrix) nameOf(c Cell) string {
	a := m.Axes
	words := []string{c.Filesystem}
	for _, x := range []struct {
		values int
		prefix string
		text   string
	}{
		{len(a.RAID), "", c.RAID}, {len(a.Mkfs.of(c.Filesystem)), "mkfs ", c.Mkfs}, {len(a.Mount.of(c.Filesystem)), "", c.Mount},
		{len(a.Queue), "queue ", c.Queue.String()}, {len(a.Size), "", amount(c.Size)},
	} {
		switch {
		case x.values < 2:
		case x.prefix == "queue " && x.text != NoOptions:
			words = append(words, x.text)
		case x.prefix == "" && x.text != NoOptions:
			words = append(words, x.text)
		default:
			words = append(words, x.prefix+x.text)
		}
	}
	return strings.Join(words, " ")
}

// amount is a size in the largest binary unit that keeps it whole.
func amount(n int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= u.size && n%u.size == 0 {
			return fmt.Sprintf("%d%s", n/u.size, u.name)
		}
	}
	return fmt.Sprintf("%dB", n)
}

// baseline is the place of the cell that the others are compared with.
func (m *Matrix) baseline(cells []Cell) int {
	for i, c := range cells {
		if c.Name == m.Baseline {
			return i
		}
	}
	return 0
}

// Order is in which order a round visits n cells: random, and the same for the same seed. Drift within a round meets all cells alike that way.
func Order(seed uint64, round, n int) []int {
	return rand.New(rand.NewPCG(seed, uint64(round)<<32)).Perm(n)
}
