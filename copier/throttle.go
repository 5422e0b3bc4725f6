package copier

import (
	"context"
	"sync"
	"time"
)

func (c *Copy) throttle(ctx context.Context) error {
	if c.Settings.Throttle == nil {
		return nil
	}
	return c.Settings.Throttle(ctx)
}

// pace is a budget of bytes a second that all streams share.
type pace struct {
	perSecond int64
	mu        sync.Mutex
	free      time.Time // from when on the next byte may go
}

func newPace(perSecond int64) *pace { return &pace{perSecond: perSecond, free: time.Now()} }

// spend waits until so many bytes are within the budget.
func (p *pace) spend(ctx context.Context, bytes int) error {
	if p.perSecond <= 0 {
		return nil
	}
	p.mu.Lock()
	now := time.Now()
	if p.free.Before(now) {
		p.free = now
	}
	p.free = p.free.Add(time.Duration(float64(bytes) / float64(p.perSecond) * float64(time.Second)))
	wait := p.free.Sub(now)
	p.mu.Unlock()
	return pause(ctx, wait)
}

// stage is a moment at which a test may do something.
type stage string

const (
	stageRead    stage = "read"    // a chunk has been read and is not written yet
	stageWritten stage = "written" // it is written
)

type stageKey struct{}

// reached tells whoever listens in ctx; nobody does outside tests.
func (c *Copy) reached(ctx context.Context, at stage, table string) {
	if listen, ok := ctx.Value(stageKey{}).(func(stage, string)); ok {
		listen(at, table)
	}
}
