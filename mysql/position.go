package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"stowage/farm"
)

// BinlogPosition is what the server has written to its binary log: its own
// writes and, with log_slave_updates, everything it applied.
func (s *Server) BinlogPosition(ctx context.Context) (Position, error) {
	d, err := s.dialect(ctx)
	if err != nil {
		return nil, err
	}
	return s.position(ctx, d.written)
}

// AppliedPosition is what the server has applied as a replica. In a ring it
// includes the server's own domain, as its events come round. MySQL keeps one
// set for both, what it applied and what it wrote.
func (s *Server) AppliedPosition(ctx context.Context) (Position, error) {
	d, err := s.dialect(ctx)
	if err != nil {
		return nil, err
	}
	return s.position(ctx, d.applied)
}

func (s *Server) position(ctx context.Context, variable string) (Position, error) {
	var text string
	if err := s.row(ctx, "SELECT @@GLOBAL."+variable, nil, &text); err != nil {
		return nil, err
	}
	p, err := ParsePosition(text)
	return p, s.fail("read "+variable, err)
}

// ServerIDsInBinlog are all server ids that ever wrote something this server
// still knows of (gtid_binlog_state). None of them may be given out again.
//
// MySQL does not tell: its GTIDs carry the servers' uuids.
func (s *Server) ServerIDsInBinlog(ctx context.Context) ([]uint32, error) {
	if d, err := s.dialect(ctx); err != nil || !d.flavor.HasGTIDDomains() {
		return nil, err
	}
	gtids, err := s.lastOfEach(ctx)
	ids := make([]uint32, 0, len(gtids))
	for _, g := range gtids {
		ids = append(ids, g.Server)
	}
	return ids, err
}

// PositionAt translates a place in this server's binary log (file, offset)
// into a GTID position. It is exact where the GTID that a backup writes down
// itself can be behind the data, because the source is a replica too.
func (s *Server) PositionAt(ctx context.Context, file string, offset int64) (Position, error) {
	var text sql.NullString
	if d, err := s.dialect(ctx); err != nil || !d.flavor.HasGTIDDomains() {
		if err == nil {
			err = s.fail("translate binlog position", fmt.Errorf("%s has no way to turn a file and an offset into GTIDs", d.flavor))
		}
		return nil, err
	}
	if err := s.row(ctx, "SELECT BINLOG_GTID_POS(?, ?)", []any{file, offset}, &text); err != nil {
		return nil, err
	}
	if !text.Valid {
		return nil, s.fail("translate binlog position", fmt.Errorf("%s:%d is not in the binary log any more", file, offset))
	}
	p, err := ParsePosition(text.String)
	return p, s.fail("translate binlog position", err)
}

// HasLogged reports whether this server's binary log stands at p at a place, as it did when the server was copied there. Of a place that was
// purged since nobody knows: true. A server that was made anew of another one has a log of its own.
func (s *Server) HasLogged(ctx context.Context, file string, offset int64, p Position) (bool, error) {
	logs, err := s.records(ctx, "SHOW BINARY LOGS")
	if err != nil {
		return false, err
	}
	if !slices.ContainsFunc(logs, func(r map[string]string) bool { return r["Log_name"] == file }) {
		return len(logs) > 0 && fileNumber(file) < fileNumber(logs[0]["Log_name"]), nil
	}
	var text sql.NullString
	if err := s.row(ctx, "SELECT BINLOG_GTID_POS(?, ?)", []any{file, offset}, &text); err != nil || !text.Valid {
		return false, err
	}
	is, err := ParsePosition(text.String)
	return err == nil && is.Equal(p), s.fail("translate binlog position", err)
}

// fileNumber is 17 of mysql-bin.000017; 0 for what is no name of a binary log.
func fileNumber(name string) int64 {
	n, _ := strconv.ParseInt(name[strings.LastIndexByte(name, '.')+1:], 10, 64)
	return n
}

