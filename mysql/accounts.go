package mysql

import (
	"context"
	"log/slog"

	"stowage/farm"
)

// Privileges are what Stowage's own account needs on a MariaDB server, and
// why. docs/privileges.md is checked against this list.
var privileges = []string{
	"SELECT",                   // checksums, sizes
	"RELOAD",                   // backup, RESET MASTER on a fresh copy
	"PROCESS",                  // open transactions, backup
	"LOCK TABLES",              // backup
	"EVENT",                    // statuses of scheduled events on a copy
	"SUPER",                    // event_scheduler, buffer pool dump and load
	"BINLOG MONITOR",           // positions
	"BINLOG ADMIN",             // sql_log_bin, gtid_binlog_state
	"REPLICA MONITOR",          // SHOW SLAVE STATUS
	"REPLICATION SLAVE ADMIN",  // CHANGE MASTER, START and STOP SLAVE, gtid_slave_pos
	"REPLICATION MASTER ADMIN", // gtid_binlog_state
	"CONNECTION ADMIN",         // room for us when max_connections is reached
	"READ_ONLY ADMIN",          // the fence
}

// Accounts are what a farm needs: Stowage's, replication's and the clients'.
type Accounts struct {
	Admin, Replication, Client Account
}

// Bootstrap makes the accounts on a brand-new server reached as root without
// a password, and closes that door: root keeps its login on the local socket
// only, and over TCP with rootPassword.
func Bootstrap(ctx context.Context, address string, a Accounts, rootPassword string, log *slog.Logger) error {
	s := Open("template", address, Account{User: "root"}, log)
	defer s.Close()
	grant := "GRANT "
	for i, p := range privileges {
		if i > 0 {
			grant += ", "
		}
		grant += p
	}
	statements := []string{
		"DELETE FROM mysql.proxies_priv",
		"DELETE FROM mysql.global_priv WHERE User = '' OR (User = 'root' AND Host NOT IN ('localhost', '127.0.0.1'))",
		"FLUSH PRIVILEGES",
		"CREATE USER " + grantee(a.Admin) + " IDENTIFIED BY " + quote(a.Admin.Password),
		grant + " ON *.* TO " + grantee(a.Admin),
		"CREATE USER " + grantee(a.Replication) + " IDENTIFIED BY " + quote(a.Replication.Password),
		"GRANT REPLICATION SLAVE ON *.* TO " + grantee(a.Replication),
		"CREATE USER " + grantee(a.Client) + " IDENTIFIED BY " + quote(a.Client.Password),
		"GRANT SELECT, INSERT, UPDATE, DELETE ON *.* TO " + grantee(a.Client),
		"SET PASSWORD FOR 'root'@'127.0.0.1' = PASSWORD(" + quote(rootPassword) + ")",
	}
	for _, st := range statements {
		if _, err := s.db.ExecContext(ctx, st); err != nil {
			return &farm.Error{Op: "make accounts", Subject: address, Err: err} // no statement text: it holds passwords
		}
	}
	return nil
}

func grantee(a Account) string { return quote(a.User) + "@'%'" }

// Build runs statements of a schema, in order, on one connection.
func (s *Server) Build(ctx context.Context, statements []string) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return s.fail("connect", err)
	}
	defer conn.Close()
	for _, st := range statements {
		if _, err := conn.ExecContext(ctx, st); err != nil {
			return s.fail("run "+firstWords(st), err)
		}
	}
	return nil
}
