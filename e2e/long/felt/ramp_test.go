// Package felt has sides come back by a ramp while clients use the pair, healthy ones and sick ones.
package felt

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/mysql"
	"stowage/route"
	"stowage/swing"
	"stowage/swing/swingtest"
)

var (
	countsEvents = []string{"--performance_schema=ON", "--innodb_buffer_pool_size=32M"}
	countsTimes  = []string{"--plugin-load-add=query_response_time", "--query_response_time_stats=ON", "--innodb_buffer_pool_size=32M"}
)

// felt is a pair under load, whose side A leaves and returns by a ramp.
type felt struct {
	*swingtest.Scene
	said []string // at the end of each share

	failed, served atomic.Int64 // of the clients
	stop           func()
}

// newFelt has clients on both sides, who come in bursts. No other test runs beside it: what is looked at are times.
func newFelt(t *testing.T, options []string) *felt {
	t.Helper()
	return feltOn(swingtest.Pairs(t, options, swingtest.Pair)[0], 30_000)
}

// feltOn is newFelt with so many rows, a fifth of a kB each.
func feltOn(of *swingtest.Scene, rows int) *felt {
	t := of.T
	x := &felt{Scene: of}
	x.A.Exec(t, "USE d", "CREATE TABLE d.listing (id INT AUTO_INCREMENT PRIMARY KEY, seller INT NOT NULL, text VARCHAR(200) NOT NULL, KEY seller (seller))",
		fmt.Sprintf("INSERT d.listing (seller, text) SELECT seq * 7919 %% 3000, REPEAT('x', 150) FROM seq_1_to_%d", rows))
	mariadbtest.AwaitApplied(t, x.B, x.A)
	x.Swing.Settings.Ramp, x.Swing.Settings.Soak, x.Swing.Settings.Barrier = []float64{1, 10, 100}, 500*time.Millisecond, 5*time.Second
	x.Swing.Settings.Settle = 200 * time.Millisecond // clients of a busy machine act on what they saw later than they should
	x.Swing.Tell = func(kind farm.EventKind, phase, text string, _ float64) {
		if kind == farm.StepProgress && phase == "watch" {
			x.said = append(x.said, text)
		}
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var clients sync.WaitGroup
	x.stop = func() { stop(); clients.Wait() }
	t.Cleanup(x.stop)
	follow, err := route.Follow(x.Router.Path())
	if err != nil {
		t.Fatal(err)
	}
	dbs := map[string]*sql.DB{}
	prepared := map[string]*sql.Stmt{}
	for _, i := range []*mariadbtest.Instance{x.A, x.B} {
		dbs[i.Address] = i.DB(t, mariadbtest.App, "d")
		dbs[i.Address].SetMaxIdleConns(40)
		if prepared[i.Address], err = dbs[i.Address].Prepare("SELECT COALESCE(SUM(LENGTH(text)), 0) FROM listing WHERE seller = ?"); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 20 {
		r := rand.New(rand.NewPCG(uint64(n), 1))
		clients.Go(func() {
			for ctx.Err() == nil {
				for range 1 + r.IntN(40) { // a burst
					_, address, err := follow.AwaitOpen(ctx, swingtest.Pair, fmt.Sprint("client ", r.IntN(100_000)))
					if err != nil {
						break
					}
					x.count(ctx, query(ctx, r, dbs[address], prepared[address]))
				}
				pauseFor(ctx, time.Duration(r.ExpFloat64()*float64(200*time.Millisecond)))
			}
		})
	}
	return x
}

func (x *felt) count(ctx context.Context, err error) {
	x.served.Add(1)
	if err != nil && ctx.Err() == nil {
		x.failed.Add(1)
	}
}

func query(ctx context.Context, r *rand.Rand, db *sql.DB, prepared *sql.Stmt) error {
	seller, n := r.IntN(3000), 0
	switch r.IntN(10) {
	case 0:
		_, err := db.ExecContext(ctx, "INSERT listing (seller, text) VALUES (?, 'new')", seller)
		return err
	case 1:
		_, err := db.ExecContext(ctx, "UPDATE listing SET text = ? WHERE id = ?", fmt.Sprint(seller), 1+r.IntN(20000))
		return err
	case 2, 3, 4:
		return prepared.QueryRowContext(ctx, seller).Scan(&n)
	}
	return db.QueryRowContext(ctx, "SELECT COALESCE(SUM(LENGTH(text)), 0) FROM listing WHERE seller = ?", seller).Scan(&n)
}

func pauseFor(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// away takes the side out, has something done to it, and brings it back.
func (x *felt) away(ill func()) error {
	x.T.Helper()
	ctx := context.WithoutCancel(x.T.Context())
	if err := x.Swing.Out(ctx); err != nil {
		x.T.Fatal(err)
	}
	ill()
	if err := x.Swing.CatchUp(ctx); err != nil {
		x.T.Fatal(err)
	}
	err := x.Swing.In(ctx)
	x.T.Logf("%d statements served, %d failed; %s; %v", x.served.Load(), x.failed.Load(), strings.Join(x.said, "; "), err)
	return err
}

// retreated: the error says why, at which share, and what to do; the twin serves all clients again.
func (x *felt) retreated(err error, words ...string) {
	x.T.Helper()
	if !errors.Is(err, swing.ErrWorse) || farm.Hint(err) == "" || strings.Contains(err.Error(), "at 100 % of clients") {
		x.T.Errorf("a sick side was not sent away at the first shares: %v", err)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			x.T.Errorf("%v\ndoes not say %q", err, w)
		}
	}
	if p := x.Table(); p.Share(farm.A, farm.A) != 0 || p.GateIsClosed(farm.A) || !x.IsFenced() {
		x.T.Errorf("afterwards: the side serves %v %%, gate closed %v, fenced %v", p.Share(farm.A, farm.A), p.GateIsClosed(farm.A), x.IsFenced())
	}
}

func TestHealthySideGetsItsClientsBack(t *testing.T) {
	for name, options := range map[string][]string{"performance_schema": countsEvents, "QUERY_RESPONSE_TIME": countsTimes} {
		t.Run(name, func(t *testing.T) {
			x := newFelt(t, options)
			for range 2 {
				if err := x.away(func() {}); err != nil {
					t.Fatal(err)
				}
				x.AtRest("back")
			}
			x.stop()
			if x.failed.Load() > 0 || x.served.Load() == 0 || len(x.said) != 6 || !strings.Contains(x.said[5], name) {
				t.Errorf("%d of %d statements failed; said %q", x.failed.Load(), x.served.Load(), x.said)
			}
		})
	}
}

// An index that only the side lacks: the probe does not see it, its clients do.
func TestSideWithoutAnIndexIsSentAway(t *testing.T) {
	for name, options := range map[string][]string{"a statement took": countsEvents, "the 95th percentile of statements was": countsTimes} {
		t.Run(name, func(t *testing.T) {
			x := newFelt(t, options)
			err := x.away(func() { dropIndex(t, x.A) })
			x.retreated(err, name, "on b", "limit")
			x.stop()
			if x.failed.Load() > 0 {
				t.Errorf("%d of %d statements failed", x.failed.Load(), x.served.Load())
			}
		})
	}
}

// The side takes no writes, though it was told to: its clients meet errors at the first share, and then no more.
func TestSideThatRefusesWritesIsSentAway(t *testing.T) {
	x := newFelt(t, countsEvents)
	x.Swing.Border = func(point string) error {
		if point == "after in/open" {
			x.A.Exec(t, "SET GLOBAL read_only = ON")
		}
		return nil
	}
	x.retreated(x.away(func() {}), "failed, on b", "limit")
	after := x.failed.Load()
	time.Sleep(200 * time.Millisecond)
	x.stop()
	if more := x.failed.Load() - after; more > 0 {
		t.Errorf("%d statements failed after the retreat", more)
	}
}

// Something takes the side's CPU for four fifths of the time. Most of what clients wait is before the server reads a statement, which no
// counter of it has: our own questions wait there, too.
func TestSideWithoutCPUIsSentAway(t *testing.T) {
	x := newFelt(t, countsEvents)
	var taken sync.WaitGroup
	over := make(chan struct{})
	err := x.away(func() {
		taken.Go(func() {
			for pid := x.A.PID(); ; {
				_ = syscall.Kill(pid, syscall.SIGSTOP)
				time.Sleep(80 * time.Millisecond)
				_ = syscall.Kill(pid, syscall.SIGCONT)
				select {
				case <-over:
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
		})
	})
	close(over)
	taken.Wait()
	x.retreated(err, "limit")
}

// The side was started again, its buffer pool is empty, and its disk reads three hundred pages a second.
func TestColdSideOnASlowDiskIsSentAway(t *testing.T) {
	t.Setenv("FARMS", "") // not in memory
	x := feltOn(swingtest.Pairs(t, append([]string{"--innodb_buffer_pool_size=128M"}, countsEvents[:1]...), swingtest.Pair)[0], 400_000)
	squeeze := group(t, "blkio", "whether a cold side is sent away")
	at, err := os.Stat(x.A.Datadir)
	if err != nil {
		t.Fatal(err)
	}
	device := at.Sys().(*syscall.Stat_t).Dev
	disk := fmt.Sprintf("%d:%d", unix.Major(device), unix.Minor(device))
	x.Swing.Border = func(point string) error {
		if point != "after in/flip" || x.Table().Share(farm.A, farm.A) > 1 {
			return nil
		}
		if why := squeeze(x.A, "blkio.throttle.read_iops_device", disk+" 300"); why != nil {
			t.Skipf("NOT TESTED: whether a cold side is sent away: the disk %s of %s cannot be slowed down: %v", disk, x.A.Datadir, why)
		}
		return nil
	}
	err = x.away(func() {
		x.A.Restart(t)
		x.A.Exec(t, "START SLAVE")
	})
	x.retreated(err, "at 1", "clients")
}

// group makes a control group, and puts a server into it when a value is set there.
func group(t *testing.T, controller, what string) (set func(i *mariadbtest.Instance, file, value string) error) {
	t.Helper()
	dir := filepath.Join("/sys/fs/cgroup", controller, fmt.Sprintf("stowage-swing-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("NOT TESTED: %s: that needs the controller %s of cgroup v1, and root: %v", what, controller, err)
	}
	t.Cleanup(func() { // a server in it is moved out first
		procs, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for _, pid := range strings.Fields(string(procs)) {
			_ = os.WriteFile(filepath.Join("/sys/fs/cgroup", controller, "cgroup.procs"), []byte(pid), 0o644)
		}
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	})
	return func(i *mariadbtest.Instance, file, value string) error {
		return errors.Join(os.MkdirAll(dir, 0o755), // an empty group is taken away by whoever tidies up
			os.WriteFile(filepath.Join(dir, file), []byte(value), 0o644),
			os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(fmt.Sprint(i.PID())), 0o644))
	}
}

// Servers that count nothing are said to; nothing is switched on, and the side is not held for longer.
func TestRampWithoutCountersSaysWhatItRestsOn(t *testing.T) {
	x := newFelt(t, nil)
	if err := x.away(func() { dropIndex(t, x.A) }); err != nil {
		t.Fatal(err)
	}
	if len(x.said) != 3 || !strings.Contains(x.said[0], "1 % of its clients watched: replication and probe only (a, b: ") {
		t.Errorf("said %q", x.said)
	}
	for _, s := range []*mysql.Server{x.Swing.Returns, x.Swing.Twin} {
		if on, err := s.Variables(t.Context(), "performance_schema", "userstat"); err != nil || on["performance_schema"] != "OFF" || on["userstat"] != "OFF" {
			t.Errorf("%s: %v, %v", s.Name(), on, err)
		}
	}
}

// dropIndex stops the applier meanwhile: its workers and an ALTER can wait for each other for ever.
func dropIndex(t *testing.T, i *mariadbtest.Instance) {
	t.Helper()
	i.Exec(t, "STOP SLAVE", "SET sql_log_bin = 0", "ALTER TABLE d.listing DROP KEY seller", "START SLAVE")
}
