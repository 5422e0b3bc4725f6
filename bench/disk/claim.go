package disk

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Claim is a device that is ours alone until Close: the kernel lets nobody mount it or make it part of an array meanwhile.
type Claim struct {
	Disk
	// Found is what was on it; "" for nothing that is known.
	Found string
	file  *os.File
}

// Take looks at a device once more, opens it exclusively, and looks at what is on it. Anything known there is refused unless mayOverwrite says
// otherwise of it.
func (m Machine) Take(d Disk, mayOverwrite func(found string, on *os.File) bool) (*Claim, error) {
	now, err := m.Look(d.Given)
	if err != nil {
		return nil, err
	}
	if now != d {
		return nil, refuse(d.Given, "begin anew", "it is another device than before (%s of %d bytes, now %s of %d)", d.Name, d.Size, now.Name, now.Size)
	}
	if err := m.Check(d); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(d.Path(), os.O_RDWR|unix.O_EXCL|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.EBUSY):
		return nil, refuse(d.Given, "lsblk, and fuser -v "+d.Path()+", show who has it", "it is in use: the kernel does not give it to us alone")
	case err != nil:
		return nil, refuse(d.Given, "devices are written to by root", "it cannot be opened: %v", err)
	}
	c := &Claim{Disk: d, file: f}
	if err := c.check(mayOverwrite); err != nil {
		_ = f.Close() // the error above is the one that matters
		return nil, err
	}
	return c, nil
}

// Path is the device's node of this boot.
func (d Disk) Path() string { return "/dev/" + d.Name }

func (c *Claim) check(mayOverwrite func(string, *os.File) bool) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(c.file.Fd()), &st); err != nil {
		return refuse(c.Given, "", "it cannot be looked at: %v", err)
	}
	if got := fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev)); st.Mode&unix.S_IFMT != unix.S_IFBLK || got != c.Number {
		return refuse(c.Given, "look at /dev", "%s is not a block device %s", c.Path(), c.Number)
	}
	found, err := Signature(c.file, c.Size)
	if err != nil {
		return refuse(c.Given, "a disk that cannot be read is not measured", "%v", err)
	}
	if c.Found = found; found != "" && !mayOverwrite(found, c.file) {
		return refuse(c.Given, "if it may go, say --overwrite as well", "there is %s on it", found)
	}
	return nil
}

// Close lets others have it.
func (c *Claim) Close() error { return c.file.Close() }
