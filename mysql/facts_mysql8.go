package mysql

import "context"

// recordsFresh is records for sizes of tables: MySQL answers those from a cache
// that is a day old (information_schema_stats_expiry) unless it is told not to.
func (s *Server) recordsFresh(ctx context.Context, query string, args ...any) ([]map[string]string, error) {
	d, err := s.dialect(ctx)
	if err != nil || d.flavor.HasGTIDDomains() {
		if err != nil {
			return nil, err
		}
		return s.records(ctx, query, args...)
	}
	ctx, cancel := context.WithTimeout(ctx, StatementTimeout)
	defer cancel()
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, s.fail("connect", err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "SET SESSION information_schema_stats_expiry = 0"); err != nil {
		return nil, s.fail("SET information_schema_stats_expiry", err)
	}
	rows, err := conn.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, s.fail(firstWords(query), err)
	}
	defer rows.Close()
	out, err := scanRecords(rows)
	return out, s.fail(firstWords(query), err)
}
