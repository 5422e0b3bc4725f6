package rows

import (
	"context"
	"fmt"

	"stowage/mysql"
)

// CloseDomains makes the binary log say what gtid_slave_pos says, for GTID
// domains whose last transactions came over a link and were filtered out: they
// are noted as applied and are in no binary log of the pair, so whoever
// followed this server could never reach that position, and this server could
// never follow its twin from it. The last of each domain is written by hand,
// under its own GTID, as a change of the job's mark.
//
// gtid_slave_pos is not touched: it can be set only while the server follows
// nobody.
func CloseDomains(ctx context.Context, server *mysql.Server, m Marks, domains []uint32) error {
	s := mysql.Through(server)
	var appliedText, writtenText string
	// In this order: what is applied was written before.
	if err := s.Row(ctx, "SELECT @@GLOBAL.gtid_slave_pos, @@GLOBAL.gtid_binlog_pos", nil, &appliedText, &writtenText); err != nil {
		return err
	}
	applied, err := mysql.ParsePosition(appliedText)
	if err != nil {
		return s.Fail("read gtid_slave_pos", err)
	}
	written, err := mysql.ParsePosition(writtenText)
	if err != nil {
		return s.Fail("read gtid_binlog_pos", err)
	}
	for _, d := range domains {
		if g := applied.Last(d); g.Seq > written.Last(d).Seq {
			if err := writeAs(ctx, s, g, m.MoveMark(nil)); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeAs carries out one statement that changes a row, under a given GTID.
func writeAs(ctx context.Context, s mysql.Door, g mysql.GTID, statement string) error {
	w, err := OpenStream(ctx, s.Server, mysql.StatementTimeout)
	if err != nil {
		return err
	}
	defer w.Close() // with what is set in it
	// One by one: in strict mode the number is looked at as one of the domain that is set already.
	for _, set := range []string{
		fmt.Sprintf("SET SESSION gtid_domain_id = %d", g.Domain),
		fmt.Sprintf("SET SESSION server_id = %d", g.Server),
		fmt.Sprintf("SET SESSION gtid_seq_no = %d", g.Seq),
	} {
		if _, err := w.conn.ExecContext(ctx, set); err != nil {
			return s.Fail("write "+g.String(), err)
		}
	}
	told := w.tell(ctx, Cargo{Statements: [][]byte{[]byte(statement)}, What: "write the job's mark as " + g.String()})
	result, err := w.conn.ExecContext(ctx, statement)
	told(err)
	if err != nil {
		return s.Fail("write "+g.String(), err)
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return s.Fail("write "+g.String(), fmt.Errorf("%d rows were changed, not the job's mark", n))
	}
	return nil
}
