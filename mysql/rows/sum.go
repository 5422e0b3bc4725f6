package rows

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/mysql"
)

// cell is the column's value as bytes that are equal only for equal values of
// one column. plain: they hold no '#', so that it is seen where they end.
func (c CopyColumn) cell() (expr string, plain bool) {
	name := mysql.Ident(c.Name)
	switch c.Kind {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "double", "year", "date", "time", "datetime", "timestamp":
		return "CAST(" + name + " AS BINARY)", true
	case "bit":
		return "HEX(" + name + ")", true
	case "enum", "set": // as a number: the word of an ENUM without a value is that of one whose value is ''
		return "CAST(" + c.read() + " AS BINARY)", true
	case "float": // as text it has six digits; the rest would not be compared
		return "CAST(CAST(" + name + " AS DOUBLE) AS BINARY)", true
	case "json": // MySQL's: a date in it has the text of a string, and takes other room
		return "CONCAT(SHA2(CAST(" + name + " AS BINARY), 256), '-', JSON_STORAGE_SIZE(JSON_EXTRACT(" + name + ", _utf8mb4'$')))", true
	case "tinytext", "text", "mediumtext", "longtext", "tinyblob", "blob", "mediumblob", "longblob", "vector",
		"geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection", "geomcollection":
		// Two large values side by side may exceed max_allowed_packet, and the
		// row would be NULL on both ends, equal whatever it holds.
		return "SHA2(CAST(" + name + " AS BINARY), 256)", true // MySQL 9.6 took MD5 out of the server
	}
	return "CAST(" + name + " AS BINARY)", false
}

// hash is the SHA-256 of a whole row. It can be read backwards: which columns
// are NULL, then each value, which ends at a '#' or has its length behind it.
// So no two rows come to the same text.
func (t *CopyTable) hash() string {
	var cells, nulls []string
	for _, c := range t.Columns {
		if c.isLocal {
			continue
		}
		cell, plain := c.cell()
		cells = append(cells, "COALESCE("+cell+", '')")
		if !plain {
			cells = append(cells, "COALESCE(LENGTH("+cell+"), 0)")
		}
		nulls = append(nulls, "ISNULL("+mysql.Ident(c.Name)+")")
	}
	return "SHA2(CONCAT_WS('#', " + strings.Join(cells, ", ") + ", CONCAT(" + strings.Join(nulls, ", ") + ")), 256)"
}

// Sum is what a chunk of rows comes to.
type Sum struct {
	Rows int64
	Text string
}

func (s Sum) String() string { return fmt.Sprintf("%s, sum %s", farm.Counted(s.Rows, "row"), s.Text) }

// Sum is the number of rows behind `after` up to `upTo` (nil: no bound) and two
// sums over the hash of each. XOR alone would not see a pair of equal rows come
// or go; the sum does.
func (v *View) Sum(ctx context.Context, t *CopyTable, after, upTo []string) (out Sum, err error) {
	query := fmt.Sprintf(`SELECT COUNT(*), COALESCE(LOWER(CONCAT(
			HEX(BIT_XOR(CAST(CONV(LEFT(h, 16), 16, 10) AS UNSIGNED))),
			HEX(BIT_XOR(CAST(CONV(RIGHT(h, 16), 16, 10) AS UNSIGNED))), '-', SUM(CRC32(h)))), '0')
		FROM (SELECT %s AS h FROM %s%s) AS chunk`, t.hash(), t.source(), t.between(after, upTo))
	err = v.conn.QueryRowContext(ctx, query).Scan(&out.Rows, &out.Text)
	return out, v.server.Fail("checksum "+t.String(), err)
}

// End is the key of the row that is n rows behind `after` and not beyond
// `upTo`; nil when there are not so many, or the table has no key.
func (v *View) End(ctx context.Context, t *CopyTable, after, upTo []string, n int) ([]string, error) {
	if len(t.Key) == 0 {
		return nil, nil
	}
	keys, err := v.keyed(ctx, t, "", t.between(after, upTo)+t.first(1)+fmt.Sprintf(" OFFSET %d", n-1), "find chunk of ")
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	return keys[0].key, nil
}

// keyedRow is a row's key, as literals, and its hash where that was asked for.
type keyedRow struct {
	key  []string
	hash string
}

func (v *View) keyed(ctx context.Context, t *CopyTable, hash, which, op string) ([]keyedRow, error) {
	exprs := t.keyValues()
	if hash == "" {
		hash = "''"
	}
	rows, err := v.conn.QueryContext(ctx, "SELECT "+strings.Join(append(exprs, hash), ", ")+" FROM "+t.source()+which)
	if err != nil {
		return nil, v.server.Fail(op+t.String(), err)
	}
	defer rows.Close()
	cells, into := rawCells(len(t.Key) + 1)
	var out []keyedRow
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, v.server.Fail(op+t.String(), err)
		}
		out = append(out, keyedRow{t.keyOfCells(cells), string(cells[len(t.Key)])})
	}
	return out, v.server.Fail(op+t.String(), rows.Err())
}

// rowSet are the hashes of rows by key, in the order of keys. A versioned table has several of one key.
type rowSet struct {
	order [][]string
	sums  map[string][]string
}

func keyName(key []string) string { return strings.Join(key, ",") }

func (r rowSet) of(key []string) []string { return r.sums[keyName(key)] }

// rows are the rows of a chunk, at most limit; cut: there are more.
func (v *View) rows(ctx context.Context, t *CopyTable, after, upTo []string, limit int) (out rowSet, cut bool, err error) {
	found, err := v.keyed(ctx, t, t.hash(), t.between(after, upTo)+t.first(limit+1), "compare rows of ")
	if len(found) > limit {
		found, cut = found[:limit], true
	}
	out.sums = map[string][]string{}
	for _, r := range found {
		name := keyName(r.key)
		if out.sums[name] == nil {
			out.order = append(out.order, r.key)
		}
		out.sums[name] = append(out.sums[name], r.hash)
	}
	for _, sums := range out.sums {
		slices.Sort(sums)
	}
	return out, cut, err
}
