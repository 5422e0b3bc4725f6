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
	"stowage/internal/safefile"
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
		dir, err := safefile.OpenDir(i.Dir()) // a removal may have been cut short
		if err == nil {
			err = errors.Join(l.makeParts(dir, i), dir.Close())
		}
		if err != nil {
			return &farm.Error{Op: "make directory", Subject: i.Dir(), Err: err}
		}
		return nil
	}
	if err := l.makeDir(i, owner); err != nil {
		return &farm.Error{Op: "make directory", Subject: i.Dir(), Err: err}
	}
	return nil
}

// makeDir makes an instance's directory under another name and renames it, so
// that a directory with our name always carries its mark, however we are stopped.
func (l *Local) makeDir(i Instance, owner string) error {
	if err := os.MkdirAll(filepath.Dir(i.Dir()), 0o755); err != nil {
		return err
	}
	in, err := safefile.OpenDir(filepath.Dir(i.Dir()))
	if err != nil {
		return err
	}
	defer in.Close()
	tmp, err := in.MkdirTemp(".claim-")
	if err != nil {
		return err
	}
	defer tmp.Close()
	name := filepath.Base(tmp.Path())
	err = tmp.Replace(ownerFile, []byte(owner+"\n"), 0o644, nil)
	if err == nil {
		err = errors.Join(l.makeParts(tmp, i), tmp.Chmod(0o755), l.Own(tmp))
	}
	if err == nil {
		err = in.Rename(name, in, filepath.Base(i.Dir()))
	}
	if err != nil {
		return errors.Join(err, in.RemoveAll(name))
	}
	return nil
}

// makeParts makes the directories inside an instance's directory that are not
// there yet.
func (l *Local) makeParts(dir *safefile.Dir, i Instance) error {
	var all error
	for _, name := range []string{filepath.Base(i.Datadir), TempDir} {
		if err := l.makePart(dir, name); !errors.Is(err, fs.ErrExist) {
			all = errors.Join(all, err)
		}
	}
	return all
}

func (l *Local) makePart(dir *safefile.Dir, name string) error {
	part, err := dir.Mkdir(name, 0o750)
	if err != nil {
		return err
	}
	return errors.Join(l.Own(part), part.Close())
}

// emptyData makes an instance's data directory anew.
func (l *Local) emptyData(i Instance) error {
	dir, err := safefile.OpenDir(i.Dir())
	if err != nil {
		return err
	}
	defer dir.Close()
	name := filepath.Base(i.Datadir)
	if err := errors.Join(dir.RemoveAll(filepath.Base(deltaDir(i))), dir.RemoveAll(tablesDir), dir.RemoveAll(name)); err != nil {
		return err
	}
	return l.makePart(dir, name)
}

// claimed is nil when the directory carries owner's mark.
func (l *Local) claimed(i Instance, owner string) error {
	mark, err := safefile.ReadFile(filepath.Join(i.Dir(), ownerFile), 64<<10)
	if errors.Is(err, fs.ErrNotExist) {
		mark = []byte("an unknown account")
	} else if errors.Is(err, safefile.ErrLink) {
		mark = []byte("no account: there is a symbolic link")
	} else if err != nil {
		return &farm.Error{Op: "read owner", Subject: i.Dir(), Err: err}
	}
	if got := strings.TrimSpace(string(mark)); got != owner {
		return &farm.Error{Op: "claim directory", Subject: i.Dir(),
			Err:  fmt.Errorf("%w: %w: it belongs to %s", farm.ErrRefused, ErrForeign, got),
			Hint: "move it away if it is unused; Stowage deletes only what it made"}
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
	if err := l.emptyData(i); err != nil {
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
	if err := removeParts(i.Dir()); err != nil {
		return &farm.Error{Op: "remove instance", Subject: i.Dir(), Err: err}
	}
	if err := removeWhole(i.Dir()); err != nil {
		return &farm.Error{Op: "remove instance", Subject: i.Dir(), Err: err}
	}
	return nil
}

func removeParts(path string) error {
	dir, err := safefile.OpenDir(path)
	if err != nil {
		return err
	}
	names, err := dir.Names()
	for _, name := range names {
		if name != ownerFile {
			err = errors.Join(err, dir.RemoveAll(name))
		}
	}
	return errors.Join(err, dir.Close())
}

func removeWhole(path string) error {
	in, err := safefile.OpenDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer in.Close()
	gone, err := in.MkdirTemp(".gone-")
	if err != nil {
		return err
	}
	defer gone.Close()
	return errors.Join(in.Rename(filepath.Base(path), gone, filepath.Base(path)), in.RemoveAll(filepath.Base(gone.Path())))
}
