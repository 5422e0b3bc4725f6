package mysql

import (
	"testing"

	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
)

// TestHeldRowsOutliveTheirSourceOnMySQL: what a held server of MySQL has received it applies when its source is gone for good, also after both threads were stopped or the server was killed. MariaDB throws
// it away there (TestHeldRowsOutliveTheirSource in e2e/long/alter).
func TestHeldRowsOutliveTheirSourceOnMySQL(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	line := mariadbtest.Named(t, mariadbtest.MySQL9)
	for name, meanwhile := range map[string]func(*testing.T, *mariadbtest.Instance){
		"running":      func(*testing.T, *mariadbtest.Instance) {},
		"both stopped": func(t *testing.T, b *mariadbtest.Instance) { b.Exec(t, "STOP REPLICA") },
		"killed":       func(t *testing.T, b *mariadbtest.Instance) { b.Kill(); b.Restart(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it mostly waits
			ai, bi, a, b := pairOf(t, line)
			ai.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT d.t VALUES (1)")
			must(t, b.WaitFor(t.Context(), position(t, a), patience))
			must(t, b.HoldApplier(t.Context()))
			must(t, b.SetSetting(t.Context(), "sync_relay_log", "1"))
			add := []string{"SET sql_log_bin = 0", "ALTER TABLE d.t ADD COLUMN c INT NOT NULL DEFAULT 7", "SET sql_log_bin = 1"}
			ai.Exec(t, append(add, "INSERT d.t VALUES (2, 99)", "UPDATE d.t SET c = 55 WHERE id = 1")...)
			written := position(t, a)
			eventually(t, "all is received", func() bool {
				return bi.Value(t, "SELECT GTID_SUBSET(?, CONCAT(@@GLOBAL.gtid_executed, ',', RECEIVED_TRANSACTION_SET)) FROM performance_schema.replication_connection_status", written.String()) == "1"
			})
			ai.Kill()
			meanwhile(t, bi)
			bi.Exec(t, append(add, "START REPLICA SQL_THREAD")...)
			eventually(t, "all is applied", func() bool {
				return bi.Value(t, "SELECT GROUP_CONCAT(CONCAT(id, '=', c) ORDER BY id) FROM d.t") == "1=55,2=99"
			})
		})
	}
}
