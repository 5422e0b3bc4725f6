package mysql

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	driver "github.com/go-sql-driver/mysql"
)

// Clone replaces everything on this server, which is new and empty, by a
// physical copy of donor (host:port), with MySQL's clone plugin. The bytes go
// from server to server. The server keeps its own server_uuid and options.
//
// It ends with the server gone, because it cannot start itself again: whoever
// started it does, and asks Cloned whether there is a copy. That is how a lost
// connection is settled, too: nothing is known before Cloned has said it.
//
// told gets the bytes copied so far and those there are, now and then.
func (s *Server) Clone(ctx context.Context, donor string, as Account, told func(done, total int64)) error {
	host, port, err := net.SplitHostPort(donor)
	if err != nil {
		return s.fail("CLONE", err)
	}
	if err := s.makeCloneable(ctx); err != nil {
		return err
	}
	if err := s.exec(ctx, "SET GLOBAL clone_valid_donor_list = "+quote(donor)); err != nil {
		return err
	}
	watch, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); s.watchClone(watch, told) }()
	defer func() { cancel(); <-done }()
	s.log.Debug("statement", "server", s.name, "sql", "CLONE INSTANCE FROM ... "+donor)
	as = as.At(donor)
	statement := fmt.Sprintf("CLONE INSTANCE FROM %s@%s:%s IDENTIFIED BY %s", quote(as.User), quote(host), port, quote(as.Password))
	if as.TLS != nil {
		statement += " REQUIRE SSL" // whose certificate is taken is the option clone_ssl_ca of this server
	}
	_, err = s.db.ExecContext(ctx, statement)
	var my *driver.MySQLError
	switch {
	case err == nil, errors.As(err, &my) && my.Number == 3707:
		return nil // 3707: it is all there, and the server asks to be started again
	case errors.As(err, &my):
		return s.fail("CLONE", withoutStatement(err))
	case ctx.Err() != nil:
		return s.fail("CLONE", ctx.Err())
	}
	return nil // the connection ended with the server: Cloned tells
}

// makeCloneable installs the plugin where it is missing: the donor may have got
// it by INSTALL PLUGIN, and then the option file that this server started with
// does not have it.
func (s *Server) makeCloneable(ctx context.Context) error {
	missing, err := s.CanClone(ctx)
	if err == nil && missing != "" {
		err = s.exec(ctx, "INSTALL PLUGIN clone SONAME 'mysql_clone.so'")
	}
	return err
}

// LimitClone sets how fast this server, the new one, may clone; a negative rate
// is no limit. It may be called before Clone and while it runs: the plugin goes
// by the new value within a second or so, and the next start forgets it.
//
// The plugin counts in MiB a second, and 0 means no limit to it: what asks for less than 1 MiB/s, or
// for a stop, gets 1 MiB/s.
func (s *Server) LimitClone(ctx context.Context, bytesPerSecond int64) error {
	if err := s.makeCloneable(ctx); err != nil {
		return err
	}
	limit := int64(0)
	if bytesPerSecond >= 0 {
		limit = max(1, bytesPerSecond>>20)
	}
	return s.exec(ctx, fmt.Sprintf("SET GLOBAL clone_max_data_bandwidth = %d", min(limit, 1<<20)))
}

// watchClone reads the clone's progress until it ends.
func (s *Server) watchClone(ctx context.Context, told func(done, total int64)) {
	for Sleep(ctx, 250*time.Millisecond) == nil {
		records, err := s.records(ctx, "SELECT SUM(DATA) AS data, SUM(ESTIMATE) AS estimate FROM performance_schema.clone_progress WHERE STAGE IN ('FILE COPY', 'PAGE COPY', 'REDO COPY')")
		if err != nil || len(records) == 0 || told == nil {
			continue // it only informs
		}
		done, _ := strconv.ParseInt(records[0]["data"], 10, 64)
		total, _ := strconv.ParseInt(records[0]["estimate"], 10, 64)
		told(done, max(done, total))
	}
}

