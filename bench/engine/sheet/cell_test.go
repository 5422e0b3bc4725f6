package sheet

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"stowage/farm"
)

func TestParseCell(t *testing.T) {
	for id, want := range map[string]string{
		"innodb": "innodb-16k", "innodb-16k": "innodb-16k", "INNODB-relaxed-4k": "innodb-4k-relaxed", "innodb-nodw-8k-fsync": "innodb-8k-nodw-fsync", "innodb-direct": "innodb-16k",
		"innodb-dsync": "innodb-16k-dsync", "myrocks": "myrocks", "myrocks-relaxed": "myrocks-relaxed", "aria": "aria", "myisam": "myisam",
	} {
		c, err := ParseCell(id)
		if err != nil || c.ID != want {
			t.Errorf("%s: %q, %v, want %q", id, c.ID, err, want)
		}
		if again, err := ParseCell(c.ID); err != nil || again.ID != c.ID || again.Durability != c.Durability {
			t.Errorf("%s: its own name is read as %+v, %v", id, again, err)
		}
	}
	for _, id := range []string{"", "tokudb", "innodb-32k", "aria-4k", "aria-relaxed", "myisam-nodw", "innodb-4k-8k", "innodb-fsync-dsync", "innodb--"} {
		if c, err := ParseCell(id); !errors.Is(err, farm.ErrInput) || farm.Hint(err) == "" {
			t.Errorf("%q: %+v, %v", id, c, err)
		}
	}
	for _, id := range slices.Concat(QuickCells, FullCells) {
		if c, err := ParseCell(id); err != nil || c.ID != id {
			t.Errorf("a profile has %s, which is %q (%v)", id, c.ID, err)
		}
	}
}

// TestMyISAMNeedsAWord: and every row of it says what it promises.
func TestMyISAMNeedsAWord(t *testing.T) {
	if _, err := ParseCells([]string{"innodb", "myisam"}, false); !errors.Is(err, farm.ErrRefused) || !strings.Contains(farm.Hint(err), "--no-durability-ok") {
		t.Errorf("%v (%s)", err, farm.Hint(err))
	}
	cells, err := ParseCells([]string{"innodb", "myisam", "innodb-16k"}, true)
	if err != nil || len(cells) != 2 || cells[1].Durability != None || cells[1].Unsafe == "" {
		t.Errorf("%+v, %v", cells, err)
	}
	if ok, why := cells[1].Runs(*LoadNamed("rw")); ok || why == "" {
		t.Error("transactions on MyISAM")
	}
	if ok, _ := cells[0].Runs(*LoadNamed("rw")); !ok {
		t.Error("no transactions on InnoDB")
	}
}

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		id   string
		want []string
	}{
		{"innodb-4k-nodw-fsync", []string{"innodb_page_size=4096", "innodb_doublewrite=0", "innodb_flush_method=fsync", "innodb_flush_log_at_trx_commit=1", "sync_binlog=1", "innodb_buffer_pool_size=67108864"}},
		{"innodb-relaxed", []string{"innodb_page_size=16384", "innodb_doublewrite=1", "innodb_flush_log_at_trx_commit=2", "sync_binlog=0"}},
		{"myrocks", []string{"plugin_load_add=ha_rocksdb", "loose_rocksdb_block_cache_size=67108864", "loose_rocksdb_flush_log_at_trx_commit=1", "innodb_buffer_pool_size=8388608"}},
		{"aria", []string{"aria_pagecache_buffer_size=67108864", "sync_binlog=1"}},
		{"myisam", []string{"key_buffer_size=67108864", "sync_binlog=0"}},
	} {
		c, err := ParseCell(tt.id)
		if err != nil {
			t.Fatal(err)
		}
		got := c.Options(64 << 20)
		for _, line := range tt.want {
			if !slices.Contains(got, line) {
				t.Errorf("%s has no %s: %q", tt.id, line, got)
			}
		}
	}
}

// TestNeed: caches that would not fit are refused before anything starts.
func TestNeed(t *testing.T) {
	c, _ := ParseCell("innodb")
	four := []int64{c.Memory(1 << 30), c.Memory(1 << 30), c.Memory(1 << 30), c.Memory(1 << 30)}
	n := NeedOf(1<<20, 4, four)
	if err := n.Check("/x", 4<<30, 1<<40); !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "memory") {
		t.Errorf("four caches of 1 GiB in 4 GiB: %v", err)
	}
	if err := n.Check("/x", 8<<30, 1<<40); err != nil {
		t.Errorf("in 8 GiB: %v", err)
	}
	if err := n.Check("/x", 8<<30, 1<<30); !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), "leave a tenth") {
		t.Errorf("on a disk of 1 GiB: %v", err)
	}
}

func TestCache(t *testing.T) {
	if got := Cache(100<<20, 0.5); got != 200<<20 {
		t.Errorf("%d", got)
	}
	if got := Cache(1<<20, 10); got != leastCache {
		t.Errorf("%d is below what a server takes", got)
	}
}
