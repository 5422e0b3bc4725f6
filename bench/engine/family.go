package engine

import (
	"slices"
	"strings"

	"stowage/bench/engine/sheet"
)

// family is what MariaDB and MySQL call differently. Both are measured by the same loads and in the same way.
type family struct {
	group    string   // of the option file
	own      []string // lines that the other does not know
	smallLog string   // for system tables that are copied with every server
	reset    string   // begins an empty binary log
	history  string   // a query whose one value is InnoDB's history
	prefix   string   // of its version, where that does not say whose it is
}

var mariadb = family{
	group:    "[mariadbd]",
	own:      []string{"query_cache_type=0", "query_cache_size=0", "skip-slave-start", "log-slave-updates"},
	smallLog: "innodb_log_file_size=4M",
	reset:    "RESET MASTER",
	history:  "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Innodb_history_list_length'",
}

// MySQL 8.4 and later: RESET MASTER is gone. Its redo log is as large as MariaDB's is by default, for a larger one puts off what is measured. The X plugin
// would listen on a port, and keys that nobody uses take seconds to make. Its history is only shortened with every 128th purge, and then not at all when
// nobody works: with every one, or nobody could see when it is settled.
var mysql = family{
	group: "[mysqld]",
	own: []string{"innodb_redo_log_capacity=96M", "loose_mysqlx=0", "secure_file_priv=NULL", "innodb_purge_rseg_truncate_frequency=1", "loose_auto_generate_certs=0", "loose_sha256_password_auto_generate_rsa_keys=0",
		"loose_caching_sha2_password_auto_generate_rsa_keys=0"},
	smallLog: "innodb_redo_log_capacity=8M",
	reset:    "RESET BINARY LOGS AND GTIDS",
	history:  "SELECT count FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'",
	prefix:   "MySQL ",
}

func (s *server) family() family  { return familyOf(s.programs.IsMySQL) }
func (b *bencher) family() family { return familyOf(b.programs.IsMySQL) }

func familyOf(isMySQL bool) family {
	if isMySQL {
		return mysql
	}
	return mariadb
}

// lines are those of a cell as the family writes them.
func (f family) lines(c sheet.Cell, cache int64) []string {
	lines := c.Options(cache)
	if f.group == mariadb.group {
		return lines
	}
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "aria_") })
	for i, l := range lines {
		if name, value, _ := strings.Cut(l, "="); name == "innodb_doublewrite" { // it knows words alone
			lines[i] = name + "=" + map[string]string{"0": "OFF", "1": "ON"}[value]
		}
	}
	return lines
}

// lacks says why a cell cannot be measured on the family, in words; empty where it can.
func (f family) lacks(c sheet.Cell) string {
	if f.group == mysql.group && c.Engine != sheet.InnoDB && c.Engine != sheet.MyISAM {
		return "the server is MySQL, which has no " + string(c.Engine)
	}
	return ""
}
