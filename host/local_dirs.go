package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"stowage/farm"
)

// ownerFile marks an instance directory with the act that made it.
const ownerFile = "stowage-owner"

// TempDir is the instance's own directory for temporary tables. It must not be
// shared: a server that starts deletes every #sql file in its tmpdir, those of
// its running neighbours included.
const TempDir = "tmp"

// Claimable implements Host.
func (l *Local) Claimable(_ context.Context, i Instance, owner string) error {
	if _, err := os.Lstat(i.Dir()); err == nil {
		return l.claimed(i, owner)
	}
	return nil
}

// Claim implements Host.
func (l *Local) Claim(ctx context.Context, i Instance, owner string) error {
	if filepath.Dir(i.Datadir) != i.Dir() {
		return &farm.Error{Op: "claim directory", Subject: i.Dir(), Err: fmt.Errorf("%w: data directory %s is not in it", farm.ErrRefused, i.Datadir)}
	}
	if _, err := os.Lstat(i.Dir()); err == nil {
		if err := l.Claimable(ctx, i, owner); err != nil {
			return err
		}
		return l.makeParts(i.Dir(), i) // a removal may have been cut short
	}
	if err := os.MkdirAll(filepath.Dir(i.Dir()), 0o755); err != nil {
		return &farm.Error{Op: "make directory", Subject: i.Dir(), Err: err}
	}
	// Made under another name and renamed, so that a directory with our name
	// always carries its mark, however we are stopped.
	tmp, err := os.MkdirTemp(filepath.Dir(i.Dir()), ".claim-*")
	if err != nil {
		return &farm.Error{Op: "make directory", Subject: i.Dir(), Err: err}
	}
	err = os.WriteFile(filepath.Join(tmp, ownerFile), []byte(owner+"\n"), 0o644)
	err = errors.Join(err, l.makeParts(tmp, i), os.Chmod(tmp, 0o755), l.Own(tmp))
	if err == nil {
		err = os.Rename(tmp, i.Dir())
	}
	if err != nil {
		os.RemoveAll(tmp)
		return &farm.Error{Op: "make directory", Subject: i.Dir(), Err: err}
	}
	return nil
}

// makeParts makes the directories inside an instance's directory that are not
// there yet.
func (l *Local) makeParts(dir string, i Instance) error {
	var all error
	for _, name := range []string{filepath.Base(i.Datadir), TempDir} {
		path := filepath.Join(dir, name)
		err := os.Mkdir(path, 0o750)
		if err == nil {
			err = l.Own(path)
		}
		if !errors.Is(err, fs.ErrExist) {
			all = errors.Join(all, err)
		}
	}
	return all
}

// claimed is nil when the directory carries owner's mark.
func (l *Local) claimed(i Instance, owner string) error {
	mark, err := os.ReadFile(filepath.Join(i.Dir(), ownerFile))
	if errors.Is(err, fs.ErrNotExist) {
		mark = []byte("nobody we know")
	} else if err != nil {
		return &farm.Error{Op: "read owner", Subject: i.Dir(), Err: err}
	}
	if got := strings.TrimSpace(string(mark)); got != owner {
		return &farm.Error{Op: "claim directory", Subject: i.Dir(),
			Err:  fmt.Errorf("%w: %w: it belongs to %s", farm.ErrRefused, ErrForeign, got),
			Hint: "move it away if nobody needs it; Stowage deletes only what it made"}
	}
	return nil
}

// Wipe implements Host.
func (l *Local) Wipe(ctx context.Context, i Instance, owner string) error {
	if err := l.claimed(i, owner); err != nil {
		return err
	}
	if filepath.Dir(i.Datadir) != i.Dir() {
		return &farm.Error{Op: "empty data directory", Subject: i.Datadir, Err: fmt.Errorf("%w: it is not in %s", farm.ErrRefused, i.Dir())}
	}
	if pid, err := l.Running(ctx, i); err != nil || pid != 0 {
		return &farm.Error{Op: "empty data directory", Subject: i.Datadir, Err: fmt.Errorf("%w: its server runs (pid %d, %v)", farm.ErrRefused, pid, err)}
	}
	if err := l.endOrphans(ctx, i); err != nil {
		return err
	}
	err := errors.Join(os.RemoveAll(i.Datadir), os.Mkdir(i.Datadir, 0o750), l.Own(i.Datadir))
	if err != nil {
		return &farm.Error{Op: "empty data directory", Subject: i.Datadir, Err: err}
	}
	return nil
}

// Remove implements Host.
func (l *Local) Remove(ctx context.Context, i Instance, owner string) error {
	if _, err := os.Lstat(i.Dir()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := l.claimed(i, owner); err != nil {
		return err
	}
	if pid, err := l.Running(ctx, i); err != nil || pid != 0 {
		return &farm.Error{Op: "remove instance", Subject: string(i.Name),
			Err: fmt.Errorf("%w: it still runs (pid %d, %v)", farm.ErrRefused, pid, err)}
	}
	if err := l.endOrphans(ctx, i); err != nil {
		return err
	}
	// The mark goes last: a half-removed directory is still ours. And it goes
	// under another name: a directory with our name always carries its mark.
	entries, err := os.ReadDir(i.Dir())
	for _, e := range entries {
		if e.Name() != ownerFile {
			err = errors.Join(err, os.RemoveAll(filepath.Join(i.Dir(), e.Name())))
		}
	}
	if err == nil {
		err = removeWhole(i.Dir())
	}
	if err != nil {
		return &farm.Error{Op: "remove instance", Subject: i.Dir(), Err: err}
	}
	return nil
}

func removeWhole(dir string) error {
	gone, err := os.MkdirTemp(filepath.Dir(dir), ".gone-*")
	if err != nil {
		return err
	}
	if err := os.Rename(dir, filepath.Join(gone, filepath.Base(dir))); err != nil {
		return errors.Join(err, os.Remove(gone))
	}
	return os.RemoveAll(gone)
}
