package feed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stowage/farm"
	"stowage/mysql"
)

// firstTries is Source.Tries where it says nothing.
const firstTries = 20

// heldFor is after how long a connection counts as one that worked, though nothing was written meanwhile: the server sends a heartbeat each second.
const heldFor = time.Minute

// connect begins to read from the first server that the source names now and
// that has not refused the position.
func (r *Reader) connect(ctx context.Context) error {
	servers, err := r.source.Servers(ctx)
	if err != nil {
		return err
	}
	var last error
	for _, s := range servers {
		if refused := r.refused[s.Address()]; refused != nil {
			last = refused
			continue
		}
		r.server = s
		var log *mysql.BinlogReader
		if log, last = s.Binlog(ctx, r.source.ServerID, r.at, r.source.Schema, r.source.Tables...); last == nil {
			r.Close()
			r.log, r.begun = log, time.Now()
			return nil
		}
	}
	if last == nil {
		last = errors.New("no server is known that has this database")
	}
	return last
}

// Again asks the source for its servers, for another may be the better one to
// read from: one that serves, where this one has left rotation. A transaction of
// which only some pieces were handed out comes again. On an error the reader
// goes on where it was.
func (r *Reader) Again(ctx context.Context) error {
	was := r.server
	if err := r.connect(ctx); err != nil {
		r.server = was
		return err
	}
	r.trx = transaction{}
	return nil
}

// Server is the one that is being read.
func (r *Reader) Server() *mysql.Server { return r.server }

// mend begins to read again where the last whole transaction ended, when the
// connection was lost: a server that restarts or leaves rotation, a caller that
// did not read for too long. Tries count until the position has moved, and each but the first waits: what breaks the connection may be in the log.
func (r *Reader) mend(ctx context.Context, cause error) error {
	r.trx = transaction{}
	if time.Since(r.begun) > heldFor {
		r.tries = 0
	}
	tries := r.source.Tries
	if tries == 0 {
		tries = firstTries
	}
	for {
		if ctx.Err() != nil {
			return cause
		}
		isFinal := r.isFinal(ctx, cause, tries)
		switch {
		case isFinal && r.refused[r.server.Address()] != nil: // and so have all others
			return r.judge(ctx, cause)
		case isFinal:
			r.refused[r.server.Address()] = cause
		case tries > 0 && r.tries >= tries:
			return cause
		case r.tries > 0:
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		r.tries++
		if mysql.IsPurged(cause) && !isFinal {
			r.tell("%s does not have position %s yet: trying again until a server of the pair has it; if it is a position of another pair, none ever will", r.server.Name(), r.at)
		} else {
			r.tell("the reader of %s is begun again: %v", r.server.Name(), cause)
		}
		err := r.connect(ctx)
		if err == nil {
			return nil
		}
		cause = err
	}
}

func (r *Reader) tell(format string, args ...any) {
	if r.source.Tell != nil {
		r.source.Tell(fmt.Sprintf(format, args...))
	}
}

// isFinal reports that a server has refused us, and will again. Whoever tries
// for ever waits for anything but a log that is gone: a server that is being
// stopped refuses, too.
func (r *Reader) isFinal(ctx context.Context, cause error, tries int) bool {
	if !mysql.IsPurged(cause) {
		return mysql.IsReaderRefused(cause) && tries > 0
	}
	// The twin may not have applied yet what was read on the side before it. That comes.
	has, err := r.server.BinlogPosition(ctx)
	return err == nil && has.Reached(r.at)
}

// Purged: the server does not have everything behind the position any more.
type Purged struct {
	At, Oldest mysql.Position // Oldest is the first position that can be had, nil: it could not be read
	err        error
}

func (e *Purged) Error() string {
	if e.Oldest == nil {
		return e.err.Error()
	}
	return fmt.Sprintf("%v; the oldest position on the server is %q", e.err, e.Oldest)
}

// Unwrap: it is refused, and what the server said.
func (e *Purged) Unwrap() []error { return []error{farm.ErrRefused, e.err} }

// judge makes a Purged of a server's refusal of the position.
func (r *Reader) judge(ctx context.Context, err error) error {
	if !mysql.IsPurged(err) || ctx.Err() != nil {
		return err
	}
	oldest, failed := r.server.OldestPosition(ctx)
	if failed != nil {
		oldest = nil
	}
	return &Purged{At: r.at, Oldest: oldest, err: err}
}
