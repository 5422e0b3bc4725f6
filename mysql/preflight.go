package mysql

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What a server is asked before something of it is moved, beyond its Facts. Everything here only reads.

// PreflightVariables are the global variables that questions before a move read besides those of Facts. One that a server
// does not have is absent.
var PreflightVariables = []string{
	"binlog_expire_logs_seconds", "expire_logs_days", "max_binlog_total_size", "open_files_limit", "table_open_cache",
	"have_ssl", "require_secure_transport", "ssl_cert", "ssl_ca", "slave_run_triggers_for_rbr",
	"rpl_semi_sync_master_wait_no_slave",
	"innodb_log_file_size", "innodb_undo_tablespaces", "innodb_data_file_path", "innodb_checksum_algorithm",
	"innodb_data_home_dir", "innodb_log_group_home_dir", "innodb_undo_directory", "log_bin_basename", "relay_log_basename", "aria_log_dir_path",
	"collation_database", "character_set_database", "explicit_defaults_for_timestamp",
}

// Cascades are the foreign keys by which InnoDB changes rows on its own, as "d/fk: d/child -> d/parent (DELETE CASCADE)".
// What it changes is in no row event: each replica does it again for itself. They are read from InnoDB itself:
// information_schema.REFERENTIAL_CONSTRAINTS shows an account that may only SELECT nothing at all.
func (s *Server) Cascades(ctx context.Context, of Flavor) ([]string, error) {
	table := "INNODB_FOREIGN"
	if of.Vendor == "MariaDB" {
		table = "INNODB_SYS_FOREIGN"
	}
	records, err := s.records(ctx, "SELECT ID AS fk, FOR_NAME AS child, REF_NAME AS parent, TYPE AS type FROM information_schema."+table+" WHERE TYPE & 15 ORDER BY 1")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range records {
		kind, _ := strconv.Atoi(r["type"])
		var rules []string
		for bit, rule := range []string{"DELETE CASCADE", "DELETE SET NULL", "UPDATE CASCADE", "UPDATE SET NULL"} { // dict_foreign_t::type
			if kind>>bit&1 == 1 {
				rules = append(rules, rule)
			}
		}
		out = append(out, fmt.Sprintf("%s: %s -> %s (%s)", r["fk"], r["child"], r["parent"], strings.Join(rules, ", ")))
	}
	return out, nil
}

// Cascade is a foreign key by which the server deletes or changes rows of a table on its own, and writes no row event of them.
type Cascade struct {
	Table, Parent string // in one database; of a parent elsewhere, database.table
	Name          string
	Rules         string // "DELETE CASCADE, UPDATE SET NULL"
}

// String is for people: "versions by of_file (DELETE CASCADE)".
func (c Cascade) String() string { return c.Table + " by " + c.Name + " (" + c.Rules + ")" }

// CascadesInto are those of a database's tables, by the name that clients know. MySQL from 9.6 on does in SQL what such a foreign key says, and logs
// it, unless innodb_native_foreign_keys is set: there are none then.
//
// MariaDB's information_schema shows foreign keys only to those who may change the tables. InnoDB has them for all who see processes.
func (s *Server) CascadesInto(ctx context.Context, schema string) (out []Cascade, err error) {
	d, err := s.dialect(ctx)
	if err != nil {
		return nil, err
	}
	query := `SELECT TABLE_NAME AS child, IF(UNIQUE_CONSTRAINT_SCHEMA = CONSTRAINT_SCHEMA, '', UNIQUE_CONSTRAINT_SCHEMA) AS other, REFERENCED_TABLE_NAME AS parent, CONSTRAINT_NAME AS name,
		CONCAT_WS(', ', IF(DELETE_RULE IN ('RESTRICT', 'NO ACTION'), NULL, CONCAT('DELETE ', DELETE_RULE)), IF(UPDATE_RULE IN ('RESTRICT', 'NO ACTION'), NULL, CONCAT('UPDATE ', UPDATE_RULE))) AS rules
		FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = ?`
	if d.flavor.Vendor == "MariaDB" {
		in, other := fileNamePart("FOR_NAME", "1"), fileNamePart("REF_NAME", "1")
		query = "SELECT " + fileNamePart("FOR_NAME", "-1") + " AS child, IF(SUBSTRING_INDEX(REF_NAME, '/', 1) = SUBSTRING_INDEX(FOR_NAME, '/', 1), '', " + other + ") AS other, " + fileNamePart("REF_NAME", "-1") + ` AS parent,
			SUBSTRING_INDEX(ID, '/', -1) AS name, CONCAT_WS(', ', IF(TYPE & 1, 'DELETE CASCADE', NULL), IF(TYPE & 2, 'DELETE SET NULL', NULL), IF(TYPE & 4, 'UPDATE CASCADE', NULL), IF(TYPE & 8, 'UPDATE SET NULL', NULL)) AS rules
			FROM information_schema.INNODB_SYS_FOREIGN WHERE ` + in + " = ?"
	} else if v, err := s.Variables(ctx, "innodb_native_foreign_keys"); err != nil || v["innodb_native_foreign_keys"] == "OFF" {
		return nil, err
	}
	records, err := s.recordsSlow(ctx, query+" ORDER BY 1, 4", schema)
	for _, r := range records {
		c := Cascade{Table: strings.TrimPrefix(r["child"], AsidePrefix), Parent: strings.TrimPrefix(r["parent"], AsidePrefix), Name: r["name"], Rules: r["rules"]}
		if r["other"] != "" {
			c.Parent = r["other"] + "." + c.Parent
		}
		if c.Rules != "" {
			out = append(out, c)
		}
	}
	return out, err
}

