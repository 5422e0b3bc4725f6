package demo

import (
	"fmt"
	"path/filepath"
	"strings"

	"stowage/host"
)

// lean keeps a server small enough that two hundred fit on a laptop: about
// 30 MB each. Nothing here weakens durability.
const lean = `# A small server. Durability is what production runs with.
sync_binlog = 1
innodb_flush_log_at_trx_commit = 1
skip_name_resolve = ON
performance_schema = OFF
innodb_buffer_pool_size = 8M
innodb_log_file_size = 8M
innodb_log_buffer_size = 2M
innodb_data_file_path = ibdata1:5M:autoextend
innodb_autoextend_increment = 1
innodb_temp_data_file_path = ibtmp1:2M:autoextend
innodb_buffer_pool_dump_at_shutdown = OFF
innodb_buffer_pool_load_at_startup = OFF
innodb_read_io_threads = 1
innodb_write_io_threads = 2
innodb_purge_threads = 1
innodb_use_native_aio = OFF
innodb_flush_method = O_DIRECT
key_buffer_size = 64K
aria_pagecache_buffer_size = 256K
aria_log_file_size = 8M
query_cache_type = OFF
query_cache_size = 0
tmp_table_size = 256K
table_open_cache = 200
table_open_cache_instances = 1
table_definition_cache = 400
open_files_limit = 2048
max_connections = 150
thread_cache_size = 16
thread_stack = 192K
sort_buffer_size = 64K
join_buffer_size = 64K
read_buffer_size = 32K
binlog_cache_size = 32K
`

// ring is what a side of an active-active pair needs to be replaceable.
const ring = `log_bin = binlog
relay_log = relay
log_slave_updates = ON
binlog_format = ROW
binlog_row_image = FULL
gtid_strict_mode = ON
# Both sides pass on what they apply, so each event comes home once; strict
# mode would stop there without this.
gtid_ignore_duplicates = ON
auto_increment_increment = 2
slave_parallel_threads = 2
slave_parallel_mode = optimistic
slave_net_timeout = 10
slow_query_log = ON
long_query_time = 0
log_slow_verbosity = query_plan
`

// writer is what an instance needs that takes all writes of its pair, or
// follows the one that does.
const writer = `log_bin = binlog
relay_log = relay
log_slave_updates = ON
binlog_format = ROW
binlog_row_image = FULL
gtid_strict_mode = ON
slave_parallel_threads = 2
slave_parallel_mode = optimistic
slave_net_timeout = 10
slow_query_log = ON
long_query_time = 0
log_slow_verbosity = query_plan
`

// place is the part of an option file that says where an instance lives.
func place(i host.Instance) string {
	return fmt.Sprintf("[mariadbd]\nbind_address = %s\nport = %d\ndatadir = %s\nsocket = mysqld.sock\npid_file = %s\nlog_error = %s\ntmpdir = %s\n",
		i.Address, i.Port, i.Datadir, filepath.Join(i.Dir(), host.PidFile), filepath.Join(i.Dir(), host.ErrorLog), filepath.Join(i.Dir(), host.TempDir))
}

// identity are the numbers that make an instance a side of its pair.
type identity struct {
	serverID uint32
	domain   int  // unique in the farm: two writers in one domain cannot be distinguished
	offset   int  // of auto-increment: 1 or 2
	replica  bool // takes no writes but its source's
}

// identityOf is side i of pair n. All servers of a pair with one writer write
// that one's domain, for each may be the next.
func identityOf(o Options, n, i int) identity {
	id := identity{serverID: firstServerID + uint32(len(o.sides())*n+i), domain: 2*n + 1, offset: i + 1}
	if o.topology().HasOneWriter() {
		id.offset, id.replica = 0, i > 0
		return id
	}
	id.domain += i
	return id
}

func sideConfig(i host.Instance, id identity) []byte {
	var b strings.Builder
	b.WriteString(place(i))
	fmt.Fprintf(&b, "report_host = %s\nreport_port = %d\n", i.Address, i.Port)
	fmt.Fprintf(&b, "slow_query_log_file = %s\n", filepath.Join(i.Dir(), "slow.log"))
	fmt.Fprintf(&b, "server_id = %d\ngtid_domain_id = %d\n", id.serverID, id.domain)
	if id.offset == 0 {
		if id.replica {
			b.WriteString("read_only = ON\n")
		}
		b.WriteString(writer + lean)
		return []byte(b.String())
	}
	fmt.Fprintf(&b, "auto_increment_offset = %d\n", id.offset)
	b.WriteString(ring + lean)
	return []byte(b.String())
}
