package matrix

import (
	"fmt"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/internal/lazy"
)

// mostCells keeps a slip from filling months.
const mostCells = 1000

// Check says what is wrong with a matrix, each with the path of the key.
func (m *Matrix) Check() []farm.Problem {
	var out []farm.Problem
	add := func(path, format string, args ...any) {
		out = append(out, farm.Problem{Path: path, Text: fmt.Sprintf(format, args...)})
	}
	m.checkPlace(add)
	m.checkAxes(add)
	for i, c := range m.Named {
		path := fmt.Sprintf("cells[%d]", i)
		m.checkCell(path, c, add)
		if c.Name == "" || strings.ContainsAny(c.Name, "#\n\t") || strings.HasSuffix(c.Name, twinMark) {
			add(path, "a cell of its own needs a name, without # and not ending in%s", twinMark)
		}
	}
	if len(out) == 0 {
		m.checkCells(add)
	}
	return out
}

type adder func(path, format string, args ...any)

func (m *Matrix) checkPlace(add adder) {
	switch {
	case m.Directory == "":
		add("directory", "the directory in which files, mounts and the journal are made is not said: directory is missing")
	case m.Loops.Count == 0 && len(m.Devices) == 0:
		add("loops", "what is measured is not said: loops (count, size) are files in the directory, devices are real ones")
	case m.Loops.Count > 0 && len(m.Devices) > 0:
		add("devices", "loops and devices are two ways to say what is measured: leave one out")
	}
	for i, d := range m.Devices {
		if slices.Contains(m.Devices[:i], d) {
			add(fmt.Sprintf("devices[%d]", i), "device %s is there twice", d)
		}
	}
}

func (m *Matrix) checkAxes(add adder) {
	a := m.Axes
	if len(a.Filesystem) == 0 && len(m.Named) == 0 {
		add("axes", "no axis filesystem and no cells: nothing is to be measured")
	}
	if len(a.Size) == 0 && len(a.Filesystem) > 0 {
		add("axes", "the size of the test file is not said: axis size is missing")
	}
	for i, fs := range a.Filesystem {
		checkWord(fmt.Sprintf("axes.filesystem[%d]", i), "file system", fs, Filesystems, add)
		if slices.Contains(a.Filesystem[:i], fs) {
			add(fmt.Sprintf("axes.filesystem[%d]", i), "%s is there twice", fs)
		}
	}
	for i, level := range a.RAID {
		m.checkLevel(fmt.Sprintf("axes.raid[%d]", i), level, add)
	}
	for i, q := range a.Queue {
		checkQueue(fmt.Sprintf("axes.queue[%d]", i), q, add)
	}
	for i, size := range a.Size {
		m.checkSize(fmt.Sprintf("axes.size[%d]", i), size, "", add) // whether it fits is a question of the cell
	}
	for axis, options := range map[string]Options{"mkfs": a.Mkfs, "mount": a.Mount} {
		for fs, list := range options {
			path := "axes." + axis
			if fs != "" {
				path += "." + fs
				checkWord(path, "file system", fs, Filesystems, add)
			}
			for i, text := range list {
				checkOptions(fmt.Sprintf("%s[%d]", path, i), axis, text, add)
				if slices.Contains(list[:i], text) {
					add(fmt.Sprintf("%s[%d]", path, i), "%s is there twice", text)
				}
			}
		}
	}
}

// checkCell looks at a cell that was written out.
func (m *Matrix) checkCell(path string, c Cell, add adder) {
	checkWord(path+".filesystem", "file system", c.Filesystem, Filesystems, add)
	checkOptions(path+".mkfs", "mkfs", c.Mkfs, add)
	checkOptions(path+".mount", "mount", c.Mount, add)
	checkQueue(path+".queue", c.Queue, add)
	m.checkLevel(path+".raid", c.RAID, add)
	m.checkSize(path+".size", c.Size, c.RAID, add)
}

