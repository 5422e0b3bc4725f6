package mysql

import (
	"context"
	"errors"
)

// UnfitTable is something about a database that the copier cannot carry.
type UnfitTable struct {
	Table, Why, Remedy string
}

// UnfitTables are all of them, where others write to the database meanwhile.
func (s *Server) UnfitTables(ctx context.Context, schema string) ([]UnfitTable, error) {
	out, err := s.unfitKinds(ctx, schema, "('InnoDB')")
	more, moreErr := s.unfitInMotion(ctx, schema)
	return append(out, more...), errors.Join(err, moreErr)
}

// UnfitAtRest are those of a database that nobody writes to. A table of MyISAM is no obstacle then: a chunk that was written
// twice is the same. One of Aria is: its text says page_checksum where its maker did not, and the copy is found to differ.
func (s *Server) UnfitAtRest(ctx context.Context, schema string) ([]UnfitTable, error) {
	return s.unfitKinds(ctx, schema, "('InnoDB', 'MyISAM')")
}

func (s *Server) unfitKinds(ctx context.Context, schema, engines string) ([]UnfitTable, error) {
	return s.unfit(ctx,
		unfitQuery{`SELECT TABLE_NAME AS tbl, CONCAT('it is a ', LOWER(TABLE_TYPE)) AS why FROM information_schema.TABLES
			WHERE TABLE_SCHEMA = ? AND TABLE_TYPE NOT IN ('BASE TABLE', 'VIEW')`, []any{schema},
			"take it out of the database for the move, or move the whole instance (replace, replica)"},
		unfitQuery{`SELECT TABLE_NAME AS tbl, CONCAT('its engine is ', COALESCE(ENGINE, 'unknown')) AS why FROM information_schema.TABLES
			WHERE TABLE_SCHEMA = ? AND TABLE_TYPE = 'BASE TABLE' AND COALESCE(ENGINE, '') NOT IN ` + engines, []any{schema}, "ALTER TABLE ... ENGINE=InnoDB"},
	)
}

// unfitInMotion are those of which a binary log does not show everything, or which cannot be set aside at a cutover.
func (s *Server) unfitInMotion(ctx context.Context, schema string) ([]UnfitTable, error) {
	return s.unfit(ctx,
		unfitQuery{`SELECT TABLE_NAME AS tbl, CONCAT('foreign key ', CONSTRAINT_NAME, ' changes rows by itself (ON DELETE ', DELETE_RULE, ', ON UPDATE ', UPDATE_RULE,
				'), which the binary log does not show') AS why FROM information_schema.REFERENTIAL_CONSTRAINTS
			WHERE CONSTRAINT_SCHEMA = ? AND (DELETE_RULE NOT IN ('RESTRICT', 'NO ACTION') OR UPDATE_RULE NOT IN ('RESTRICT', 'NO ACTION'))`, []any{schema},
			"make it RESTRICT for the move and let the application change both tables, or move the whole instance"},
		unfitQuery{`SELECT TABLE_NAME AS tbl, CONCAT('foreign key ', CONSTRAINT_NAME, ' ties it to another database') AS why FROM information_schema.REFERENTIAL_CONSTRAINTS
			WHERE CONSTRAINT_SCHEMA <> UNIQUE_CONSTRAINT_SCHEMA AND (CONSTRAINT_SCHEMA = ? OR UNIQUE_CONSTRAINT_SCHEMA = ?)`, []any{schema, schema}, "drop it"},
		unfitQuery{`SELECT TABLE_NAME AS tbl, 'its name leaves no room for the name under which it is set aside' AS why FROM information_schema.TABLES
			WHERE TABLE_SCHEMA = ? AND TABLE_TYPE = 'BASE TABLE' AND CHAR_LENGTH(TABLE_NAME) > ?`, []any{schema, 64 - len(AsidePrefix)}, "give it a name of at most 55 characters"},
	)
}

// unfitQuery finds tables, and says why, and what to do about them.
type unfitQuery struct {
	query  string
	args   []any
	remedy string
}

func (s *Server) unfit(ctx context.Context, queries ...unfitQuery) (out []UnfitTable, err error) {
	for _, q := range queries {
		records, failed := s.records(ctx, q.query, q.args...)
		for _, r := range records {
			out = append(out, UnfitTable{r["tbl"], r["why"], q.remedy})
		}
		err = errors.Join(err, failed)
	}
	return out, err
}
