package traffic

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"stowage/mysql"
)

// Identity is by what a server is told from a copy of it: a physical copy has
// the data of its original, but not its place.
type Identity struct {
	Hostname string
	Port     int
	ServerID uint32
	Datadir  string
}

func (i Identity) String() string {
	return fmt.Sprintf("%s:%d, server_id %d, %s", i.Hostname, i.Port, i.ServerID, i.Datadir)
}

// MarkerTable is where a person says that a server may be thrown away.
const MarkerTable = "stowage_throw_away.this_server"

// MarkerSQL are the statements a person runs on a server to say so. The row
// holds the server's own identity, so a copy of the data, physical or by
// replication, carries no valid marker.
func MarkerSQL(name string) []string {
	return []string{
		"CREATE DATABASE stowage_throw_away",
		"CREATE TABLE " + MarkerTable + " (name VARCHAR(64) PRIMARY KEY, hostname VARCHAR(255), port INT, server_id BIGINT, datadir VARCHAR(1024))",
		"INSERT INTO " + MarkerTable + " VALUES (" + mysql.Quote(name) + ", @@hostname, @@port, @@server_id, @@datadir)",
	}
}

// Marker is a row of MarkerTable.
type Marker struct {
	Name string
	Of   Identity
}

// Standing is what tells whether writing to a server can reach anything but
// the server itself.
type Standing struct {
	Identity Identity
	Sources  []string     // that it replicates from
	Replicas []string     // that read its binary log, or registered
	Cluster  string       // Galera's members, "" for none
	Outbound []string     // tables whose rows are on another server
	Clients  []Connection // other accounts'
	Markers  []Marker
}

// Connection is one to a server, as its process list has it.
type Connection struct {
	ID     uint64 // never given out twice while the server runs
	Who    string
	IsIdle bool // nothing is being done for it: it rests, or is being closed
}

// outboundEngines keep their rows elsewhere: a write to such a table leaves
// the server.
var outboundEngines = []string{"FEDERATED", "SPIDER", "CONNECT", "S3", "NDBCLUSTER", "MYSQLX"}

// idleCommands are those of the process list under which nothing is done for
// anybody. A connection that its client has closed stands there as one of them
// until the server has noticed.
var idleCommands = []string{"Sleep", "Quit", "Killed"}

// StandingOf asks. It needs PROCESS, REPLICA MONITOR, REPLICATION MASTER ADMIN and
// SELECT; without one of them it fails rather than to see half.
func StandingOf(ctx context.Context, server *mysql.Server) (Standing, error) {
	s := mysql.Through(server)
	var st Standing
	var err error
	if st.Identity, err = IdentityOf(ctx, server); err != nil {
		return st, err
	}
	// Without PROCESS the process list is short and nobody says so; this fails.
	if _, err = s.Records(ctx, "SHOW ENGINE INNODB STATUS"); err != nil {
		return st, err
	}
	if err = neighbours(ctx, s, &st); err != nil {
		return st, err
	}
	sessions, err := s.Records(ctx, `SELECT ID, USER, HOST, COMMAND FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID()`)
	if err != nil {
		return st, err
	}
	for _, r := range sessions {
		who := fmt.Sprintf("%s from %s", r["USER"], r["HOST"])
		switch {
		case strings.HasPrefix(r["COMMAND"], "Binlog Dump"):
			st.Replicas = append(st.Replicas, who)
		case r["USER"] == "system user" || r["USER"] == "event_scheduler" || r["COMMAND"] == "Daemon" || r["USER"] == s.Account().User:
		default:
			id, _ := strconv.ParseUint(r["ID"], 10, 64)
			st.Clients = append(st.Clients, Connection{id, who, slices.Contains(idleCommands, r["COMMAND"])})
		}
	}
	st.Markers, err = markers(ctx, s)
	return st, err
}

// IdentityOf asks a server who it is. Any account may.
func IdentityOf(ctx context.Context, s *mysql.Server) (Identity, error) {
	var i Identity
	err := mysql.Through(s).Row(ctx, "SELECT @@hostname, @@port, @@server_id, @@datadir", nil, &i.Hostname, &i.Port, &i.ServerID, &i.Datadir)
	return i, err
}

// neighbours are the servers that writes could go to or come from.
func neighbours(ctx context.Context, s mysql.Door, st *Standing) error {
	sources, err := s.Records(ctx, "SHOW ALL SLAVES STATUS")
	if mysql.CodeOf(err) == 1064 { // MySQL has another word
		sources, err = s.Records(ctx, "SHOW REPLICA STATUS")
	}
	if err != nil {
		return err
	}
	for _, r := range sources {
		host, port := r["Master_Host"], r["Master_Port"]
		if host == "" {
			host, port = r["Source_Host"], r["Source_Port"]
		}
		st.Sources = append(st.Sources, host+":"+port)
	}
	replicas, err := s.Records(ctx, "SHOW SLAVE HOSTS")
	if mysql.CodeOf(err) == 1064 {
		replicas, err = s.Records(ctx, "SHOW REPLICAS")
	}
	if err != nil {
		return err
	}
	for _, r := range replicas {
		st.Replicas = append(st.Replicas, fmt.Sprintf("server_id %s at %s:%s", r["Server_id"], r["Host"], r["Port"]))
	}
	cluster, err := s.Records(ctx, "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_size', 'wsrep_incoming_addresses')")
	if err != nil {
		return err
	}
	for _, r := range cluster {
		if n, err := strconv.Atoi(r["Value"]); err == nil && n > 0 || r["Variable_name"] == "wsrep_incoming_addresses" && r["Value"] != "" {
			st.Cluster = strings.TrimSpace(st.Cluster + " " + r["Value"])
		}
	}
	st.Outbound, err = outbound(ctx, s)
	return err
}

// outbound are tables whose rows are on another server. Looking at all tables
// takes long on a large server, so engines are asked for first: few have one.
func outbound(ctx context.Context, s mysql.Door) ([]string, error) {
	engines, err := s.Records(ctx, "SHOW ENGINES")
	if err != nil {
		return nil, err
	}
	var loaded []string
	for _, r := range engines {
		name := strings.ToUpper(r["Engine"])
		if slices.Contains(outboundEngines, name) && (r["Support"] == "YES" || r["Support"] == "DEFAULT") {
			loaded = append(loaded, name)
		}
	}
	if len(loaded) == 0 {
		return nil, nil
	}
	tables, err := s.Records(ctx, `SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) AS name, ENGINE AS engine FROM information_schema.TABLES
		WHERE ENGINE IN (`+quotedList(loaded)+`) LIMIT 20`)
	var out []string
	for _, r := range tables {
		out = append(out, r["name"]+" ("+r["engine"]+")")
	}
	return out, err
}

// markers are the rows of MarkerTable; none where there is no such table.
func markers(ctx context.Context, s mysql.Door) ([]Marker, error) {
	records, err := s.Records(ctx, "SELECT name, hostname, port, server_id, datadir FROM "+MarkerTable)
	switch mysql.CodeOf(err) {
	case 1146, 1049: // no such table, no such database
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Marker
	for _, r := range records {
		port, _ := strconv.Atoi(r["port"])
		out = append(out, Marker{r["name"], Identity{r["hostname"], port, mysql.Number(r["server_id"]), r["datadir"]}})
	}
	return out, nil
}
