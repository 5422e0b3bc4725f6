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
	"sync"

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
	return keptOf(all, pieceMost), err
}

// ReachBinlogs implements Archivist.
func (l *Local) ReachBinlogs(ctx context.Context, p vault.Place, instance farm.InstanceName, w Wanted) (bytes int64, err error) {
	_, all, err := l.chainsAt(ctx, p, instance)
	if err != nil {
		return 0, err
	}
	some, err := w.pick(all)
	for _, piece := range some {
		bytes += piece.Bytes
	}
	if err != nil {
		err = &farm.Error{Op: "find binary logs", Subject: p.Subject() + " " + Journal(instance), Err: err}
	}
	return bytes, err
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
		add(c.spare)
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
	all, faults, err := piecesIn(ctx, j, instance)
	if err != nil {
		return 0, err
	}
	for _, c := range chains(all) {
		for _, piece := range c.pieces {
			r, w := io.Pipe()
			read := make(chan error, 1)
			go func() {
				err := j.Read(ctx, Journal(instance), piece.Kept, w)
				w.CloseWithError(err)
				read <- err
			}()
			err := wholePiece(r, piece)
			_, _ = io.Copy(io.Discard, r)
			if bad := <-read; bad != nil {
				err = bad
			} else if err != nil {
				err = &farm.Error{Op: "read", Subject: piece.Kept.Path, Err: fmt.Errorf("%w: %w", vault.ErrDamaged, err)}
			}
			if err != nil && !errors.Is(err, vault.ErrDamaged) {
				return bytes, err
			}
			if err != nil {
				faults = append(faults, err)
			}
			bytes += piece.Bytes
		}
	}
	return bytes, errors.Join(faults...)
}

// readersAtOnce is how many pieces are read at once: each needs a restic, which takes a second to open a repository.
const readersAtOnce = 3

// sendPieces writes what is wanted of an instance's logs, piece by piece.
func (l *Local) sendPieces(ctx context.Context, from Stored, instance farm.InstanceName, wanted Wanted, w io.Writer) error {
	fail := func(err error) error {
		return &farm.Error{Op: "read binary logs", Subject: from.Place.Subject() + " " + from.Set, Err: err, Hint: farm.Hint(err)}
	}
	j, all, err := l.chainsAt(ctx, from.Place, instance)
	if err != nil {
		return fail(err)
	}
	some, err := wanted.pick(all)
	if err != nil {
		return fail(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ahead := make(chan *readAhead, readersAtOnce-1)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer cancel()
	wait.Go(func() {
		defer close(ahead)
		for _, p := range some {
			a := &readAhead{done: make(chan struct{})}
			wait.Go(func() { a.read(ctx, l, j, from.Set, p) })
			select {
			case ahead <- a:
			case <-ctx.Done():
				<-a.done
				a.close()
				return
			}
		}
	})
	for a := range ahead {
		<-a.done
		if err == nil {
			err = a.err
		}
		if err == nil {
			_, err = io.CopyBuffer(w, io.NewSectionReader(a.file, 0, a.bytes), make([]byte, unpackBuffer))
		}
		if a.close(); err != nil {
			cancel()
		}
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// readAhead is a piece on its way: in a file without a name, until those before it are gone.
type readAhead struct {
	file  *os.File
	bytes int64
	err   error
	done  chan struct{}
}

func (a *readAhead) read(ctx context.Context, l *Local, j vault.Journal, journal string, p Piece) {
	defer close(a.done)
	if a.file, a.err = l.unnamed(); a.err == nil {
		a.err = j.Read(ctx, journal, p.Kept, a.file)
	}
	if a.err == nil {
		a.bytes = p.Kept.Bytes
		a.err = wholePiece(io.NewSectionReader(a.file, 0, a.bytes), p)
	}
}

func (a *readAhead) close() {
	if a.file != nil {
		a.file.Close()
	}
}

// unnamed is a file in the spool that is gone with its last user.
func (l *Local) unnamed() (*os.File, error) {
	if l.spool == "" {
		return nil, errNoSpool
	}
	if err := os.MkdirAll(l.spool, 0o700); err != nil {
		return nil, err
	}
	dir, err := safefile.OpenDir(l.spool)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	name := "piece-" + rand.Text()
	f, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err := dir.RemoveAll(name); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
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
