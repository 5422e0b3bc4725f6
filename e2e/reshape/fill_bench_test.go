package reshape

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/examples/egnyte-files/files"
	"stowage/farm"
)

// TestBenchFill measures BENCH=reshape: what clients feel of the fill-in as `stowage reshape` does it, throttled, and how many rows a second that leaves. In one run clients are alone and beside it
// in turns. scripts/bench/reshape.sh runs it and reads its lines. BENCH_FILL is the number of changes a second, BENCH_VERSIONS how many versions there are, BENCH_SECONDS (20) how long each turn
// lasts, BENCH_ROUNDS (3) how many turns there are.
func TestBenchFill(t *testing.T) {
	number := func(name string, otherwise int) int {
		n, err := strconv.Atoi(os.Getenv(name))
		if err != nil {
			return otherwise
		}
		return n
	}
	rate := number("BENCH_FILL", 0)
	if rate < 1 {
		t.Skip("BENCH_FILL is not set: this is a measurement, not a test")
	}
	f := farmtest.StartFilesFarm(t, farm.PrimaryReplica, int64(number("BENCH_VERSIONS", 1_000_000)), files.Clients{Seed: 8})
	db := f.Root(farm.A)
	exec := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	filled := func() (n int) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM fs01.files WHERE latest_version_id IS NOT NULL").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	exec("SET GLOBAL userstat = 1") // what clients feel
	f.Spec("", "")                  // triggers
	f.Stowage(farmtest.ExitFine, "", "reshape", "--prepare")
	c := &changes{t: t, db: f.Pool(farm.A), rate: rate, lasts: time.Duration(number("BENCH_SECONDS", 20)) * time.Second}
	c.choose()

	var alone, beside []time.Duration
	rows, seconds := 0, 0.0
	for round := range number("BENCH_ROUNDS", 3) {
		exec("UPDATE fs01.tenants SET latest_entry_migrated = 0, latest_entry_active = 0")
		for n := 1; n > 0; {
			r, err := db.ExecContext(t.Context(), "UPDATE fs01.files SET latest_version_id = NULL, latest_size = NULL WHERE latest_version_id IS NOT NULL LIMIT 20000")
			if err != nil {
				t.Fatal(err)
			}
			left, _ := r.RowsAffected()
			n = int(left)
		}
		time.Sleep(2 * time.Second)
		c.run(false, func() bool { return false })
		one := c.took
		alone = append(alone, one...)

		// The same clients go on while the fill-in learns what is usual. What they feel counts from its first rows to its last.
		b := f.Start("reshape", "--all")
		told := func(what string) bool { return b.Ended() || strings.Contains(b.Out.String(), what) }
		c.run(false, func() bool { return told("filled in") })
		from, since := filled(), time.Now()
		c.run(false, func() bool { return told("verify") })
		n, took := filled()-from, time.Since(since).Seconds()
		beside = append(beside, c.took...)
		rows, seconds = rows+n, seconds+took
		fmt.Printf("fill round=%d alone_p50_ms=%.2f alone_p99_ms=%.2f beside_p50_ms=%.2f beside_p99_ms=%.2f changes=%d rows=%d seconds=%.1f\n", round, ms(one, 50), ms(one, 99), ms(c.took, 50), ms(c.took, 99), len(c.took), n, took)
		b.Ends(t, farmtest.ExitFine)
	}
	if t.Failed() || len(beside) < 100 || seconds == 0 {
		t.Fatalf("%d changes beside it in %.1f s", len(beside), seconds)
	}
	fmt.Printf("filling alone_p50_ms=%.2f alone_p99_ms=%.2f beside_p50_ms=%.2f beside_p99_ms=%.2f ratio=%.2f rows_per_second=%.0f changes=%d\n", ms(alone, 50), ms(alone, 99), ms(beside, 50), ms(beside, 99), ms(beside, 99)/ms(alone, 99), float64(rows)/seconds, len(alone)+len(beside))
}
