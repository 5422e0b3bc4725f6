package vault

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/internal/nested"
	"stowage/internal/safefile"
)

// Sets returns those that can be read also when the manifest of another cannot.
func (d *directory) Sets(ctx context.Context, prefix string) ([]Manifest, error) {
	if prefix != "" {
		if err := checkSet(prefix); err != nil {
			return nil, failed("list", prefix, d.path, err)
		}
	}
	at, err := d.open()
	if err != nil {
		return nil, failed("list", d.path, d.path, err)
	}
	defer at.Close()
	var sets []Manifest
	var faults []error
	d.walk(ctx, at, "", prefix, &sets, &faults)
	slices.SortFunc(sets, func(a, b Manifest) int { return strings.Compare(a.Set, b.Set) })
	return sets, failed("list", d.path, d.path, errors.Join(faults...))
}

// walk adds the sets below a directory. What has no name of ours is not looked at: lost+found, .snapshots, sets that are not whole.
func (d *directory) walk(ctx context.Context, at *safefile.Dir, set, prefix string, sets *[]Manifest, faults *[]error) {
	names, err := at.Names()
	if err = errors.Join(err, ctx.Err()); err != nil {
		*faults = append(*faults, err)
		return
	}
	if set != "" && slices.Contains(names, manifestFile) {
		if !isBelow(set, prefix) {
			return
		}
		m, err := readManifest(at, set)
		if err != nil && !errors.Is(err, ErrNone) { // one that is being removed
			*faults = append(*faults, err)
		} else if err == nil {
			*sets = append(*sets, m)
		}
		return
	}
	for _, n := range names {
		below := path.Join(set, n)
		if checkSet(below) != nil || !isBelow(below, prefix) && !isBelow(prefix, below) {
			continue
		}
		info, err := lstat(at, n)
		if err != nil || !info.IsDir() {
			continue // a file, or it was removed meanwhile
		}
		next, err := sub(at, n, false)
		if err != nil {
			*faults = append(*faults, err)
			continue
		}
		d.walk(ctx, next, below, prefix, sets, faults)
		_ = next.Close()
	}
}

// whole opens a set that is whole.
func (d *directory) whole(set string) (*safefile.Dir, Manifest, error) {
	if err := checkSet(set); err != nil {
		return nil, Manifest{}, err
	}
	parent, base, err := d.parent(set, false)
	var dir *safefile.Dir
	if err == nil {
		dir, err = sub(parent, base, false)
		err = errors.Join(err, parent.Close())
	}
	if errors.Is(err, fs.ErrNotExist) && farm.Hint(err) == "" {
		return nil, Manifest{}, none(set, err.Error())
	}
	if err != nil {
		return nil, Manifest{}, err
	}
	m, err := readManifest(dir, set)
	if err != nil {
		return nil, m, errors.Join(err, dir.Close())
	}
	return dir, m, nil
}

// readManifest reads the manifest of a set, and compares it with its own sum. One that is not there is ErrNone.
func readManifest(dir *safefile.Dir, set string) (Manifest, error) {
	raw, err := readText(dir, set, manifestFile, manifestLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return Manifest{}, none(set, "it has no "+manifestFile+", so it is not whole")
	}
	if err != nil {
		return Manifest{}, err
	}
	name := set + "/" + manifestFile
	m, err := decodeManifest(raw, set)
	if err != nil {
		return Manifest{}, damaged(name, "%w", err)
	}
	for _, p := range m.Parts {
		if p.File != packedName(p.Name) {
			return Manifest{}, damaged(name, "it says that the part %s is in the file %.200q", p.Name, p.File)
		}
	}
	sums, err := readSums(dir, set)
	if err != nil {
		return Manifest{}, err
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(raw)); got != sums[manifestFile] {
		return Manifest{}, damaged(name, "its sum is %s, and %s says %q", got, sumsFile, sums[manifestFile])
	}
	for _, p := range m.Parts {
		if p.SHA256 != sums[p.File] {
			return Manifest{}, damaged(name, "it says that %s has the sum %s, and %s says %q", p.File, p.SHA256, sumsFile, sums[p.File])
		}
	}
	return m, nil
}

// readSums reads the sums of a set by the names of its files.
func readSums(dir *safefile.Dir, set string) (map[string]string, error) {
	name := set + "/" + sumsFile
	raw, err := readText(dir, set, sumsFile, manifestLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, damaged(name, "it is missing")
	}
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		sum, file, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if _, twice := sums[file]; !ok || twice || !isSum(sum) || !isWord(file) {
			return nil, damaged(name, "the line %.200q is none that sha256sum writes", line)
		}
		sums[file] = sum
	}
	if sumLines(sums) != string(raw) {
		return nil, damaged(name, "its lines are not in order")
	}
	return sums, nil
}

// readText reads a small file of a set, nested within the limit where it is JSON.
func readText(dir *safefile.Dir, set, name string, most int64) ([]byte, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if name == manifestFile {
		raw, err := nested.Read(f, most)
		if err != nil && !isInput(err) {
			err = damaged(set+"/"+name, "%w", err)
		}
		return raw, err
	}
	var raw bytes.Buffer
	n, err := io.Copy(&raw, io.LimitReader(f, most+1))
	if err == nil && n > most {
		err = damaged(set+"/"+name, "it has more than %d bytes", most)
	}
	return raw.Bytes(), err
}

// isInput reports whether reading failed, and not what was read.
func isInput(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path)
}

func (d *directory) Get(ctx context.Context, set, name string, w io.Writer) error {
	return failed("read", set+"/"+name, d.path, d.get(ctx, set, name, w))
}

func (d *directory) get(ctx context.Context, set, name string, w io.Writer) error {
	if err := checkNames(set, name); err != nil {
		return err
	}
	dir, m, err := d.whole(set)
	if err != nil {
		return err
	}
	defer dir.Close()
	p, ok := m.Part(name)
	if !ok {
		return none(set+"/"+name, "the set has no such part")
	}
	return readPart(ctx, dir, set, p, w)
}

// Check reads all files of a set, and names each that is damaged.
func (d *directory) Check(ctx context.Context, set string) error {
	return failed("check", set, d.path, d.check(ctx, set))
}

func (d *directory) check(ctx context.Context, set string) error {
	dir, m, err := d.whole(set)
	if err != nil {
		return err
	}
	defer dir.Close()
	sums, err := readSums(dir, set)
	if err != nil {
		return err
	}
	delete(sums, manifestFile)
	var faults []error
	for _, p := range m.Parts {
		faults = append(faults, readPart(ctx, dir, set, p, io.Discard))
		delete(sums, p.File)
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		faults = append(faults, checkText(dir, set, name, sums[name]))
	}
	return errors.Join(faults...)
}

func checkText(dir *safefile.Dir, set, name, sum string) error {
	raw, err := readText(dir, set, name, textLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return damaged(set+"/"+name, "it is missing, and %s names it", sumsFile)
	}
	if err != nil {
		return err
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(raw)); got != sum {
		return damaged(set+"/"+name, "its sum is %s, and %s says %s", got, sumsFile, sum)
	}
	return nil
}

// readPart writes the stream of a part to w. That it is what was kept is known when it returns nil, not before.
func readPart(ctx context.Context, dir *safefile.Dir, set string, p Part, w io.Writer) error {
	name := set + "/" + p.File
	f, err := dir.OpenFile(p.File, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return damaged(name, "it is missing")
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != p.Bytes {
		return damaged(name, "it has %d bytes, and %d when it was written", info.Size(), p.Bytes)
	}
	return unpack(ctx, f, name, p, w)
}