// WaitFor waits until the server has applied goal. It waits domain by domain
// (a domain the server has never heard of would hang the whole wait) and looks
// at replication in between: a wait says nothing about a dead applier. The
// error names what is missing.
func (s *Server) WaitFor(ctx context.Context, goal Position, budget time.Duration) error {
	d, err := s.dialect(ctx)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(budget)
	for _, origin := range goal.Origins() {
		if err := s.waitFor(ctx, d, goal.From(origin), deadline); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) waitFor(ctx context.Context, d dialect, goal Position, deadline time.Time) error {
	for {
		has, applied, err := s.has(ctx, d, goal)
		if err != nil || has {
			return err
		}
		status, err := s.Replication(ctx)
		if err != nil {
			return err
		}
		if err := status.Broken(); err != nil {
			return s.fail("wait for "+goal.String(), err)
		}
		if time.Now().After(deadline) {
			return s.fail("wait for "+goal.String(), fmt.Errorf("%w: applied %s so far", ErrBehind, applied))
		}
		if ctx.Err() != nil {
			return s.fail("wait for "+goal.String(), ctx.Err())
		}
		var rc int
		if err := s.row(ctx, d.wait, []any{goal.String()}, &rc); err != nil {
			return err
		}
		if rc == 0 {
			return nil
		}
	}
}

// has reports whether the server holds transactions: applied as a replica, or
// written itself (whether or not the ring has brought them back). They are of
// one origin.
func (s *Server) has(ctx context.Context, d dialect, goal Position) (bool, Position, error) {
	var appliedText, writtenText string
	if err := s.row(ctx, "SELECT @@GLOBAL."+d.applied+", @@GLOBAL."+d.written, nil, &appliedText, &writtenText); err != nil {
		return false, nil, err
	}
	applied, err := ParsePosition(appliedText)
	if err != nil {
		return false, nil, s.fail("read "+d.applied, err)
	}
	written, err := ParsePosition(writtenText)
	if err != nil {
		return false, nil, s.fail("read "+d.written, err)
	}
	if is := applied.Reached(goal) || written.Reached(goal); is || !d.flavor.HasGTIDDomains() {
		return is, applied, nil
	}
	logged, err := s.lastOfEach(ctx) // where several servers write one domain, the last transaction may have a lower number than one before it
	return slices.ContainsFunc(logged, func(g GTID) bool {
		last := goal.Last(g.Domain)
		return last.Server == g.Server && last.Seq > 0 && last.Seq <= g.Seq
	}), applied, err
}

// lastOfEach are the last transactions of each server in each domain that are in the binary log of a MariaDB server, or were.
func (s *Server) lastOfEach(ctx context.Context) ([]GTID, error) {
	var text string
	if err := s.row(ctx, "SELECT @@GLOBAL.gtid_binlog_state", nil, &text); err != nil {
		return nil, err
	}
	gtids, err := parseGTIDs(text)
	return gtids, s.fail("read gtid_binlog_state", err)
}

// OldestPosition is the first position behind which this server's binary log
// holds everything. It needs BINLOG MONITOR (MySQL: REPLICATION CLIENT).
func (s *Server) OldestPosition(ctx context.Context) (Position, error) {
	d, err := s.dialect(ctx)
	if err != nil {
		return nil, err
	}
	if !d.flavor.HasGTIDDomains() {
		return s.position(ctx, "gtid_purged")
	}
	logs, err := s.records(ctx, "SHOW BINARY LOGS")
	if err != nil {
		return nil, err
	}
	if len(logs) == 0 {
		return nil, s.fail("read oldest position", errors.New("the server has no binary log"))
	}
	return s.PositionAt(ctx, logs[0]["Log_name"], firstEvent)
}

// firstEvent is where the events of a binary log file begin, behind its magic number.
const firstEvent = 4

// ErrBehind: a replica did not reach a position within its budget.
var ErrBehind = fmt.Errorf("replica is behind (%w)", errBudget)

var errBudget = fmt.Errorf("waited long enough")

// Adopt makes a freshly seeded, never written instance stand at p: forget any
// replication it inherited, set the state of its (empty) binary log and its
// applied position. Running it again on an instance that is at p or beyond
// changes nothing.
func (s *Server) Adopt(ctx context.Context, p Position) error {
	d, err := s.dialect(ctx)
	if err != nil {
		return err
	}
	if !d.flavor.HasGTIDDomains() {
		return s.adoptSet(ctx, d, p)
	}
	written, err := s.BinlogPosition(ctx)
	if err != nil {
		return err
	}
	applied, err := s.AppliedPosition(ctx)
	if err != nil {
		return err
	}
	if len(p) > 0 && applied.Reached(p) && written.Reached(p) {
		return nil
	}
	// gtid_binlog_state can be set only while the binary log is empty, and
	// gtid_slave_pos only while no replica thread runs.
	statements := []string{
		"STOP ALL SLAVES",
		"RESET SLAVE ALL",
		"SET GLOBAL gtid_slave_pos = ''",
		"RESET MASTER",
		"SET GLOBAL gtid_binlog_state = " + quote(p.String()),
		"SET GLOBAL gtid_slave_pos = " + quote(p.String()),
	}
	for _, st := range statements {
		if err := s.exec(ctx, st); err != nil {
			return err
		}
	}
	return nil
}

// SetApplied makes a MariaDB server whose replication is stopped stand at p as a
// replica: it asks its source for what comes behind that. It needs REPLICATION
// SLAVE ADMIN.
func (s *Server) SetApplied(ctx context.Context, p Position) error {
	return s.exec(ctx, "SET GLOBAL gtid_slave_pos = "+quote(p.String()))
}

// errNoReplication: a server that should replicate does not.
var errNoReplication = &farm.Error{Op: "replication", Err: fmt.Errorf("not configured")}
