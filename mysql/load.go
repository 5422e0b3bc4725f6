package mysql

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"stowage/inventory/shardload"
)

// poolLimit is the largest buffer pool that Load reads without being asked to: INNODB_BUFFER_PAGE locks each of its pages
// in turn.
const poolLimit = 1 << 30

// Load reads the counters that load of shards is made of. Nothing is switched on and nothing is reset: what the server
// does not count is said in Without. pages: read the buffer pool however large it is.
func (s *Server) Load(ctx context.Context, pages bool) (shardload.Server, error) {
	out := shardload.Server{Without: map[string]shardload.Lack{}, Lost: map[string]uint64{}}
	if s.db == nil {
		return out, s.fail("connect", errors.New("unusable address"))
	}
	variables, status, err := s.Settings(ctx)
	if err != nil {
		return out, err
	}
	out.At = time.Now()
	out.Version, out.Pooled = variables["version"], variables["thread_handling"] == "pool-of-threads"
	out.Uptime, _ = strconv.ParseFloat(status["uptime"], 64)
	page := counter(variables["innodb_page_size"])
	out.Pool, out.PoolFree = int64(counter(variables["innodb_buffer_pool_size"])), int64(counter(status["innodb_buffer_pool_pages_free"])*page)
	for name, value := range status {
		if n := counter(value); n > 0 && strings.HasPrefix(name, "performance_schema_") && strings.HasSuffix(name, "_lost") {
			out.Lost[name] = n
		}
	}
	r := loadReader{s, ctx, parseFlavor(variables["version"]), variables, &out}
	if variables["performance_schema"] == "ON" {
		r.statements()
		r.files()
		r.commits()
	} else {
		lack := shardload.Lack{Why: "performance_schema is OFF", Remedy: "performance_schema=ON in the option file, and a restart"}
		out.Without["statements"], out.Without["files"] = lack, lack
	}
	r.rows()
	r.sizes()
	if out.PoolIsRead = pages || out.Pool <= poolLimit; out.PoolIsRead {
		r.resident(page)
	}
	return out, ctx.Err()
}

func counter(text string) uint64 {
	n, _ := strconv.ParseUint(text, 10, 64)
	return n
}

// loadReader fills a shardload.Server, a map at a time.
type loadReader struct {
	*Server
	ctx       context.Context
	flavor    Flavor
	variables map[string]string
	out       *shardload.Server
}

// ask runs a query; what is refused is noted as lacking.
func (r loadReader) ask(what, query string) ([]map[string]string, bool) {
	records, err := r.records(r.ctx, query)
	if err != nil {
		r.out.Without[what] = shardload.Lack{Why: err.Error(), Remedy: "the grants of docs/reference/privileges.md"}
	}
	return records, err == nil
}

// aSecond is one in the unit of performance_schema's timers.
const aSecond = 1e12

func (r loadReader) statements() {
	cpu := "0"
	if r.flavor.countsStatementCPU() {
		cpu = "SUM(SUM_CPU_TIME)"
	}
	records, ok := r.ask("statements", "SELECT COALESCE(SCHEMA_NAME, '') AS s, SUM(COUNT_STAR) AS n, SUM(SUM_TIMER_WAIT) AS t, "+cpu+
		" AS c, SUM(SUM_ROWS_EXAMINED) AS e FROM performance_schema.events_statements_summary_by_digest GROUP BY 1")
	if !ok {
		return
	}
	r.out.Statements = map[string]shardload.Statements{}
	for _, x := range records {
		t, _ := strconv.ParseFloat(x["t"], 64)
		c, _ := strconv.ParseFloat(x["c"], 64)
		n := shardload.Statements{Count: counter(x["n"]), Seconds: t / aSecond, CPU: c / aSecond, Examined: counter(x["e"])}
		r.out.Statements[x["s"]] = n
		r.out.Digested += n.Count
	}
	if records, ok = r.ask("statements", "SELECT COALESCE(SUM(COUNT_STAR), 0) AS n FROM performance_schema.events_statements_summary_global_by_event_name WHERE EVENT_NAME = 'statement/com/Execute'"); ok && len(records) == 1 {
		r.out.Prepared = counter(records[0]["n"])
	}
}

// countsStatementCPU: MySQL 8.0.28 and later have SUM_CPU_TIME (reference manual, "Statement Summary Tables").
func (f Flavor) countsStatementCPU() bool {
	return f.Vendor == "MySQL" && (f.Major > 8 || f.Major == 8 && (f.Minor > 0 || f.patch() >= 28))
}

