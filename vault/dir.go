package vault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"stowage/farm"
	"stowage/internal/safefile"
)

// directory is a vault of plain files. A set that is whole is a directory with a manifest; until then it has a name that ends in
// .partial. docs/reference/vault.md has the layout.
type directory struct {
	path  string
	level int
}

// open opens the vault's own directory, which people have made: one that is gone, or a file system that is not mounted, is not made anew.
func (d *directory) open() (*safefile.Dir, error) {
	dir, err := safefile.OpenDir(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = &farm.Error{Op: "open vault", Subject: d.path, Err: err, Hint: "mount the file system that it is on, or make the directory: mkdir -m 700 " + d.path}
	}
	return dir, err
}

// parent opens the directory that a set is in, and makes it if told to; base is the set's own name there.
func (d *directory) parent(set string, make bool) (in *safefile.Dir, base string, err error) {
	at, err := d.open()
	if err != nil {
		return nil, "", err
	}
	words := strings.Split(set, "/")
	for _, w := range words[:len(words)-1] {
		next, err := sub(at, w, make)
		if err = errors.Join(err, at.Close()); err != nil {
			return nil, "", err
		}
		if at = next; make && exists(at, manifestFile) {
			return nil, "", errors.Join(refused("make", set, at.Path()+" is a set, and a set has no others in it", "use another name"), at.Close())
		}
	}
	return at, words[len(words)-1], nil
}

// sub opens a directory of ours in another, and makes it if told to. One that somebody else could write to is refused: what lies
// there could be replaced between two looks.
func sub(at *safefile.Dir, name string, make bool) (*safefile.Dir, error) {
	d, err := at.Sub(name)
	if make && errors.Is(err, fs.ErrNotExist) {
		if d, err = at.Mkdir(name, 0o700); err == nil {
			err = at.Sync()
		} else if errors.Is(err, fs.ErrExist) { // another set of this instance was quicker
			d, err = at.Sub(name)
		}
	}
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) {
		err = refused("open", path.Join(at.Path(), name), "it is not a directory: it is a file, or a link that is not followed here", "find out who made it, and move it away")
	}
	if err != nil {
		return nil, err
	}
	info, err := d.Stat()
	if err == nil {
		owner := info.Sys().(*syscall.Stat_t).Uid
		if owner != 0 && int(owner) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
			err = refused("open", d.Path(), fmt.Sprintf("it belongs to %s and has mode %04o: others could change what is kept there", safefile.UserName(owner), info.Mode().Perm()),
				"find out who made it; if it is yours: chown root "+d.Path()+"; chmod go-w "+d.Path())
		}
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// exists reports whether a name is there, as a file of whatever kind.
func exists(at *safefile.Dir, name string) bool {
	_, err := lstat(at, name)
	return err == nil
}

func lstat(at *safefile.Dir, name string) (fs.FileInfo, error) {
	r, err := at.Root()
	if err != nil {
		return nil, err
	}
	info, err := r.Lstat(name)
	return info, errors.Join(err, r.Close())
}

func (d *directory) Free(context.Context) (int64, error) {
	dir, err := d.open()
	if err != nil {
		return 0, failed("measure", d.path, d.path, err)
	}
	defer dir.Close()
	return roomAt(d.path)
}

// roomAt is the room that is left for us at a path, in bytes.
func roomAt(path string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: path, Err: err}
	}
	return int64(st.Bavail) * st.Bsize, nil
}
