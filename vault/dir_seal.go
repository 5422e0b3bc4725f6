package vault

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/internal/safefile"
)

func (d *directory) Seal(ctx context.Context, m Manifest, texts map[string]string) error {
	return failed("seal", m.Set, d.path, d.seal(ctx, m, texts))
}

func (d *directory) seal(ctx context.Context, m Manifest, texts map[string]string) error {
	raw, err := m.encode()
	if err == nil {
		err = errors.Join(checkTexts(m, texts), ctx.Err())
	}
	if err != nil {
		return err
	}
	parent, base, err := d.parent(m.Set, false)
	if err != nil {
		return notBegun(err)
	}
	defer parent.Close()
	if exists(parent, base) {
		return d.sealedAlready(m)
	}
	dir, err := sub(parent, base+partialSuffix, false)
	if err != nil {
		return notBegun(err)
	}
	defer dir.Close()
	if err := prepareSeal(dir, m); err != nil {
		return err
	}
	if err := writeSealed(dir, m, raw, texts); err != nil {
		return err
	}
	if err := parent.Rename(base+partialSuffix, parent, base); err != nil {
		return err
	}
	return parent.Sync()
}

func notBegun(err error) error {
	if errors.Is(err, fs.ErrNotExist) && farm.Hint(err) == "" {
		return fmt.Errorf("%w: no part of it has been put: %w", farm.ErrInput, err)
	}
	return err
}

// sealedAlready is nil when the set is whole with the parts of m.
func (d *directory) sealedAlready(m Manifest) error {
	dir, was, err := d.whole(m.Set)
	if err != nil {
		return err
	}
	defer dir.Close()
	if !sameParts(was, m) {
		return refused("seal", m.Set, "it is whole already, with other parts", "use another name")
	}
	return nil
}

// prepareSeal looks whether all parts are there, and removes what attempts have left that are not part.
func prepareSeal(dir *safefile.Dir, m Manifest) error {
	keep := map[string]bool{}
	for _, p := range m.Parts {
		if p.File != packedName(p.Name) {
			return fmt.Errorf("%w: the part %s cannot be in the file %.200q", farm.ErrInput, p.Name, p.File)
		}
		info, err := lstat(dir, p.File)
		if err == nil && (!info.Mode().IsRegular() || info.Size() != p.Bytes) {
			err = fmt.Errorf("%w: it has %d bytes (%s), the manifest says %d", farm.ErrInput, info.Size(), info.Mode(), p.Bytes)
		}
		if err != nil {
			return fmt.Errorf("part %s: %w", p.Name, err)
		}
		keep[p.File] = true
	}
	names, err := dir.Names()
	if err != nil {
		return err
	}
	for _, n := range names {
		if !keep[n] && (strings.HasSuffix(n, ".zst") || strings.Contains(n, ".zst"+tempMark)) {
			if err := removeFile(dir, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeSealed writes texts, sums and the manifest, which comes last.
func writeSealed(dir *safefile.Dir, m Manifest, manifest []byte, texts map[string]string) error {
	sums := map[string]string{manifestFile: fmt.Sprintf("%x", sha256.Sum256(manifest))}
	for _, p := range m.Parts {
		sums[p.File] = p.SHA256
	}
	for name, text := range texts {
		if err := dir.Replace(name, []byte(text), 0o600, nil); err != nil {
			return err
		}
		sums[name] = fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	}
	if err := dir.Replace(sumsFile, []byte(sumLines(sums)), 0o600, nil); err != nil {
		return err
	}
	return dir.Replace(manifestFile, manifest, 0o600, nil)
}

// sumLines are sums as sha256sum -c reads them, in the order of names.
func sumLines(sums map[string]string) string {
	var lines []string
	for name, sum := range sums {
		lines = append(lines, sum+"  "+name+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[66:], b[66:]) })
	return strings.Join(lines, "")
}

func (d *directory) Drop(_ context.Context, set string) error {
	return failed("drop", set, d.path, d.drop(set))
}

func (d *directory) drop(set string) error {
	if err := checkSet(set); err != nil {
		return err
	}
	parent, base, err := d.parent(set, false)
	if errors.Is(err, fs.ErrNotExist) && farm.Hint(err) == "" {
		return nil
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	if exists(parent, base) {
		return refused("drop", set, path.Join(parent.Path(), base)+" exists: the set is whole", "to remove whole sets is another matter: stowage backup prune")
	}
	return dropPartial(parent, base)
}

// dropPartial removes what is not whole.
func dropPartial(parent *safefile.Dir, base string) error {
	dir, err := sub(parent, base+partialSuffix, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := errors.Join(dir.Close(), parent.RemoveAll(base+partialSuffix)); err != nil {
		return err
	}
	return parent.Sync()
}

func (d *directory) Remove(_ context.Context, set string) error {
	return failed("remove", set, d.path, d.remove(set))
}

// remove takes the manifest away, renames the set to what it was before it was whole, and removes that. Cut short at any point it can
// be done again.
func (d *directory) remove(set string) error {
	if err := checkSet(set); err != nil {
		return err
	}
	parent, base, err := d.parent(set, false)
	if errors.Is(err, fs.ErrNotExist) && farm.Hint(err) == "" {
		return none(set, err.Error())
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	if !exists(parent, base) {
		if exists(parent, base+partialSuffix) {
			return dropPartial(parent, base) // an earlier Remove came as far as this
		}
		return none(set, path.Join(parent.Path(), base)+" does not exist")
	}
	dir, err := sub(parent, base, false)
	if err != nil {
		return err
	}
	defer dir.Close()
	if !exists(dir, manifestFile) && !exists(dir, sumsFile) {
		return refused("remove", set, dir.Path()+" has neither "+manifestFile+" nor "+sumsFile+": it is not a set", "find out who made it")
	}
	if err := removeFile(dir, manifestFile); err != nil {
		return err
	}
	if err := errors.Join(dir.Sync(), dropPartial(parent, base)); err != nil {
		return err
	}
	if err := parent.Rename(base, parent, base+partialSuffix); err != nil {
		return err
	}
	return dropPartial(parent, base)
}
