package testbed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"stowage/farm"
)

// attach makes a loop device of a file of the site and returns its name. I/O goes past the page cache of the file system below.
func (s *Site) attach(name string) (device string, err error) {
	path := filepath.Join(s.dir, name)
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return "", &farm.Error{Op: "open past the page cache", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, cause(err)), Hint: "name a directory on a file system that knows O_DIRECT: xfs, ext4, btrfs"}
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return "", err
	}
	// Somebody else may take the free one first: then the next is tried. Its act in the journal is undone by finding another file behind the device.
	for range 16 {
		n, err := freeLoop()
		if err != nil {
			return "", err
		}
		device = fmt.Sprintf("loop%d", n)
		a := act{Act: "attach", Device: device, Path: name, File: st.Ino, On: st.Dev}
		err = s.do(a, func() error { return configure(device, f) })
		if !errors.Is(err, unix.EBUSY) {
			return device, err
		}
	}
	return "", &farm.Error{Op: "attach", Subject: path, Err: errors.New("others take every free loop device first")}
}

func freeLoop() (int, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, &farm.Error{Op: "use loop devices", Err: fmt.Errorf("%w: this machine has none (%w)", farm.ErrInput, cause(err)), Hint: "modprobe loop; in a container: let it have /dev/loop-control and /dev/loop*"}
	}
	defer control.Close()
	n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
	if err != nil {
		return 0, &farm.Error{Op: "find a free loop device", Err: err}
	}
	return n, nil
}

func configure(device string, f *os.File) error {
	d, err := os.OpenFile("/dev/"+device, os.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return &farm.Error{Op: "attach", Subject: device, Err: fmt.Errorf("%w: %w", farm.ErrInput, cause(err)), Hint: "in a container: let it have more of /dev/loop*"}
	}
	defer d.Close()
	c := unix.LoopConfig{Fd: uint32(f.Fd())}
	c.Info.Flags = unix.LO_FLAGS_DIRECT_IO
	copy(c.Info.File_name[:], f.Name())
	if err := unix.IoctlLoopConfigure(int(d.Fd()), &c); err != nil {
		return fmt.Errorf("attach %s: %w", device, err)
	}
	return nil
}

// behind says which file is behind a loop device; ok is false where there is none.
func behind(device string) (info *unix.LoopInfo64, ok bool, err error) {
	d, err := os.OpenFile("/dev/"+device, os.O_RDONLY|unix.O_CLOEXEC, 0)
	if isMissing(err) || errors.Is(err, unix.ENXIO) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer d.Close()
	info, err = unix.IoctlLoopGetStatus64(int(d.Fd()))
	if errors.Is(err, unix.ENXIO) {
		return nil, false, nil
	}
	return info, err == nil, err
}

// detach takes the file from behind a loop device.
func detach(device string) error {
	d, err := os.OpenFile("/dev/"+device, os.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := unix.IoctlSetInt(int(d.Fd()), unix.LOOP_CLR_FD, 0); err != nil && !errors.Is(err, unix.ENXIO) {
		return err
	}
	return nil
}
