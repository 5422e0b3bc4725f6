package mysql

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// PoolFile is the file, in the data directory, that a server dumps the page
// numbers of its buffer pool to (innodb_buffer_pool_filename's default).
const PoolFile = "ib_buffer_pool"

// poolOurs are variables that Stowage sets while a pool is dumped and its file kept, and to what.
var poolOurs = map[string]string{
	"innodb_buffer_pool_dump_pct":         "100", // 25 by default: a quarter of a pool is no warm pool
	"innodb_buffer_pool_dump_at_shutdown": "OFF", // a shutdown would write the file anew, with its quarter
}

// PoolSettings reads the variables that DumpPool and KeepPoolFile set.
func (s *Server) PoolSettings(ctx context.Context) (map[string]string, error) {
	return s.Variables(ctx, slices.Sorted(maps.Keys(poolOurs))...)
}

// RestorePool puts them back to what PoolSettings read, also after a kill: where the value is ours, and
// was set while the server ran. What a person, an option file or a restart has made of it since stays.
func (s *Server) RestorePool(ctx context.Context, was map[string]string) error {
	is, err := s.VariablesWithOrigin(ctx, slices.Sorted(maps.Keys(was))...)
	if err != nil {
		return err
	}
	for name, x := range is {
		if was[name] == "" || x.Now == was[name] || x.Now != poolOurs[name] || x.From != "SQL" {
			continue
		}
		if err := s.exec(ctx, "SET GLOBAL "+name+" = "+was[name]); err != nil {
			return err
		}
	}
	return nil
}

// DumpPool writes the page numbers in the buffer pool to PoolFile, all of them on a
// server that serves nobody (whole), else the part that its own settings say: while
// it lists the pages nobody else gets one into the pool. They name tablespace and
// page, so they mean the same on a physical copy, and nothing where a table was rebuilt.
func (s *Server) DumpPool(ctx context.Context, whole bool, budget time.Duration) error {
	dump := func() error {
		ended, err := s.orderPool(ctx, "dump", budget)
		if err == nil && !strings.Contains(ended, "completed") {
			err = s.fail("dump the buffer pool", fmt.Errorf("not done after %v: %q", budget, ended))
		}
		return err
	}
	if !whole {
		return dump()
	}
	const percent = "innodb_buffer_pool_dump_pct"
	was, err := s.Variables(ctx, percent)
	if err != nil {
		return err
	}
	if was[percent] == poolOurs[percent] {
		return dump()
	}
	if err := s.exec(ctx, "SET GLOBAL "+percent+" = "+poolOurs[percent]); err != nil {
		return err
	}
	err = dump()
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), StatementTimeout)
	defer cancel()
	return errors.Join(err, s.exec(back, "SET GLOBAL "+percent+" = "+was[percent]))
}

// KeepPoolFile has the server leave PoolFile as it is when it is shut down.
func (s *Server) KeepPoolFile(ctx context.Context) error {
	return s.exec(ctx, "SET GLOBAL innodb_buffer_pool_dump_at_shutdown = OFF")
}

// LoadPool reads the pages named in PoolFile into the buffer pool, and returns what
// the server says at the end: a page that is gone is passed over in
// silence, and so is the end of the budget, after which the server goes on.
func (s *Server) LoadPool(ctx context.Context, budget time.Duration) (ended string, err error) {
	return s.orderPool(ctx, "load", budget)
}

// PoolPages are the pages of data in the buffer pool.
func (s *Server) PoolPages(ctx context.Context) (int64, error) {
	return s.poolCounter(ctx, "Innodb_buffer_pool_pages_data")
}

// PoolRoom is how many pages the buffer pool can hold.
func (s *Server) PoolRoom(ctx context.Context) (int64, error) {
	return s.poolCounter(ctx, "Innodb_buffer_pool_pages_total")
}

// PoolMisses counts pages that were read from disk because the pool did not hold them, since the server started.
func (s *Server) PoolMisses(ctx context.Context) (int64, error) {
	return s.poolCounter(ctx, "Innodb_buffer_pool_reads")
}

func (s *Server) poolCounter(ctx context.Context, name string) (int64, error) {
	text, err := s.Status(ctx, name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, s.fail("read "+name, err)
}

// orderPool has the server dump or load, and waits until it says how that ended.
func (s *Server) orderPool(ctx context.Context, what string, budget time.Duration) (ended string, err error) {
	deadline := time.Now().Add(budget)
	status := "Innodb_buffer_pool_" + what + "_status"
	// A server that was started just now may be loading.
	before, err := s.awaitPool(ctx, status, deadline, func(now string) bool { return !isPoolAtWork(now) })
	if err != nil {
		return "", err
	}
	if err := s.exec(ctx, "SET GLOBAL innodb_buffer_pool_"+what+"_now = ON"); err != nil {
		return "", err
	}
	// The words of before stand there until the server's thread has woken up, and
	// two ends within a second read the same.
	asleep := time.Now().Add(1100 * time.Millisecond)
	return s.awaitPool(ctx, status, deadline, func(now string) bool {
		return !isPoolAtWork(now) && (now != before || time.Now().After(asleep))
	})
}

// isPoolAtWork: it says neither that it has not begun nor how it ended. On the way it says "Dumping buffer pool(s) to", "Restricted to
// 253 pages due to innodb_buf_pool_dump_pct=25", "Loading buffer pool(s) from", "Loaded 1/200 pages".
func isPoolAtWork(status string) bool {
	ended := func(words string) bool { return strings.Contains(status, words) }
	return status != "" && !slices.ContainsFunc([]string{"not started", "completed", "Cannot", "Error", "aborted", "interrupted"}, ended)
}

func (s *Server) awaitPool(ctx context.Context, status string, deadline time.Time, is func(string) bool) (string, error) {
	for {
		now, err := s.Status(ctx, status)
		if err != nil || is(now) || time.Now().After(deadline) {
			return now, err
		}
		if err := Sleep(ctx, 5*time.Millisecond); err != nil {
			return now, s.fail("warm", err)
		}
	}
}
