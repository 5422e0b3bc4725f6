package mysql

import "context"

// adoptSet is Adopt for MySQL. A clone comes with its donor's history and with
// its donor's replication, which is not its own: that is forgotten in any case.
// A copy that has no history (its files were copied without the table that
// holds it) is given it.
func (s *Server) adoptSet(ctx context.Context, d dialect, p Position) error {
	for _, st := range []string{d.stopAll, d.forget} {
		if err := s.exec(ctx, st); err != nil {
			return err
		}
	}
	has, err := s.BinlogPosition(ctx)
	if err != nil || has.Reached(p) {
		return err
	}
	for _, st := range []string{d.empties, "SET GLOBAL gtid_purged = " + quote(p.String())} {
		if err := s.exec(ctx, st); err != nil {
			return err
		}
	}
	return nil
}
