package host

import (
	"context"
	"sync"
	"time"
)

// Bucket is a token bucket for bytes, whose rate may be changed while somebody
// waits. Its depth is a twentieth of a second: what runs at 40 MB/s never has
// more than 2 MB in one go. A larger piece keeps both ends of a copy and what packs
// it at work at once, and servers beside them find no processor. Safe for several goroutines.
type Bucket struct {
	mu      sync.Mutex
	rate    int64 // bytes a second; negative: no limit; 0: nothing passes
	level   float64
	filled  time.Time
	lifted  bool          // there is no limit any more
	changed chan struct{} // closed when the rate changes
}

const bucketDepth = 0.05 // seconds at the full rate

// NewBucket makes one that starts empty, so that a limit holds from the first
// byte on.
func NewBucket(rate int64) *Bucket {
	return &Bucket{rate: rate, filled: time.Now(), changed: make(chan struct{})}
}

// Set changes the rate; whoever waits goes by the new one at once.
func (b *Bucket) Set(rate int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.lifted {
		b.change(rate)
	}
}

// Lift takes the limit away for good.
func (b *Bucket) Lift() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.change(-1)
	b.lifted = true
}

func (b *Bucket) change(rate int64) {
	b.fill()
	b.rate = rate
	close(b.changed)
	b.changed = make(chan struct{})
}

// Rate is what was set last.
func (b *Bucket) Rate() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rate
}

// fill adds what has come in since the last time.
func (b *Bucket) fill() {
	now := time.Now()
	if b.rate > 0 {
		b.level = min(b.level+now.Sub(b.filled).Seconds()*float64(b.rate), bucketDepth*float64(b.rate))
	}
	b.filled = now
}

// Take waits until n bytes may pass. More than the bucket holds may be taken at
// once; those who come later wait for it.
func (b *Bucket) Take(ctx context.Context, n int) error {
	for paid := false; ; {
		b.mu.Lock()
		if b.rate < 0 {
			b.level = 0
			b.mu.Unlock()
			return ctx.Err()
		}
		b.fill()
		if !paid && b.rate > 0 && b.level >= 0 {
			b.level -= float64(n)
			paid = true
		}
		if paid && b.level >= 0 {
			b.mu.Unlock()
			return nil
		}
		// Held, or in debt: until the debt is paid at the present rate.
		wait := time.Hour
		if b.rate > 0 {
			wait = max(time.Millisecond, time.Duration(-b.level/float64(b.rate)*float64(time.Second)))
		}
		changed := b.changed
		b.mu.Unlock()
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}
