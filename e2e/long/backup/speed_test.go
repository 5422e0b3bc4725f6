package backup

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"stowage/demo/load"
	"stowage/e2e/farmtest"
	"stowage/farm"
)

// TestClientsDuringABackup is a part of BENCH=backup: what clients of a farm feel while it is backed up, over what they felt before, and then how long the
// whole verb takes with nobody there. It prints a line each for scripts/bench/backup.sh; times are judged there.
func TestClientsDuringABackup(t *testing.T) {
	mb, rounds := farmtest.Number("BACKUP_MB", 0), farmtest.Number("ROUNDS", 1)
	if mb == 0 {
		t.Skip("SKIPPED: what clients feel of a backup; make bench BENCH=backup measures it")
	}
	k := farmtest.StartKeptFarm(t)
	// Rows that compress about as well as a shop's do: half of it is noise.
	k.F.Sql(k.Of, "SET SESSION sql_log_bin = 0", "CREATE DATABASE filler", "CREATE TABLE filler.big (id INT PRIMARY KEY, noise VARBINARY(500), text VARCHAR(500)) ENGINE=InnoDB",
		fmt.Sprintf("INSERT INTO filler.big SELECT seq, RANDOM_BYTES(500), REPEAT(MD5(seq %% 1000), 15) FROM filler.seq_1_to_%d", mb*1000))
	for _, side := range farm.SideNames {
		k.F.Sql(side, "SET GLOBAL userstat = ON") // else the governor does not know what clients feel
	}
	time.Sleep(20 * time.Second) // pages are written
	felt := func(from, to time.Time) load.Distribution {
		d, err := load.Latency(k.F.Path("load"), from, to)
		if err != nil || d.Count == 0 {
			t.Fatalf("nobody was answered: %v", err)
		}
		return d
	}
	var ratios []float64
	var said string
	for range rounds {
		before := time.Now()
		time.Sleep(30 * time.Second)
		began := time.Now()
		k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "--full")
		ended := time.Now()
		time.Sleep(30 * time.Second)
		a, b, c := felt(before, began), felt(began, ended), felt(ended, time.Now())
		ratios = append(ratios, b.P99/a.P99)
		said += fmt.Sprintf("; p99 %.1f ms before, %.1f during (%d queries in %.1f s), %.1f after", a.P99, b.P99, b.Count, ended.Sub(began).Seconds(), c.P99)
	}
	s, _, wrong := k.F.Settle()
	for _, w := range wrong {
		t.Error(w)
	}
	slices.Sort(ratios)
	fmt.Printf("FIGURE\tclients\t%.2f\t%d MB, userstat is on, median of %d%s\n", ratios[len(ratios)/2], mb, rounds, said)
	fmt.Printf("FIGURE\tfailed\t%d\t%d writes acknowledged, %d backups\n", s.Failed, s.Acknowledged, rounds)
	began := time.Now()
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "--full")
	took := time.Since(began).Seconds()
	fmt.Printf("FIGURE\tverb\t%.0f\t%d MB of rows in %.1f s, the start of its engine and all steps in it\n", float64(mb)/took, mb, took)
}
