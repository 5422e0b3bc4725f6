package netlab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Clear removes a lab by its mark, also one whose program was killed, or none:
// it ends what runs in its machines and takes machines and bridge away.
func Clear(mark string) error {
	entries, err := os.ReadDir(spaces)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("clear lab %s: %w", mark, err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), mark+"-") {
			names = append(names, e.Name())
		}
	}
	errs := []error{endAll(names)}
	for _, n := range names {
		errs = append(errs, command("ip", "netns", "del", n), endGroup(n)) // and the lines of it
	}
	if _, err := os.Stat(filepath.Join("/sys/class/net", mark)); err == nil {
		errs = append(errs, command("ip", "link", "del", mark))
	}
	return errors.Join(append(errs, goneLines(mark))...)
}

// goneLines takes away the lines of a lab that are still there. The kernel
// takes a namespace away, and its end of a line, some time after it was told
// to: when the last socket in it is forgotten. Until then a lab of the same
// mark cannot have a line of that name.
func goneLines(mark string) error {
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		left, err := filepath.Glob("/sys/class/net/" + mark + "v[0-9]*")
		if err != nil || len(left) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d network links do not go away, the first is %s", len(left), filepath.Base(left[0]))
		}
		for _, line := range left {
			_ = command("ip", "link", "del", filepath.Base(line)) // it may be gone by now
		}
	}
}

// endGroup takes away the control groups of a machine that was booted. The
// kernel refuses while a process is in one, and lets them go some time after.
func endGroup(name string) error {
	for _, at := range []string{"/sys/fs/cgroup/systemd", "/sys/fs/cgroup"} {
		group := filepath.Join(at, name)
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			err := removeGroups(group)
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("control group %s does not go away: %w", group, err)
			}
		}
	}
	return nil
}

// removeGroups removes a control group, those below it first. Their files go
// with them.
func removeGroups(group string) error {
	entries, err := os.ReadDir(group)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() {
			err = errors.Join(err, removeGroups(filepath.Join(group, e.Name())))
		}
	}
	return errors.Join(err, syscall.Rmdir(group))
}

// endAll kills every process of some namespaces, until there is none.
func endAll(names []string) error {
	inside := map[uint64]bool{}
	for _, n := range names {
		if id, ok := inode(filepath.Join(spaces, n)); ok {
			inside[id] = true
		}
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left := within(inside)
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d processes do not end, the first is %d", len(left), left[0])
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// within are the processes whose namespace is one of these. This program is
// never among them: its threads may be (Machine.Do), it itself is not.
func within(inside map[uint64]bool) []int {
	entries, _ := os.ReadDir("/proc")
	var out []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if id, ok := inode(filepath.Join("/proc", e.Name(), "ns/net")); ok && inside[id] {
			out = append(out, pid)
		}
	}
	return out
}

func inode(path string) (uint64, bool) {
	st, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return sys.Ino, true
}
