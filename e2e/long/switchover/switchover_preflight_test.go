package switchover

import (
	"strings"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
)

// What must not be so is said before anything is touched: exit 3, with the
// reason.
func TestSwitchoverIsRefused(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartOneWriter(t, farm.PrimaryReplica)
	f.Wanted = "anywhere"
	run := func(side farm.SideName, statements ...string) {
		t.Helper()
		db := f.Root(side)
		defer db.Close()
		for _, text := range statements {
			if _, err := db.Exec(text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
	}
	for _, c := range []struct {
		name, want  string
		spoil, mend func()
	}{
		{"replica takes writes", "takes writes (writer)",
			func() { run(farm.B, "SET GLOBAL read_only = OFF") }, func() { run(farm.B, "SET GLOBAL read_only = ON") }},
		{"replica does not replicate", "(replication)",
			func() { run(farm.B, "STOP SLAVE") }, func() { run(farm.B, "START SLAVE") }},
		{"primary replicates", "it takes the writes and is set up to replicate (topology)",
			func() { run(farm.A, "CHANGE MASTER TO MASTER_HOST = '127.0.0.1'") }, func() { run(farm.A, "RESET SLAVE ALL") }},
		{"primary is fenced", "it is read-only (writer)",
			func() { run(farm.A, "SET GLOBAL read_only = ON") }, func() { run(farm.A, "SET GLOBAL read_only = OFF") }},
		{"row image", "binlog_row_image is MINIMAL",
			func() { run(farm.A, "SET GLOBAL binlog_row_image = MINIMAL") }, func() { run(farm.A, "SET GLOBAL binlog_row_image = FULL") }},
		{"semi-synchronous", "(semi-sync)",
			func() { run(farm.A, "SET GLOBAL rpl_semi_sync_master_enabled = ON") }, func() { run(farm.A, "SET GLOBAL rpl_semi_sync_master_enabled = OFF") }},
		{"a privilege that pairs are asked for", "account 'stowage'@'%' lacks BINLOG ADMIN (privileges",
			func() { run(farm.A, "REVOKE BINLOG ADMIN ON *.* FROM stowage@'%'") }, func() { run(farm.A, "GRANT BINLOG ADMIN ON *.* TO stowage@'%'") }},
		{"no leave to lock accounts", "may not lock accounts",
			func() {
				run(farm.A, "CREATE USER boss@'%' IDENTIFIED BY 'boss'", "GRANT ALL ON *.* TO boss@'%'", "REVOKE CREATE USER ON *.* FROM stowage@'%'")
			},
			func() { run(farm.A, "GRANT CREATE USER ON *.* TO stowage@'%'", "DROP USER boss@'%'") }},
	} {
		c.spoil()
		p := farmtest.RunProgram(t, "", f.Instance(farm.A)...)
		c.mend()
		if p.Code != farmtest.ExitRefused || !said(p.Stderr, c.want) {
			t.Errorf("%s: exit %d, want %d and %q\n%s", c.name, p.Code, farmtest.ExitRefused, c.want, p.Stderr)
		}
	}
	// A write that only the replica has stays there: it comes last.
	run(farm.B, "SET SESSION gtid_domain_id = 77", "CREATE DATABASE strange")
	p := farmtest.RunProgram(t, "", f.Instance(farm.B)...)
	if p.Code != farmtest.ExitRefused || !said(p.Stderr, "it has transactions that the primary lacks") {
		t.Errorf("a write on the replica: exit %d\n%s", p.Code, p.Stderr)
	}
	f.CheckOneServes()
	f.CheckOneWriter()
}

// said looks for the words of a finding and for the name of its check.
func said(text, want string) bool {
	words, check, named := strings.Cut(want, "(")
	return strings.Contains(text, strings.TrimSpace(words)) && (!named || strings.Contains(text, "("+check))
}
