package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"stowage/bench/engine/sheet"
	"stowage/bench/stat"
	"stowage/farm"
)

// crew is the clients of one server.
type crew struct {
	server  *server
	clients []*client
}

// grace is how long transactions under way may take to end when the bench is interrupted. Then their server is killed, because it hangs.
const grace = 5 * time.Second

func newCrew(ctx context.Context, s *server, o sheet.Settings, load sheet.Load, seed uint64) (*crew, error) {
	w := &crew{server: s}
	for i := range o.Clients {
		c, err := newClient(ctx, s, load, o.Rows, i, o.Clients, o.Keys, seed)
		if err != nil {
			w.close()
			if ctx.Err() != nil {
				return nil, farm.ErrInterrupted
			}
			return nil, err
		}
		w.clients = append(w.clients, c)
	}
	return w, nil
}

func (w *crew) close() {
	for _, c := range w.clients {
		c.close()
	}
}

// work lets the clients of all crews do something at once, and returns when all have: how long it took, and the first error. When ctx
// ends, or one fails, all end after the transaction they are at.
func work(ctx context.Context, crews []*crew, do func(*client) error) (time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	began := time.Now()
	var all sync.WaitGroup
	var stop atomic.Bool
	for _, w := range crews {
		for _, c := range w.clients {
			all.Go(func() {
				c.stop = &stop
				if err := do(c); err != nil {
					cancel(err)
				}
			})
		}
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		stop.Store(true)
		select {
		case <-done:
		case <-time.After(grace):
			for _, w := range crews {
				_ = w.server.cmd.Process.Kill()
			}
			<-done
		}
	}
	took := time.Since(began)
	if ctx.Err() == nil {
		return took, nil
	}
	return took, context.Cause(ctx)
}

// times are those of all clients together.
func (w *crew) times() (h stat.Times, retries int64) {
	for _, c := range w.clients {
		h.Merge(&c.times)
		retries += c.retries
	}
	return h, retries
}

// drive runs the load for a time.
func drive(ctx context.Context, crews []*crew, length time.Duration) (time.Duration, error) {
	until := time.Now().Add(length)
	took, err := work(ctx, crews, func(c *client) error { return c.run(until) })
	return took, interrupted(ctx, "run load", err)
}

// interrupted is farm.ErrInterrupted when ctx ended; errors of cut connections are not the cause then.
func interrupted(ctx context.Context, op string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return farm.ErrInterrupted
	}
	return &farm.Error{Op: op, Err: err}
}
