package reshape

import (
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/examples/egnyte-files/files"
	"stowage/farm"
)

// TestBenchApplier measures BENCH=reshape: what so many changes of children a second cost, and how far behind the carried columns are, when nothing keeps them, when the applier does, and when
// triggers do. scripts/bench/reshape.sh runs it and reads its lines. BENCH_APPLIER is the number of changes a second, BENCH_SECONDS (20) for how long.
func TestBenchApplier(t *testing.T) {
	rate, err := strconv.Atoi(os.Getenv("BENCH_APPLIER"))
	if err != nil || rate < 1 {
		t.Skip("BENCH_APPLIER is not set: this is a measurement, not a test")
	}
	seconds, err := strconv.Atoi(os.Getenv("BENCH_SECONDS"))
	if err != nil {
		seconds = 20
	}
	f := farmtest.StartFilesFarm(t, farm.PrimaryReplica, 100_000, files.Clients{Seed: 7})
	c := &changes{t: t, db: f.Pool(farm.A), rate: rate, lasts: time.Duration(seconds) * time.Second}
	c.choose()
	cpu := func(more func() time.Duration) func() (servers, program time.Duration) {
		from, own := f.ServersCPU(), more()
		return func() (time.Duration, time.Duration) { return f.ServersCPU() - from, more() - own }
	}
	none := func() time.Duration { return 0 }

	c.measure("nothing", cpu(none), false)
	f.KeptByApplier(30 * time.Second)
	f.Stowage(farmtest.ExitFine, "", "reshape", "--prepare")
	b := f.Start("reshape", "apply")
	f.Await(b, "it applies", func() bool { return f.GoodLeases() == 1 })
	f.Stowage(farmtest.ExitFine, "right", "reshape", "--all")
	c.measure("applier", cpu(b.CPU), true)
	b.Kill()
	f.Spec("", "") // triggers
	f.Stowage(farmtest.ExitFine, "", "reshape", "--prepare")
	c.measure("triggers", cpu(none), true)
}

// changes are those of the latest version of one file after the other, from four clients.
type changes struct {
	t     *testing.T
	db    *sql.DB
	rate  int
	lasts time.Duration
	ids   [][2]uint64 // a file, and the version to be changed
	next  int

	mu   sync.Mutex
	took []time.Duration // by changes
	lags []time.Duration // until the file's row has it, of one in twenty
}

func (c *changes) choose() {
	c.t.Helper()
	rows, err := c.db.QueryContext(c.t.Context(), "SELECT l.file_id, v.version_id FROM (SELECT file_id, MAX(version_no) AS n FROM fs01.versions WHERE deleted_at IS NULL GROUP BY file_id) l JOIN fs01.versions v ON v.file_id = l.file_id AND v.version_no = l.n")
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id [2]uint64
		if err := rows.Scan(&id[0], &id[1]); err != nil {
			c.t.Fatal(err)
		}
		c.ids = append(c.ids, id)
	}
	if err := rows.Err(); err != nil || len(c.ids) < 5000 {
		c.t.Fatalf("%d files, %v", len(c.ids), err)
	}
}

func (c *changes) measure(keep string, cpu func() (servers, program time.Duration), isKept bool) {
	c.t.Helper()
	c.run(isKept, func() bool { return false })
	servers, program := cpu()
	if c.t.Failed() {
		return
	}
	n := len(c.took)
	line := fmt.Sprintf("applier keep=%s asked=%d rate=%.0f p50_ms=%.2f p99_ms=%.2f servers_cpu_ms=%.0f program_cpu_ms=%.0f", keep, c.rate, float64(n)/c.lasts.Seconds(),
		ms(c.took, 50), ms(c.took, 99), 1000*milliseconds(servers)/float64(n), 1000*milliseconds(program)/float64(n))
	if isKept {
		line += fmt.Sprintf(" lag_p50_ms=%.1f lag_p95_ms=%.1f lags=%d", ms(c.lags, 50), ms(c.lags, 95), len(c.lags))
	}
	fmt.Println(line)
}

// run lets clients change versions, for as long as is said or until enough says so.
func (c *changes) run(isKept bool, enough func() bool) {
	c.took, c.lags = nil, nil
	var all sync.WaitGroup
	work := make(chan int, 1000)
	for range 4 {
		all.Go(func() {
			for n := range work {
				c.change(n, isKept && n%20 == 0, &all)
			}
		})
	}
	tick := time.NewTicker(time.Second / time.Duration(c.rate))
	defer tick.Stop()
	for end := time.Now().Add(c.lasts); time.Now().Before(end) && !enough(); c.next++ {
		<-tick.C
		work <- c.next
	}
	close(work)
	all.Wait()
}

// change changes one version. Where it is looked at, the time counts until its file's row has it, from when its client was told that it is committed.
func (c *changes) change(n int, look bool, all *sync.WaitGroup) {
	id, size := c.ids[n%len(c.ids)], 1_000_000+n
	began := time.Now()
	if _, err := c.db.ExecContext(c.t.Context(), "UPDATE fs01.versions SET size = ? WHERE version_id = ?", size, id[1]); err != nil {
		c.t.Error(err)
		return
	}
	done := time.Now()
	c.mu.Lock()
	c.took = append(c.took, done.Sub(began))
	c.mu.Unlock()
	if !look {
		return
	}
	all.Go(func() {
		for has := 0; has != size; time.Sleep(time.Millisecond) {
			if err := c.db.QueryRowContext(c.t.Context(), "SELECT COALESCE(latest_size, 0) FROM fs01.files WHERE file_id = ?", id[0]).Scan(&has); err != nil || time.Since(done) > 30*time.Second {
				c.t.Errorf("file %d carries %d, want %d (%v)", id[0], has, size, err)
				return
			}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lags = append(c.lags, time.Since(done))
	})
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// ms is a percentile in milliseconds.
func ms(all []time.Duration, percent int) float64 {
	slices.Sort(all)
	if len(all) == 0 {
		return 0
	}
	return milliseconds(all[min(len(all)-1, len(all)*percent/100)])
}
