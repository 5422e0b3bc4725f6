package mysql

import "context"

// notSo are refusals of an algorithm or a lock: another one may be taken.
var notSo = map[uint16]bool{1845: true, 1846: true}

// IsOtherAlgorithm reports whether a server refused the algorithm or the lock of an ALTER TABLE (1845, 1846), or has added and dropped as many columns at once as it can (4092).
func IsOtherAlgorithm(err error) bool { return notSo[CodeOf(err)] || CodeOf(err) == 4092 }

// TakeZone gives a server that is thrown away the time zone of another, for the tables that are made, tried and read behind it. Of a zone with seasons it knows nothing unless its tables of zones
// are filled: it has +00:00 then, where each constant reads as it is written.
func (s *Server) TakeZone(ctx context.Context, settings map[string]string) error {
	zone := settings[definingZone]
	if !IsFixedZone(zone) {
		zone = utc
	}
	return s.SetSetting(ctx, definingZone, zone)
}

// TryStatements runs statements in a database until the server takes one, and says which. A statement whose algorithm or lock the server refuses is followed by the next; any other refusal is an error.
// checks is foreign_key_checks; settings are those of the session of whoever sends them afterwards (Defining). For a server that is thrown away.
func (s *Server) TryStatements(ctx context.Context, database string, checks bool, settings map[string]string, statements []string) (taken int, err error) {
	now, err := s.Defining(ctx)
	if err != nil {
		return -1, err
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return -1, s.fail("connect", err)
	}
	defer Discard(conn)
	set := "SET SESSION time_zone = @@GLOBAL.time_zone, foreign_key_checks = 0"
	if checks {
		set = "SET SESSION time_zone = @@GLOBAL.time_zone, foreign_key_checks = 1"
	}
	for _, statement := range []string{"USE " + ident(database), set} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return -1, s.fail(firstWords(statement), err)
		}
	}
	if _, has := settings["sql_mode"]; has {
		now["sql_mode"] = "" // of our sessions it is another than the server's
	}
	for _, statement := range setDefining(settings, now) {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return -1, s.fail("SET SESSION", cannotSet(statement, err))
		}
	}
	for n, statement := range statements {
		if _, err = conn.ExecContext(ctx, statement); err == nil {
			return n, nil
		}
		if !notSo[CodeOf(err)] {
			break
		}
	}
	return -1, s.fail("ALTER TABLE", err)
}

// DropDatabase of a server that is thrown away.
func (s *Server) DropDatabase(ctx context.Context, database string) error {
	return s.exec(ctx, "DROP DATABASE IF EXISTS "+ident(database))
}