// fileNamePart is a part of a name that InnoDB has as those of files: "shard@002d1/t".
func fileNamePart(column, n string) string {
	return "CONVERT(CONVERT(CAST(SUBSTRING_INDEX(" + column + ", '/', " + n + ") AS BINARY) USING filename) USING utf8mb4)"
}

// TransactionVersioned are the system-versioned tables whose rows are stamped with transaction numbers instead of times.
func (s *Server) TransactionVersioned(ctx context.Context) ([]string, error) {
	records, err := s.records(ctx, `SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) AS name FROM information_schema.COLUMNS
		WHERE GENERATION_EXPRESSION = 'ROW START' AND DATA_TYPE = 'bigint' AND TABLE_SCHEMA NOT IN `+SystemSchemas+` ORDER BY 1`)
	if err != nil {
		return nil, err
	}
	return Column(records, "name"), nil
}

// Triggers are the triggers of all databases, as "d.name on t".
func (s *Server) Triggers(ctx context.Context) ([]string, error) {
	records, err := s.records(ctx, `SELECT CONCAT(TRIGGER_SCHEMA, '.', TRIGGER_NAME, ' on ', EVENT_OBJECT_TABLE) AS name
		FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA NOT IN `+SystemSchemas+` ORDER BY 1`)
	if err != nil {
		return nil, err
	}
	return Column(records, "name"), nil
}

// Column is one column of records, in their order.
func Column(records []map[string]string, name string) []string {
	var out []string
	for _, r := range records {
		out = append(out, r[name])
	}
	return out
}

// Definer is an object that runs with the rights of an account.
type Definer struct {
	Object  string // "view d.v"
	Account string // user@host
}

func (d Definer) String() string { return d.Object + " of " + d.Account }

// Definers are the views, routines, triggers and events that run with the rights of the account that defined them.
func (s *Server) Definers(ctx context.Context) ([]Definer, error) {
	records, err := s.records(ctx, `
		SELECT CONCAT('view ', TABLE_SCHEMA, '.', TABLE_NAME) AS object, DEFINER AS definer FROM information_schema.VIEWS
			WHERE SECURITY_TYPE = 'DEFINER' AND TABLE_SCHEMA NOT IN `+SystemSchemas+`
		UNION ALL SELECT CONCAT(LOWER(ROUTINE_TYPE), ' ', ROUTINE_SCHEMA, '.', ROUTINE_NAME), DEFINER FROM information_schema.ROUTINES
			WHERE SECURITY_TYPE = 'DEFINER' AND ROUTINE_SCHEMA NOT IN `+SystemSchemas+`
		UNION ALL SELECT CONCAT('trigger ', TRIGGER_SCHEMA, '.', TRIGGER_NAME), DEFINER FROM information_schema.TRIGGERS
			WHERE TRIGGER_SCHEMA NOT IN `+SystemSchemas+`
		UNION ALL SELECT CONCAT('event ', EVENT_SCHEMA, '.', EVENT_NAME), DEFINER FROM information_schema.EVENTS
			WHERE EVENT_SCHEMA NOT IN `+SystemSchemas+` ORDER BY 1`)
	if err != nil {
		return nil, err
	}
	var out []Definer
	for _, r := range records {
		out = append(out, Definer{r["object"], r["definer"]})
	}
	return out, nil
}

