package testbed

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"stowage/farm"
)

// attributes are options of a mount, whatever is mounted; all others are the file system's business.
var attributes = map[string]int{
	"noatime": unix.MOUNT_ATTR_NOATIME, "strictatime": unix.MOUNT_ATTR_STRICTATIME, "relatime": unix.MOUNT_ATTR_RELATIME, "nodiratime": unix.MOUNT_ATTR_NODIRATIME,
	"nodev": unix.MOUNT_ATTR_NODEV, "nosuid": unix.MOUNT_ATTR_NOSUID, "noexec": unix.MOUNT_ATTR_NOEXEC,
}

// mountAt mounts by the calls that say which option they do not take (fsopen, Linux 5.2), rather than by mount(8), whose reason is "wrong fs type, bad
// option, bad superblock".
func (s *Site) mountAt(spec Spec, devices []string) error {
	return s.do(act{Act: "mount", Path: spec.Filesystem, Members: devices}, func() error {
		fd, err := unix.Fsopen(spec.Filesystem, unix.FSOPEN_CLOEXEC)
		if errors.Is(err, unix.ENODEV) {
			return refused("mount", "this kernel has no %s (modprobe %s)", spec.Filesystem, spec.Filesystem)
		}
		if err != nil {
			return &farm.Error{Op: "mount", Subject: s.mount(), Err: fmt.Errorf("fsopen: %w", err), Hint: "mounts are made by root, on Linux 5.2 or newer"}
		}
		defer unix.Close(fd)
		return s.configureMount(fd, spec, devices)
	})
}

func (s *Site) configureMount(fd int, spec Spec, devices []string) error {
	set := func(key, value string, hasValue bool) error {
		var err error
		if hasValue {
			err = unix.FsconfigSetString(fd, key, value)
		} else {
			err = unix.FsconfigSetFlag(fd, key)
		}
		if err != nil {
			return refused("mount", "%s", mountReason(fd, spec.Filesystem, err))
		}
		return nil
	}
	if err := set("source", "/dev/"+devices[0], true); err != nil {
		return err
	}
	if spec.Filesystem == "btrfs" {
		for _, d := range devices {
			if err := set("device", "/dev/"+d, true); err != nil {
				return err
			}
		}
	}
	attrs := 0
	for option := range strings.SplitSeq(spec.Mount, ",") {
		attr, is := attributes[option]
		if attrs |= attr; is || option == "" || option == "defaults" {
			continue
		}
		key, value, hasValue := strings.Cut(option, "=")
		if err := set(key, value, hasValue); err != nil {
			return err
		}
	}
	if err := unix.FsconfigCreate(fd); err != nil {
		return refused("mount", "%s", mountReason(fd, spec.Filesystem, err))
	}
	m, err := unix.Fsmount(fd, unix.FSMOUNT_CLOEXEC, attrs)
	if err != nil {
		return refused("mount", "%s", mountReason(fd, spec.Filesystem, err))
	}
	defer unix.Close(m)
	if err := unix.MoveMount(m, "", unix.AT_FDCWD, s.mount(), unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return &farm.Error{Op: "mount", Subject: s.mount(), Err: err}
	}
	return nil
}

// mountReason is what the kernel says about a mount that it does not make: the last of its messages, each of which begins with e, w or i.
func mountReason(fd int, filesystem string, err error) string {
	reason := ""
	buf := make([]byte, 4096)
	for {
		n, bad := unix.Read(fd, buf)
		if bad != nil || n <= 0 {
			break
		}
		if text := strings.TrimSpace(string(buf[:n])); len(text) > 2 && (reason == "" || text[0] == 'e') {
			reason = text[2:]
		}
	}
	if reason == "" {
		reason = fmt.Sprintf("%s: %v (the kernel's log may say more)", filesystem, err)
	}
	return reason
}

// patience is how long something may stay busy: a process that was killed is gone a moment later.
const patience = 10 * time.Second

// whileBusy does something again until it is not busy any more.
func whileBusy(do func() error) error {
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		err := do()
		if !errors.Is(err, unix.EBUSY) || time.Now().After(end) {
			return err
		}
	}
}

// mountedAt are the sources of what is mounted at a place, the last on top.
func mountedAt(point string) []string {
	raw, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return nil
	}
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var out []string
	for line := range strings.Lines(string(raw)) {
		head, tail, ok := strings.Cut(line, " - ")
		h, t := strings.Fields(head), strings.Fields(tail)
		if ok && len(h) > 4 && len(t) > 1 && unescape.Replace(h[4]) == point {
			out = append(out, unescape.Replace(t[1]))
		}
	}
	return out
}

// forgetBtrfs lets the kernel forget members of a btrfs that it has seen; without it they would be known until the next boot.
func forgetBtrfs(devices []string) {
	control, err := os.OpenFile("/dev/btrfs-control", os.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return // no btrfs, nothing known
	}
	defer control.Close()
	const forget = 0x50009405 // BTRFS_IOC_FORGET_DEV, linux/btrfs.h
	for _, d := range devices {
		var args [4096]byte // struct btrfs_ioctl_vol_args: fd, name
		copy(args[8:], "/dev/"+d)
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, control.Fd(), forget, uintptr(unsafe.Pointer(&args[0]))) // it may not know it any more
	}
}
