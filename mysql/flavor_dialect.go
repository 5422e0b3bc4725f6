package mysql

import (
	"context"
	"strconv"
	"strings"
)

// dialect is how a flavor says what all of them can do: a table of words, and
// nothing else. What differs in more than words has a function for each.
type dialect struct {
	flavor Flavor

	written, applied string // variables that hold positions
	wait             string // a query that waits half a second for a position and answers 0 when it is reached

	status  string            // of replication, one row a connection
	stop    string            // stops replication
	stopAll string            // stops every connection
	forget  string            // forgets every connection
	start   string            // starts replication
	receive string            // starts the receiver alone
	hold    string            // stops the applier alone
	columns map[string]string // of status: MariaDB's word -> this flavor's

	replicas  string // who has registered as a replica
	processes string // the table of all sessions

	empties         string // empties the binary log and its history
	replicaDisabled string // clause of ALTER EVENT: to be run by another server
}

var mariaDB = dialect{
	written: "gtid_binlog_pos", applied: "gtid_slave_pos",
	wait:   "SELECT MASTER_GTID_WAIT(?, 0.5)",
	status: "SHOW ALL SLAVES STATUS", stop: "STOP SLAVE", stopAll: "STOP ALL SLAVES", forget: "RESET SLAVE ALL",
	start: "START SLAVE", receive: "START SLAVE IO_THREAD", hold: "STOP SLAVE SQL_THREAD",
	replicas: "SHOW SLAVE HOSTS", processes: "information_schema.PROCESSLIST",
	empties: "RESET MASTER", replicaDisabled: "DISABLE ON SLAVE",
}

// mySQL speaks as MySQL does since 8.2, where the last of these words came.
// 8.0.26 was the first version with most of them; dialectOf has the rest. The
// words they replace are gone since 8.4.
var mySQL = dialect{
	written: "gtid_executed", applied: "gtid_executed",
	wait:   "SELECT WAIT_FOR_EXECUTED_GTID_SET(?, 0.5)",
	status: "SHOW REPLICA STATUS", stop: "STOP REPLICA", stopAll: "STOP REPLICA", forget: "RESET REPLICA ALL",
	start: "START REPLICA", receive: "START REPLICA IO_THREAD", hold: "STOP REPLICA SQL_THREAD",
	replicas: "SHOW REPLICAS", processes: "performance_schema.processlist", // the other one is going away (deprecated since 8.0.35)
	empties: "RESET BINARY LOGS AND GTIDS", replicaDisabled: "DISABLE ON REPLICA",
	columns: map[string]string{
		"Connection_name": "Channel_Name", "Master_Host": "Source_Host", "Master_Port": "Source_Port", "Master_Log_File": "Source_Log_File",
		"Server_id":        "Server_Id", // of its replicas
		"Gtid_IO_Pos":      "Retrieved_Gtid_Set",
		"Slave_IO_Running": "Replica_IO_Running", "Slave_SQL_Running": "Replica_SQL_Running", "Seconds_Behind_Master": "Seconds_Behind_Source",
	},
}

// renamed are variables and counters that MySQL calls otherwise: the word that all
// of Stowage uses -> MySQL's since 8.0.26. Those of semi-synchronous replication have
// the new word in the new plugin (semisync_source.so) alone: the old one is there, too,
// until 8.4, and keeps the old words.
var renamed = map[string]string{
	"log_slave_updates":      "log_replica_updates",
	"slave_parallel_mode":    "replica_parallel_type",
	"slave_type_conversions": "replica_type_conversions",

	"rpl_semi_sync_master_enabled": "rpl_semi_sync_source_enabled",
	"rpl_semi_sync_master_timeout": "rpl_semi_sync_source_timeout",
	"rpl_semi_sync_slave_enabled":  "rpl_semi_sync_replica_enabled",
	"Rpl_semi_sync_master_clients": "Rpl_semi_sync_source_clients",
}

// SemiSync are the variables of semi-synchronous replication, in all words for them: Variables answers for the first three, and OwnWord
// tells from the others which plugin it is.
var SemiSync = []string{
	"rpl_semi_sync_master_enabled", "rpl_semi_sync_master_timeout", "rpl_semi_sync_slave_enabled",
	"rpl_semi_sync_source_enabled", "rpl_semi_sync_source_timeout", "rpl_semi_sync_replica_enabled",
}

// OwnWord is the server's own word for one of SemiSync, by what Variables has read of them.
func OwnWord(is map[string]string, name string) string {
	if _, has := is[renamed[name]]; has {
		return renamed[name]
	}
	return name
}

// variable is the server's word for a variable that all of Stowage calls name.
func (d dialect) variable(name string) string {
	if word, ok := renamed[name]; ok && d.flavor.Vendor != "MariaDB" {
		return word
	}
	return name
}

// called are the words that a server may have for variables, each with the names
// that were asked for. Where it has two for one, both have the same value.
func (d dialect) called(names []string) map[string][]string {
	out := map[string][]string{}
	for _, n := range names {
		out[n] = append(out[n], n)
		if word := d.variable(n); word != n {
			out[word] = append(out[word], n)
		}
	}
	return out
}

// translate gives a row of the replication status MariaDB's column names.
func (d dialect) translate(row map[string]string) {
	for word, theirs := range d.columns {
		if v, ok := row[theirs]; ok {
			row[word] = v
		}
	}
	if auto, ok := row["Auto_Position"]; ok {
		row["Using_Gtid"] = map[string]string{"1": "Slave_Pos"}[auto]
	}
}

