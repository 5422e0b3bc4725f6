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
	i.Senders(t, 6) // threads of replication are nobody
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

// TestARestKeepsToTheRate: of pieces whose bytes are told, the rest is what the rate leaves; a piece that took longer has none.
func TestARestKeepsToTheRate(t *testing.T) {
	throttle := newThrottle(placement.Budgets{}, nil, func(...farm.HostName) []*mysql.Server { return nil })
	p := &Pace{throttle: throttle, target: "h", governor: pace.NewGovernor(pace.Limits{Ceiling: pace.NoLimit, Begin: 1 << 20, Floor: 1 << 10})}
	began := time.Now().Add(-100 * time.Millisecond)
	if rest := p.restAfter(began, 512<<10); rest < 350*time.Millisecond || rest > 400*time.Millisecond {
		t.Errorf("half a megabyte of one a second took 100 ms, and the rest is %s", rest)
	}
	if rest := p.restAfter(began, 50<<10); rest != 0 {
		t.Errorf("50 KB of a megabyte a second took 100 ms, and the rest is %s", rest)
	}
	if rest := p.restAfter(began, 1<<30); rest != longestRest {
		t.Errorf("a gigabyte: %s", rest)
	}
}

// TestRowsBeginSlowly: beside clients at rowsBegin, alone at full speed, and beside a replica that is behind at the floor.
func TestRowsBeginSlowly(t *testing.T) {
	t.Parallel() // it mostly waits
	i := mariadbtest.Start(t, "a", "--userstat=ON")
	server := mysqltest.Open(t, i)
	begin := func() (rate int64, alone bool) {
		throttle := newThrottle(placement.Budgets{}, nil, func(...farm.HostName) []*mysql.Server { return nil })
		p, done := throttle.BeginRows(t.Context(), []*mysql.Server{server}, "h")
		defer done()
		return p.Rate(), p.Alone()
	}
	if rate, alone := begin(); rate != pace.NoLimit || !alone {
		t.Errorf("nobody is there: %d, %v", rate, alone)
	}
	clientsOf(t, i)
	if rate, alone := begin(); rate != rowsBegin || alone {
		t.Errorf("beside clients: %d, %v", rate, alone)
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
