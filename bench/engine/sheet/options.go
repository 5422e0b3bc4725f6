package sheet

import "fmt"

// The memory a server takes besides its cache: threads, dictionaries, the write buffers of MyRocks.
const (
	besides        = 120 << 20
	memtables      = 2 * 64 << 20
	leastCache     = 16 << 20 // below it InnoDB's own needs are most of it
	othersInnoDB   = 8 << 20  // where InnoDB only holds system tables
	othersAria     = 2 << 20
	othersMyISAM   = 1 << 20
	blockOfMyISAMs = 1 << 20
)

// Cache is what gives data of that size this ratio to its cache.
func Cache(data int64, ratio float64) int64 {
	return max(int64(float64(data)/ratio)/(1<<20)*(1<<20), leastCache)
}

// Memory is what a server of the cell takes, at most, by its settings.
func (c Cell) Memory(cache int64) int64 {
	if c.Engine == MyRocks {
		return cache + besides + memtables
	}
	return cache + besides
}

// Options are the lines of the option file that make a server one of this cell. The binary log is written, as on any primary; where commits are
// relaxed it is not synced.
func (c Cell) Options(cache int64) []string {
	flush, sync := 1, 1
	if c.Durability != Durable {
		flush, sync = 2, 0
	}
	innodb, aria, keys := int64(othersInnoDB), int64(othersAria), int64(othersMyISAM)
	page, method, doublewrite := int64(16<<10), flushMethods["direct"], 1
	switch c.Engine {
	case InnoDB:
		innodb, page, method = cache, c.PageSize, c.FlushMethod
		if !c.Doublewrite {
			doublewrite = 0
		}
	case Aria:
		aria = cache
	case MyISAM:
		keys = max(cache, blockOfMyISAMs)
	}
	lines := []string{
		fmt.Sprintf("innodb_buffer_pool_size=%d", innodb),
		fmt.Sprintf("innodb_page_size=%d", page),
		fmt.Sprintf("innodb_lru_scan_depth=%d", lruDepth(innodb, page)),
		fmt.Sprintf("innodb_flush_method=%s", method),
		fmt.Sprintf("innodb_doublewrite=%d", doublewrite),
		fmt.Sprintf("innodb_flush_log_at_trx_commit=%d", flush),
		fmt.Sprintf("sync_binlog=%d", sync),
		fmt.Sprintf("aria_pagecache_buffer_size=%d", aria),
		fmt.Sprintf("key_buffer_size=%d", keys),
	}
	if c.Engine == MyRocks {
		lines = append(lines,
			"plugin_load_add=ha_rocksdb",
			// Loose: where the plugin does not load the server starts all the same, and can be asked.
			fmt.Sprintf("loose_rocksdb_block_cache_size=%d", cache),
			fmt.Sprintf("loose_rocksdb_flush_log_at_trx_commit=%d", flush),
			// Past the page cache, or the ratio of data to cache would say nothing.
			"loose_rocksdb_use_direct_reads=1", "loose_rocksdb_use_direct_io_for_flush_and_compaction=1",
		)
	}
	return lines
}

// lruDepth is how many pages InnoDB keeps free. Its default, 1536, is nothing in the pool of a real server and would be most of a small one,
// which then wrote and read for ever although everything fits: so it is a sixteenth, as it is of half a gigabyte.
func lruDepth(pool, page int64) int64 { return min(max(pool/page/16, 100), 1536) }

// ThroughPageCache says whether the engine reads its data through the operating system's cache, whatever its own cache is.
func (c Cell) ThroughPageCache() bool {
	return c.Engine == Aria || c.Engine == MyISAM || c.FlushMethod == "fsync" || c.FlushMethod == "O_DSYNC"
}
