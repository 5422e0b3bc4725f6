package testbed

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"stowage/bench/disk"
	"stowage/farm"
)

// undoTo undoes the acts behind the first n, last first. Each goes from the journal when it is undone; at an error the rest stays for the next time,
// for it may rest on what could not be undone.
func (s *Site) undoTo(n int) error {
	for len(s.journal.acts) > n {
		a := s.journal.acts[len(s.journal.acts)-1]
		if err := s.border("testbed undo " + a.Act); err != nil {
			return err
		}
		if err := s.undo(a); err != nil {
			return &farm.Error{Op: "undo " + a.Act + " of", Subject: filepath.Dir(s.dir), Err: err, Hint: "see to it, then: stowage bench clean " + filepath.Dir(s.dir)}
		}
		if err := s.journal.forget(); err != nil {
			return &farm.Error{Op: "write journal", Subject: s.dir, Err: err}
		}
	}
	return nil
}

func (s *Site) undo(a act) error {
	isSameBoot := s.journal.boot == bootID()
	switch a.Act {
	case "file":
		return s.removeFile(a)
	case "format":
		return s.wipe(a)
	case "array":
		return s.undoArray(a)
	}
	if !isSameBoot {
		return nil // loop devices, mounts and queue settings do not outlive a boot
	}
	switch a.Act {
	case "attach":
		return s.undoAttach(a)
	case "queue":
		return s.undoQueue(a)
	case "mount":
		return s.undoMount(a)
	}
	return fmt.Errorf("%w: the journal has an act %q, which this program does not know", farm.ErrRefused, a.Act)
}

func (s *Site) removeFile(a act) error {
	if !strings.HasPrefix(a.Path, loopPrefix) || filepath.Base(a.Path) != a.Path {
		return fmt.Errorf("%w: %q is not a file of ours", farm.ErrRefused, a.Path)
	}
	if err := os.Remove(filepath.Join(s.dir, a.Path)); err != nil && !isMissing(err) {
		return cause(err)
	}
	s.options.Tell("removed " + a.Path)
	return nil
}

// undoAttach takes our file from behind a loop device; a device that has another file by now, or none, is not ours any more.
func (s *Site) undoAttach(a act) error {
	info, ok, err := behind(a.Device)
	if err != nil || !ok {
		return err
	}
	if info.Inode != a.File || info.Device != a.On {
		return nil
	}
	if err := detach(a.Device); err != nil {
		return fmt.Errorf("detach %s: %w", a.Device, err)
	}
	// The kernel detaches when the last who has it open lets go: look, and do not promise what is not so yet.
	err = whileBusy(func() error {
		if info, ok, err := behind(a.Device); err != nil || ok && info.Inode == a.File && info.Device == a.On {
			return unix.EBUSY
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s is still attached: a process has it open (fuser -v /dev/%s)", a.Device, a.Device)
	}
	s.options.Tell("detached " + a.Device)
	return nil
}

// undoQueue puts settings back; a disk may have another name by now.
func (s *Site) undoQueue(a act) error {
	device := a.Device
	if a.Given != "" {
		d, err := s.machine.Look(a.Given)
		if err != nil {
			return nil // it is not here any more, and its settings with it
		}
		device = d.Name
	}
	isOurs := false
	if strings.HasPrefix(device, "loop") {
		for _, x := range s.journal.acts {
			isOurs = isOurs || x.Act == "attach" && x.Device == device
		}
	}
	said, err := restoreQueue(device, a, isOurs)
	for _, text := range said {
		s.options.Tell(text)
	}
	return err
}

// undoMount unmounts what is at our place, if it is ours.
func (s *Site) undoMount(a act) error {
	for _, source := range mountedAt(s.mount()) {
		if !slices.Contains(a.Members, strings.TrimPrefix(source, "/dev/")) {
			return fmt.Errorf("%w: %s is mounted on %s, and is not ours", farm.ErrRefused, source, s.mount())
		}
	}
	for len(mountedAt(s.mount())) > 0 {
		if err := whileBusy(func() error { return unix.Unmount(s.mount(), unix.UMOUNT_NOFOLLOW) }); err != nil {
			return fmt.Errorf("unmount %s: %w", s.mount(), err)
		}
		s.options.Tell("unmounted " + s.mount())
	}
	if a.Path == "btrfs" {
		forgetBtrfs(a.Members)
	}
	return nil
}

// wipe takes our file system from disks; from loop devices it goes with its file. Another than ours stays.
func (s *Site) wipe(a act) error {
	for _, member := range a.Members {
		if !strings.HasPrefix(member, "/dev/") {
			if !s.isArray(member) && !s.isBorrowed(member) {
				continue
			}
			member = "/dev/" + member
		}
		if err := s.wipeOne(member, a); err != nil {
			return err
		}
	}
	return nil
}

// isBorrowed says whether a loop device is one that a person gave us, rather than one of our making.
func (s *Site) isBorrowed(device string) bool {
	if !strings.HasPrefix(device, "loop") {
		return false
	}
	return !slices.ContainsFunc(s.journal.acts, func(x act) bool { return x.Act == "attach" && x.Device == device })
}

// isArray: an array of ours, over disks, has the file system on it.
func (s *Site) isArray(device string) bool {
	return slices.ContainsFunc(s.journal.acts, func(x act) bool { return x.Act == "array" && x.Device == device })
}

func (s *Site) wipeOne(path string, a act) error {
	if strings.HasPrefix(path, "/dev/disk/") || strings.HasPrefix(path, "/dev/loop") {
		d, err := s.machine.Look(path)
		if err != nil {
			s.options.Tell(fmt.Sprintf("%s is not here any more: the %s with UUID %s may still be on it", path, a.Path, a.UUID))
			return nil
		}
		path = d.Path()
	}
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_EXCL|unix.O_CLOEXEC, 0)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", path, cause(err))
	}
	defer f.Close()
	if disk.UUID(f, a.Path) != a.UUID {
		return nil // it was not made yet, is gone already, or somebody else has made another
	}
	if err := disk.Wipe(f, a.Path, a.UUID); err != nil {
		return fmt.Errorf("wipe %s: %w", path, err)
	}
	s.options.Tell(fmt.Sprintf("took the %s from %s", a.Path, path))
	return nil
}

// undoArray stops an array of ours, known by its members.
func (s *Site) undoArray(a act) error {
	var names, disks []string
	for _, member := range a.Members {
		if strings.HasPrefix(member, "/dev/") {
			d, err := s.machine.Look(member)
			if err != nil {
				continue
			}
			disks, member = append(disks, d.Name), d.Name
		}
		names = append(names, member)
	}
	if s.journal.boot != bootID() && len(disks) == 0 {
		return nil
	}
	return s.stopArray(context.Background(), names, disks)
}
