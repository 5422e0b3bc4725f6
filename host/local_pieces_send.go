package host

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"sync"

	"stowage/farm"
	"stowage/internal/safefile"
	"stowage/vault"
)

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
