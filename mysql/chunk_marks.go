package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"stowage/internal/nested"
)

// Marks are the copier's own tables inside the database it writes to: where
// it stands, written in the same transaction as the data.
type Marks struct {
	Schema string
	Job    string
}

func (m Marks) table(name string) string { return ident(m.Schema) + "." + ident(markPrefix+name) }

func (m Marks) job() string { return "job = " + quote(m.Job) }

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
func (s *Server) MakeMarks(ctx context.Context, m Marks) error {
	for _, t := range markTables {
		err := s.exec(ctx, "CREATE TABLE IF NOT EXISTS "+m.table(t.name)+" "+ownComment+" ("+t.columns+") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin")
		if err != nil {
			return err
		}
	}
	return nil
}

// HasMarks reports whether this job has marks here.
func (s *Server) HasMarks(ctx context.Context, m Marks) (bool, error) {
	var n int
	err := s.row(ctx, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?", []any{m.Schema, markPrefix + "job"}, &n)
	if err != nil || n == 0 {
		return false, err
	}
	err = s.row(ctx, "SELECT COUNT(*) FROM "+m.table("job")+" WHERE "+m.job(), nil, &n)
	return n > 0, err
}

// DropMarks removes the tables.
func (s *Server) DropMarks(ctx context.Context, m Marks) error {
	names := make([]string, len(markTables))
	for i, t := range markTables {
		names[i] = m.table(t.name)
	}
	return s.exec(ctx, "DROP TABLE IF EXISTS "+strings.Join(names, ", "))
}

// DropUnusedMarks removes tables of marks in which no job stands: whoever made them got no further, or dropped some of them.
func (s *Server) DropUnusedMarks(ctx context.Context, m Marks) error {
	var all, jobs int
	err := s.row(ctx, "SELECT COUNT(*), COALESCE(SUM(TABLE_NAME = ?), 0) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND LEFT(TABLE_NAME, ?) = ?",
		[]any{markPrefix + "job", m.Schema, len(markPrefix), markPrefix}, &all, &jobs)
	if err != nil || all == 0 {
		return err
	}
	if jobs > 0 {
		if err := s.row(ctx, "SELECT COUNT(*) FROM "+m.table("job"), nil, &jobs); err != nil || jobs > 0 {
			return err
		}
	}
	return s.DropMarks(ctx, m)
}

// TakeOver makes the caller the one copier of this job: what another has sent
// is in before this returns, or fails with ErrSuperseded.
func (s *Server) TakeOver(ctx context.Context, m Marks) (epoch int64, err error) {
	if err := s.endFrozen(ctx, m); err != nil {
		return 0, err
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return 0, s.fail("connect", err)
	}
	defer conn.Close()
	for _, st := range []string{
		"INSERT IGNORE INTO " + m.table("job") + " (job, epoch) VALUES (" + quote(m.Job) + ", 0)",
		// Writers hold the row shared until they have committed; a frozen one no longer than its idle_transaction_timeout.
		"SET SESSION innodb_lock_wait_timeout = 75",
		"UPDATE " + m.table("job") + " SET epoch = LAST_INSERT_ID(epoch + 1) WHERE " + m.job(),
	} {
		if _, err := conn.ExecContext(ctx, st); err != nil {
			return 0, s.fail("take over job "+m.Job, err)
		}
	}
	err = conn.QueryRowContext(ctx, "SELECT LAST_INSERT_ID()").Scan(&epoch)
	Discard(conn)
	return epoch, s.fail("take over job "+m.Job, err)
}

// FeedMark is the position up to which changes are applied; ok is false when
// there is none yet.
func (s *Server) FeedMark(ctx context.Context, m Marks) (p Position, ok bool, err error) {
	var text string
	err = s.row(ctx, "SELECT position FROM "+m.table("feed")+" WHERE "+m.job(), nil, &text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	p, err = ParsePosition(text)
	return p, err == nil, err
}

// SaveFeedMark writes the first mark of a feed, unless there is one.
func (s *Server) SaveFeedMark(ctx context.Context, m Marks, p Position) error {
	return s.exec(ctx, "INSERT IGNORE INTO "+m.table("feed")+" (job, position) VALUES (?, ?)", m.Job, p.String())
}

// MoveMark is the statement that moves the feed's mark; with a nil position it
// only shows whose transaction it is.
func (m Marks) MoveMark(p Position) string {
	set := "beats = beats + 1"
	if p != nil {
		set += ", position = " + quote(p.String())
	}
	return "UPDATE " + m.table("feed") + " SET " + set + " WHERE " + m.job()
}

// PartMark is the statement that moves a part's mark.
func (m Marks) PartMark(p *Part, after []string, rows int, done bool) string {
	mark := "watermark"
	if after != nil {
		text, _ := json.Marshal(after)
		mark = quote(string(text))
	}
	isDone := "0"
	if done {
		isDone = "1"
	}
	return fmt.Sprintf("UPDATE %s SET watermark = %s, rows_done = rows_done + %d, done = %s WHERE %s AND tbl = %s AND part = %d",
		m.table("part"), mark, rows, isDone, m.job(), quote(p.Table.Name), p.N)
}

// SaveParts writes how a table is divided, once.
func (s *Server) SaveParts(ctx context.Context, m Marks, parts []*Part) error {
	values := make([]string, len(parts))
	for i, p := range parts {
		values[i] = fmt.Sprintf("(%s, %s, %d, %s, %s)", quote(m.Job), quote(p.Table.Name), p.N, quote(p.Lower), quote(p.Upper))
	}
	if len(values) == 0 {
		return nil
	}
	return s.exec(ctx, "INSERT IGNORE INTO "+m.table("part")+" (job, tbl, part, lower_key, upper_key) VALUES "+strings.Join(values, ", "))
}

// Parts are the ranges that are saved for the tables.
func (s *Server) Parts(ctx context.Context, m Marks, tables []*CopyTable) ([]*Part, error) {
	byName := map[string]*CopyTable{}
	for _, t := range tables {
		byName[t.Name] = t
	}
	records, err := s.records(ctx, "SELECT tbl, part, lower_key, upper_key, watermark, rows_done, done FROM "+m.table("part")+" WHERE "+m.job()+" ORDER BY tbl, part")
	if err != nil {
		return nil, err
	}
	var out []*Part
	for _, r := range records {
		t := byName[r["tbl"]]
		if t == nil {
			return nil, s.fail("read marks", fmt.Errorf("table %s was dropped while it was copied", r["tbl"]))
		}
		p := &Part{Table: t, N: int(number(r["part"])), Lower: r["lower_key"], Upper: r["upper_key"], Done: r["done"] == "1"}
		_, _ = fmt.Sscan(r["rows_done"], &p.Rows)
		if text, ok := r["watermark"]; ok {
			if err := nested.Unmarshal([]byte(text), &p.After); err != nil {
				return nil, s.fail("read mark of "+t.Name, err)
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// Divide cuts a table into about n ranges of its key, where the first column
// is a whole number; other tables are one part.
func (s *Server) Divide(ctx context.Context, t *CopyTable, n int) ([]*Part, error) {
	if n < 2 || len(t.Key) == 0 || !strings.HasSuffix(t.Columns[t.Key[0]].Kind, "int") || t.Columns[t.Key[0]].Unsigned && t.Columns[t.Key[0]].Kind == "bigint" {
		return []*Part{{Table: t}}, nil
	}
	name := ident(t.Columns[t.Key[0]].Name)
	var low, high sql.NullInt64
	if err := s.row(ctx, "SELECT MIN("+name+"), MAX("+name+") FROM "+t.At(), nil, &low, &high); err != nil {
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
func (s *Server) CheckMark(ctx context.Context, m Marks) (p Progress, err error) {
	records, err := s.records(ctx, "SELECT watermark FROM "+m.table("check")+" WHERE "+m.job()+" AND tbl = ''")
	if err != nil || len(records) == 0 {
		return p, err
	}
	return p, s.fail("read mark of a comparison", nested.Unmarshal([]byte(records[0]["watermark"]), &p))
}

// SaveCheckMark keeps it, while epoch is the job's: one that another has taken over from brings nothing back that was forgotten.
func (s *Server) SaveCheckMark(ctx context.Context, m Marks, epoch int64, p Progress) error {
	text, err := json.Marshal(p)
	if err != nil {
		return s.fail("keep a comparison", err)
	}
	return s.exec(ctx, "REPLACE INTO "+m.table("check")+" (job, tbl, watermark) SELECT job, '', ? FROM "+m.table("job")+" WHERE "+m.job()+" AND epoch = ?", string(text), epoch)
}

// ForgetChecks begins a new comparison.
func (s *Server) ForgetChecks(ctx context.Context, m Marks) error {
	return s.exec(ctx, "DELETE FROM "+m.table("check")+" WHERE "+m.job())
}

// bounded gives a long statement a budget of its own.
func (s *Server) bounded(ctx context.Context, budget time.Duration, statement string) error {
	s.log.Debug("statement", "server", s.name, "sql", statement)
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	_, err := s.db.ExecContext(ctx, statement)
	return s.fail(firstWords(statement), err)
}

// IsMark reports whether a table is one of the copier's own.
func IsMark(table string) bool { return strings.HasPrefix(table, markPrefix) }
