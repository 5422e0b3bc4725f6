package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"stowage/bench/engine/sheet"
	"stowage/farm"
)

// Limits of what counts as settled.
const (
	cleanPages  = 20   // dirty pages of InnoDB: its own bookkeeping dirties a few for ever
	shortEnough = 1000 // of InnoDB's history: what purge leaves lying
)

// settle makes the server pay what it owes: dirty pages, memtables, compaction. It returns whether it came to its end within the limit.
func (s *server) settle(ctx context.Context, limit time.Duration) (bool, error) {
	done, err := true, error(nil)
	switch s.cell.Engine {
	case sheet.InnoDB:
		done, err = s.settleInnoDB(ctx, limit)
	case sheet.MyRocks:
		err = s.exec(ctx, "SET GLOBAL rocksdb_force_flush_memtable_now = 1", "SET GLOBAL rocksdb_compact_cf = 'default'")
	default:
		err = s.exec(ctx, "FLUSH TABLES")
	}
	if err != nil {
		return false, err
	}
	// What is in the page cache is not written yet; a device counts it only then.
	return done, s.fail("sync files of", syncFiles(s.datadir()))
}

// settleInnoDB tells it that no page may be dirty and that it may write as fast as it can, waits, and puts its settings back.
func (s *server) settleInnoDB(ctx context.Context, limit time.Duration) (bool, error) {
	names := []string{"innodb_max_dirty_pages_pct_lwm", "innodb_max_dirty_pages_pct", "innodb_io_capacity_max", "innodb_io_capacity"}
	eager := map[string]string{names[0]: "0", names[1]: "0", names[2]: "40000", names[3]: "40000"}
	was, err := s.pairs(ctx, "SHOW GLOBAL VARIABLES WHERE variable_name IN ('innodb_max_dirty_pages_pct_lwm', 'innodb_max_dirty_pages_pct', 'innodb_io_capacity_max', 'innodb_io_capacity')")
	if err != nil {
		return false, err
	}
	for _, n := range []string{names[2], names[3], names[0], names[1]} { // each within the other's bound
		if err := s.exec(ctx, "SET GLOBAL "+n+" = "+eager[n]); err != nil {
			return false, err
		}
	}
	done := false
	for end := time.Now().Add(limit); !done && time.Now().Before(end); {
		st, err := s.pairs(ctx, "SHOW GLOBAL STATUS WHERE variable_name = 'Innodb_buffer_pool_pages_dirty'")
		if err != nil {
			return false, err
		}
		length, err := s.value(ctx, s.family().history)
		if err != nil {
			return false, err
		}
		dirty, err := strconv.Atoi(st["Innodb_buffer_pool_pages_dirty"])
		history, err2 := strconv.Atoi(length)
		if err := errors.Join(err, err2); err != nil {
			return false, s.fail("ask whether it is settled", err)
		}
		if done = dirty < cleanPages && history < shortEnough; done {
			break
		}
		select {
		case <-ctx.Done():
			return false, farm.ErrInterrupted
		case <-time.After(20 * time.Millisecond):
		}
	}
	for _, n := range []string{names[1], names[0], names[3], names[2]} {
		if err := s.exec(ctx, "SET GLOBAL "+n+" = "+was[n]); err != nil {
			return false, err
		}
	}
	return done, nil
}

// syncFiles writes out every file of a data directory. Not the whole file system: others may have much to write there.
func syncFiles(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil // gone meanwhile, or nothing that has data
		}
		f, err := os.Open(path)
		if err != nil {
			return nil
		}
		return errors.Join(f.Sync(), f.Close())
	})
}
