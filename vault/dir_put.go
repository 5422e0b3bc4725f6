package vault

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"stowage/internal/safefile"
)

// tempMark stands in the names of files that are being written: .NAME.zst-part-RANDOM.
const tempMark = "-part-"

func (d *directory) Put(ctx context.Context, set, name string, fill func(io.Writer) error) (Part, error) {
	p, err := d.put(ctx, set, name, fill)
	if err != nil {
		return Part{}, failed("keep", set+"/"+name, d.path, err)
	}
	return p, nil
}

func (d *directory) put(ctx context.Context, set, name string, fill func(io.Writer) error) (p Part, err error) {
	if err := checkNames(set, name); err != nil {
		return p, err
	}
	dir, err := d.begin(set)
	if err != nil {
		return p, err
	}
	defer dir.Close()
	file := packedName(name)
	if err := clearPart(dir, file); err != nil {
		return p, err
	}
	temp := "." + file + tempMark + rand.Text()
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return p, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, dir.RemoveAll(temp)) // its room is needed: the disk may be full
		}
	}()
	to := &sink{f: f}
	raw, err := pack(ctx, to, d.level, fill)
	if err == nil && raw == 0 {
		err = errEmpty
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return p, err
	}
	if err := dir.Rename(temp, dir, file); err != nil {
		return p, fmt.Errorf("another attempt has begun this part anew: %w", err)
	}
	return Part{Name: name, File: file, Raw: raw, Bytes: to.n, SHA256: to.sum()}, dir.Sync()
}

// begin opens the directory of a set that is not whole, and makes it.
func (d *directory) begin(set string) (*safefile.Dir, error) {
	parent, base, err := d.parent(set, true)
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	if exists(parent, base) {
		return nil, refused("begin", set, path.Join(parent.Path(), base)+" exists, and nothing is written over", "remove that set first, or use another name")
	}
	return sub(parent, base+partialSuffix, true)
}

// clearPart removes an earlier attempt of a part, and what killed ones have left of it.
func clearPart(dir *safefile.Dir, file string) error {
	names, err := dir.Names()
	if err != nil {
		return err
	}
	for _, n := range names {
		if n == file || strings.HasPrefix(n, "."+file+tempMark) {
			if err := removeFile(dir, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeFile removes a regular file, and nothing else: no vault makes anything else there.
func removeFile(dir *safefile.Dir, name string) error {
	info, err := lstat(dir, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return refused("remove", path.Join(dir.Path(), name), "it is not a regular file: Stowage has not made it", "find out who made it, and move it away")
	}
	return dir.RemoveAll(name)
}
