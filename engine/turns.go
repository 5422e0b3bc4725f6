package engine

import (
	"context"
	"sync"
)

// turns makes attempts on one subject of one job take turns within this process.
//
// A heartbeat can be late for reasons that have nothing to do with the step (a starved machine, a paused process). The server then
// hands out a second attempt while the first still works. The second cancels the first and waits until it has really returned; an
// attempt older than one already seen is turned away.
type turns struct {
	mu    sync.Mutex
	queue map[string]*turn
}

// turn is never removed: it remembers the newest attempt, so that a straggler is recognised however late it comes.
type turn struct {
	busy   chan struct{}        // holds one element while an attempt runs
	newest map[string]attemptID // per lane run
	holder attemptID
	cancel context.CancelCauseFunc // of the holder; nil when free
}

// attemptID orders the attempts of one run of a lane.
type attemptID struct {
	run          string
	seq, attempt int
}

func (a attemptID) isOlderThan(b attemptID) bool {
	return a.seq < b.seq || a.seq == b.seq && a.attempt < b.attempt
}

func newTurns() *turns { return &turns{queue: map[string]*turn{}} }

// take waits for the subject's turn and returns the function that ends it. cancel must end the work done under the turn; it is
// called when a newer attempt of the same lane arrives.
func (t *turns) take(ctx context.Context, key string, id attemptID, cancel context.CancelCauseFunc) (release func(), err error) {
	u, err := t.announce(key, id)
	if err != nil {
		return nil, err
	}
	select {
	case u.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if id.isOlderThan(u.newest[id.run]) {
		<-u.busy
		return nil, errSuperseded
	}
	u.holder, u.cancel = id, cancel
	return func() {
		t.mu.Lock()
		u.cancel = nil
		t.mu.Unlock()
		<-u.busy
	}, nil
}

func (t *turns) announce(key string, id attemptID) (*turn, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.queue[key]
	if u == nil {
		u = &turn{busy: make(chan struct{}, 1), newest: map[string]attemptID{}}
		t.queue[key] = u
	}
	if id.isOlderThan(u.newest[id.run]) {
		return nil, errSuperseded
	}
	u.newest[id.run] = id
	if u.cancel != nil && u.holder.run == id.run && u.holder.isOlderThan(id) {
		u.cancel(errSuperseded)
	}
	return u, nil
}
