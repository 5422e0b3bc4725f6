package tune

import (
	"fmt"

	"stowage/farm"
)

var memSum = Rule{
	ID: "MEM-SUM", Title: "memory of all instances together", Reads: "innodb_buffer_pool_size, key_buffer_size, aria_pagecache_buffer_size, rocksdb_block_cache_size and max_connections of each instance; MemTotal",
	Source: "arithmetic; 1 MiB for each connection that is allowed, 10 % of the pool for what manages it",
	Except: "instances that are never busy at once, and that you know",
	Check: func(f *Facts) Outcome {
		var sum int64
		n := 0
		for _, i := range f.Instances {
			if need, ok := i.memory(); ok {
				sum += need
				n++
			}
		}
		if n == 0 || f.Memory == 0 {
			return notApplicable("no instance whose buffer pool is known, or the machine's memory is not")
		}
		share := float64(sum) / float64(f.Memory)
		x := Finding{Severity: farm.Warning, Subject: "memory", Read: fmt.Sprintf("%d instances want %s of %s", n, bytes(sum), bytes(f.Memory)),
			Verdict: fmt.Sprintf("%.0f %% of the memory is promised", 100*share),
			Why:     "the rest is for the kernel, connections, temporary tables, backups and the page cache of binary logs; when it is gone the largest process is killed, and that is a database",
			Fix:     "smaller buffer pools (SET GLOBAL innodb_buffer_pool_size, which is dynamic), or fewer instances here", Persist: "innodb_buffer_pool_size in each option file", Revert: "the sizes of before"}
		switch {
		case share > 1:
			x.Severity = farm.Blocker
		case share <= 0.8:
			return Outcome{}
		}
		return found(x)
	},
}

// memory is what an instance takes when it is busy.
func (i Instance) memory() (int64, bool) {
	pool, _, ok := i.number("innodb_buffer_pool_size")
	if !ok {
		return 0, false
	}
	need := pool + pool/10
	for _, name := range []string{"key_buffer_size", "aria_pagecache_buffer_size", "rocksdb_block_cache_size", "tokudb_cache_size"} {
		if n, _, ok := i.number(name); ok {
			need += n
		}
	}
	if n, _, ok := i.number("max_connections"); ok && n < 1<<20 {
		need += n << 20
	}
	return need, true
}
