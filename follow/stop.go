package follow

import (
	"errors"
	"fmt"

	"stowage/farm"
	"stowage/feed"
)

// explained says what a reader's error means for who follows.
func (f *Follower) explained(err error) error {
	var found *feed.Stopped
	var gone *feed.Purged
	switch {
	case errors.As(err, &found):
		f.trx = found.Trx
		return f.refuse(found.What)
	case errors.As(err, &gone):
		hint := "the changes between are lost for this consumer: start again from a snapshot"
		switch {
		case gone.Oldest != nil && len(gone.Oldest) == 0:
			hint = "the server still has everything that was ever written there, so the position is of another pair, or of a server that was lost: take the position that a snapshot of this shard prints"
		case gone.Oldest != nil:
			hint = fmt.Sprintf("start again from a snapshot, or accept the gap: --from %s", gone.Oldest)
		}
		return &farm.Error{Op: "follow", Subject: string(f.State.Shard), Err: fmt.Errorf("position %s is not on the server: %w", gone.At, err), Hint: hint}
	}
	return err
}

// refuse ends the reading before a transaction.
func (f *Follower) refuse(what string) error {
	return &farm.Error{Op: "follow at " + f.trx.String(), Subject: string(f.State.Shard), Err: fmt.Errorf("%w: %s", farm.ErrRefused, what),
		Hint: "all lines before it were written; to continue after it, with the tables as they are now: --past " + f.trx.String()}
}

// refusedBySink ends the reading before a transaction with a line that the sink does not take.
func (f *Follower) refusedBySink(err error) error {
	return &farm.Error{Op: "follow at " + f.trx.String(), Subject: string(f.State.Shard), Err: err,
		Hint: farm.Hint(err) + "; or leave the transaction out, of which lines may have been written: --past " + f.trx.String()}
}

func (f *Follower) input(err error, hint string) error {
	return &farm.Error{Op: "follow", Subject: string(f.State.Shard), Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: hint}
}
