package mysql

import (
	"context"
	"strings"
	"time"
)

// PoolFile is the file, in the data directory, that a server dumps the page
// numbers of its buffer pool to (innodb_buffer_pool_filename's default).
const PoolFile = "ib_buffer_pool"

// DumpPool writes the page numbers in the buffer pool to PoolFile. They name
// tablespace and page, so they mean the same on a physical copy.
func (s *Server) DumpPool(ctx context.Context, budget time.Duration) error {
	if err := s.exec(ctx, "SET GLOBAL innodb_buffer_pool_dump_now = ON"); err != nil {
		return err
	}
	return s.awaitStatus(ctx, "Innodb_buffer_pool_dump_status", "completed", budget)
}

// LoadPool reads the pages named in PoolFile into the buffer pool.
func (s *Server) LoadPool(ctx context.Context, budget time.Duration) error {
	if err := s.exec(ctx, "SET GLOBAL innodb_buffer_pool_load_now = ON"); err != nil {
		return err
	}
	return s.awaitStatus(ctx, "Innodb_buffer_pool_load_status", "completed", budget)
}

// PoolPages are the pages of data in the buffer pool.
func (s *Server) PoolPages(ctx context.Context) (string, error) {
	return s.Status(ctx, "Innodb_buffer_pool_pages_data")
}

func (s *Server) awaitStatus(ctx context.Context, name, word string, budget time.Duration) error {
	deadline := time.Now().Add(budget)
	for {
		value, err := s.Status(ctx, name)
		if err != nil {
			return err
		}
		// A load that was cut short is not a reason to stop: the pool warms
		// by itself. Say so by returning with what we have.
		ended := strings.Contains(value, word) || strings.Contains(value, "Cannot open") || strings.Contains(value, "Error ")
		if ended || time.Now().After(deadline) {
			return nil
		}
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return s.fail("warm", err)
		}
	}
}