// commits are those of sessions that are connected now. Handler_prepare counts what writes, once for the binary log and once
// for InnoDB: in a transaction each statement, and its COMMIT (measured on MariaDB 10.11.19).
func (r loadReader) commits() {
	records, ok := r.ask("commits", `SELECT t.PROCESSLIST_ID AS id, COALESCE(t.PROCESSLIST_DB, '') AS s, COALESCE(t.PROCESSLIST_USER, '') AS u, t.NAME AS n, c.VARIABLE_VALUE AS v
		FROM performance_schema.status_by_thread c JOIN performance_schema.threads t USING (THREAD_ID) WHERE c.VARIABLE_NAME = 'Handler_prepare' AND t.PROCESSLIST_ID IS NOT NULL`)
	if !ok {
		return
	}
	r.out.Commits = map[uint64]shardload.Commits{}
	for _, x := range records {
		own := x["u"] == "system user" || strings.Contains(x["n"], "/slave_") || strings.Contains(x["n"], "/replica_")
		r.out.Commits[counter(x["id"])] = shardload.Commits{Schema: x["s"], Own: own, Prepared: counter(x["v"])}
	}
	records, ok = r.ask("commits", `SELECT t.PROCESSLIST_ID AS id, e.COUNT_STAR AS n FROM performance_schema.events_statements_summary_by_thread_by_event_name e
		JOIN performance_schema.threads t USING (THREAD_ID) WHERE e.EVENT_NAME = 'statement/sql/commit' AND e.COUNT_STAR > 0 AND t.PROCESSLIST_ID IS NOT NULL`)
	if !ok {
		return
	}
	for _, x := range records {
		if c, ok := r.out.Commits[counter(x["id"])]; ok {
			c.Explicit = counter(x["n"])
			r.out.Commits[counter(x["id"])] = c
		}
	}
}

// serverSchemas are no shards: what they cost is everybody's.
var serverSchemas = map[string]bool{"mysql": true, "sys": true, "performance_schema": true, "information_schema": true}

// files books operations on files on the schema whose directory they are in. What is elsewhere is shared.
func (r loadReader) files() {
	records, ok := r.ask("files", "SELECT FILE_NAME, EVENT_NAME, COUNT_READ, COUNT_WRITE, SUM_NUMBER_OF_BYTES_READ, SUM_NUMBER_OF_BYTES_WRITE FROM performance_schema.file_summary_by_instance WHERE COUNT_READ + COUNT_WRITE > 0")
	if !ok {
		return
	}
	r.out.Files = map[string]shardload.File{}
	for _, x := range records {
		f := shardload.File{Reads: counter(x["COUNT_READ"]), Writes: counter(x["COUNT_WRITE"]), ReadBytes: counter(x["SUM_NUMBER_OF_BYTES_READ"]), WriteBytes: counter(x["SUM_NUMBER_OF_BYTES_WRITE"])}
		switch schema := schemaOfFile(r.variables["datadir"], x["FILE_NAME"]); {
		case schema != "" && !serverSchemas[schema]:
			r.out.Files[schema] = r.out.Files[schema].Plus(f)
		case isLog(x["EVENT_NAME"]):
			r.out.Logs = r.out.Logs.Plus(f)
		default:
			r.out.Rest = r.out.Rest.Plus(f)
		}
	}
}

// isLog: files that commits wait for.
func isLog(event string) bool {
	return strings.HasSuffix(event, "/innodb_log_file") || strings.HasSuffix(event, "/binlog") || strings.HasSuffix(event, "/relaylog")
}

// schemaOfFile is the schema in whose directory a file lies; "" for files elsewhere. Directories of tablespaces outside of the
// data directory (DATA DIRECTORY=) end in the schema's name, too, and hold nothing but tables.
func schemaOfFile(datadir, file string) string {
	if !strings.HasPrefix(file, "/") {
		file = filepath.Join(datadir, file)
	}
	dir := filepath.Dir(file)
	switch ext := filepath.Ext(file); {
	case filepath.Dir(dir) == filepath.Clean(datadir):
	case ext == ".ibd" && dir != filepath.Clean(datadir):
	default:
		return ""
	}
	return decodeName(filepath.Base(dir))
}

