package mysql

import (
	"testing"
)

// TestOpenMemoryTablesLogsNothing: a server that was started writes no TRUNCATE TABLE of its own once its MEMORY tables were opened here.
func TestOpenMemoryTablesLogsNothing(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "s")
	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.`a``b` (id INT) ENGINE=MEMORY", "CREATE TABLE d.other (id INT PRIMARY KEY)", "INSERT d.`a``b` VALUES (1)")
	names, err := s.MemoryTables(t.Context())
	must(t, err)
	if len(names) != 1 || names[0] != "d.a`b" {
		t.Errorf("MEMORY tables are %q", names)
	}
	i.Restart(t)
	was := i.Value(t, "SELECT @@gtid_binlog_pos")
	must(t, s.OpenMemoryTables(t.Context()))
	if n, is := i.Value(t, "SELECT COUNT(*) FROM d.`a``b`"), i.Value(t, "SELECT @@gtid_binlog_pos"); n != "0" || is != was {
		t.Errorf("%s rows, and the server went from %s to %s", n, was, is)
	}
}
