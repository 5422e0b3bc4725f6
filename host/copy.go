package host

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"
)

// Copy is one physical copy on its way from host to host.
type Copy struct {
	From   Host
	Origin Origin
	To     Host
	Target Destination

	// Rate is asked several times a second how fast the copy may go now, in
	// bytes a second: 0 holds it, a negative number is no limit. Nil: no limit.
	Rate func() int64
	// Moved is told now and then how many bytes have gone. It may be nil.
	Moved func(int64)
}

// Fetcher is a Host that gets a copy from another host by itself, without the
// bytes passing through this process.
type Fetcher interface {
	Fetch(ctx context.Context, c Copy) (Copied, error)
}

// Founder is a Host that can make the system tables of a new, empty instance
// from nothing. setup is SQL that runs before anybody can connect; it is kept
// nowhere. The instance must be claimed, with its option file written.
type Founder interface {
	Found(ctx context.Context, i Instance, setup []byte) error
	// SetUp runs such SQL on an instance that has data already and does not run.
	SetUp(ctx context.Context, i Instance, setup []byte) error
}

// lookAtRate is how often Copy.Rate is asked.
const lookAtRate = 200 * time.Millisecond

// Run carries the copy out. One that was cut short leaves a part of a data directory behind, or a set that is not whole: wipe it, or drop it,
// and begin again.
func (c Copy) Run(ctx context.Context) (Copied, error) {
	if f, ok := c.To.(Fetcher); ok {
		return f.Fetch(ctx, c)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pr, pw := io.Pipe()
	bucket := NewBucket(-1)
	gate := &gauge{w: pw, ctx: ctx, bucket: bucket}
	sent := make(chan error, 1)
	go func() {
		err := c.From.Send(ctx, c.Origin, gate)
		pw.CloseWithError(err)
		sent <- err
	}()
	watched := c.Watch(ctx, gate.n.Load, func(rate int64) { bucket.Set(rate) })
	out, err := c.To.Receive(ctx, c.Target, pr)
	pr.CloseWithError(errors.Join(err, io.ErrClosedPipe)) // a sender still at work gives up
	switch sendErr := <-sent; {
	case sendErr != nil && errors.Is(err, sendErr): // the receiver heard of it through the pipe
		err = sendErr
	case sendErr != nil:
		err = errors.Join(sendErr, err)
	}
	cancel()
	watched()
	out.Bytes = gate.n.Load()
	return out, err
}

// Watch asks Rate and tells Moved until ctx ends or done is called; set is
// called when the rate has changed. For implementations of Fetcher.
func (c Copy) Watch(ctx context.Context, moved func() int64, set func(rate int64)) (done func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	rate := int64(-1)
	look := func() {
		if c.Moved != nil {
			c.Moved(moved())
		}
		if c.Rate == nil {
			return
		}
		if now := max(-1, c.Rate()); now != rate {
			rate = now
			set(rate)
		}
	}
	look() // a limit holds from the first byte on
	go func() {
		defer close(ended)
		tick := time.NewTicker(lookAtRate)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				look()
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// Hasty is where a copy is written to that can be told to take it as it comes: clients wait for its end.
type Hasty interface{ Hasten() }

// Hasten implements Hasty.
func (g *gauge) Hasten() { g.bucket.Lift() }

// gauge counts and slows what passes.
type gauge struct {
	w      io.Writer
	ctx    context.Context
	bucket *Bucket
	n      atomic.Int64
}

func (g *gauge) Write(p []byte) (int, error) {
	if err := g.bucket.Take(g.ctx, len(p)); err != nil {
		return 0, err
	}
	n, err := g.w.Write(p)
	g.n.Add(int64(n))
	return n, err
}
