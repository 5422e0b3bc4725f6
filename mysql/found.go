package mysql

import (
	"slices"
	"strings"

	"stowage/farm"
)

// SetupSQL is what a brand-new MariaDB server is told before anybody can
// connect (host.Founder): the accounts a farm needs, and root by the local
// socket of its own account only. It holds passwords. schema are statements to
// run after that; the instance's binary log knows nothing of any of them, so
// all instances of a pair must be told the same.
func SetupSQL(a Accounts, schema ...string) ([]byte, error) {
	for _, st := range schema {
		if strings.ContainsAny(st, "\n;") {
			return nil, &farm.Error{Op: "write setup", Subject: firstWords(st), Err: farm.ErrInput, Hint: "a statement of a setup is one line, without semicolons"}
		}
	}
	statements := []string{
		"SET sql_log_bin = 0",
		"DELETE FROM mysql.proxies_priv",
		"DELETE FROM mysql.global_priv WHERE User = '' OR (User = 'root' AND Host <> 'localhost')",
		"FLUSH PRIVILEGES",
		"ALTER USER 'root'@'localhost' IDENTIFIED VIA unix_socket",
		"CREATE USER " + grantee(a.Admin) + " IDENTIFIED BY " + quote(a.Admin.Password),
		"GRANT " + strings.Join(slices.Concat(privileges, shardPrivileges, nativePrivileges), ", ") + " ON *.* TO " + grantee(a.Admin),
		"CREATE USER " + grantee(a.Replication) + " IDENTIFIED BY " + quote(a.Replication.Password),
		"GRANT REPLICATION SLAVE ON *.* TO " + grantee(a.Replication),
		"CREATE USER " + grantee(a.Client) + " IDENTIFIED BY " + quote(a.Client.Password),
		"GRANT SELECT, INSERT, UPDATE, DELETE ON *.* TO " + grantee(a.Client),
	}
	statements = append(statements, backupStatements(a.Backup, backupPrivileges)...)
	return []byte(strings.Join(append(statements, schema...), ";\n") + ";\n"), nil
}
