package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"stowage/farm"
	"stowage/internal/safefile"
	"stowage/vault"
)

// journal is a place that keeps pieces.
func (l *Local) journal(p vault.Place) (vault.Journal, error) {
	v := l.Vault(p)
	j, ok := v.(vault.Journal)
	if ok {
		return j, nil
	}
	_, err := v.Sets(context.Background(), "") // it could not be opened
	return nil, errors.Join(err, &farm.Error{Op: "keep binary log", Subject: p.Subject(), Err: fmt.Errorf("%w: it is not a repository", farm.ErrInput)})
}

// chainsAt are the logs of an instance in a repository. Pieces that cannot be read are left out, and named by CheckKept.
func (l *Local) chainsAt(ctx context.Context, p vault.Place, instance farm.InstanceName) (vault.Journal, []chain, error) {
	j, err := l.journal(p)
	if err != nil {
		return nil, nil, err
	}
	all, faults, err := piecesIn(ctx, j, instance)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range faults {
		l.log.Warn("a piece of a binary log cannot be read", "instance", instance, "error", f)
	}
	return j, chains(all), nil
}

func piecesIn(ctx context.Context, j vault.Journal, instance farm.InstanceName) (all []Piece, faults []error, err error) {
	kept, err := j.Pieces(ctx, Journal(instance))
	if err != nil && !errors.Is(err, vault.ErrDamaged) {
		return nil, nil, err
	}
	if err != nil {
		faults = append(faults, err)
	}
	for _, k := range kept {
		if k.Labels[isLog] == "" {
			continue
		}
		p, err := pieceOf(k)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		all = append(all, p)
	}
	return all, faults, nil
}

// KeptBinlogs implements Archivist.
func (l *Local) KeptBinlogs(ctx context.Context, p vault.Place, instance farm.InstanceName) (Kept, error) {
	_, all, err := l.chainsAt(ctx, p, instance)
	return keptOf(all, pieceMost, time.Now()), err
}

// ReachBinlogs implements Archivist.
func (l *Local) ReachBinlogs(ctx context.Context, p vault.Place, instance farm.InstanceName, w Wanted) (bytes int64, err error) {
	if p.Restic == "" {
		return reachLent(ctx, p, instance, w)
	}
	j, all, err := l.chainsAt(ctx, p, instance)
	if err != nil {
		return 0, err
	}
	some, err := w.pick(all)
	if err != nil {
		return 0, &farm.Error{Op: "find binary logs", Subject: p.Subject() + " " + Journal(instance), Err: err}
	}
	if w.Read {
		return readAll(ctx, j.Uncached(), instance, some)
	}
	for _, piece := range some {
		bytes += piece.Bytes
	}
	return bytes, nil
}

// ForgetBinlogs implements Archivist.
func (l *Local) ForgetBinlogs(ctx context.Context, p vault.Place, instance farm.InstanceName, oldest *Wanted) (removed int64, err error) {
	j, all, err := l.chainsAt(ctx, p, instance)
	if err != nil {
		return 0, err
	}
	var drop []vault.Piece
	gone := map[string]bool{}
	add := func(pieces []Piece) {
		for _, x := range pieces {
			if !gone[x.Kept.ID] {
				gone[x.Kept.ID] = true
				removed += x.Kept.Bytes
				drop = append(drop, x.Kept)
			}
		}
	}
	for _, c := range all {
		add(c.disused(time.Now()))
	}
	if oldest != nil {
		old, ok := before(all, oldest.Point, oldest.Position)
		if !ok {
			l.log.Info("no binary log is removed: the oldest backup is not in the archive", "instance", instance)
		}
		add(old)
	}
	if len(drop) == 0 {
		return 0, nil
	}
	return removed, j.Forget(ctx, Journal(instance), drop, oldest != nil)
}