// checkCells looks at what the axes come to.
func (m *Matrix) checkCells(add adder) {
	cells, product := m.own(), m.product()
	switch {
	case len(cells) == 0:
		add("exclude", "every cell is excluded")
		return
	case len(cells) > mostCells:
		add("axes", "%d cells are more than %d", len(cells), mostCells)
		return
	}
	for i, p := range m.Exclude {
		if !slices.ContainsFunc(product, p.isOf) {
			add(fmt.Sprintf("exclude[%d]", i), "this excludes no cell: no cell of the axes has all of it")
		}
	}
	for i, c := range cells {
		path := "axes"
		if from := len(cells) - len(m.Named); i >= from {
			path = fmt.Sprintf("cells[%d]", i-from)
		}
		for _, d := range cells[:i] {
			if c.Name == d.Name {
				add(path, "two cells are called %q", c.Name)
			}
			if c.sameAs(d) {
				add(path, "%q and %q are the same; what a cell differs from itself by is measured anyway", c.Name, d.Name)
			}
		}
		m.checkSize("axes", c.Size, c.RAID, add)
	}
	if m.Baseline != "" && !slices.ContainsFunc(cells, func(c Cell) bool { return c.Name == m.Baseline }) {
		add("baseline", "no cell is called %q; the first is %q (bench matrix --dry-run prints all)", m.Baseline, cells[0].Name)
	}
}

// needs is how many devices a level wants.
var needs = map[string]int{Single: 1, "raid0": 2, "raid1": 2, "raid10": 4}

func (m *Matrix) checkLevel(path, level string, add adder) {
	if !checkWord(path, "RAID level", level, Levels, add) {
		return
	}
	if n := m.Count(); n > 0 && n < needs[level] {
		add(path, "%s needs %s, and there are %d", level, farm.Counted(needs[level], "device"), n)
	}
	if level == "raid10" && m.Count()%2 == 1 {
		add(path, "raid10 needs an even number of devices, and there are %d", m.Count())
	}
}

// UsedBy is how many of n devices a level uses: RAID 1 is a pair here, because two copies are what btrfs and a pair of disks keep.
func UsedBy(level string, n int) int {
	switch level {
	case Single:
		return 1
	case "raid1":
		return 2
	}
	return n
}

// capacity is about what a level of loops holds.
func (m *Matrix) capacity(level string) int64 {
	n := int64(UsedBy(level, m.Loops.Count))
	switch level {
	case "raid1", "raid10":
		return n / 2 * m.Loops.Size
	}
	return n * m.Loops.Size
}

// Least sizes: of a loop, that mkfs.xfs takes; of a data file, that bench takes.
const (
	LeastLoop = 320 << 20
	LeastFile = 16 << 20
)

// checkSize: file and log and a tenth must fit.
func (m *Matrix) checkSize(path string, size int64, level string, add adder) {
	if size < LeastFile {
		add(path, "a test file of %s is too small: 16MiB is the least", amount(size))
		return
	}
	if most := m.capacity(level) * 3 / 4; m.Loops.Size > 0 && len(m.Devices) == 0 && size > most && slices.Contains(Levels, level) {
		add(path, "a test file of %s does not fit into %s of loops: with its log it may have three quarters", amount(size), amount(m.capacity(level)))
	}
}

func checkWord(path, what, word string, known []string, add adder) bool {
	if slices.Contains(known, word) {
		return true
	}
	add(path, "no %s %q is known here: it is %s", what, word, strings.Join(known, ", "))
	return false
}

var setting = lazy.Regexp(`^[a-z0-9_-]{1,32}$`)

func checkQueue(path string, q Queue, add adder) {
	for name, value := range q {
		if !slices.Contains(Settings, name) {
			add(path, "no queue setting %q is known here: it is %s", name, strings.Join(Settings, ", "))
		} else if !setting().MatchString(value) {
			add(path, "%s wants a word or a number, not %q", name, value)
		}
	}
}

// optionText is what options may be made of. A path in them would name something that is not ours: another device for the journal, a file.
var optionText = lazy.Regexp(`^[A-Za-z0-9_.,:=^ +-]*$`)

func checkOptions(path, axis, text string, add adder) {
	switch {
	case !optionText().MatchString(text):
		add(path, "%s options may hold letters, digits and . , : = ^ + - _, and no path, not %q", axis, text)
	case axis == "mkfs" && namesIdentity(text):
		add(path, "mkfs options may not set a UUID or a label: Stowage recognises its own file systems by them before it removes one")
	case axis == "mkfs" && slices.Contains(strings.Fields(text), "--"):
		add(path, "mkfs options hold a -- that ends them")
	}
}

func namesIdentity(text string) bool {
	for _, word := range strings.Fields(text) {
		if strings.HasPrefix(word, "-U") || strings.HasPrefix(word, "-L") || strings.Contains(word, "uuid=") || word == "--uuid" || word == "--label" {
			return true
		}
	}
	return false
}
