package mysql

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"stowage/farm"
)

// Flavor is vendor and version. Ask it what a server can do; never compare
// versions outside this package.
type Flavor struct {
	Vendor  string // MariaDB or MySQL
	Version string // 10.11.19
	Major   int
	Minor   int
}

func (f Flavor) String() string { return f.Vendor + " " + f.Version }

// HasGTIDDomains: MariaDB's GTIDs carry a domain, MySQL's a server uuid.
func (f Flavor) HasGTIDDomains() bool { return f.Vendor == "MariaDB" }

// CanSeedFrom reports whether a physical copy of a server of flavor f can be
// started by a server of the same series: data files are not portable back.
//
// MySQL 8.0 clones within a series from 8.0.37 on; before, between equal
// versions only (reference manual, "Clone Plugin Limitations").
func (f Flavor) CanSeedFrom(g Flavor) bool {
	if f.Vendor == "MySQL" && f.Major == 8 && f.Minor == 0 && min(f.patch(), g.patch()) < 37 {
		return f.Vendor == g.Vendor && f.Version == g.Version
	}
	return f.Vendor == g.Vendor && f.Major == g.Major && f.Minor == g.Minor
}

func parseFlavor(version string) Flavor {
	f := Flavor{Vendor: "MySQL"}
	if strings.Contains(version, "MariaDB") {
		f.Vendor = "MariaDB"
	}
	f.Version, _, _ = strings.Cut(version, "-")
	numbers := strings.SplitN(f.Version, ".", 3)
	f.Major, _ = strconv.Atoi(numbers[0])
	if len(numbers) > 1 {
		f.Minor, _ = strconv.Atoi(numbers[1])
	}
	return f
}

// Facts is what a server says about itself.
type Facts struct {
	Flavor      Flavor
	ServerID    uint32
	Domain      uint32 // gtid_domain_id
	Variables   map[string]string
	Shards      map[farm.ShardName]int64 // bytes of data and indexes, by database
	Replication Replication
	Binlog      Position
	Applied     Position
	KnownIDs    []uint32 // every server id in gtid_binlog_state
}

// factVariables are the global variables that a plan, a preflight check or a
// comparison reads.
var factVariables = []string{
	"version", "server_id", "gtid_domain_id", "gtid_strict_mode", "gtid_ignore_duplicates",
	"log_bin", "log_slave_updates", "binlog_format", "binlog_row_image", "sync_binlog",
	"innodb_flush_log_at_trx_commit", "innodb_buffer_pool_size", "innodb_page_size",
	"auto_increment_increment", "auto_increment_offset", "event_scheduler", "read_only",
	"max_connections", "datadir", "port", "hostname", "time_zone", "system_time_zone",
	"character_set_server", "collation_server", "lower_case_table_names", "sql_mode",
	"expire_logs_days", "slave_parallel_mode", "performance_schema",
	"super_read_only", "gtid_mode", "enforce_gtid_consistency", "server_uuid", // MySQL
}

// Facts reads everything Stowage wants to know of a server.
func (s *Server) Facts(ctx context.Context) (Facts, error) {
	f, err := s.FactsWithoutShards(ctx)
	if err != nil {
		return f, err
	}
	f.Shards, err = s.Shards(ctx)
	return f, err
}

// FactsWithoutShards is Facts without what takes the longer the more tables there are.
func (s *Server) FactsWithoutShards(ctx context.Context) (Facts, error) {
	f := Facts{}
	var err error
	if f.Variables, err = s.Variables(ctx, factVariables...); err != nil {
		return f, err
	}
	f.Flavor = parseFlavor(f.Variables["version"])
	f.ServerID = number(f.Variables["server_id"])
	f.Domain = number(f.Variables["gtid_domain_id"])
	if f.Replication, err = s.Replication(ctx); err != nil {
		return f, err
	}
	if f.Binlog, err = s.BinlogPosition(ctx); err != nil {
		return f, err
	}
	if f.Applied, err = s.AppliedPosition(ctx); err != nil {
		return f, err
	}
	f.KnownIDs, err = s.ServerIDsInBinlog(ctx)
	return f, err
}

func number(text string) uint32 {
	n, _ := strconv.ParseUint(text, 10, 32)
	return uint32(n)
}

