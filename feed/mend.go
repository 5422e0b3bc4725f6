package feed

import (
	"context"
	"fmt"
	"time"

	"stowage/farm"
	"stowage/mysql"
)

// firstTries is Source.Tries where it says nothing.
const firstTries = 20

// connect begins to read from the server that the source names now.
func (r *Reader) connect(ctx context.Context) error {
	s, err := r.source.Server(ctx)
	if err != nil {
		return err
	}
	r.server = s
	log, err := s.Binlog(ctx, r.source.ServerID, r.at, r.source.Schema, r.source.Tables...)
	if err != nil {
		return err
	}
	r.Close()
	r.log = log
	return nil
}

// mend begins to read again where the last whole transaction ended, when the
// connection was lost: a server that restarts or leaves rotation, a caller that
// did not read for too long. Twice without a change in between waits longer.
func (r *Reader) mend(ctx context.Context, cause error) error {
	r.trx = transaction{}
	tries := r.source.Tries
	if tries == 0 {
		tries = firstTries
	}
	for try := 0; ; try++ {
		if ctx.Err() != nil || r.isFinal(ctx, cause, tries) {
			return r.judge(ctx, cause)
		}
		if tries > 0 && try == tries {
			return cause
		}
		if r.isLost || try > 0 {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		r.isLost = true
		r.tell("the reader of %s is begun again: %v", r.server.Name(), cause)
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
	return fmt.Sprintf("%v; the oldest position that can be had is %q", e.err, e.Oldest)
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
