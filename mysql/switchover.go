package mysql

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"
)

// Reader is somebody who reads the server's binary log.
type Reader struct {
	ServerID uint32
	Address  string // host:port as it reports itself (report_host, report_port); "" when it does not say
	Port     int    // that it listens on, also when it reports no host; 0 when it does not say
}

// Readers are the replicas of the server that are connected now, as they
// registered, and how many readers of its binary log there are besides (a
// tool that copies binary logs does not register).
func (s *Server) Readers(ctx context.Context) (replicas []Reader, others int, err error) {
	d, err := s.dialect(ctx)
	if err != nil {
		return nil, 0, err
	}
	hosts, err := s.records(ctx, d.replicas)
	if err != nil {
		return nil, 0, err
	}
	for _, h := range hosts {
		d.translate(h)
		id, _ := strconv.ParseUint(h["Server_id"], 10, 32)
		r := Reader{ServerID: uint32(id)}
		r.Port, _ = strconv.Atoi(h["Port"])
		if h["Host"] != "" && h["Port"] != "0" {
			r.Address = net.JoinHostPort(h["Host"], h["Port"])
		}
		replicas = append(replicas, r)
	}
	var dumps int
	if err := s.row(ctx, "SELECT COUNT(*) FROM "+d.processes+" WHERE COMMAND LIKE 'Binlog Dump%'", nil, &dumps); err != nil {
		return nil, 0, err
	}
	return replicas, max(0, dumps-len(replicas)), nil
}

// Demote makes a server that took writes a replica of source. What it has
// written itself counts as applied: source has all of it, the caller has seen
// to that. The server must be read-only.
func (s *Server) Demote(ctx context.Context, source string, as Account, budget time.Duration) error {
	return s.demote(ctx, source, as, budget, false)
}

// DemoteHeld is Demote for a server that receives what source writes and does not apply it yet: see HoldApplier.
func (s *Server) DemoteHeld(ctx context.Context, source string, as Account, budget time.Duration) error {
	return s.demote(ctx, source, as, budget, true)
}

func (s *Server) demote(ctx context.Context, source string, as Account, budget time.Duration, held bool) error {
	now, err := s.Replication(ctx)
	if err != nil {
		return err
	}
	if now.Follows(source) && (now.Running() || held && now.isHeld()) {
		return nil
	}
	if closed, err := s.IsReadOnly(ctx); err != nil || !closed {
		if err == nil {
			err = fmt.Errorf("it takes writes")
		}
		return s.fail("make a replica", err)
	}
	d, err := s.dialect(ctx)
	if err != nil {
		return err
	}
	if now.Configured {
		if err := s.exec(ctx, d.stop); err != nil {
			return err
		}
	}
	if !d.flavor.HasGTIDDomains() {
		// One set holds what it wrote and what it will apply: nothing to turn round.
		if err := s.changeSource(ctx, source, as); err != nil {
			return err
		}
	} else if err := s.changeSourceOf(ctx, source, as, ", MASTER_DEMOTE_TO_SLAVE=1"); err != nil {
		if CodeOf(err) != 1064 {
			return err
		}
		// Before 10.10: by hand what the clause does. No replica thread runs,
		// and nobody writes.
		written, err := s.BinlogPosition(ctx)
		if err != nil {
			return err
		}
		if err := s.exec(ctx, "SET GLOBAL gtid_slave_pos = "+quote(written.String())); err != nil {
			return err
		}
		if err := s.changeSource(ctx, source, as); err != nil {
			return err
		}
	}
	if held {
		return s.startReceiver(ctx, d, budget)
	}
	if err := s.exec(ctx, d.start); err != nil {
		return err
	}
	return s.AwaitReplicating(ctx, budget)
}
