package demo

import (
	"fmt"
	"path/filepath"
	"strings"

	"stowage/host"
)

// leanMySQL keeps a MySQL server near 200 MB, most of it performance_schema,
// which a move needs: it reads sessions and the clone's progress there.
const leanMySQL = `# A small server. Durability is what production runs with.
sync_binlog = 1
innodb_flush_log_at_trx_commit = 1
skip_name_resolve = ON
mysqlx = OFF
performance_schema = ON
performance_schema_max_table_instances = 200
performance_schema_max_thread_instances = 250
innodb_buffer_pool_size = 16M
innodb_redo_log_capacity = 16M
innodb_log_buffer_size = 2M
innodb_buffer_pool_dump_at_shutdown = OFF
innodb_buffer_pool_load_at_startup = OFF
innodb_read_io_threads = 1
innodb_write_io_threads = 2
innodb_purge_threads = 1
innodb_use_native_aio = OFF
key_buffer_size = 64K
tmp_table_size = 256K
table_open_cache = 200
table_open_cache_instances = 1
table_definition_cache = 400
max_connections = 150
thread_cache_size = 16
binlog_cache_size = 32K
`

// writerMySQL is what a MySQL server needs to be replaceable: one that takes all
// writes of its pair, or follows the one that does.
const writerMySQL = `log_bin = binlog
relay_log = relay
log_replica_updates = ON
binlog_row_image = FULL
gtid_mode = ON
enforce_gtid_consistency = ON
replica_parallel_workers = 2
replica_net_timeout = 10
# Each server seeds its successor.
plugin_load_add = mysql_clone.so
slow_query_log = ON
long_query_time = 0
`

// placeMySQL is place for MySQL, which reads no group of MariaDB's.
func placeMySQL(i host.Instance) string {
	return strings.Replace(place(i), "[mariadbd]", "[mysqld]", 1) + "secure_file_priv = \n"
}

func sideConfigMySQL(i host.Instance, id identity) []byte {
	var b strings.Builder
	b.WriteString(placeMySQL(i))
	fmt.Fprintf(&b, "report_host = %s\nreport_port = %d\n", i.Address, i.Port)
	fmt.Fprintf(&b, "slow_query_log_file = %s\n", filepath.Join(i.Dir(), "slow.log"))
	fmt.Fprintf(&b, "server_id = %d\n", id.serverID)
	if id.offset > 0 { // a side of an active-active pair
		fmt.Fprintf(&b, "auto_increment_increment = 2\nauto_increment_offset = %d\n", id.offset)
	}
	if id.replica {
		b.WriteString("super_read_only = ON\n")
	}
	b.WriteString(writerMySQL + leanMySQL)
	return []byte(b.String())
}
