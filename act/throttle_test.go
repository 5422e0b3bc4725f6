package act

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"
	"stowage/pace"
	"stowage/placement"
)

// TestACopyIsPacedByWhatClientsFeel, on a server that counts the time of statements: where nobody is there a copy begins at full speed. Beside clients it begins slowly,
// and when their statements take longer than before, it is slowed and says why.
func TestACopyIsPacedByWhatClientsFeel(t *testing.T) {
	t.Parallel() // it mostly waits
	i := mariadbtest.Start(t, "a", "--userstat=ON")
	server := mysql.Open("a", i.Address, mysqltest.Account(mariadbtest.Stowage), slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = server.Close() })
	begin := func() (*Pace, func()) {
		throttle := newThrottle(placement.Budgets{}, &Steer{}, func(...farm.HostName) []*mysql.Server { return nil })
		return throttle.BeginGently(t.Context(), []*mysql.Server{server}, "h")
	}
	p, done := begin()
	if rate := p.Rate(); rate != pace.NoLimit {
		t.Errorf("nobody is there, and it begins at %d: %s", rate, p.Why())
	}
	done()

	slower := clientsOf(t, i)
	p, done = begin()
	defer done()
	if rate := p.Rate(); rate != gentle {
		t.Errorf("beside clients it begins at %d", rate)
	}
	slower()
	for end := time.Now().Add(30 * time.Second); p.Rate() < 0 || p.Rate() >= gentle; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("clients wait four times as long, and the rate is %d: %s", p.Rate(), p.Why())
		}
	}
	if why := p.Why(); !strings.Contains(why, "MB/s: a has statements of") {
		t.Errorf("it is slow because: %s", why)
	}
}

// clientsOf lets four clients ask until the test ends; slower makes each question take four times as long.
func clientsOf(t *testing.T, i *mariadbtest.Instance) (slower func()) {
	db := i.DB(t, mariadbtest.App, "")
	var mu sync.Mutex
	question := "DO SLEEP(0.01)"
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				mu.Lock()
				q := question
				mu.Unlock()
				if _, err := db.ExecContext(ctx, q); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	t.Cleanup(func() { cancel(); all.Wait() })
	time.Sleep(300 * time.Millisecond)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		question = "DO SLEEP(0.04)"
	}
}