// Login is an account as a server keeps it. Its passwords are not read.
type Login struct {
	User, Host  string
	RequiresTLS bool
	// RequiresCertificate: and a certificate of whoever logs in.
	RequiresCertificate bool
	Replicates          bool // it may read the binary log
}

func (l Login) String() string { return l.User + "@" + l.Host }

// Logins are the accounts of the server, roles among them (their Host is empty).
func (s *Server) Logins(ctx context.Context) ([]Login, error) {
	records, err := s.records(ctx, "SELECT User AS user, Host AS host, ssl_type AS tls FROM mysql.user ORDER BY 1, 2")
	if err != nil {
		return nil, err
	}
	grants, err := s.records(ctx, "SELECT GRANTEE AS who FROM information_schema.USER_PRIVILEGES WHERE PRIVILEGE_TYPE IN ('REPLICATION SLAVE', 'REPLICATION REPLICA')")
	if err != nil {
		return nil, err
	}
	may := map[string]bool{}
	for _, g := range grants {
		may[g["who"]] = true
	}
	var out []Login
	for _, r := range records {
		out = append(out, Login{User: r["user"], Host: r["host"], RequiresTLS: r["tls"] != "",
			RequiresCertificate: r["tls"] == "X509" || r["tls"] == "SPECIFIED",
			Replicates:          may["'"+r["user"]+"'@'"+r["host"]+"'"]})
	}
	return out, nil
}

// HostMatches reports whether an account's host pattern admits a client at an IP address: a pattern with % and _, an
// address with a netmask (MariaDB and MySQL), a prefix length (MySQL 8.0.23), or an address. Names are not resolved and never match.
func HostMatches(pattern, address string) bool {
	if pattern == "" || pattern == address {
		return true
	}
	if prefix, err := netip.ParsePrefix(pattern); err == nil {
		ip, err := netip.ParseAddr(address)
		return err == nil && prefix.Contains(ip)
	}
	if base, mask, ok := strings.Cut(pattern, "/"); ok {
		ip, b, m := net.ParseIP(address).To4(), net.ParseIP(base).To4(), net.ParseIP(mask).To4()
		if ip == nil || b == nil || m == nil {
			return false
		}
		return ip.Mask(net.IPMask(m)).Equal(b)
	}
	return likes(pattern, address)
}

// likes is LIKE without an escape character, letter case aside.
func likes(pattern, text string) bool {
	if pattern == "" {
		return text == ""
	}
	switch pattern[0] {
	case '%':
		for i := 0; i <= len(text); i++ {
			if likes(pattern[1:], text[i:]) {
				return true
			}
		}
		return false
	case '_':
		return text != "" && likes(pattern[1:], text[1:])
	}
	return text != "" && strings.EqualFold(pattern[:1], text[:1]) && likes(pattern[1:], text[1:])
}

// Skew is how far the server's clock is ahead of ours, give or take half the time that asking took: the best of a few.
func (s *Server) Skew(ctx context.Context) (ahead, uncertain time.Duration, err error) {
	uncertain = time.Hour
	for range 5 {
		var micros int64
		before := time.Now()
		if err := s.row(ctx, "SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)", nil, &micros); err != nil {
			return 0, 0, err
		}
		took := time.Since(before)
		if took/2 < uncertain {
			uncertain = took / 2
			ahead = time.UnixMicro(micros).Sub(before.Add(took / 2))
		}
	}
	return ahead, uncertain, nil
}

// TimeZoneNames is how many named time zones the server knows: 0 means that CONVERT_TZ with a name answers NULL.
func (s *Server) TimeZoneNames(ctx context.Context) (int, error) {
	var n int
	err := s.row(ctx, "SELECT COUNT(*) FROM mysql.time_zone_name", nil, &n)
	return n, err
}

// fileVariables hold paths of files that belong to the server's data.
var fileVariables = []string{"innodb_data_home_dir", "innodb_log_group_home_dir", "innodb_undo_directory", "aria_log_dir_path", "log_bin_basename", "relay_log_basename"}

