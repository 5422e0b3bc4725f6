package vault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"stowage/farm"
	"stowage/internal/safefile"
)

// initialise makes the repository that does not exist. Two that make one at the same time leave one that nobody can read: on this
// machine they wait for each other, and afterwards restic says how many keys there are.
func (r *Restic) initialise(ctx context.Context) error {
	dir, err := safefile.Private()
	if err != nil {
		return err
	}
	lock, err := dir.OpenFile("vault-init.lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err = errors.Join(err, dir.Close()); err != nil {
		return err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return err
	}
	if err := r.run(ctx, "cat", "config"); !isAbsent(err) {
		return err // nil: another was quicker
	}
	if err := r.mayInitialise(); err != nil {
		return err
	}
	if err := r.run(ctx, "init"); err != nil {
		return err
	}
	var keys strings.Builder
	if _, err := r.read(ctx, &keys, "list", "keys"); err != nil {
		return fmt.Errorf("after restic init: %w", err)
	}
	if n := len(strings.Fields(keys.String())); n != 1 {
		return &farm.Error{Op: "initialise", Subject: r.place.Subject(), Err: fmt.Errorf("%w: it has %d keys and should have one: an older repository lost its file config, or two machines made it", farm.ErrRefused, n),
			Hint: "look into it first; config and one file in keys are new"}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made = true
	return nil
}

// mayInitialise is nil unless a directory of this machine shows that something is wrong: restic would make a repository on the disk
// below a file system that is not mounted, and over the rest of one that lost its file config.
func (r *Restic) mayInitialise() error {
	path := r.localPath()
	if path == "" {
		return nil
	}
	names, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return &farm.Error{Op: "initialise", Subject: path, Err: err, Hint: "mount the file system that it is on, or make the directory above it"}
		}
		return nil
	}
	if err == nil && len(names) > 0 {
		return &farm.Error{Op: "initialise", Subject: path, Err: fmt.Errorf("%w: %s is not a repository, and not empty: it has %s", farm.ErrRefused, path, names[0].Name()),
			Hint: "name a directory that does not exist; if it was a repository, its file config is lost: bring that back"}
	}
	return err
}
