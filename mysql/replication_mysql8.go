package mysql

import (
	"context"
	"fmt"
	"time"
)

// changeSourceMySQL is changeSource in MySQL's words. Without TLS the source's
// public key is asked for, so that an account of caching_sha2_password, the
// default, can log in; whether TLS is used stays as it was set.
func (s *Server) changeSourceMySQL(ctx context.Context, d dialect, host, port string, as Account) error {
	text := fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST=%s, SOURCE_PORT=%s, SOURCE_USER=%s, SOURCE_PASSWORD=%s, "+
		"SOURCE_AUTO_POSITION=1, SOURCE_CONNECT_RETRY=1, SOURCE_RETRY_COUNT=864000, SOURCE_HEARTBEAT_PERIOD=2",
		quote(host), port, quote(as.User), quote(as.Password)) + as.Source.clauses(d)
	s.log.Debug("statement", "server", s.name, "sql", "CHANGE REPLICATION SOURCE TO SOURCE_HOST="+host+":"+port+" ...")
	ctx, cancel := context.WithTimeout(ctx, StatementTimeout)
	defer cancel()
	if _, err := s.db.ExecContext(ctx, text); err != nil {
		return s.fail("CHANGE REPLICATION SOURCE", withoutStatement(err))
	}
	return nil
}

// stopAtSet is StopAt for MySQL.
//
// UNTIL SQL_AFTER_GTIDS stops when all of a set has been executed, and by then
// the coordinator has given later transactions to its workers: 9.7.4 with two
// of them stood three transactions beyond. UNTIL SQL_BEFORE_GTIDS looks at a
// transaction before it is given to anybody, so it is told all that is not in
// p. When the source writes nothing more it never stops, but has nothing to
// apply either: it is stopped by hand then, and what comes in between is not
// applied.
func (s *Server) stopAtSet(ctx context.Context, d dialect, p Position, budget time.Duration) error {
	op := "stop replication at " + p.String()
	if err := s.exec(ctx, d.start+" UNTIL SQL_BEFORE_GTIDS = "+quote(p.rest().String())); err != nil {
		return err
	}
	for deadline := time.Now().Add(budget); ; {
		applied, err := s.AppliedPosition(ctx)
		if err != nil {
			return err
		}
		r, err := s.Replication(ctx)
		if err != nil {
			return err
		}
		switch {
		case !p.Reached(applied):
			return s.fail(op, fmt.Errorf("the replica is beyond it, at %s", applied))
		case applied.Reached(p) && r.SQL == "No":
			return nil
		case applied.Reached(p):
			if err := s.exec(ctx, d.stop); err != nil {
				return err
			}
			continue // what it is at now is looked at once more
		case r.SQL == "No" && r.SQLError != "", r.IO == "No" && r.IOError != "":
			return s.fail(op, r.Broken())
		case time.Now().After(deadline):
			return s.fail(op, fmt.Errorf("%w: applied %s", ErrBehind, applied))
		}
		if err := Sleep(ctx, 5*time.Millisecond); err != nil {
			return s.fail(op, err)
		}
	}
}

// StopAtWith is StopAt for a position that source, not necessarily the server
// it follows, has written. MariaDB stops domain by domain wherever its events
// come from. MySQL applies a source's binary log in its order, and only in that
// of source does all of p come before all that is not in it: there the replica
// follows source until it stops. Follow the usual source again afterwards.
func (s *Server) StopAtWith(ctx context.Context, source string, as Account, p Position, budget time.Duration) error {
	d, err := s.dialect(ctx)
	if err != nil {
		return err
	}
	if !d.flavor.HasGTIDDomains() {
		if err := s.changeSource(ctx, source, as); err != nil {
			return err
		}
	}
	return s.StopAt(ctx, p, budget)
}
