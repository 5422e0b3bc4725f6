package mysql

import (
	"context"
	"fmt"
	"time"
)

// A server whose applier is held receives what its source writes, and does not apply it. Only the applier is stopped: with GTIDs a server throws away what it has received when both
// threads have been stopped and are started again (measured on MariaDB 10.11), and while its source is down nobody else has it.

// isHeld reports whether the receiver runs while the applier is stopped, and not by an error.
func (r Replication) isHeld() bool {
	return r.Configured && r.SQL == "No" && r.SQLError == "" && (r.IO == "Yes" || r.IO == "Connecting")
}

// HoldApplier stops the applier, and leaves the receiver running. It waits for the transaction that is applied just now. A held applier stays held.
func (s *Server) HoldApplier(ctx context.Context) error {
	d, err := s.dialect(ctx)
	if err != nil {
		return err
	}
	now, err := s.Replication(ctx)
	if err != nil {
		return err
	}
	if now.SQL == "No" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*StatementTimeout)
	defer cancel()
	s.log.Debug("statement", "server", s.name, "sql", d.hold)
	_, err = s.db.ExecContext(ctx, d.hold)
	return s.fail(d.hold, err)
}

// AwaitReceiving starts the receiver where it does not run, and returns when it does. The applier stays as it is.
func (s *Server) AwaitReceiving(ctx context.Context, budget time.Duration) error {
	d, err := s.dialect(ctx)
	if err != nil {
		return err
	}
	now, err := s.Replication(ctx)
	if err != nil || now.IO == "Yes" {
		return err
	}
	return s.startReceiver(ctx, d, budget)
}

func (s *Server) startReceiver(ctx context.Context, d dialect, budget time.Duration) error {
	if err := s.exec(ctx, d.receive); err != nil {
		return err
	}
	for deadline := time.Now().Add(budget); ; {
		r, err := s.Replication(ctx)
		if err != nil {
			return err
		}
		switch {
		case r.IO == "Yes":
			return nil
		case time.Now().After(deadline):
			return s.fail("start receiver", fmt.Errorf("it did not come up in %v: %s %s", budget, r.IO, r.IOError))
		}
		if err := Sleep(ctx, 10*time.Millisecond); err != nil {
			return s.fail("start receiver", err)
		}
	}
}
