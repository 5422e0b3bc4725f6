package mysql

import (
	"context"
	"strings"
)

// usual are variables of MySQL as they are without any option, from 8.0.26 to
// 9.7: the server has no table of defaults. Source: the reference manuals, "Server
// System Variables" and those of replication and InnoDB.
var usual = map[string]Variable{
	"log_bin":                             {Default: "ON", Type: "BOOLEAN"},
	"log_slave_updates":                   {Default: "ON", Type: "BOOLEAN"},
	"gtid_mode":                           {Default: "OFF", Type: "ENUM", Words: []string{"OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"}},
	"enforce_gtid_consistency":            {Default: "OFF", Type: "ENUM", Words: []string{"OFF", "ON", "WARN"}},
	"binlog_format":                       {Default: "ROW", Type: "ENUM", Words: []string{"MIXED", "STATEMENT", "ROW"}},
	"binlog_row_image":                    {Default: "FULL", Type: "ENUM", Words: []string{"MINIMAL", "NOBLOB", "FULL"}},
	"sync_binlog":                         {Default: "1", Type: "INT"},
	"innodb_flush_log_at_trx_commit":      {Default: "1", Type: "INT"},
	"innodb_page_size":                    {Default: "16384", Type: "INT"},
	"auto_increment_increment":            {Default: "1", Type: "INT"},
	"auto_increment_offset":               {Default: "1", Type: "INT"},
	"time_zone":                           {Default: "SYSTEM", Type: "VARCHAR"},
	"character_set_server":                {Default: "utf8mb4", Type: "VARCHAR"},
	"collation_server":                    {Default: "utf8mb4_0900_ai_ci", Type: "VARCHAR"},
	"lower_case_table_names":              {Default: "0", Type: "INT"},
	"sql_mode":                            {Default: "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION", Type: "SET"},
	"max_connections":                     {Default: "151", Type: "INT"},
	"innodb_buffer_pool_dump_pct":         {Default: "25", Type: "INT"},
	"innodb_buffer_pool_dump_at_shutdown": {Default: "ON", Type: "BOOLEAN"},
}

// variablesWithOrigin is VariablesWithOrigin of MySQL, for those of usual.
func (s *Server) variablesWithOrigin(ctx context.Context, d dialect, names []string) (map[string]Variable, error) {
	var quoted []string
	called := map[string]string{}
	for _, n := range names {
		if _, known := usual[n]; known {
			called[d.variable(n)] = n
			quoted = append(quoted, quote(d.variable(n)))
		}
	}
	records, err := s.records(ctx, `SELECT LOWER(g.VARIABLE_NAME) AS name, COALESCE(g.VARIABLE_VALUE, '') AS now, i.VARIABLE_SOURCE AS origin, COALESCE(i.VARIABLE_PATH, '') AS file
		FROM performance_schema.global_variables g JOIN performance_schema.variables_info i ON i.VARIABLE_NAME = g.VARIABLE_NAME
		WHERE g.VARIABLE_NAME IN (`+strings.Join(quoted, ",")+")")
	if err != nil {
		return nil, err
	}
	out := map[string]Variable{}
	for _, r := range records {
		x := usual[called[r["name"]]]
		x.Now, x.File = r["now"], r["file"]
		switch r["origin"] {
		case "COMPILED":
			x.From, x.Default = "COMPILE-TIME", x.Now
		case "COMMAND_LINE":
			x.From = "COMMAND-LINE"
		case "DYNAMIC":
			x.From = "SQL"
		default: // an option file, or SET PERSIST
			x.From = "CONFIG"
		}
		out[called[r["name"]]] = x
	}
	return out, nil
}