// Variables reads global variables; one the server does not have is absent.
func (s *Server) Variables(ctx context.Context, names ...string) (map[string]string, error) {
	d, err := s.dialect(ctx)
	if err != nil {
		return nil, err
	}
	called := d.called(names)
	var quoted []string
	for word := range called {
		quoted = append(quoted, quote(word))
	}
	records, err := s.records(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ("+strings.Join(quoted, ",")+")")
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, r := range records {
		for _, n := range called[r["Variable_name"]] {
			out[n] = r["Value"]
		}
	}
	return out, nil
}

// Status reads one global status counter, by either word that the server may have for it.
func (s *Server) Status(ctx context.Context, name string) (string, error) {
	d, err := s.dialect(ctx)
	if err != nil {
		return "", err
	}
	records, err := s.records(ctx, "SHOW GLOBAL STATUS WHERE Variable_name IN ("+quote(name)+","+quote(d.variable(name))+")")
	if err != nil {
		return "", err
	}
	if len(records) == 0 {
		return "", s.fail("SHOW GLOBAL STATUS", fmt.Errorf("no counter %s", name))
	}
	return records[0]["Value"], nil
}

// SystemSchemas hold the server's own tables and are never shards. In a query that
// joins tables of information_schema each of them is told to leave these out, in a
// subquery that is not merged (DISTINCT, GROUP BY): a server opens every table and
// view of theirs otherwise, over a hundred.
const SystemSchemas = "('mysql','information_schema','performance_schema','sys')"

// Shards are the databases on the server and the bytes they take.
func (s *Server) Shards(ctx context.Context) (map[farm.ShardName]int64, error) {
	records, err := s.recordsFresh(ctx, `SELECT s.SCHEMA_NAME AS name, CAST(COALESCE(t.bytes, 0) AS UNSIGNED) AS bytes
		FROM information_schema.SCHEMATA s LEFT JOIN (
			SELECT TABLE_SCHEMA, SUM(DATA_LENGTH + INDEX_LENGTH) AS bytes FROM information_schema.TABLES
			WHERE TABLE_SCHEMA NOT IN `+SystemSchemas+` GROUP BY TABLE_SCHEMA
		) t ON t.TABLE_SCHEMA = s.SCHEMA_NAME
		WHERE s.SCHEMA_NAME NOT IN `+SystemSchemas)
	if err != nil {
		return nil, err
	}
	out := map[farm.ShardName]int64{}
	for _, r := range records {
		n, _ := strconv.ParseInt(r["bytes"], 10, 64)
		out[farm.ShardName(r["name"])] = n
	}
	return out, nil
}

// ShardNames are the keys of Shards, whose sizes are 0: no table is opened for them.
func (s *Server) ShardNames(ctx context.Context) (map[farm.ShardName]int64, error) {
	records, err := s.records(ctx, "SELECT SCHEMA_NAME AS name FROM information_schema.SCHEMATA WHERE SCHEMA_NAME NOT IN "+SystemSchemas)
	out := map[farm.ShardName]int64{}
	for _, r := range records {
		out[farm.ShardName(r["name"])] = 0
	}
	return out, err
}

// Uncopyable are the tables that a live move cannot carry safely, with the
// reason: an engine that a hot backup would have to lock, or no primary key
// (a row event without a key searches the whole table on every replica).
func (s *Server) Uncopyable(ctx context.Context) (map[string]string, error) {
	// A unique key with a column that may be NULL holds such rows many times.
	records, err := s.records(ctx, `SELECT CONCAT(t.TABLE_SCHEMA, '.', t.TABLE_NAME) AS name, COALESCE(t.ENGINE, 'unknown') AS engine, COUNT(k.INDEX_NAME) AS keyed
		FROM information_schema.TABLES t LEFT JOIN (
			SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME FROM information_schema.STATISTICS WHERE NON_UNIQUE = 0 AND TABLE_SCHEMA NOT IN `+SystemSchemas+`
			GROUP BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME HAVING SUM(NULLABLE = 'YES') = 0
		) k ON k.TABLE_SCHEMA = t.TABLE_SCHEMA AND k.TABLE_NAME = t.TABLE_NAME
		WHERE t.TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') AND t.TABLE_SCHEMA NOT IN `+SystemSchemas+`
		GROUP BY t.TABLE_SCHEMA, t.TABLE_NAME, t.ENGINE
		HAVING engine <> 'InnoDB' OR keyed = 0`)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, r := range records {
		if r["engine"] != "InnoDB" {
			out[r["name"]] = "engine " + r["engine"]
			continue
		}
		out[r["name"]] = "no primary or unique NOT NULL key"
	}
	return out, nil
}

// Unfenced are the accounts that read_only does not stop, other than
// Stowage's own, root at the console, and the server's internal ones.
func (s *Server) Unfenced(ctx context.Context) ([]string, error) {
	// mysql.global_priv holds privileges as a bit mask in MariaDB; the view
	// in information_schema is the stable way to ask.
	flavor, err := s.Flavor(ctx)
	if err != nil || !flavor.HasGTIDDomains() {
		return nil, err // super_read_only, MySQL's fence, stops everybody
	}
	records, err := s.records(ctx, flavor.bypassing())
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range records {
		who := r["who"]
		own := strings.HasPrefix(who, quote(s.account.User)+"@")
		internal := strings.HasPrefix(who, "'mariadb.sys'@") || strings.HasPrefix(who, "'mysql'@") || strings.HasPrefix(who, "'root'@'localhost'")
		if !own && !internal {
			out = append(out, who)
		}
	}
	return out, nil
}
