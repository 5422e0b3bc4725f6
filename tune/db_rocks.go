package tune

import (
	"fmt"

	"stowage/farm"
)

var dbRocks = Rule{
	ID: "DB-ROCKS", Title: "MyRocks", Reads: "rocksdb_flush_log_at_trx_commit, rocksdb_bulk_load, rocksdb_block_cache_size, default_storage_engine, innodb_buffer_pool_size, log_bin, binlog_format",
	Source: "MariaDB manual, MyRocks System Variables and MyRocks and Replication: row-based only; the block cache is 512 MiB unless it is set",
	Except: "replicas that can be made anew, for durability; servers whose large tables are InnoDB's, for the cache",
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		for _, i := range f.Instances {
			cache, where, ok := i.number("rocksdb_block_cache_size")
			if _, uses := i.usesEngine("ROCKSDB"); !ok && !uses {
				continue
			}
			n++
			out = append(out, i.rocksDurable()...)
			out = append(out, i.rocksLogged()...)
			if v, where, ok := i.setting("rocksdb_bulk_load"); ok && is(v, "ON", "1") {
				x := Finding{Severity: farm.Warning, Subject: i.Name, Read: where, Verdict: "every session loads in bulk: rows must come sorted, and are seen only when the load ends",
					Why: "it is for one session that loads a table, and does without what keeps others correct"}
				fixVariable(&x, i, "rocksdb_bulk_load", "OFF")
				out = append(out, x)
			}
			pool, _, poolKnown := i.number("innodb_buffer_pool_size")
			engine, _, _ := i.setting("default_storage_engine")
			if ok && poolKnown && is(engine, "ROCKSDB", "MyRocks") && cache < pool {
				x := Finding{Severity: farm.Warning, Subject: i.Name, Read: fmt.Sprintf("%s; innodb_buffer_pool_size %s; default_storage_engine=%s", where, bytes(pool), engine),
					Verdict: "most memory is given to the engine that new tables do not use",
					Why:     "MyRocks reads through its block cache, and InnoDB's pool serves the system tables and what has not been converted"}
				fixOption(&x, i, "rocksdb_block_cache_size", bytes(pool), bytes(cache))
				x.Fix += ", with the buffer pool made smaller by as much"
				out = append(out, x)
			}
		}
		return judged(out, n, "no instance uses MyRocks")
	},
}

// rocksDurable: what DB-DURABLE asks of InnoDB.
func (i Instance) rocksDurable() []Finding {
	value, where, ok := i.setting("rocksdb_flush_log_at_trx_commit")
	if ro, _, known := i.setting("read_only"); !ok || value == "1" || known && is(ro, "ON", "1") {
		return nil
	}
	x := Finding{Severity: farm.Warning, Subject: i.Name, Read: where, Verdict: "a power cut loses about a second of acknowledged commits in MyRocks tables",
		Why: "0 and 2 write or flush its log in the background"}
	fixVariable(&x, i, "rocksdb_flush_log_at_trx_commit", "1")
	return []Finding{x}
}

// rocksLogged: MyRocks has no gap locks, so that statements do not mean the same on a replica.
func (i Instance) rocksLogged() []Finding {
	format, where, ok := i.setting("binlog_format")
	if on, _, known := i.setting("log_bin"); !ok || known && is(on, "OFF", "0") || is(format, "ROW") {
		return nil
	}
	x := Finding{Severity: farm.Warning, Subject: i.Name, Read: where, Verdict: "replicas of its MyRocks tables can get different rows, or writes are refused",
		Why: "MyRocks takes no gap locks: only rows, and not statements, mean the same on a replica"}
	fixVariable(&x, i, "binlog_format", "ROW")
	x.Fix += "; sessions that are connected keep the old format until they end"
	return []Finding{x}
}
