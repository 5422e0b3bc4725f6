package mysql

import (
	"context"
	"database/sql"
	"slices"
	"strings"
)

// Privileges are what Stowage's own account needs on a MariaDB server, and
// why. docs/reference/privileges.md is checked against this list.
var privileges = []string{
	"SELECT",                   // checksums, sizes
	"RELOAD",                   // backup, RESET MASTER on a fresh copy
	"PROCESS",                  // open transactions, backup
	"LOCK TABLES",              // backup
	"EVENT",                    // statuses of scheduled events on a copy
	"TRIGGER",                  // without it triggers are not shown: preflight, comparison
	"SHOW VIEW",                // without it views have no definition: comparison
	"SUPER",                    // event_scheduler, buffer pool dump and load
	"BINLOG MONITOR",           // positions
	"BINLOG ADMIN",             // sql_log_bin, gtid_binlog_state
	"REPLICA MONITOR",          // SHOW SLAVE STATUS
	"REPLICATION SLAVE ADMIN",  // CHANGE MASTER, START and STOP SLAVE, gtid_slave_pos
	"REPLICATION MASTER ADMIN", // gtid_binlog_state
	"CONNECTION ADMIN",         // room for us when max_connections is reached
	"READ_ONLY ADMIN",          // the fence
	"CREATE USER",              // ALTER USER ... ACCOUNT LOCK: keep accounts that no fence stops out of an old primary
	"SET USER",                 // statuses of other people's events (11.x: SUPER does not include it any more)
}

// shardPrivileges are what the account needs besides where single shards are
// moved: it then makes tables and writes rows. docs/reference/privileges.md has them.
var shardPrivileges = []string{
	"INSERT", "UPDATE", "DELETE", // rows of the copy, and its marks
	"CREATE", "DROP", "ALTER", "INDEX", "REFERENCES", // the copy's tables; RENAME is ALTER and DROP, CREATE and INSERT
	"CREATE VIEW", "CREATE ROUTINE", "ALTER ROUTINE", // its other objects
	"REPLICATION SLAVE", // reads the binary log
}

// nativePrivileges are what it needs besides where the target of a shard
// follows by its own replication.
var nativePrivileges = []string{
	"BINLOG REPLAY", // writes the last of another server's transactions under its own GTID
}

// backupPrivileges are all that the account needs that mariadb-backup logs in
// with. Its password is on the host of the server that is copied, for as long
// as that takes. With them nobody reads or writes a row over the network.
var backupPrivileges = []string{
	"BINLOG MONITOR", // where in the binary log the copy stands
	"LOCK TABLES",    // tables of other engines
	"PROCESS",        // SHOW ENGINE INNODB STATUS
	"RELOAD",         // BACKUP STAGE
}

// Accounts are what a farm needs: Stowage's, replication's, the clients', and
// the one for copies if it has one.
type Accounts struct {
	Admin, Replication, Client, Backup Account
}

func grantee(a Account) string { return quote(a.User) + "@'%'" }

// AllAllowed are statements that make an account which may do everything, for a server that nobody knows.
func AllAllowed(user, password string) string {
	who := grantee(Account{User: user})
	return "DROP USER IF EXISTS " + who + ";\nCREATE USER " + who + " IDENTIFIED BY " + quote(password) + ";\nGRANT ALL PRIVILEGES ON *.* TO " + who + " WITH GRANT OPTION;\n"
}

// DropAccount removes an account on this server alone: its binary log does not say so.
func (s *Server) DropAccount(ctx context.Context, user string) error {
	return s.unlogged(ctx, func(ctx context.Context, conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, "DROP USER IF EXISTS "+grantee(Account{User: user}))
		return err
	})
}

// HasUser reports whether an account or role "user@host" exists.
func (s *Server) HasUser(ctx context.Context, definer string) (bool, error) {
	user, host := definer, ""
	if at := strings.LastIndexByte(definer, '@'); at >= 0 {
		user, host = definer[:at], definer[at+1:]
	}
	var n int
	err := s.row(ctx, "SELECT COUNT(*) FROM mysql.user WHERE User = ? AND Host = ?", []any{user, host}, &n)
	return n > 0, err
}

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

// RefusesLogin tries an account from where we are: the server's refusal, nil when
// it lets the account in. Where none of the accounts of that name admits our own
// address, nothing can be said, and nil comes back as well.
func (s *Server) RefusesLogin(ctx context.Context, as Account) (refusal, err error) {
	var ours string
	if err := s.row(ctx, "SELECT SUBSTRING_INDEX(USER(), '@', -1)", nil, &ours); err != nil {
		return nil, err
	}
	logins, err := s.Logins(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(logins, func(l Login) bool { return l.User == as.User && HostMatches(l.Host, ours) }) {
		return nil, nil
	}
	probe := Open(s.name, s.address, as, s.log)
	defer probe.Close()
	if err := probe.Ping(ctx); CodeOf(err) == 1045 {
		return err, nil
	}
	return nil, nil // other troubles are not the account's
}
