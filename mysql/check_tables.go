package mysql

import (
	"context"
	"fmt"
)

// CheckTables has the server read its largest tables whole, index by index, at
// most so many: CHECK TABLE. The error names the first that is not sound.
func (s *Server) CheckTables(ctx context.Context, most int, tell func(string)) error {
	records, err := s.records(ctx, `SELECT TABLE_SCHEMA AS db, TABLE_NAME AS name FROM information_schema.TABLES
		WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA NOT IN `+SystemSchemas+` ORDER BY DATA_LENGTH + INDEX_LENGTH DESC, TABLE_SCHEMA, TABLE_NAME LIMIT ?`, most)
	if err != nil {
		return err
	}
	for n, r := range records {
		table := ident(r["db"]) + "." + ident(r["name"])
		tell(fmt.Sprintf("checking table %d of %d, %s.%s", n+1, len(records), r["db"], r["name"]))
		said, err := s.records(ctx, "CHECK TABLE "+table)
		if err != nil {
			return err
		}
		for _, line := range said {
			if kind := line["Msg_type"]; kind == "error" || kind == "Error" || kind == "status" && line["Msg_text"] != "OK" {
				return s.fail("check table "+table, fmt.Errorf("%s", line["Msg_text"]))
			}
		}
	}
	return nil
}
