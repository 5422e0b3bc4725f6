package backup

import (
	"context"
	"fmt"
	"time"

	"stowage/vault"
)

// toldAfter is how long Stowage waits in silence; then it reports the wait as often. A vault waits up to a quarter of an hour for another process's lock.
const toldAfter = 20 * time.Second

// stall says of a copy that nothing has come for a while.
type stall struct {
	n     int64
	since time.Time
}

// after is empty while bytes come; n are those that have come by now.
func (s *stall) after(n int64, now time.Time, at vault.Place) string {
	if s.since.IsZero() || n != s.n {
		s.n, s.since = n, now
	}
	if now.Sub(s.since) < toldAfter {
		return ""
	}
	return fmt.Sprintf("; no byte for %s%s", now.Sub(s.since).Truncate(time.Second), lockedBy(at))
}

// lockedBy is why a vault may take its time.
func lockedBy(p vault.Place) string {
	if p.Restic == "" {
		return ""
	}
	return ": another process may have locked the repository; restic list locks"
}

// Waiting does something in a vault, and tells how long that takes while it does not end.
func Waiting(ctx context.Context, p vault.Place, tell func(string), do func(context.Context) error) error {
	began := time.Now()
	return meanwhile(func() error { return do(ctx) }, func(now time.Time) {
		tell(fmt.Sprintf("waits for %s, %s so far%s", p.Subject(), now.Sub(began).Truncate(time.Second), lockedBy(p)))
	})
}

// meanwhile does something, and looks each toldAfter until it ends.
func meanwhile(do func() error, look func(now time.Time)) error {
	ended, looked := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(looked)
		tick := time.NewTicker(toldAfter)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case now := <-tick.C:
				look(now)
			}
		}
	}()
	err := do()
	close(ended)
	<-looked
	return err
}
