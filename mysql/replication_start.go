package mysql

import (
	"context"
	"time"
)

// StartReplicating starts both threads, from the source and with the account
// that the server has, and returns when they run.
func (s *Server) StartReplicating(ctx context.Context, budget time.Duration) error {
	d, err := s.dialect(ctx)
	if err != nil {
		return err
	}
	if err := s.exec(ctx, d.start); err != nil {
		return err
	}
	return s.AwaitReplicating(ctx, budget)
}