// Cloned is the position of the copy that this server is since its last Clone,
// from donor; an error when it is none, or not a whole one.
func (s *Server) Cloned(ctx context.Context, donor string) (Position, error) {
	records, err := s.records(ctx, "SELECT STATE, SOURCE, ERROR_NO, ERROR_MESSAGE, GTID_EXECUTED FROM performance_schema.clone_status")
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, s.fail("read clone_status", errors.New("there was no clone"))
	}
	r := records[0]
	if r["STATE"] != "Completed" || r["ERROR_NO"] != "0" || r["SOURCE"] != donor {
		return nil, s.fail("read clone_status", fmt.Errorf("clone from %s is %s: error %s %s", r["SOURCE"], r["STATE"], r["ERROR_NO"], r["ERROR_MESSAGE"]))
	}
	p, err := ParsePosition(r["GTID_EXECUTED"])
	if err != nil {
		return nil, s.fail("read clone_status", err)
	}
	has, err := s.BinlogPosition(ctx)
	if err != nil {
		return nil, err
	}
	if !has.Equal(p) {
		return nil, s.fail("read clone_status", fmt.Errorf("the clone was taken at %s and the server is at %s", p, has))
	}
	return p, nil
}

// ClonedPlace is the place in the donor's binary log at which the last Clone stands.
func (s *Server) ClonedPlace(ctx context.Context) (file string, offset int64, err error) {
	records, err := s.records(ctx, "SELECT BINLOG_FILE, BINLOG_POSITION FROM performance_schema.clone_status")
	if err != nil || len(records) == 0 {
		return "", 0, err
	}
	offset, err = strconv.ParseInt(records[0]["BINLOG_POSITION"], 10, 64)
	return records[0]["BINLOG_FILE"], offset, s.fail("read clone_status", err)
}

// CanClone says what keeps this server from being a donor, or "".
func (s *Server) CanClone(ctx context.Context) (string, error) {
	records, err := s.records(ctx, "SELECT PLUGIN_STATUS AS status FROM information_schema.PLUGINS WHERE PLUGIN_NAME = 'clone'")
	if err != nil {
		return "", err
	}
	if len(records) == 0 || records[0]["status"] != "ACTIVE" {
		return "the clone plugin is not active", nil
	}
	return "", nil
}

// FilesElsewhere are the tablespaces with files outside of the data directory: tables with DATA DIRECTORY, general and undo tablespaces with a path. A clone puts those files at the same paths of
// its own host, and not into its data directory. Those that options place (the system tablespace, the server's own undo logs) are put where the clone's options say.
func (s *Server) FilesElsewhere(ctx context.Context) ([]string, error) {
	records, err := s.records(ctx, `SELECT CONCAT(TABLESPACE_NAME, ' (', FILE_NAME, ')') AS file FROM information_schema.FILES
		WHERE ENGINE = 'InnoDB' AND FILE_TYPE IN ('TABLESPACE', 'UNDO LOG') AND LEFT(FILE_NAME, 1) = '/' AND LEFT(FILE_NAME, CHAR_LENGTH(@@GLOBAL.datadir)) <> @@GLOBAL.datadir
		AND (TABLESPACE_NAME LIKE '%/%' OR LEFT(TABLESPACE_NAME, 7) <> 'innodb_') ORDER BY 1`)
	return Column(records, "file"), err
}

// FreshStatements make the account on a server that was just initialized, so
// that Clone can be asked of it; everything is replaced by the donor's then.
// They hold the password, and whoever is root on that host reads it there: as
// is the account for copies, which Clone hands to this server anyway.
func FreshStatements(as Account) []string {
	return []string{
		"CREATE USER " + grantee(as) + " IDENTIFIED BY " + quote(as.Password),
		"GRANT CLONE_ADMIN, SYSTEM_VARIABLES_ADMIN, CONNECTION_ADMIN, PROCESS, SELECT ON *.* TO " + grantee(as),
		"GRANT INSERT ON mysql.plugin TO " + grantee(as),
	}
}
