// Package backup kills what backs up and restores at every border, takes restores back from every step, and breaks vaults.
package backup

import (
	"fmt"
	"testing"

	"stowage/act"
	"stowage/backup"
	"stowage/e2e/farmtest"
)

// What backs up is killed at each border in turn, with its engine or without; resume goes on. What there is then can be restored, and has every row.
func TestBackupKilledAtEveryBorder(t *testing.T) {
	for hand, points := range farmtest.Dealt(backup.Kind(nil).Runbooks[0].Points(), 2) {
		t.Run(fmt.Sprint("hand ", hand), func(t *testing.T) {
			k := farmtest.StartKeptFarm(t)
			for n, at := range points {
				kind := []string{"--full", "--incremental"}[min(n%3, 1)]
				k.KilledIn([]string{"both", "stowage"}[n%2], at, "backup", "run", kind)
				k.Run(farmtest.ExitFine, "1 of 1 instance done", "resume")
				if ids := k.Backups(); len(ids) != n+1 {
					t.Fatalf("killed at %q, and there are %d backups of %d: %q", at, len(ids), n+1, ids)
				}
				k.NothingLeft()
			}
			k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "verify")
			k.NothingLeft()
			k.F.CheckLedger()
		})
	}
}

// The same for what restores, and what verifies.
func TestRestoreKilledAtEveryBorder(t *testing.T) {
	book, _ := backup.RestoreKind(nil).Runbook("verify")
	for hand, points := range farmtest.Dealt(book.Points(), 3) {
		t.Run(fmt.Sprint("hand ", hand), func(t *testing.T) {
			k := farmtest.StartKeptFarm(t)
			k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
			k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "--incremental")
			k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
			verifyKilled(t, k, points)
		})
	}
}

// verifyKilled has the newest backup verified once for each border, and what does so is killed there and resumed.
func verifyKilled(t *testing.T, k *farmtest.KeptFarm, points []string) {
	t.Helper()
	for n, at := range points {
		k.KilledIn([]string{"both", "stowage"}[n%2], at, "backup", "verify")
		k.Run(farmtest.ExitFine, "1 of 1 instance done", "resume")
		k.NothingLeft()
		if t.Failed() {
			t.Fatalf("killed at %q", at)
		}
	}
	k.F.CheckLedger()
}

// A run that was killed before a step and is then given up leaves nothing: no half set, no directory, no server.
func TestGivenUpLeavesNothing(t *testing.T) {
	verify, _ := backup.RestoreKind(nil).Runbook("verify")
	for _, c := range []struct {
		book act.Runbook
		args []string
	}{{backup.Kind(nil).Runbooks[0], []string{"backup", "run"}}, {verify, []string{"backup", "verify"}}} {
		t.Run(c.args[1], func(t *testing.T) {
			k := farmtest.StartKeptFarm(t)
			k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
			for n, s := range c.book.Steps {
				if s.NoReturn {
					continue // it goes on to its end
				}
				k.KilledIn([]string{"both", "stowage"}[n%2], "before "+s.Name, c.args...)
				k.Run(farmtest.ExitFine, "", "abort", "--reason", "wrong day")
				k.NothingLeft()
				if ids := k.Backups(); len(ids) != 1 || t.Failed() {
					t.Fatalf("given up before %s: %q", s.Name, ids)
				}
			}
			k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "verify")
			k.F.CheckLedger()
		})
	}
}

// The same for what takes a shard out of a backup: killed at each border and continued, one database is there, whole; given up before any step, none is.
func TestShardRestoreKilledAtEveryBorder(t *testing.T) {
	book, _ := backup.RestoreKind(nil).Runbook("extract")
	for hand, points := range farmtest.Dealt(book.Points(), 3) {
		t.Run(fmt.Sprint("hand ", hand), func(t *testing.T) {
			k := farmtest.StartKeptFarm(t)
			k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
			k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
			listings := k.OnBoth("SELECT COUNT(*) FROM `" + k.FirstShard() + "`.listings")
			for n, at := range points {
				as := fmt.Sprint("then_", n) // the other side may have the one before still
				k.KilledIn([]string{"both", "stowage"}[n%2], at, "restore", "--shard", k.FirstShard(), "--latest", "--as", as)
				k.Run(farmtest.ExitFine, "1 of 1 instance done", "resume")
				k.NoMarks()
				k.NothingLeft()
				if got := k.OnBoth("SELECT COUNT(*) FROM " + as + ".listings"); got != listings || t.Failed() {
					t.Fatalf("killed at %q: %s rows of %s", at, got, listings)
				}
				k.Told("DROP DATABASE " + as)
			}
			k.F.CheckLedger()
		})
	}
}

func TestShardRestoreGivenUpLeavesNothing(t *testing.T) {
	k := farmtest.StartKeptFarm(t)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
	book, _ := backup.RestoreKind(nil).Runbook("extract")
	for n, s := range book.Steps {
		if s.NoReturn {
			continue // it goes on to its end
		}
		k.KilledIn([]string{"both", "stowage"}[n%2], "before "+s.Name, "restore", "--shard", k.FirstShard(), "--as", "shop_then")
		k.Run(farmtest.ExitFine, "", "abort", "--reason", "wrong day")
		k.NothingLeft()
		k.NothingTakenOut()
		if t.Failed() {
			t.Fatalf("given up before %s", s.Name)
		}
	}
	k.F.CheckLedger()
}
