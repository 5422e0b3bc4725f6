package rows

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"stowage/internal/nested"
	"stowage/mysql"
)

// Marks are the copier's own tables inside the database it writes to: where
// it stands, written in the same transaction as the data.
type Marks struct {
	Schema string
	Job    string
}

func (m Marks) table(name string) string {
	return mysql.Ident(m.Schema) + "." + mysql.Ident(mysql.MarkPrefix+name)
}

func (m Marks) job() string { return "job = " + mysql.Quote(m.Job) }

// marks are made in this order; all are small.
var markTables = []struct{ name, columns string }{
	{"job", "job VARCHAR(190) NOT NULL PRIMARY KEY, epoch BIGINT NOT NULL"},
	{"feed", "job VARCHAR(190) NOT NULL PRIMARY KEY, position TEXT NOT NULL, beats BIGINT NOT NULL DEFAULT 0"},
	{"part", `job VARCHAR(190) NOT NULL, tbl VARCHAR(64) NOT NULL, part INT NOT NULL, lower_key TEXT NOT NULL, upper_key TEXT NOT NULL,
		watermark LONGTEXT NULL, rows_done BIGINT NOT NULL DEFAULT 0, done TINYINT NOT NULL DEFAULT 0, PRIMARY KEY (job, tbl, part)`},
	{"check", "job VARCHAR(190) NOT NULL, tbl VARCHAR(64) NOT NULL, watermark LONGTEXT NULL, clean TINYINT NOT NULL DEFAULT 0, PRIMARY KEY (job, tbl)"},
	{"object", `job VARCHAR(190) NOT NULL, n INT NOT NULL, name VARCHAR(64) NOT NULL, text LONGBLOB NOT NULL, sql_mode TEXT NOT NULL,
		client VARCHAR(64) NOT NULL, collation VARCHAR(64) NOT NULL, PRIMARY KEY (job, n)`},
}

// MakeMarks makes the tables where they are missing.
func MakeMarks(ctx context.Context, s *mysql.Server, m Marks) error {
	for _, t := range markTables {
		err := mysql.Through(s).Exec(ctx, "CREATE TABLE IF NOT EXISTS "+m.table(t.name)+" "+mysql.OwnComment+" ("+t.columns+") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin")
		if err != nil {
			return err
		}
	}
	return nil
}

