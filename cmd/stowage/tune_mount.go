package main

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"stowage/farm"
	"stowage/tune"
	"stowage/tune/probe"
)

// accessTimes are how a mount may keep times of access, as mount(8) names them, with the
// flags of mount(2). They belong to the mount and not to the filesystem, so that a bind
// remount changes them and nothing else.
var accessTimes = map[string]uintptr{"noatime": unix.MS_NOATIME, "relatime": unix.MS_RELATIME, "strictatime": unix.MS_STRICTATIME}

// mountTimes is what a mount has now.
func mountTimes(tree *probe.Tree, c tune.Change) (string, error) {
	mounts, err := tree.Value("/proc/mounts")
	if err != nil {
		return "", err
	}
	var options []string
	for line := range strings.Lines(mounts) {
		if f := strings.Fields(line); len(f) > 3 && f[1] == c.Mount {
			options = strings.Split(f[3], ",") // the last one there is what people see
		}
	}
	if options == nil {
		return "", fmt.Errorf("%w: nothing is mounted at %s", farm.ErrInput, c.Mount)
	}
	for _, word := range []string{"noatime", "relatime"} {
		if slices.Contains(options, word) {
			return word, nil
		}
	}
	return "strictatime", nil
}

// setMountTimes changes it on this machine; the other flags of the mount stay.
func setMountTimes(c tune.Change, value string) error {
	flag, ok := accessTimes[value]
	if !ok {
		return fmt.Errorf("%w: %q is no way to keep times of access", farm.ErrInput, value)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(c.Mount, &st); err != nil {
		return err
	}
	const others = unix.ST_RDONLY | unix.ST_NOSUID | unix.ST_NODEV | unix.ST_NOEXEC | unix.ST_NODIRATIME // the same numbers as their MS_
	return unix.Mount("none", c.Mount, "", unix.MS_REMOUNT|unix.MS_BIND|uintptr(st.Flags)&others|flag, "")
}
