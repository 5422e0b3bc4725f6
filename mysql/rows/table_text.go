package rows

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/mysql"
)

// indexBudget bounds one ALTER TABLE that adds indexes to a large table.
const indexBudget = 24 * time.Hour

// CreateText is the statement that makes a table.
func CreateText(ctx context.Context, server *mysql.Server, t *CopyTable) (string, error) {
	s := mysql.Through(server)
	w, err := defining(ctx, s, t.Schema)
	if err != nil {
		return "", err
	}
	defer w.Close()
	var name, text string
	if err := w.conn.QueryRowContext(ctx, "SHOW CREATE TABLE "+t.At()).Scan(&name, &text); err != nil {
		return "", s.Fail("read definition of "+t.Name, err)
	}
	return text, nil
}

// CreateTables makes tables by their texts, those that are missing.
func CreateTables(ctx context.Context, server *mysql.Server, schema string, texts []string) error {
	s := mysql.Through(server)
	w, err := defining(ctx, s, schema)
	if err != nil {
		return err
	}
	defer w.Close()
	for _, text := range texts {
		text = strings.Replace(text, "CREATE TABLE ", "CREATE TABLE IF NOT EXISTS "+mysql.OwnComment+" ", 1)
		if _, err := w.conn.ExecContext(ctx, text); err != nil {
			return s.Fail("create table", fmt.Errorf("%w: %s", err, mysql.FirstWords(text)))
		}
	}
	return nil
}

// SplitIndexes takes the plain secondary indexes out of the text of a table:
// building each at once, when the rows are in, is faster than keeping all of
// them for every row. A table with foreign keys, or whose counter is not the
// first column of its primary key, keeps them.
func SplitIndexes(text string) (table string, indexes []string) {
	lines := strings.Split(text, "\n")
	var primary, counter string
	for _, l := range lines {
		switch {
		case strings.HasPrefix(l, "  CONSTRAINT ") && strings.Contains(l, "FOREIGN KEY"):
			return text, nil
		case strings.HasPrefix(l, "  PRIMARY KEY (`"):
			primary, _ = firstName(strings.TrimPrefix(l, "  PRIMARY KEY ("))
		case strings.HasPrefix(l, "  `") && strings.Contains(l, " AUTO_INCREMENT"):
			counter, _ = firstName(strings.TrimPrefix(l, "  "))
		}
	}
	if counter != "" && counter != primary {
		return text, nil
	}
	var kept []string
	end := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, ")") })
	for i, l := range lines {
		if i < end && strings.HasPrefix(l, "  KEY `") {
			indexes = append(indexes, strings.TrimSuffix(strings.TrimSpace(l), ","))
			continue
		}
		kept = append(kept, l)
	}
	if len(indexes) == 0 {
		return text, nil
	}
	return tableOf(kept), indexes
}

// tableOf is the text of a table of its lines: the last element before ")" has no comma.
func tableOf(lines []string) string {
	for i, l := range lines {
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], ")") {
			lines[i] = strings.TrimSuffix(l, ",")
			break
		}
	}
	return strings.Join(lines, "\n")
}

// WithoutForeignKeys takes the foreign keys out of the text of a table that lead to a table which is not kept, of this database or another, and names them.
func WithoutForeignKeys(text string, kept func(table string) bool) (table string, out []string) {
	var lines []string
	for l := range strings.SplitSeq(text, "\n") {
		if name, to, is := foreignKeyIn(l); is && !kept(to) {
			out = append(out, name)
			continue
		}
		lines = append(lines, l)
	}
	if len(out) == 0 {
		return text, nil
	}
	return tableOf(lines), out
}

// foreignKeyIn reads a line of a table's text. Of a foreign key to another database, the table has no name that is known here: "".
func foreignKeyIn(line string) (name, to string, is bool) {
	rest, is := strings.CutPrefix(line, "  CONSTRAINT ")
	head, target, found := strings.Cut(rest, " REFERENCES ")
	if !is || !found || !strings.Contains(head, " FOREIGN KEY (") {
		return "", "", false
	}
	name, _ = firstName(rest)
	if strings.HasPrefix(target, "`") {
		table, end := mysql.QuotedWord(target, 0)
		if !strings.HasPrefix(target[end:], ".") {
			to = table
		}
	}
	return name, to, true
}

func firstName(text string) (string, bool) {
	if !strings.HasPrefix(text, "`") {
		return "", false
	}
	name, _ := mysql.QuotedWord(text, 0)
	return name, true
}

// AddIndexes adds those indexes, given as in the text of a table, that t does not have yet.
func AddIndexes(ctx context.Context, server *mysql.Server, t *CopyTable, indexes []string) error {
	s := mysql.Through(server)
	records, err := s.Records(ctx, "SELECT DISTINCT INDEX_NAME AS name FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?", t.Schema, t.Name)
	if err != nil {
		return err
	}
	has := map[string]bool{}
	for _, r := range records {
		has[strings.ToLower(r["name"])] = true
	}
	var adds []string
	for _, i := range indexes {
		if name, ok := firstName(strings.TrimPrefix(i, "KEY ")); ok && !has[strings.ToLower(name)] {
			adds = append(adds, "ADD "+i)
		}
	}
	if len(adds) == 0 {
		return nil
	}
	w, err := defining(ctx, s, t.Schema)
	if err != nil {
		return err
	}
	defer w.Close()
	ctx, cancel := context.WithTimeout(ctx, indexBudget)
	defer cancel()
	_, err = w.conn.ExecContext(ctx, "ALTER TABLE "+t.At()+" "+mysql.OwnComment+" "+strings.Join(adds, ", "))
	return s.Fail("add indexes to "+t.Name, err)
}

// Counters are the AUTO_INCREMENT counters of a database's tables, by the name clients know.
func Counters(ctx context.Context, server *mysql.Server, schema string) (map[string]uint64, error) {
	s := mysql.Through(server)
	records, err := s.RecordsFresh(ctx, "SELECT TABLE_NAME AS tbl, AUTO_INCREMENT AS n FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND AUTO_INCREMENT IS NOT NULL", schema)
	out := map[string]uint64{}
	for _, r := range records {
		var n uint64
		if _, err := fmt.Sscan(r["n"], &n); err != nil {
			return nil, s.Fail("read counter of "+r["tbl"], err)
		}
		out[strings.TrimPrefix(r["tbl"], mysql.AsidePrefix)] = n
	}
	return out, err
}

// RaiseCounter makes a table count on from n.
func RaiseCounter(ctx context.Context, s *mysql.Server, t *CopyTable, n uint64) error {
	return mysql.Through(s).Exec(ctx, fmt.Sprintf("ALTER TABLE %s %s AUTO_INCREMENT = %d", t.At(), mysql.OwnComment, n))
}

// DropTables removes tables; of a set that refer to one another in any order.
func DropTables(ctx context.Context, server *mysql.Server, schema string, tables []*CopyTable) error {
	s := mysql.Through(server)
	w, err := defining(ctx, s, schema)
	if err != nil {
		return err
	}
	defer w.Close()
	for _, t := range tables {
		if _, err := w.conn.ExecContext(ctx, "DROP TABLE IF EXISTS "+t.At()); err != nil {
			return s.Fail("drop "+t.At(), err)
		}
	}
	return nil
}
