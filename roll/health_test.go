package roll

import "testing"

// Lines of real error logs. What a receiver says of a source that is away is no error of the server that says it.
func TestErrorsOfAServer(t *testing.T) {
	for line, want := range map[string]bool{
		"2026-11-25 23:20:48 5 [ERROR] Error reading packet from server: Lost connection to server during query (server_errno=2013)":                                                                                false,
		"2026-11-25 23:20:49 5 [ERROR] Slave I/O: error reconnecting to master 'repl@10.0.0.1:3306' - retry-time: 60  maximum-retries: 100000  message: Can't connect to server, Internal MariaDB error code: 2003": false,
		"2026-11-25T23:20:48.1Z 8 [ERROR] [MY-010584] [Repl] Replica I/O for channel '': Error reconnecting to source 'repl@10.0.0.1:3306'. Error_code: MY-002003":                                                  false,
		"2026-11-25 23:20:48 0 [ERROR] InnoDB: Database page corruption on disk or a failed read of file './a/t.ibd'":                                                                                               true,
		"2026-11-25 23:20:48 9 [ERROR] Slave SQL: Could not execute Write_rows_v1 event on table a.t; Duplicate entry '1' for key 'PRIMARY', Error_code: 1062":                                                      true,
		"2026-11-25 23:20:48 0 [ERROR] mysqld: Table './a/t' is marked as crashed and should be repaired":                                                                                                           true,
		"2026-11-25 23:20:48 0 [Warning] Aborted connection 5 to db: 'a' user: 'x' host: 'y' (Got an error reading communication packets)":                                                                          false,
	} {
		if isError(line) != want {
			t.Errorf("%v of %q", !want, line)
		}
	}
}
