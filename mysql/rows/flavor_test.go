package rows

import (
	"testing"

	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/internal/turns"
	"stowage/mysql"
)

// TestSnapshotsOnEveryFlavor: with clients writing on both sides, a replica that stops at the position of a snapshot of its source,
// and then of the other side, holds exactly its rows; and one row that is different is found.
func TestSnapshotsOnEveryFlavor(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	mariadbtest.OnEach(t, func(t *testing.T, l mariadbtest.Line) {
		ai, bi := l.Start(t, "a"), l.Start(t, "b", "--auto-increment-offset=2")
		a, b := mysqltest.Open(t, ai), mysqltest.Open(t, bi)
		follow(t, b, ai)
		follow(t, a, bi)
		ai.Exec(t, "CREATE DATABASE shard1", "USE shard1",
			"CREATE TABLE t (id BIGINT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(40) NOT NULL, f FLOAT, d DATETIME(6), b BIT(9), e ENUM('x','y'), x TEXT)",
			"INSERT t (v,f,d,b,e,x) VALUES ('a',1.1,'2020-01-02 03:04:05.678901',b'101','y','long'), ('é',NULL,NULL,NULL,NULL,NULL)")
		must(t, b.WaitFor(t.Context(), mysqltest.Position(t, a), patience))
		bi.Exec(t, "INSERT shard1.t (v) VALUES ('from b')")
		must(t, b.WaitFor(t.Context(), mysqltest.Position(t, a), patience))
		must(t, a.WaitFor(t.Context(), mysqltest.Position(t, b), patience))
		ctx := t.Context()
		// Appliers that wait for the disk let the one that deals out run ahead.
		bi.Exec(t, "SET GLOBAL sync_binlog = 1", "SET GLOBAL innodb_flush_log_at_trx_commit = 1")
		app := ai.DB(t, mariadbtest.App, "shard1")
		burst := func() { // transactions of several clients, so that appliers work side by side
			failed := make(chan error, 4)
			for range 4 {
				go func() {
					var err error
					for k := 0; k < 25 && err == nil; k++ {
						_, err = app.Exec("INSERT t (v) VALUES ('burst')")
					}
					failed <- err
				}()
			}
			for range 4 {
				must(t, <-failed)
			}
		}
		for range 4 {
			must(t, b.StopReplicating(ctx))
			stands, err := b.AppliedPosition(ctx)
			must(t, err)
			must(t, a.WaitFor(ctx, stands, patience))
			burst()
			snap, err := Snapshot(ctx, a)
			must(t, err)
			burst()
			if !snap.At.Reached(stands) || len(snap.At) != 2 {
				t.Errorf("snapshot at %s, replica stood at %s", snap.At, stands)
			}
			must(t, b.StopAtWith(ctx, ai.Address, replication, snap.At, patience))
			if differ, err := allTables(t, snap, b); err != nil || len(differ) > 0 {
				t.Errorf("stopped on the run: %v, %v", differ, err)
			}
			must(t, snap.Close())
			must(t, b.Follow(ctx, ai.Address, replication, patience))
		}
		must(t, b.WaitFor(ctx, mysqltest.Position(t, a), patience))
		must(t, a.WaitFor(ctx, mysqltest.Position(t, b), patience))
		must(t, b.StopReplicating(ctx))
		ai.Exec(t, "INSERT shard1.t (v) VALUES ('beyond the stop')")
		snap, err := Snapshot(ctx, a)
		must(t, err)
		ai.Exec(t, "INSERT shard1.t (v) VALUES ('beyond the snapshot')")
		must(t, b.StopAtWith(ctx, ai.Address, replication, snap.At, patience))
		differ, err := allTables(t, snap, b)
		if err != nil || len(differ) > 0 {
			t.Errorf("at one position: %v, %v", differ, err)
		}
		bi.Exec(t, "SET sql_log_bin = 0", "UPDATE shard1.t SET v = 'astray' WHERE id = 1")
		differ, err = allTables(t, snap, b)
		if err != nil || len(differ) != 1 || differ[0].Table != "shard1.t" {
			t.Errorf("with a row astray: %v, %v; want one chunk of shard1.t", differ, err)
		}
		bi.Exec(t, "SET sql_log_bin = 0", "UPDATE shard1.t SET v = "+mysql.Quote(ai.Value(t, "SELECT v FROM shard1.t WHERE id = 1"))+" WHERE id = 1")
		must(t, snap.Close())
		must(t, b.Follow(ctx, ai.Address, replication, patience))
		must(t, b.WaitFor(ctx, mysqltest.Position(t, a), patience))
	})
}
