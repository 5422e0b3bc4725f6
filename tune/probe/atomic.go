package probe

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"stowage/tune"
)

// writeAtomic is STATX_WRITE_ATOMIC, of the mask and of the attributes (Linux 6.11).
const (
	writeAtomicMask      = 0x10000
	writeAtomicAttribute = 0x00400000
)

// atomic asks the kernel how large a write of a table's file may be that is never torn. Only files of
// data have an answer, directories do not; so one that every InnoDB has is asked about. A kernel
// that does not know the question leaves it out of its answer.
func (p *prober) atomic() {
	for i := range p.facts.Instances {
		x := &p.facts.Instances[i]
		name := "/commands/statx-" + fileWord(x.Datadir) + ".txt"
		if p.ask != nil {
			text, err := p.statx(path.Join(x.Datadir, "ibdata1"))
			if errors.Is(err, fs.ErrNotExist) {
				continue // no server has run there
			}
			if err != nil {
				p.unread("statx "+path.Join(x.Datadir, "ibdata1"), err.Error())
				continue
			}
			p.keep(name, text)
			x.Atomic = parseStatx(text)
			continue
		}
		if text, ok := p.read(name); ok {
			x.Atomic = parseStatx(text)
		}
	}
}

// statx is the kernel's answer, in lines of our own.
func (p *prober) statx(file string) (string, error) {
	real, err := p.resolve(file)
	if err != nil {
		return "", err
	}
	var st unix.Statx_t
	switch err := unix.Statx(unix.AT_FDCWD, real, 0, writeAtomicMask, &st); {
	case errors.Is(err, unix.ENOSYS):
		return "mask 0x0\n", nil
	case err != nil:
		return "", err
	}
	return fmt.Sprintf("mask 0x%x\nattributes 0x%x\natomic_write_unit_min %d\natomic_write_unit_max %d\n", st.Mask, st.Attributes, st.Atomic_write_unit_min, st.Atomic_write_unit_max), nil
}

// parseStatx reads those lines; nil when the kernel, or this filesystem, does not
// know the question. One that knows it and promises nothing answers with zeros.
func parseStatx(text string) *tune.AtomicWrites {
	values := map[string]int64{}
	for _, l := range strings.Split(text, "\n") {
		if words := strings.Fields(l); len(words) == 2 {
			if n, err := strconv.ParseInt(words[1], 0, 64); err == nil && n >= 0 {
				values[words[0]] = n
			}
		}
	}
	if values["mask"]&writeAtomicMask == 0 {
		return nil
	}
	out := tune.AtomicWrites{Min: values["atomic_write_unit_min"], Max: values["atomic_write_unit_max"]}
	if values["attributes"]&writeAtomicAttribute == 0 {
		out = tune.AtomicWrites{}
	}
	return &out
}
