package follow

import (
	"context"
	"time"
)

// keep keeps the end of the last transaction that was handed out whole, and returns when that is done.
func (f *Follower) keep(ctx context.Context) error {
	if err := f.settled(); err != nil {
		return err
	}
	if err := f.begin(ctx); err != nil {
		return err
	}
	return f.settled()
}

// begin begins to keep it. Lines do not wait for the disk that has the position: it is written beside the reading, one at a time.
func (f *Follower) begin(ctx context.Context) error {
	if f.saving != nil && len(f.saving) == 0 {
		return nil // the disk takes its time
	}
	if err := f.settled(); err != nil {
		return err
	}
	f.saved = time.Now()
	if f.skipped || f.at.Equal(f.kept) && f.State.Position != "" {
		return f.Sink.Flush()
	}
	if err := f.Sink.Settle(ctx); err != nil {
		return err
	}
	f.kept, f.State.Position = f.at, f.at.String()
	if f.Keep == nil {
		return nil
	}
	f.saving = make(chan error, 1)
	go func(s State, done chan<- error) { done <- f.Keep(s) }(f.State, f.saving)
	return nil
}

// settled waits for what begin began.
func (f *Follower) settled() error {
	if f.saving == nil {
		return nil
	}
	err := <-f.saving
	f.saving = nil
	return err
}
