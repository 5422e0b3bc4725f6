package mysql

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// HotTable is a table with pages in a buffer pool.
type HotTable struct {
	Schema, Table string
	Pages         int64 // in the pool
	Of            int64 // pages of its files on this server, 0: not known
}

// HotTables are the tables that a dump of this server's pool names, by the text of its PoolFile, the
// one with most pages first. The pool itself is not asked: that takes 3.5 us a page under its mutex
// (information_schema.innodb_buffer_page), and knows no names of tables that nobody has opened.
func (s *Server) HotTables(ctx context.Context, dump string) ([]HotTable, error) {
	files, err := s.tablespaces(ctx)
	if err != nil {
		return nil, err
	}
	pages := map[string]int64{}
	for line := range strings.Lines(dump) {
		space, _, _ := strings.Cut(line, ",")
		pages[space]++
	}
	hot := map[[2]string]HotTable{}
	for space, n := range pages {
		f, known := files[space]
		if !known {
			continue // undo logs, the system tablespace, a table that has gone
		}
		t := hot[f.name]
		hot[f.name] = HotTable{f.name[0], f.name[1], t.Pages + n, t.Of + f.pages}
	}
	return slices.SortedFunc(maps.Values(hot), func(a, b HotTable) int {
		return cmp.Or(cmp.Compare(b.Pages, a.Pages), cmp.Compare(a.Schema+"."+a.Table, b.Schema+"."+b.Table))
	}), nil
}

// ReadTables reads whole tables into the pool, one after the other, for as long as a
// table's pages fit into room, and returns how many it has read. It is for a server that serves nobody.
//
// innodb_old_blocks_time stays as it is: nothing moves within the pool before pages are thrown out
// (MariaDB 10.11.19, buf_page_peek_if_too_old), and from then on what clients ask for does.
func (s *Server) ReadTables(ctx context.Context, tables []HotTable, room int64) (read int, err error) {
	for _, t := range tables { // the size of a table that nobody has opened is not known
		_, err := s.records(ctx, "SELECT 1 FROM "+ident(t.Schema)+"."+ident(t.Table)+" LIMIT 1")
		if err != nil && !isNoTable(err) {
			return 0, err
		}
	}
	files, err := s.tablespaces(ctx)
	if err != nil {
		return 0, err
	}
	size := map[[2]string]int64{}
	for _, f := range files {
		size[f.name] += f.pages
	}
	for _, t := range tables {
		n, here := size[[2]string{t.Schema, t.Table}]
		if !here || n == 0 || n > room {
			continue
		}
		if err := s.readTable(ctx, t); err != nil {
			return read, err
		}
		room, read = room-n, read+1
	}
	return read, nil
}

// readTable reads each index of a table whole. COUNT(*) without an index would take the smallest.
func (s *Server) readTable(ctx context.Context, t HotTable) error {
	indexes, err := s.records(ctx, "SELECT DISTINCT INDEX_NAME FROM information_schema.STATISTICS WHERE INDEX_TYPE = 'BTREE' AND TABLE_SCHEMA = "+
		quote(t.Schema)+" AND TABLE_NAME = "+quote(t.Table))
	if err != nil {
		return err
	}
	for _, r := range indexes {
		count := "SELECT COUNT(*) FROM " + ident(t.Schema) + "." + ident(t.Table) + " FORCE INDEX (" + ident(r["INDEX_NAME"]) + ")"
		if _, err := s.recordsSlow(ctx, count); err != nil {
			return err
		}
	}
	return nil
}

// tablespace is a file of a table, or of a partition of one.
type tablespace struct {
	name  [2]string // schema and table
	pages int64
}

// isNoTable: it was never there, or it is gone.
func isNoTable(err error) bool { return slices.Contains([]uint16{1049, 1146, 1356}, CodeOf(err)) }

// tablespaces are the files of tables, by their number, with 0 pages where nobody has opened the
// table since the server was started. Tables whose names the server writes in a code are left out.
func (s *Server) tablespaces(ctx context.Context) (map[string]tablespace, error) {
	d, err := s.dialect(ctx)
	if err != nil {
		return nil, err
	}
	tables, files := "INNODB_TABLES", "INNODB_TABLESPACES"
	if d.flavor.Vendor == "MariaDB" {
		tables, files = "INNODB_SYS_TABLES", "INNODB_SYS_TABLESPACES"
	}
	records, err := s.recordsSlow(ctx, "SELECT t.SPACE, t.NAME, COALESCE(f.FILE_SIZE, 0) DIV (SELECT @@innodb_page_size) AS pages FROM information_schema."+tables+
		" t LEFT JOIN information_schema."+files+" f ON f.SPACE = t.SPACE WHERE t.NAME LIKE '%/%' AND t.NAME NOT LIKE 'mysql/%' AND t.NAME NOT LIKE 'sys/%'")
	if err != nil {
		return nil, err
	}
	out := map[string]tablespace{}
	for _, r := range records {
		schema, table, _ := strings.Cut(r["NAME"], "/")
		table, _, _ = strings.Cut(table, "#") // t#P#p0 is a partition of t
		if table == "" || strings.Contains(r["NAME"], "@") {
			continue
		}
		pages, _ := strconv.ParseInt(r["pages"], 10, 64)
		out[r["SPACE"]] = tablespace{[2]string{schema, table}, pages}
	}
	return out, nil
}
