package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"stowage/farm"
)

// array makes an md array of devices and returns its name. It is said to be clean: what is on it is nobody's data, and a resync would be measured.
func (s *Site) array(ctx context.Context, level string, devices []string) (string, error) {
	if _, err := os.Stat("/proc/mdstat"); err != nil {
		return "", refused("raid", "this kernel has no md, or has not loaded it (modprobe %s); of %s only btrfs can have it here", level, level)
	}
	path, err := find("mdadm")
	if err != nil {
		return "", err
	}
	name := freeArray()
	args := []string{"--create", "/dev/" + name, "--run", "--assume-clean", "--metadata=1.2", "--level=" + strings.TrimPrefix(level, "raid"), "--raid-devices=" + strconv.Itoa(len(devices))}
	for _, d := range devices {
		args = append(args, "/dev/"+d)
	}
	err = s.do(act{Act: "array", Device: name, Members: s.members(devices)}, func() error {
		said, err := s.run(ctx, path, args...)
		if err != nil && !errors.Is(err, farm.ErrInterrupted) {
			return refused("raid", "%s", said)
		}
		return err
	})
	return name, err
}

// freeArray is a name that no array has.
func freeArray() string {
	for n := 99; ; n-- {
		name := fmt.Sprintf("md%d", n)
		if _, err := os.Stat("/sys/block/" + name); err != nil || n == 0 {
			return name
		}
	}
}

// arrayOf is the array that has exactly these members, "" for none.
func arrayOf(members []string) string {
	found, err := filepath.Glob("/sys/block/md*/slaves")
	if err != nil {
		return ""
	}
	want := slices.Sorted(slices.Values(members))
	for _, dir := range found {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Name())
		}
		slices.Sort(got)
		if slices.Equal(got, want) {
			return filepath.Base(filepath.Dir(dir))
		}
	}
	return ""
}

// stopArray stops the array of these members, and lets disks forget that they were in one; loop devices go anyway.
func (s *Site) stopArray(ctx context.Context, members []string, disks []string) error {
	path, err := find("mdadm")
	if err != nil {
		return nil // without it none was made
	}
	if name := arrayOf(members); name != "" {
		if said, err := s.run(ctx, path, "--stop", "/dev/"+name); err != nil {
			return fmt.Errorf("stop %s: %w: %s", name, err, said)
		}
	}
	for _, d := range disks {
		if said, err := s.run(ctx, path, "--zero-superblock", "/dev/"+d); err != nil && !strings.Contains(said, "Unrecognised md component") {
			return fmt.Errorf("take the array's mark from %s: %w: %s", d, err, said)
		}
	}
	return nil
}
