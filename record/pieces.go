package record

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"stowage/digest"
	"stowage/farm"
)

// maxWaiting is how many finished pieces may wait to be digested. It bounds
// the disk that a long window takes: so many pieces, the one being digested
// and the one being written.
const maxWaiting = 2

// pieces digests finished files of a log one after the other, while the next
// is being written, and removes each.
type pieces struct {
	queue chan piece
	done  chan struct{}

	mu   sync.Mutex
	sum  *digest.Digest
	err  error
	kept int // piece whose file is not removed; 0: none
}

type piece struct {
	path string
	n    int
}

func digestPieces(ctx context.Context, w *window, o digest.Options) *pieces {
	p := &pieces{queue: make(chan piece, maxWaiting+1), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		for x := range p.queue {
			if p.failed() != nil {
				continue // the files are removed at the end
			}
			if err := w.r.step("digest", func() error { return p.digest(ctx, w, x, o) }); err != nil {
				p.fail(err)
			}
		}
	}()
	return p
}

func (p *pieces) digest(ctx context.Context, w *window, x piece, o digest.Options) error {
	fail := func(op string, err error) error {
		return &farm.Error{Op: op, Subject: fmt.Sprintf("piece %d of the log of %s", x.n, w.t.Instance), Err: err}
	}
	d, err := w.t.Place.Digest(ctx, x.path, fmt.Sprintf("%s, slow log, piece %d", w.t.Instance, x.n), o)
	if err != nil {
		return fail("digest", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sum == nil {
		p.sum = d
	} else if err := p.sum.Merge(d); err != nil {
		return fail("add up", err)
	}
	if w.r.Sum != nil {
		if err := w.r.Sum(x.n, p.sum); err != nil {
			return fail("keep the digest up to", err)
		}
	}
	if x.n == p.kept {
		return nil
	}
	if err := w.t.Place.RemoveFile(ctx, x.path); err != nil {
		return fail("remove", err)
	}
	return nil
}

func (p *pieces) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = errors.Join(p.err, err)
}

func (p *pieces) failed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func (p *pieces) keepLast(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = n
}

// waiting is how many pieces wait, without the one being digested.
func (p *pieces) waiting() int { return len(p.queue) }

// add hands over a finished piece. There is room for one more than waiting
// may be when it is called, so it does not block.
func (p *pieces) add(path string, n int) { p.queue <- piece{path, n} }

// close waits for the last piece.
func (p *pieces) close() (*digest.Digest, error) {
	close(p.queue)
	<-p.done
	return p.sum, p.failed()
}