// fence is the statement that stops writes, or lets them go on. In MySQL
// super_read_only takes read_only along when it goes on, and read_only takes
// super_read_only along when it goes off.
func (d dialect) fence(on bool) string {
	switch {
	case !on:
		return "SET GLOBAL read_only = OFF"
	case d.flavor.Vendor != "MariaDB":
		return "SET GLOBAL super_read_only = ON"
	}
	return "SET GLOBAL read_only = ON"
}

// dialect asks the server what it is, once.
func (s *Server) dialect(ctx context.Context) (dialect, error) {
	if d := s.speaks.Load(); d != nil {
		return *d, nil
	}
	var version string
	if err := s.row(ctx, "SELECT VERSION()", nil, &version); err != nil {
		return dialect{}, err
	}
	d := dialectOf(parseFlavor(version))
	s.speaks.Store(&d)
	return d, nil
}

func dialectOf(f Flavor) dialect {
	d := mariaDB
	if f.Vendor != "MariaDB" {
		d = mySQL
		if f.Major == 8 && f.Minor < 2 {
			d.empties, d.replicaDisabled = mariaDB.empties, mariaDB.replicaDisabled
		}
	}
	d.flavor = f
	return d
}

// Flavor is what the server says it is.
func (s *Server) Flavor(ctx context.Context) (Flavor, error) {
	d, err := s.dialect(ctx)
	return d.flavor, err
}

// ClonesItself reports whether a server of this flavor is seeded by its own
// clone plugin, from server to server; else a backup program carries the files.
func (f Flavor) ClonesItself() bool { return f.Vendor != "MariaDB" }

// UpgradesItself reports whether the server brings its system tables to its own version as it starts: MySQL does from 8.0.16 on, MariaDB needs mariadb-upgrade.
func (f Flavor) UpgradesItself() bool { return f.Vendor != "MariaDB" }

// TooOld says why a server of this flavor cannot be moved, or "".
func (f Flavor) TooOld() string {
	switch {
	case f.Vendor == "MariaDB" && (f.Major < 10 || f.Major == 10 && f.Minor < 6):
		return "Stowage speaks to MariaDB from 10.6 on"
	case f.Vendor != "MariaDB" && (f.Major < 8 || f.Major == 8 && f.Minor == 0 && f.patch() < 26):
		return "Stowage speaks to MySQL from 8.0.26 on"
	}
	return ""
}

// patch is the third number of the version.
func (f Flavor) patch() int {
	parts := strings.SplitN(f.Version, ".", 3)
	if len(parts) < 3 {
		return 0
	}
	digits := strings.IndexFunc(parts[2], func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		digits = len(parts[2])
	}
	n, _ := strconv.Atoi(parts[2][:digits])
	return n
}

// Option is the name of an option in a server's option file, which differs by
// flavor for a few: name is MariaDB's.
func (f Flavor) Option(name string) string {
	if f.Vendor == "MariaDB" {
		return name
	}
	if word, ok := map[string]string{"skip_slave_start": "skip_replica_start", "log_slave_updates": "log_replica_updates"}[name]; ok {
		return word
	}
	return name
}

// RingNeeds are the variables, and their values, without which a side of an
// active-active pair of this flavor cannot be replaced.
func (f Flavor) RingNeeds() [][2]string {
	all := [][2]string{{"log_bin", "ON"}, {"log_slave_updates", "ON"}, {"binlog_format", "ROW"}, {"binlog_row_image", "FULL"}}
	if f.HasGTIDDomains() {
		return append(all, [2]string{"gtid_strict_mode", "ON"}, [2]string{"gtid_ignore_duplicates", "ON"})
	}
	return append(all, mySQLNeeds...)
}

// mySQLNeeds are what every MySQL server needs that is moved: GTIDs, and
// sessions that can be seen.
var mySQLNeeds = [][2]string{{"gtid_mode", "ON"}, {"enforce_gtid_consistency", "ON"}, {"performance_schema", "ON"}}

// SuccessionNeeds are the same for a server of a pair with one writer, or one
// that is alone.
func (f Flavor) SuccessionNeeds() [][2]string {
	all := [][2]string{{"log_bin", "ON"}, {"log_slave_updates", "ON"}, {"binlog_format", "ROW"}, {"binlog_row_image", "FULL"}}
	if f.HasGTIDDomains() {
		return append(all, [2]string{"gtid_strict_mode", "ON"})
	}
	return append(all, mySQLNeeds...)
}

// ShardNeeds are those of a server that a shard comes from or goes to, besides
// the binary log.
func (f Flavor) ShardNeeds() [][2]string {
	if f.HasGTIDDomains() {
		return nil
	}
	return mySQLNeeds
}

// ByGTID is what a person types on a replica of this flavor that replicates by
// file and position.
func (f Flavor) ByGTID() string {
	if f.HasGTIDDomains() {
		return "STOP SLAVE; CHANGE MASTER TO MASTER_USE_GTID=slave_pos; START SLAVE"
	}
	return "STOP REPLICA; CHANGE REPLICATION SOURCE TO SOURCE_AUTO_POSITION=1; START REPLICA"
}

// Forget is what a person types on a server of this flavor that shall not
// replicate any more.
func (f Flavor) Forget() string {
	d := dialectOf(f)
	return d.stop + "; " + d.forget
}
