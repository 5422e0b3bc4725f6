package rows

import (
	"context"
	"fmt"
	"strconv"

	"stowage/mysql"
)

// nobodys is the job of a database of MySQL's in which there is nothing: it may
// be one of ours that was killed before it had its marks, and whoever takes or
// drops it takes nothing from anybody.
const nobodys = "-"

// jobOf tells which job has made a database of MySQL's, where databases have no
// comment: the marks in it do.
func jobOf(ctx context.Context, s mysql.Door, schema string, o SchemaOptions) (string, error) {
	if o.Tables == 0 {
		var others int
		err := s.Row(ctx, `SELECT (SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = ?)
			+ (SELECT COUNT(*) FROM information_schema.EVENTS WHERE EVENT_SCHEMA = ?)`, []any{schema, schema}, &others)
		if err != nil || others > 0 {
			return "", err
		}
		return nobodys, nil
	}
	m := Marks{Schema: schema}
	var there int
	err := s.Row(ctx, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME LIKE ?", []any{schema, `\_stowmark\_%`}, &there)
	if err != nil || there == 0 {
		return "", err
	}
	if there == o.Tables && there < len(markTables) { // its marks were being made: there is nothing else in it
		return nobodys, nil
	}
	records, err := s.Records(ctx, "SELECT job FROM "+m.table("job"))
	if err != nil || len(records) > 1 {
		return "", err
	}
	if len(records) == 0 {
		if there == o.Tables {
			return nobodys, nil
		}
		return "", nil
	}
	return records[0]["job"], nil
}

// endFrozen ends the sessions of an earlier copier that hold the job's row. In
// MariaDB a transaction whose program froze ends by itself
// (idle_transaction_timeout); MySQL knows no such thing.
func endFrozen(ctx context.Context, s mysql.Door, m Marks) error {
	flavor, err := s.Flavor(ctx)
	if err != nil || flavor.HasGTIDDomains() {
		return err
	}
	records, err := s.Records(ctx, `SELECT DISTINCT t.PROCESSLIST_ID AS id FROM performance_schema.data_locks l JOIN performance_schema.threads t ON t.THREAD_ID = l.THREAD_ID
		WHERE l.OBJECT_SCHEMA = ? AND l.OBJECT_NAME = ? AND t.PROCESSLIST_USER = ? AND t.PROCESSLIST_ID <> CONNECTION_ID()`,
		m.Schema, mysql.MarkPrefix+"job", s.Account().User)
	if err != nil {
		return err
	}
	for _, r := range records {
		id, err := strconv.ParseUint(r["id"], 10, 64)
		if err != nil {
			return s.Fail("end an earlier copier", fmt.Errorf("session %q: %w", r["id"], err))
		}
		if err := s.Kill(ctx, id); err != nil {
			return err
		}
	}
	return nil
}
