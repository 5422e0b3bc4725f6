package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// View is one session that sees a server as it was at one moment, for reading
// checksums.
type View struct {
	server *Server
	conn   *sql.Conn
	db     *sql.DB
	// At is the position it shows: exact on a source, unset on a target whose writer the caller holds. File and Offset
	// are the same place in the binary log.
	At     Position
	File   string
	Offset int64
}

// View opens a consistent view; with a position if exact.
func (s *Server) View(ctx context.Context, exact bool) (*View, error) {
	w, err := s.Stream(ctx, StatementTimeout)
	if err != nil {
		return nil, err
	}
	v := &View{server: s, conn: w.conn, db: w.db}
	// Literals and results as bytes; times as everywhere in the copier.
	snap := &Snapshot{server: s, conn: v.conn}
	if exact {
		err = snap.open(ctx)
		v.At, v.File, v.Offset = snap.At, snap.File, snap.Offset
	} else {
		for _, st := range []string{"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"} {
			if _, e := v.conn.ExecContext(ctx, st); e != nil && err == nil {
				err = s.fail(firstWords(st), e)
			}
		}
	}
	d, e := s.dialect(ctx)
	if err == nil {
		err = e
	}
	if err == nil && d.flavor.HasGTIDDomains() { // it may stand idle while the other end sums
		_, err = v.conn.ExecContext(ctx, "SET SESSION idle_transaction_timeout = 0")
	}
	if err != nil {
		v.Close()
		return nil, err
	}
	return v, nil
}

// Close ends the view.
func (v *View) Close() error {
	v.conn.Close()
	return v.db.Close()
}

// End is the key of the row that is n rows behind `after`, nil when there are
// not so many.
func (v *View) End(ctx context.Context, t *CopyTable, after []string, n int) ([]string, error) {
	exprs := make([]string, len(t.Key))
	for i, k := range t.Key {
		exprs[i] = t.Columns[k].read()
	}
	p := &Part{Table: t}
	rows, err := v.conn.QueryContext(ctx, fmt.Sprintf("SELECT %s FROM %s FORCE INDEX (%s)%s ORDER BY %s LIMIT 1 OFFSET %d",
		strings.Join(exprs, ", "), t.At(), ident(t.KeyName), p.where(after), t.keyColumns(), n-1))
	if err != nil {
		return nil, v.server.fail("find chunk of "+t.At(), err)
	}
	defer rows.Close()
	if !rows.Next() {
		return nil, v.server.fail("find chunk of "+t.At(), rows.Err())
	}
	cells := make([]sql.RawBytes, len(exprs))
	into := make([]any, len(exprs))
	for i := range cells {
		into[i] = &cells[i]
	}
	if err := rows.Scan(into...); err != nil {
		return nil, v.server.fail("find chunk of "+t.At(), err)
	}
	key := make([]string, len(exprs))
	for i, k := range t.Key {
		key[i] = t.Columns[k].keyText(cells[i])
	}
	return key, rows.Err()
}