// CheckKept implements Archivist.
func (l *Local) CheckKept(ctx context.Context, p vault.Place, instance farm.InstanceName) (bytes int64, err error) {
	j, err := l.journal(p)
	if err != nil {
		return 0, err
	}
	j = j.Uncached()
	all, faults, err := piecesIn(ctx, j, instance)
	if err != nil {
		return 0, err
	}
	for _, c := range chains(all) {
		n, err := readAll(ctx, j, instance, c.pieces)
		bytes += n
		if err != nil && !errors.Is(err, vault.ErrDamaged) {
			return bytes, err
		}
		faults = append(faults, err)
	}
	return bytes, errors.Join(faults...)
}

// readAll reads pieces to their end and names each that is damaged.
func readAll(ctx context.Context, j vault.Journal, instance farm.InstanceName, all []Piece) (bytes int64, err error) {
	var faults []error
	for _, p := range all {
		r, w := io.Pipe()
		read := make(chan error, 1)
		go func() {
			err := j.Read(ctx, Journal(instance), p.Kept, w)
			w.CloseWithError(err)
			read <- err
		}()
		err := wholePiece(r, p)
		_, _ = io.Copy(io.Discard, r) // what restic said counts
		if bad := <-read; bad != nil {
			err = bad
		} else if err != nil {
			err = &farm.Error{Op: "read", Subject: p.Kept.Path, Err: fmt.Errorf("%w: %w", vault.ErrDamaged, err)}
		}
		if err != nil && !errors.Is(err, vault.ErrDamaged) {
			return bytes, err
		}
		faults = append(faults, err)
		bytes += p.Bytes
	}
	return bytes, errors.Join(faults...)
}

// storePiece keeps a piece that comes, once all of it is here.
func (l *Local) storePiece(ctx context.Context, to Stored, p Piece, r io.Reader) (out Copied, err error) {
	fail := func(err error) (Copied, error) {
		return Copied{}, &farm.Error{Op: "keep binary log", Subject: to.Place.Subject() + " " + to.Set, Err: err, Hint: farm.Hint(err)}
	}
	j, err := l.journal(to.Place)
	if err != nil {
		return fail(err)
	}
	f, err := l.unnamed()
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	n, err := io.CopyBuffer(struct{ io.Writer }{f}, r, make([]byte, unpackBuffer))
	if err == nil {
		err = wholePiece(io.NewSectionReader(f, 0, n), p)
	}
	if err == nil {
		err = j.Append(ctx, to.Set, p.name(rand.Text()), p.labels(), f)
	}
	if err != nil {
		return fail(err)
	}
	return Copied{Bytes: n}, nil
}

// PulledDir is where binary logs lie that a restored instance is brought up to date with.
func PulledDir(i Instance) string { return filepath.Join(i.Dir(), "archived") }

// pull lays what is wanted of an archive beside a restored instance.
func (l *Local) pull(ctx context.Context, i Instance, r io.Reader) (Copied, error) {
	fail := func(err error) (Copied, error) {
		return Copied{}, &farm.Error{Op: "lay out binary logs", Subject: string(i.Name), Err: err}
	}
	if err := l.RemovePulled(ctx, i); err != nil {
		return fail(err)
	}
	dir, err := safefile.OpenDir(i.Dir())
	if err != nil {
		return fail(err)
	}
	defer dir.Close()
	top, err := dir.Mkdir(filepath.Base(PulledDir(i)), 0o700)
	if err != nil {
		return fail(err)
	}
	defer top.Close()
	got, err := lay(ctx, top, r)
	defer got.close()
	if err == nil {
		err = got.dropCut()
	}
	if err == nil {
		err = setCheckedIn(got.log, second(got.last.Checked))
	}
	if err != nil {
		return fail(err)
	}
	return Copied{Bytes: got.bytes, Files: len(got.files)}, nil
}

// RemovePulled implements Archivist.
func (l *Local) RemovePulled(_ context.Context, i Instance) error {
	dir, err := safefile.OpenDir(i.Dir())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Names()
	if err != nil || !slices.Contains(names, filepath.Base(PulledDir(i))) {
		return err
	}
	return dir.RemoveAll(filepath.Base(PulledDir(i)))
}
