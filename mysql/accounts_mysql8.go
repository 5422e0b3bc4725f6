package mysql

import (
	"slices"
	"strings"
)

// privilegesMySQL are what Stowage's own account needs on a MySQL server, and
// why. docs/reference/privileges.md is checked against this list.
var privilegesMySQL = []string{
	"SELECT",                  // checksums, sizes, sessions
	"RELOAD",                  // FLUSH TABLES WITH READ LOCK for a snapshot; RESET on a fresh copy
	"PROCESS",                 // open transactions
	"LOCK TABLES",             // UNLOCK TABLES belongs to it
	"EVENT",                   // statuses of scheduled events on a copy
	"TRIGGER",                 // triggers are compared
	"SHOW VIEW",               // views are compared
	"REPLICATION CLIENT",      // SHOW REPLICA STATUS, SHOW BINARY LOGS
	"REPLICATION SLAVE",       // SHOW REPLICAS
	"REPLICATION_SLAVE_ADMIN", // CHANGE REPLICATION SOURCE, START and STOP REPLICA
	"CONNECTION_ADMIN",        // the fence; work beside it; room for us when max_connections is reached
	"SYSTEM_VARIABLES_ADMIN",  // super_read_only, event_scheduler, sql_log_bin, gtid_purged, buffer pool dump and load
	"BACKUP_ADMIN",            // to be cloned from
	"CLONE_ADMIN",             // to clone
	"SET_ANY_DEFINER",         // statuses of other people's events (before 8.2: SET_USER_ID)
}

// privileges are what Stowage's own account needs on a server of this flavor.
func (d dialect) privileges() []string {
	if d.flavor.HasGTIDDomains() {
		return privileges
	}
	return privilegesMySQL
}

// backupPrivilegesMySQL are all that the account needs that a server clones
// another with.
var backupPrivilegesMySQL = []string{"BACKUP_ADMIN"}

func (d dialect) backupPrivileges() []string {
	if d.flavor.HasGTIDDomains() {
		return backupPrivileges
	}
	return backupPrivilegesMySQL
}

// backupStatements make the account for copies, if there is one.
func backupStatements(a Account, privileges []string) []string {
	if a.User == "" {
		return nil
	}
	return []string{
		"CREATE USER " + grantee(a) + " IDENTIFIED BY " + quote(a.Password),
		"GRANT " + strings.Join(privileges, ", ") + " ON *.* TO " + grantee(a),
	}
}

// shardPrivilegesMySQL are what the account needs besides where single shards
// are moved, as shardPrivileges.
var shardPrivilegesMySQL = slices.Concat(shardPrivileges, []string{
	"SUPER",                     // functions and triggers are made while the binary log is on, unless log_bin_trust_function_creators is
	"ALLOW_NONEXISTENT_DEFINER", // a view or routine whose definer is on neither side (since 8.2)
})

func (d dialect) shardPrivileges() []string {
	switch {
	case d.flavor.HasGTIDDomains():
		return shardPrivileges
	case d.flavor.Major == 8 && d.flavor.Minor < 2:
		return slices.DeleteFunc(slices.Clone(shardPrivilegesMySQL), func(p string) bool { return p == "ALLOW_NONEXISTENT_DEFINER" })
	}
	return shardPrivilegesMySQL
}

// BootstrapMySQL are the statements that make the accounts on a brand-new MySQL
// server; root gets a login over the loopback. They hold the passwords.
func BootstrapMySQL(a Accounts, root Account) []string {
	local := quote(root.User) + "@'127.0.0.1'"
	return append([]string{
		"CREATE USER " + grantee(a.Admin) + " IDENTIFIED BY " + quote(a.Admin.Password),
		"GRANT " + strings.Join(slices.Compact(slices.Sorted(slices.Values(slices.Concat(privilegesMySQL, shardPrivilegesMySQL)))), ", ") + " ON *.* TO " + grantee(a.Admin),
		"CREATE USER " + grantee(a.Replication) + " IDENTIFIED BY " + quote(a.Replication.Password),
		"GRANT REPLICATION SLAVE ON *.* TO " + grantee(a.Replication),
		"CREATE USER " + grantee(a.Client) + " IDENTIFIED BY " + quote(a.Client.Password),
		"GRANT SELECT, INSERT, UPDATE, DELETE ON *.* TO " + grantee(a.Client),
		"CREATE USER " + local + " IDENTIFIED BY " + quote(root.Password),
		"GRANT ALL PRIVILEGES ON *.* TO " + local,
	}, backupStatements(a.Backup, backupPrivilegesMySQL)...)
}
