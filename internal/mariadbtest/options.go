package mariadbtest

import (
	"fmt"
	"os"
	"strings"
)

// lean keeps a server at about 30 MB and 0.2 s to start. 8M of buffer pool is
// near the floor: MariaDB 10.11.19 refuses less than 6M.
const leanMariaDB = `skip-name-resolve
performance_schema=OFF
innodb_buffer_pool_size=8M
innodb_log_file_size=8M
innodb_log_buffer_size=2M
innodb_data_file_path=ibdata1:5M:autoextend
innodb_autoextend_increment=1
innodb_temp_data_file_path=ibtmp1:2M:autoextend
innodb_buffer_pool_dump_at_shutdown=0
innodb_buffer_pool_load_at_startup=0
innodb_read_io_threads=1
innodb_write_io_threads=2
innodb_purge_threads=1
innodb_use_native_aio=0
innodb_flush_method=O_DIRECT
key_buffer_size=64K
aria_pagecache_buffer_size=256K
aria_log_file_size=8M
query_cache_type=0
query_cache_size=0
tmp_table_size=256K
table_open_cache=100
table_open_cache_instances=1
table_definition_cache=400
open_files_limit=1024
max_connections=100
thread_cache_size=4
thread_stack=192K
sort_buffer_size=64K
join_buffer_size=64K
read_buffer_size=32K
binlog_cache_size=32K
innodb_flush_log_at_trx_commit=2
sync_binlog=0
`

// replicating is what every side of a pair needs. One GTID domain per side,
// because two writers in one domain break strict mode; ignore_duplicates,
// because a side's own events come back round the ring.
const replicatingMariaDB = `log-bin=bl
relay-log=rl
log-slave-updates
binlog-format=ROW
gtid-strict-mode=1
gtid-ignore-duplicates=1
auto-increment-increment=2
auto-increment-offset=1
skip-slave-start
slave-parallel-threads=2
slave-parallel-mode=optimistic
slave-net-timeout=10
`

// writeConfig writes the instance's option file: what is ours first, then the
// caller's options, of which the last one wins.
func (i *Instance) writeConfig() error {
	var b strings.Builder
	line := i.home.line
	fmt.Fprintf(&b, "[%s]\ndatadir=%s\nsocket=%s\npid-file=%s\nlog-error=%s\ntmpdir=%s\n", line.group(), i.Datadir, i.Socket, i.path("pid"), i.path("error.log"), i.path("tmp"))
	fmt.Fprintf(&b, "bind-address=%s\nport=%d\nreport-host=%s\nreport-port=%d\n", i.Host, i.Port, i.Host, i.Port)
	fmt.Fprintf(&b, "server-id=%d\n", i.ServerID)
	if !line.MySQL {
		fmt.Fprintf(&b, "gtid-domain-id=%d\n", i.ServerID)
	}
	b.WriteString(line.lean() + line.replicating())
	loose := ""
	if line.MySQL {
		loose = "loose-" // a suite that was written for MariaDB may ask for what MySQL has not
	}
	for _, o := range i.options {
		fmt.Fprintln(&b, loose+strings.TrimPrefix(o, "--"))
	}
	return os.WriteFile(i.Config, []byte(b.String()), 0o644)
}