// decodeName turns the name of a file into that of a schema: whatever is no letter or digit is written as @ and four
// hexadecimal digits (both manuals, "Mapping of Identifiers to File Names").
func decodeName(name string) string {
	if !strings.Contains(name, "@") {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '@' && i+5 <= len(name) {
			if n, err := strconv.ParseUint(name[i+1:i+5], 16, 32); err == nil {
				b.WriteRune(rune(n))
				i += 4
				continue
			}
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

// rows are those of performance_schema, else those of userstat.
func (r loadReader) rows() {
	query, from := "SELECT OBJECT_SCHEMA AS s, SUM(COUNT_FETCH) AS r, SUM(COUNT_INSERT + COUNT_UPDATE + COUNT_DELETE) AS w FROM performance_schema.table_io_waits_summary_by_table GROUP BY 1", "table_io_waits_summary_by_table"
	switch {
	case r.variables["performance_schema"] == "ON":
	case r.variables["userstat"] == "ON":
		query, from = "SELECT TABLE_SCHEMA AS s, SUM(ROWS_READ) AS r, SUM(ROWS_CHANGED) AS w FROM information_schema.TABLE_STATISTICS GROUP BY 1", "TABLE_STATISTICS (userstat)"
	default:
		remedy := "performance_schema=ON in the option file, and a restart"
		if _, has := r.variables["userstat"]; has {
			remedy = "SET GLOBAL userstat=ON"
		}
		r.out.Without["rows"] = shardload.Lack{Why: "performance_schema and userstat are OFF", Remedy: remedy}
		return
	}
	records, ok := r.ask("rows", query)
	if !ok {
		return
	}
	r.out.Rows, r.out.RowsFrom = map[string]shardload.Rows{}, from
	for _, x := range records {
		if !serverSchemas[x["s"]] {
			r.out.Rows[x["s"]] = shardload.Rows{Read: counter(x["r"]), Changed: counter(x["w"])}
		}
	}
}

// sizes are those of files, which statistics of tables are not.
func (r loadReader) sizes() {
	table := "INNODB_SYS_TABLESPACES"
	if r.flavor.Vendor == "MySQL" {
		table = "INNODB_TABLESPACES"
	}
	records, ok := r.ask("sizes", "SELECT SUBSTRING_INDEX(NAME, '/', 1) AS s, SUM(GREATEST(ALLOCATED_SIZE, 0)) AS a, SUM(FILE_SIZE) AS f FROM information_schema."+table+" WHERE NAME LIKE '%/%' GROUP BY 1")
	if !ok {
		return
	}
	r.out.Sizes = map[string]int64{}
	for _, x := range records {
		n := counter(x["a"])
		if n == 0 {
			n = counter(x["f"])
		}
		r.out.Sizes[decodeName(x["s"])] += int64(n)
	}
}

// resident is what of each schema is in the buffer pool.
func (r loadReader) resident(page uint64) {
	records, ok := r.ask("memory", "SELECT SUBSTRING_INDEX(TABLE_NAME, '.', 1) AS s, COUNT(*) AS n FROM information_schema.INNODB_BUFFER_PAGE WHERE TABLE_NAME IS NOT NULL GROUP BY 1")
	if !ok {
		return
	}
	r.out.Resident = map[string]int64{}
	for _, x := range records {
		r.out.Resident[strings.Trim(x["s"], "`")] += int64(counter(x["n"]) * page)
	}
}

// Sessions are the sessions of this moment, each with the thread that serves it and the schema it is in.
func (s *Server) Sessions(ctx context.Context) ([]shardload.Connection, error) {
	d, err := s.dialect(ctx)
	if err != nil {
		return nil, err
	}
	query := "SELECT ID AS id, TID AS t, COALESCE(DB, '') AS s, COMMAND AS c, USER AS u FROM information_schema.PROCESSLIST"
	if !d.flavor.HasGTIDDomains() {
		query = "SELECT PROCESSLIST_ID AS id, THREAD_OS_ID AS t, COALESCE(PROCESSLIST_DB, '') AS s, COALESCE(PROCESSLIST_COMMAND, '') AS c, COALESCE(PROCESSLIST_USER, '') AS u FROM performance_schema.threads WHERE PROCESSLIST_ID IS NOT NULL AND TYPE = 'FOREGROUND'"
	}
	records, err := s.records(ctx, query)
	if err != nil {
		return nil, err
	}
	out := make([]shardload.Connection, 0, len(records))
	for _, x := range records {
		own := x["u"] == "system user" || strings.HasPrefix(x["c"], "Binlog Dump") || strings.HasPrefix(x["c"], "Slave") || x["c"] == "Daemon"
		out = append(out, shardload.Connection{ID: counter(x["id"]), Thread: int(counter(x["t"])), Schema: x["s"], Own: own})
	}
	return out, nil
}
