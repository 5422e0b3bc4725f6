// Package mariadbtest starts private MariaDB and MySQL servers for tests.
//
// It answers: "how does a test get one real server, or an active-active ring
// of two, in under half a second, and how is nothing left of it afterwards?"
// Its main type is Instance; Start makes one, Ring joins two.
//
// Invariants: every server listens on an address of its own (127.0.77.N, port
// 23306) that is locked against every other test process on the machine; it
// runs as an unprivileged user; it dies with the test process, even a killed
// one; its directory is removed when the test ends or, after a crash, when
// the address is used again; server ids and GTID domains are never used twice.
//
// Other lines of servers run beside the machine's own where scripts/flavors.sh
// has put them: Line, Named, OnEach.
//
// It never skips quietly: where a server is missing the test says what was not
// tested. It is for tests only and trades durability (sync_binlog=0) for
// speed; a killed server still loses nothing, a machine without power would.
package mariadbtest
