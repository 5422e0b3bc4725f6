package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"stowage/farm"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

// memoryOnly are file systems whose files lie in memory: nothing about storage can be learned there.
var memoryOnly = map[int64]string{unix.TMPFS_MAGIC: "tmpfs", unix.RAMFS_MAGIC: "ramfs", unix.HUGETLBFS_MAGIC: "hugetlbfs"}

// checkDirectory says whether a directory can be measured, and how much space is free.
func checkDirectory(dir string) (unix.Statfs_t, error) {
	var at unix.Statfs_t
	wrong := func(why error, hint string) error {
		return &farm.Error{Op: "measure", Subject: dir, Err: fmt.Errorf("%w: %w", farm.ErrInput, why), Hint: hint}
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return at, wrong(cause(err), "name a directory on the storage that is to be measured")
	case !info.IsDir():
		return at, wrong(errors.New("it is not a directory"), "name a directory on the storage that is to be measured; devices are not written to")
	}
	if err := unix.Statfs(dir, &at); err != nil {
		return at, wrong(err, "")
	}
	if name := memoryOnly[at.Type]; name != "" {
		return at, wrong(fmt.Errorf("it is on a %s, which is memory and no storage", name), "name a directory on the storage that is to be measured; findmnt -T DIR says what a directory is on")
	}
	return at, nil
}

// checkDirect opens a file of ours past the page cache. What the cache answers is not what the storage does.
func checkDirect(dir string) error {
	path := filepath.Join(dir, fileProbe)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_DIRECT, 0o600)
	if err == nil {
		return f.Close()
	}
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) {
		return &farm.Error{Op: "measure", Subject: filepath.Dir(dir), Err: fmt.Errorf("%w: this file system knows no O_DIRECT, so the page cache would be measured", farm.ErrInput),
			Hint: "name a directory on a file system that a database would use: xfs, ext4, btrfs"}
	}
	return &farm.Error{Op: "measure", Subject: filepath.Dir(dir), Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
}

// sizes are those of the files: as asked for, or as fits the profile and the space.
func sizes(asked int64, profile string, free int64, dir string) (files, error) {
	size := asked
	if size == 0 {
		if size = max(min(4*gib, free/20), gib); profile == "full" {
			size = max(min(32*gib, free/5), 4*gib)
		}
	}
	f := files{data: size / mib * mib, log: logSize(size)}
	if f.data < 16*mib {
		return f, &farm.Error{Op: "measure", Subject: dir, Err: fmt.Errorf("%w: a size of %d bytes is too small", farm.ErrInput, size), Hint: "--size is 16MiB or more"}
	}
	if need := f.data + f.log; need > free/10*9 {
		return f, &farm.Error{Op: "measure", Subject: dir,
			Err:  fmt.Errorf("%w: files of %d MiB would not leave a tenth of the %d MiB that are free", farm.ErrInput, need/mib, free/mib),
			Hint: "free some space, or use a smaller --size"}
	}
	return f, nil
}

// logSize is that of the log beside data of a size.
func logSize(data int64) int64 { return max(min(data/8, 256*mib)/mib*mib, 8*mib) }

// deviceSizes are those on a device: as asked for, a piece of it for a quick look, all of it otherwise.
func deviceSizes(asked int64, profile, path string, capacity int64) (files, error) {
	size := asked
	if size == 0 {
		if size = capacity - logSize(capacity); profile == "quick" {
			size = min(4*gib, size)
		}
	}
	f := files{data: size / mib * mib, log: logSize(size), device: path}
	if f.data < 16*mib || f.data+f.log > capacity {
		return f, &farm.Error{Op: "measure", Subject: path,
			Err:  fmt.Errorf("%w: %d MiB of data and %d MiB of log do not go onto %d MiB, or are less than 16", farm.ErrInput, f.data/mib, f.log/mib, capacity/mib),
			Hint: "--size is 16MiB or more, and an eighth less than the device"}
	}
	return f, nil
}