// HasMarks reports whether this job has marks here.
func HasMarks(ctx context.Context, server *mysql.Server, m Marks) (bool, error) {
	s := mysql.Through(server)
	var n int
	err := s.Row(ctx, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?", []any{m.Schema, mysql.MarkPrefix + "job"}, &n)
	if err != nil || n == 0 {
		return false, err
	}
	err = s.Row(ctx, "SELECT COUNT(*) FROM "+m.table("job")+" WHERE "+m.job(), nil, &n)
	return n > 0, err
}

// DropMarks removes the tables.
func DropMarks(ctx context.Context, s *mysql.Server, m Marks) error {
	names := make([]string, len(markTables))
	for i, t := range markTables {
		names[i] = m.table(t.name)
	}
	return mysql.Through(s).Exec(ctx, "DROP TABLE IF EXISTS "+strings.Join(names, ", "))
}

// DropUnusedMarks removes tables of marks in which no job stands: whoever made them got no further, or dropped some of them.
func DropUnusedMarks(ctx context.Context, server *mysql.Server, m Marks) error {
	s := mysql.Through(server)
	var all, jobs int
	err := s.Row(ctx, "SELECT COUNT(*), COALESCE(SUM(TABLE_NAME = ?), 0) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND LEFT(TABLE_NAME, ?) = ?",
		[]any{mysql.MarkPrefix + "job", m.Schema, len(mysql.MarkPrefix), mysql.MarkPrefix}, &all, &jobs)
	if err != nil || all == 0 {
		return err
	}
	if jobs > 0 {
		if err := s.Row(ctx, "SELECT COUNT(*) FROM "+m.table("job"), nil, &jobs); err != nil || jobs > 0 {
			return err
		}
	}
	return DropMarks(ctx, server, m)
}

// TakeOver makes the caller the one copier of this job: what another has sent
// is in before this returns, or fails with ErrSuperseded.
func TakeOver(ctx context.Context, server *mysql.Server, m Marks) (epoch int64, err error) {
	s := mysql.Through(server)
	if err := endFrozen(ctx, s, m); err != nil {
		return 0, err
	}
	conn, err := s.DB().Conn(ctx)
	if err != nil {
		return 0, s.Fail("connect", err)
	}
	defer conn.Close()
	for _, st := range []string{
		"INSERT IGNORE INTO " + m.table("job") + " (job, epoch) VALUES (" + mysql.Quote(m.Job) + ", 0)",
		// Writers hold the row shared until they have committed; a frozen one no longer than its idle_transaction_timeout.
		"SET SESSION innodb_lock_wait_timeout = 75",
		"UPDATE " + m.table("job") + " SET epoch = LAST_INSERT_ID(epoch + 1) WHERE " + m.job(),
	} {
		if _, err := conn.ExecContext(ctx, st); err != nil {
			return 0, s.Fail("take over job "+m.Job, err)
		}
	}
	err = conn.QueryRowContext(ctx, "SELECT LAST_INSERT_ID()").Scan(&epoch)
	mysql.Discard(conn)
	return epoch, s.Fail("take over job "+m.Job, err)
}

// FeedMark is the position up to which changes are applied; ok is false when
// there is none yet.
func FeedMark(ctx context.Context, s *mysql.Server, m Marks) (p mysql.Position, ok bool, err error) {
	var text string
	err = mysql.Through(s).Row(ctx, "SELECT position FROM "+m.table("feed")+" WHERE "+m.job(), nil, &text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	p, err = mysql.ParsePosition(text)
	return p, err == nil, err
}

// SaveFeedMark writes the first mark of a feed, unless there is one.
func SaveFeedMark(ctx context.Context, s *mysql.Server, m Marks, p mysql.Position) error {
	return mysql.Through(s).Exec(ctx, "INSERT IGNORE INTO "+m.table("feed")+" (job, position) VALUES (?, ?)", m.Job, p.String())
}

// MoveMark is the statement that moves the feed's mark; with a nil position it
// only shows whose transaction it is.
func (m Marks) MoveMark(p mysql.Position) string {
	set := "beats = beats + 1"
	if p != nil {
		set += ", position = " + mysql.Quote(p.String())
	}
	return "UPDATE " + m.table("feed") + " SET " + set + " WHERE " + m.job()
}

// PartMark is the statement that moves a part's mark.
func (m Marks) PartMark(p *Part, after []string, rows int, done bool) string {
	mark := "watermark"
	if after != nil {
		text, _ := json.Marshal(after)
		mark = mysql.Quote(string(text))
	}
	isDone := "0"
	if done {
		isDone = "1"
	}
	return fmt.Sprintf("UPDATE %s SET watermark = %s, rows_done = rows_done + %d, done = %s WHERE %s AND tbl = %s AND part = %d",
		m.table("part"), mark, rows, isDone, m.job(), mysql.Quote(p.Table.Name), p.N)
}

// SaveParts writes how a table is divided, once.
func SaveParts(ctx context.Context, s *mysql.Server, m Marks, parts []*Part) error {
	values := make([]string, len(parts))
	for i, p := range parts {
		values[i] = fmt.Sprintf("(%s, %s, %d, %s, %s)", mysql.Quote(m.Job), mysql.Quote(p.Table.Name), p.N, mysql.Quote(p.Lower), mysql.Quote(p.Upper))
	}
	if len(values) == 0 {
		return nil
	}
	return mysql.Through(s).Exec(ctx, "INSERT IGNORE INTO "+m.table("part")+" (job, tbl, part, lower_key, upper_key) VALUES "+strings.Join(values, ", "))
}

// Parts are the ranges that are saved for the tables.
func Parts(ctx context.Context, server *mysql.Server, m Marks, tables []*CopyTable) ([]*Part, error) {
	s := mysql.Through(server)
	byName := map[string]*CopyTable{}
	for _, t := range tables {
		byName[t.Name] = t
	}
	records, err := s.Records(ctx, "SELECT tbl, part, lower_key, upper_key, watermark, rows_done, done FROM "+m.table("part")+" WHERE "+m.job()+" ORDER BY tbl, part")
	if err != nil {
		return nil, err
	}
	var out []*Part
	for _, r := range records {
		t := byName[r["tbl"]]
		if t == nil {
			return nil, s.Fail("read marks", fmt.Errorf("table %s was dropped while it was copied", r["tbl"]))
		}
		p := &Part{Table: t, N: int(mysql.Number(r["part"])), Lower: r["lower_key"], Upper: r["upper_key"], Done: r["done"] == "1"}
		_, _ = fmt.Sscan(r["rows_done"], &p.Rows)
		if text, ok := r["watermark"]; ok {
			if err := nested.Unmarshal([]byte(text), &p.After); err != nil {
				return nil, s.Fail("read mark of "+t.Name, err)
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// Divide cuts a table into about n ranges of its key, where the first column
// is a whole number; other tables are one part.
func Divide(ctx context.Context, s *mysql.Server, t *CopyTable, n int) ([]*Part, error) {
	if n < 2 || len(t.Key) == 0 || !strings.HasSuffix(t.Columns[t.Key[0]].Kind, "int") || t.Columns[t.Key[0]].Unsigned && t.Columns[t.Key[0]].Kind == "bigint" {
		return []*Part{{Table: t}}, nil
	}
	name := mysql.Ident(t.Columns[t.Key[0]].Name)
	var low, high sql.NullInt64
	if err := mysql.Through(s).Row(ctx, "SELECT MIN("+name+"), MAX("+name+") FROM "+t.At(), nil, &low, &high); err != nil {
		return nil, err
	}
	step := (high.Int64 - low.Int64) / int64(n)
	if !low.Valid || step < 1 || high.Int64 < low.Int64 {
		return []*Part{{Table: t}}, nil
	}
	var out []*Part
	lower := ""
	for i := range n - 1 {
		upper := fmt.Sprint(low.Int64 + step*int64(i+1))
		out = append(out, &Part{Table: t, N: i, Lower: lower, Upper: upper})
		lower = upper
	}
	return append(out, &Part{Table: t, N: n - 1, Lower: lower}), nil
}

// CheckMark is how far a comparison of this job has come. It has one row of its table, without the name of one.
func CheckMark(ctx context.Context, server *mysql.Server, m Marks) (p Progress, err error) {
	s := mysql.Through(server)
	records, err := s.Records(ctx, "SELECT watermark FROM "+m.table("check")+" WHERE "+m.job()+" AND tbl = ''")
	if err != nil || len(records) == 0 {
		return p, err
	}
	return p, s.Fail("read mark of a comparison", nested.Unmarshal([]byte(records[0]["watermark"]), &p))
}

// SaveCheckMark keeps it, while epoch is the job's: one that another has taken over from brings nothing back that was forgotten.
func SaveCheckMark(ctx context.Context, server *mysql.Server, m Marks, epoch int64, p Progress) error {
	s := mysql.Through(server)
	text, err := json.Marshal(p)
	if err != nil {
		return s.Fail("keep a comparison", err)
	}
	return s.Exec(ctx, "REPLACE INTO "+m.table("check")+" (job, tbl, watermark) SELECT job, '', ? FROM "+m.table("job")+" WHERE "+m.job()+" AND epoch = ?", string(text), epoch)
}

// ForgetChecks begins a new comparison.
func ForgetChecks(ctx context.Context, s *mysql.Server, m Marks) error {
	return mysql.Through(s).Exec(ctx, "DELETE FROM "+m.table("check")+" WHERE "+m.job())
}