// OutsideDatadir are files of the server that do not be in its data directory: a copy would have to take them
// along, and a second server with the same options would write into them. vars are variables of this server.
func (s *Server) OutsideDatadir(ctx context.Context, vars map[string]string) ([]string, error) {
	home := filepath.Clean(vars["datadir"])
	inside := func(path string) bool {
		path = filepath.Clean(path)
		return !filepath.IsAbs(path) || path == home || strings.HasPrefix(path, home+"/")
	}
	var out []string
	for _, name := range fileVariables {
		if v := vars[name]; v != "" && !inside(v) {
			out = append(out, name+" "+v)
		}
	}
	if !strings.Contains(vars["version"], "MariaDB") {
		elsewhere, err := s.FilesElsewhere(ctx)
		for _, file := range elsewhere {
			out = append(out, "tablespace "+file)
		}
		return out, err
	}
	records, err := s.records(ctx, "SELECT NAME AS name, FILENAME AS file FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME NOT LIKE 'innodb_temporary%' ORDER BY 1")
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		if file := r["file"]; file != "" && !inside(file) {
			out = append(out, "table "+r["name"]+" "+file)
		}
	}
	return out, nil
}

// Plugins are the plugins that come from a library beside the server, by library: "server_audit (server_audit.so)".
func (s *Server) Plugins(ctx context.Context) ([]string, error) {
	records, err := s.records(ctx, `SELECT PLUGIN_NAME AS name, PLUGIN_LIBRARY AS file FROM information_schema.PLUGINS
		WHERE PLUGIN_LIBRARY IS NOT NULL AND PLUGIN_STATUS = 'ACTIVE' ORDER BY 2, 1`)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range records {
		out = append(out, r["name"]+" ("+r["file"]+")")
	}
	return out, nil
}

// EncryptedTablespaces is how many of the server's tablespaces cannot be read without a key. MariaDB.
func (s *Server) EncryptedTablespaces(ctx context.Context) (int, error) {
	var n int
	err := s.row(ctx, "SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES_ENCRYPTION WHERE ENCRYPTION_SCHEME > 0 AND CURRENT_KEY_VERSION > 0", nil, &n)
	return n, err
}

// BinlogBytes is what the server's binary logs take on disk.
func (s *Server) BinlogBytes(ctx context.Context) (int64, error) {
	records, err := s.records(ctx, "SHOW BINARY LOGS")
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, r := range records {
		n, err := strconv.ParseInt(r["File_size"], 10, 64)
		if err != nil {
			return 0, s.fail("SHOW BINARY LOGS", fmt.Errorf("size of %s: %w", r["Log_name"], err))
		}
		sum += n
	}
	return sum, nil
}

// DataBytes is what the files of the server's tables take on disk, free pages within them included, as a physical copy would.
func (s *Server) DataBytes(ctx context.Context, of Flavor) (int64, error) {
	table := "INNODB_TABLESPACES"
	if of.Vendor == "MariaDB" {
		table = "INNODB_SYS_TABLESPACES"
	}
	var n int64
	err := s.row(ctx, "SELECT CAST(COALESCE(SUM(FILE_SIZE), 0) AS SIGNED) FROM information_schema."+table+" WHERE NAME NOT LIKE 'innodb_temporary%'", nil, &n)
	return n, err
}

// OpenTables are how many tables and files the server holds open now.
func (s *Server) OpenTables(ctx context.Context) (tables, files int, err error) {
	records, err := s.records(ctx, "SHOW GLOBAL STATUS WHERE Variable_name IN ('Open_tables', 'Innodb_num_open_files', 'Open_files')")
	if err != nil {
		return 0, 0, err
	}
	for _, r := range records {
		n, _ := strconv.Atoi(r["Value"])
		if r["Variable_name"] == "Open_tables" {
			tables = n
		} else {
			files += n
		}
	}
	return tables, files, nil
}

// Preflight reads the server's Facts with the variables of PreflightVariables among them.
func (s *Server) Preflight(ctx context.Context) (Facts, error) {
	f, err := s.Facts(ctx)
	if err != nil {
		return f, err
	}
	more, err := s.Variables(ctx, slices.Concat(PreflightVariables, SemiSync)...)
	if err != nil {
		return f, err
	}
	for name, value := range more {
		f.Variables[name] = value
	}
	return f, nil
}

// Retention is how long the server keeps its binary logs; 0 is for ever.
func (f Facts) Retention() time.Duration {
	if n, err := strconv.ParseInt(f.Variables["binlog_expire_logs_seconds"], 10, 64); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	days, err := strconv.ParseFloat(f.Variables["expire_logs_days"], 64)
	if err != nil {
		return 0
	}
	return time.Duration(days * 24 * float64(time.Hour))
}
