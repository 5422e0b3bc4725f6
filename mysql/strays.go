package mysql

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Strays are transactions that a server has written itself and that other does
// not have; "" when there are none. They come from accounts that read_only does
// not stop and that do not look at routing.
//
// Positions cannot tell: a server that takes over a GTID domain gives out the
// same sequence numbers again. So what each server wrote is compared by its own
// id: the binary log's state of MariaDB, the UUID in a GTID set of MySQL.
func (s *Server) Strays(ctx context.Context, other *Server) (string, error) {
	mine, err := s.binlogState(ctx)
	if err != nil {
		return "", err
	}
	if mine == nil {
		return s.straysMySQL(ctx, other)
	}
	var id, domain string
	if err := s.row(ctx, "SELECT @@GLOBAL.server_id, @@GLOBAL.gtid_domain_id", nil, &id, &domain); err != nil {
		return "", err
	}
	theirs, err := other.binlogState(ctx)
	if err != nil {
		return "", err
	}
	var out []string
	for origin, seq := range mine {
		if of, _, _ := strings.Cut(origin, "-"); of != domain && seq <= highestOf(theirs, of) {
			continue // a domain that several servers wrote once: a copy's position has its last transaction only, whoever wrote that
		}
		if strings.HasSuffix(origin, "-"+id) && seq > theirs[origin] {
			out = append(out, fmt.Sprintf("%s-%d (the other has them up to %d)", origin, seq, theirs[origin]))
		}
	}
	return strings.Join(out, ", "), nil
}

// highestOf is the highest sequence number of a domain.
func highestOf(state map[string]uint64, domain string) (high uint64) {
	for origin, seq := range state {
		if of, _, _ := strings.Cut(origin, "-"); of == domain {
			high = max(high, seq)
		}
	}
	return high
}

// binlogState is the last sequence number in the binary log by "domain-server";
// nil where a server has no such thing.
func (s *Server) binlogState(ctx context.Context) (map[string]uint64, error) {
	var text string
	err := s.row(ctx, "SELECT @@GLOBAL.gtid_binlog_state", nil, &text)
	if CodeOf(err) == 1193 { // unknown system variable: MySQL
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[string]uint64{}
	for _, gtid := range strings.Split(text, ",") {
		gtid = strings.TrimSpace(gtid)
		cut := strings.LastIndexByte(gtid, '-')
		if cut < 0 {
			continue
		}
		seq, err := strconv.ParseUint(gtid[cut+1:], 10, 64)
		if err != nil {
			return nil, s.fail("read gtid_binlog_state", fmt.Errorf("%q: %w", gtid, err))
		}
		out[gtid[:cut]] = seq
	}
	return out, nil
}

func (s *Server) straysMySQL(ctx context.Context, other *Server) (string, error) {
	var theirs, left, id string
	if err := other.row(ctx, "SELECT @@GLOBAL.gtid_executed", nil, &theirs); err != nil {
		return "", err
	}
	err := s.row(ctx, "SELECT GTID_SUBTRACT(@@GLOBAL.gtid_executed, ?), @@GLOBAL.server_uuid", []any{theirs}, &left, &id)
	if err != nil || !strings.Contains(left, id) {
		return "", err
	}
	return left, nil
}
