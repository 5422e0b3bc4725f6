package rows

import (
	"context"
	"errors"

	"stowage/mysql"
)

// UnfitTable is something about a database that the copier cannot carry.
type UnfitTable struct {
	Table, Why, Remedy string
}

// UnfitTables are all of them, where others write to the database meanwhile.
func UnfitTables(ctx context.Context, server *mysql.Server, schema string) ([]UnfitTable, error) {
	s := mysql.Through(server)
	out, err := unfitKinds(ctx, s, schema, "('InnoDB')")
	more, moreErr := unfitInMotion(ctx, s, schema)
	return append(out, more...), errors.Join(err, moreErr)
}

// UnfitAtRest are those of a database that nobody writes to. A table of MyISAM is no obstacle then: a chunk that was written
// twice is the same. One of Aria is: its text says page_checksum where its maker did not, and the copy is found to differ.
func UnfitAtRest(ctx context.Context, s *mysql.Server, schema string) ([]UnfitTable, error) {
	return unfitKinds(ctx, mysql.Through(s), schema, "('InnoDB', 'MyISAM')")
}

func unfitKinds(ctx context.Context, s mysql.Door, schema, engines string) ([]UnfitTable, error) {
	return unfit(ctx, s,
		unfitQuery{`SELECT TABLE_NAME AS tbl, CONCAT('it is a ', LOWER(TABLE_TYPE)) AS why FROM information_schema.TABLES
			WHERE TABLE_SCHEMA = ? AND TABLE_TYPE NOT IN ('BASE TABLE', 'VIEW')`, []any{schema},
			"take it out of the database for the move, or move the whole instance (replace, replica)"},
		unfitQuery{`SELECT TABLE_NAME AS tbl, CONCAT('its engine is ', COALESCE(ENGINE, 'unknown')) AS why FROM information_schema.TABLES
			WHERE TABLE_SCHEMA = ? AND TABLE_TYPE = 'BASE TABLE' AND COALESCE(ENGINE, '') NOT IN ` + engines, []any{schema}, "ALTER TABLE ... ENGINE=InnoDB"},
	)
}

// unfitInMotion are those of which a binary log does not show everything, or which cannot be set aside at a cutover.
func unfitInMotion(ctx context.Context, s mysql.Door, schema string) ([]UnfitTable, error) {
	return unfit(ctx, s,
		unfitQuery{`SELECT TABLE_NAME AS tbl, CONCAT('foreign key ', CONSTRAINT_NAME, ' changes rows by itself (ON DELETE ', DELETE_RULE, ', ON UPDATE ', UPDATE_RULE,
				'), which the binary log does not show') AS why FROM information_schema.REFERENTIAL_CONSTRAINTS
			WHERE CONSTRAINT_SCHEMA = ? AND (DELETE_RULE NOT IN ('RESTRICT', 'NO ACTION') OR UPDATE_RULE NOT IN ('RESTRICT', 'NO ACTION'))`, []any{schema},
			"make it RESTRICT for the move and let the application change both tables, or move the whole instance"},
		unfitQuery{`SELECT TABLE_NAME AS tbl, CONCAT('foreign key ', CONSTRAINT_NAME, ' ties it to another database') AS why FROM information_schema.REFERENTIAL_CONSTRAINTS
			WHERE CONSTRAINT_SCHEMA <> UNIQUE_CONSTRAINT_SCHEMA AND (CONSTRAINT_SCHEMA = ? OR UNIQUE_CONSTRAINT_SCHEMA = ?)`, []any{schema, schema}, "drop it"},
		unfitQuery{`SELECT TABLE_NAME AS tbl, 'its name leaves no room for the name under which it is set aside' AS why FROM information_schema.TABLES
			WHERE TABLE_SCHEMA = ? AND TABLE_TYPE = 'BASE TABLE' AND CHAR_LENGTH(TABLE_NAME) > ?`, []any{schema, 64 - len(mysql.AsidePrefix)}, "give it a name of at most 55 characters"},
	)
}

// unfitQuery finds tables, and says why, and what to do about them.
type unfitQuery struct {
	query  string
	args   []any
	remedy string
}

func unfit(ctx context.Context, s mysql.Door, queries ...unfitQuery) (out []UnfitTable, err error) {
	for _, q := range queries {
		records, failed := s.Records(ctx, q.query, q.args...)
		for _, r := range records {
			out = append(out, UnfitTable{r["tbl"], r["why"], q.remedy})
		}
		err = errors.Join(err, failed)
	}
	return out, err
}