func (t *CopyTable) between(after, upTo []string) string {
	var conditions []string
	if after != nil {
		conditions = append(conditions, t.beyond(after, ">"))
	}
	if upTo != nil {
		conditions = append(conditions, t.beyond(upTo, "<="))
	}
	if len(conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(conditions, " AND ")
}

// hash is the SHA-256 of a whole row: each value as bytes, its length, and which are NULL.
func (t *CopyTable) hash() string {
	var cells, nulls []string
	for _, c := range t.Columns {
		cell := column{name: c.Name, kind: c.Kind}.cell()
		switch c.Kind {
		case "geomcollection":
			cell = "SHA2(CAST(" + ident(c.Name) + " AS BINARY), 256)"
		case "json": // MySQL's: a date in it has the text of a string, and takes other room
			cell = "CONCAT(SHA2(CAST(" + ident(c.Name) + " AS BINARY), 256), '-', JSON_STORAGE_SIZE(JSON_EXTRACT(" + ident(c.Name) + ", _utf8mb4'$')))"
		}
		cells = append(cells, "COALESCE("+cell+", '')", "LENGTH(COALESCE("+cell+", ''))")
		nulls = append(nulls, "ISNULL("+ident(c.Name)+")")
	}
	return "SHA2(CONCAT_WS('#', " + strings.Join(cells, ", ") + ", CONCAT(" + strings.Join(nulls, ", ") + ")), 256)"
}

// Sum is the number of rows behind `after` up to `upTo` (nil: no bound) and a
// checksum over all their values.
func (v *View) Sum(ctx context.Context, t *CopyTable, after, upTo []string) (rows int64, sum string, err error) {
	query := fmt.Sprintf(`SELECT COUNT(*), COALESCE(CONCAT(
			HEX(BIT_XOR(CAST(CONV(LEFT(h, 16), 16, 10) AS UNSIGNED))),
			HEX(BIT_XOR(CAST(CONV(RIGHT(h, 16), 16, 10) AS UNSIGNED))), '-', SUM(CRC32(h))), '0')
		FROM (SELECT %s AS h FROM %s FORCE INDEX (%s)%s) AS chunk`, t.hash(), t.At(), ident(t.KeyName), t.between(after, upTo))
	err = v.conn.QueryRowContext(ctx, query).Scan(&rows, &sum)
	return rows, sum, v.server.fail("checksum "+t.At(), err)
}

// Hashes are the rows of a range: checksum by key.
func (v *View) Hashes(ctx context.Context, t *CopyTable, after, upTo []string) (map[string]HashedRow, error) {
	exprs := make([]string, len(t.Key))
	for i, k := range t.Key {
		exprs[i] = t.Columns[k].read()
	}
	rows, err := v.conn.QueryContext(ctx, fmt.Sprintf("SELECT %s, %s FROM %s FORCE INDEX (%s)%s",
		t.hash(), strings.Join(exprs, ", "), t.At(), ident(t.KeyName), t.between(after, upTo)))
	if err != nil {
		return nil, v.server.fail("read keys of "+t.At(), err)
	}
	defer rows.Close()
	out := map[string]HashedRow{}
	cells := make([]sql.RawBytes, len(exprs)+1)
	into := make([]any, len(cells))
	for i := range cells {
		into[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, v.server.fail("read keys of "+t.At(), err)
		}
		h := HashedRow{Hash: string(cells[0])}
		var shown []string
		for i, k := range t.Key {
			h.Key = append(h.Key, t.Columns[k].keyText(cells[i+1]))
			shown = append(shown, string(cells[i+1]))
		}
		h.Shown = strings.ToValidUTF8(strings.Join(shown, ", "), "?")
		out[strings.Join(h.Key, ",")] = h
	}
	return out, v.server.fail("read keys of "+t.At(), rows.Err())
}

// HashedRow is one row: its key as literals and as people read it, and a checksum of all of it.
type HashedRow struct {
	Key   []string
	Shown string
	Hash  string
}

// Shapes are the definitions of a database's tables as columns, keys and
// options, by the name clients know, so that two servers can be compared. They
// are joined here: GROUP_CONCAT cuts off what is longer than 1024 bytes in MySQL.
func (s *Server) Shapes(ctx context.Context, schema string) (map[string]string, error) {
	columns, err := s.records(ctx, `SELECT TABLE_NAME AS tbl, CONCAT_WS(' ', COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COALESCE(COLLATION_NAME, ''),
			COALESCE(COLUMN_DEFAULT, '-'), EXTRA, COALESCE(GENERATION_EXPRESSION, '')) AS shape
		FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? ORDER BY TABLE_NAME, ORDINAL_POSITION`, schema)
	if err != nil {
		return nil, err
	}
	keys, err := s.records(ctx, `SELECT TABLE_NAME AS tbl, INDEX_NAME AS name, CONCAT_WS(' ', INDEX_NAME, NON_UNIQUE, INDEX_TYPE) AS shape, COALESCE(COLUMN_NAME, '') AS col
		FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = ? ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX`, schema)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, r := range columns {
		if !strings.HasPrefix(r["tbl"], markPrefix) {
			out[strings.TrimPrefix(r["tbl"], AsidePrefix)] += r["shape"] + "; "
		}
	}
	for i, r := range keys {
		name := strings.TrimPrefix(r["tbl"], AsidePrefix)
		if _, ok := out[name]; !ok {
			continue
		}
		if i == 0 || keys[i-1]["tbl"] != r["tbl"] || keys[i-1]["name"] != r["name"] {
			out[name] += "key " + r["shape"]
		}
		out[name] += " " + r["col"]
	}
	return out, nil
}
