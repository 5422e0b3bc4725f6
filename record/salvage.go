package record

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"stowage/digest"
	"stowage/farm"
)

// What a recording that was killed had come to is not lost: the files of the log that are there are digested, and added to
// the digest of those that were removed already.

// keptSum is the digest of the files of a log up to the n-th, which are gone.
type keptSum struct {
	n int
	d *digest.Digest
}

func sumPath(dir string, n farm.InstanceName) string { return filepath.Join(dir, string(n)+".sum") }

// sumKeeper keeps the digest of the files so far beside the journal. The number of the last one leads it.
func (r *Recorder) sumKeeper(instance farm.InstanceName) func(int, *digest.Digest) error {
	return func(n int, d *digest.Digest) error {
		return writeSum(sumPath(r.Dir, instance), n, d)
	}
}

// left is what is there of the recording of a journal: nil where nothing does.
func (j Journal) left(ctx context.Context, place Place, sum keptSum) (*digest.Digest, error) {
	o, err := withoutOurs(j.Counts, j.Thread)
	if err != nil {
		return sum.d, err
	}
	files, err := filepath.Glob(globbed(j.Prefix) + ".[0-9][0-9][0-9][0-9][0-9][0-9]")
	slices.Sort(files)
	for _, path := range files {
		n, numErr := strconv.Atoi(strings.TrimPrefix(filepath.Ext(path), "."))
		if numErr != nil || n <= sum.n {
			continue
		}
		d, readErr := place.Digest(ctx, path, fmt.Sprintf("%s, slow log, piece %d, cut short", j.Instance, n), o)
		switch {
		case readErr != nil:
			err = errors.Join(err, fmt.Errorf("piece %d of the log: %w", n, readErr))
		case sum.d == nil:
			sum.d = d
		default:
			err = errors.Join(err, sum.d.Merge(d))
		}
	}
	return sum.d, err
}

// keepLeft keeps what a recording that was killed had come to. Its files are removed only after that.
func (r *Recorder) keepLeft(ctx context.Context, place Place, j Journal, out *Restored) error {
	sum, err := readSum(sumPath(r.Dir, j.Instance))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &farm.Error{Op: "keep what was recorded of", Subject: string(j.Instance), Err: err, Hint: "the settings are as before; remove that file to do without it, and run it again"}
	}
	d, err := j.left(ctx, place, sum)
	if err == nil && d != nil && d.Events() > 0 {
		out.Save, out.Events = KeepFor(j.Save, j.Instance, true), d.Events()
		err = r.Keep(out.Save, d)
	}
	if err != nil {
		return &farm.Error{Op: "keep what was recorded of", Subject: string(j.Instance), Err: err,
			Hint: "the settings are as before; run it again, or remove " + j.Prefix + ".* to do without what was recorded"}
	}
	return nil
}
