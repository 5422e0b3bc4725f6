package rows

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"stowage/farm"
	"stowage/mysql"
)

// PlainKind is what a plain value is, for whoever gives it a type.
type PlainKind int

const (
	PlainInt   PlainKind = iota // digits: a signed integer of at most 64 bits, or a YEAR
	PlainUint                   // digits: an unsigned one, or a BIT
	PlainFloat                  // the shortest digits that give the same FLOAT or DOUBLE
	PlainText                   // UTF-8: text, an ENUM's word, a SET's words with commas between, DECIMAL, times, addresses, UUID
	PlainBytes                  // bytes as they are: BINARY, BLOB, GEOMETRY, VECTOR
	PlainJSON                   // a JSON document, of MySQL's type JSON. MariaDB's is text
)

// Plain shows the rows of one table as values that mean the same outside of the
// server: one read by SELECT and one out of a row event come out alike.
// TIMESTAMP is in UTC, other times are as they are stored, always with the
// fraction that the column has.
//
// It is made for a table as it is defined at the moment, and is not safe for
// several goroutines.
type Plain struct {
	Table   *CopyTable
	Columns []PlainColumn
	server  mysql.Door
}

// PlainColumn is how one column is shown.
type PlainColumn struct {
	Name     string
	Kind     PlainKind
	column   CopyColumn
	words    []string      // of ENUM and SET
	single   *singleBytes  // of a character set that has one byte a character
	decimals int           // of times
	isWide   bool          // text of a character set with several bytes a character, which the server converts
	unicode  *unicodeWidth // UCS-2, UTF-16, UTF-32
}

// PlainRow are the values of a row, in the order of the columns. A value that
// is nil is NULL.
type PlainRow [][]byte

// PlainOf reads what has to be known of a table's columns. It refuses columns
// whose values could not be shown exactly.
func PlainOf(ctx context.Context, server *mysql.Server, t *CopyTable) (*Plain, error) {
	s := mysql.Through(server)
	p := &Plain{Table: t, server: s}
	for _, c := range t.Columns {
		if ok, why := c.CanCarry(); !ok {
			return nil, s.Fail("show "+t.String(), fmt.Errorf("column %s: %s", c.Name, why))
		}
		col := PlainColumn{Name: c.Name, Kind: plainKind(c), column: c}
		switch c.Kind {
		case "enum", "set":
			col.words = wordsOf(c.Type)
		case "time", "datetime", "timestamp":
			col.decimals = decimalsOf(c.Type)
		default:
			if err := readCharset(ctx, s, &col); err != nil {
				return nil, err
			}
		}
		p.Columns = append(p.Columns, col)
	}
	return p, nil
}

// On has another server of the pair convert what only a server can.
func (p *Plain) On(s *mysql.Server) { p.server = mysql.Through(s) }

func plainKind(c CopyColumn) PlainKind {
	switch c.Kind {
	case "tinyint", "smallint", "mediumint", "int", "bigint":
		if c.Unsigned {
			return PlainUint
		}
		return PlainInt
	case "year":
		return PlainInt
	case "bit":
		return PlainUint
	case "float", "double":
		return PlainFloat
	case "json":
		return PlainJSON
	case "decimal", "date", "time", "datetime", "timestamp", "enum", "set", "inet6", "inet4", "uuid":
		return PlainText
	}
	if c.Charset != "" {
		return PlainText
	}
	return PlainBytes
}

// Select are the expressions to read, one a column, in a session with the
// binary character set and the time zone UTC, as Stream and View have it.
func (p *Plain) Select() string {
	var out []string
	for _, c := range p.Columns {
		if c.isWide || c.unicode != nil || c.single != nil {
			out = append(out, "CONVERT("+mysql.Ident(c.Name)+" USING utf8mb4)")
		} else {
			out = append(out, c.column.read())
		}
	}
	return strings.Join(out, ", ")
}

// EachPlain reads a whole table in the order of its key. A row is good until
// each returns.
func (v *View) EachPlain(ctx context.Context, p *Plain, each func(PlainRow) error) error {
	t := p.Table
	query := "SELECT " + p.Select() + " FROM " + t.source()
	if len(t.Key) > 0 {
		query += " ORDER BY " + t.keyColumns()
	}
	rows, err := v.conn.QueryContext(ctx, query)
	if err != nil {
		return v.server.Fail("read rows of "+t.At(), err)
	}
	defer rows.Close()
	cells, into := rawCells(len(p.Columns))
	var row PlainRow
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return v.server.Fail("read rows of "+t.At(), err)
		}
		if row, err = p.Cells(cells, row); err != nil {
			return v.server.Fail("read rows of "+t.At(), err)
		}
		if err := each(row); err != nil {
			return err
		}
	}
	return v.server.Fail("read rows of "+t.At(), rows.Err())
}

// Cells makes plain values of a row that was read by Select. They are good
// until into is used again.
func (p *Plain) Cells(cells []sql.RawBytes, into PlainRow) (PlainRow, error) {
	into = p.sized(into)
	if len(cells) != len(p.Columns) {
		return into, fmt.Errorf("table %s has %s, a row has %d", p.Table.Name, farm.Counted(len(p.Columns), "column"), len(cells))
	}
	for i := range p.Columns {
		if cells[i] == nil {
			into[i] = nil
			continue
		}
		var err error
		if into[i], err = p.Columns[i].cell(into[i][:0], cells[i]); err != nil {
			return into, err
		}
	}
	return into, nil
}

func (p *Plain) sized(into PlainRow) PlainRow {
	if len(into) != len(p.Columns) {
		into = make(PlainRow, len(p.Columns))
	}
	return into
}

// cell is never nil.
func (c *PlainColumn) cell(dst, raw []byte) ([]byte, error) {
	if dst == nil {
		dst = []byte{}
	}
	switch c.column.Kind {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "bit", "year":
		return append(dst, withoutZeros(raw)...), nil
	case "decimal":
		return appendDecimal(dst, raw), nil
	case "float", "double":
		v, err := strconv.ParseFloat(string(raw), 64)
		return c.appendFloat(dst, v), err
	case "enum", "set":
		n, err := strconv.ParseUint(string(raw), 10, 64)
		return c.appendWords(dst, n), err
	case "json":
		return appendDocument(dst, raw), nil
	}
	return c.shown(dst, raw), nil
}

// shown is for text that is UTF-8 already, and for bytes.
func (c *PlainColumn) shown(dst, raw []byte) []byte {
	if c.Kind == PlainText && !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	return append(dst, raw...)
}

// withoutZeros: ZEROFILL is how a number is shown, and not what it is.
func withoutZeros(raw []byte) []byte {
	for len(raw) > 1 && raw[0] == '0' {
		raw = raw[1:]
	}
	return raw
}

func appendDecimal(dst, raw []byte) []byte {
	if len(raw) > 0 && raw[0] == '-' {
		dst, raw = append(dst, '-'), raw[1:]
	}
	for len(raw) > 1 && raw[0] == '0' && raw[1] != '.' {
		raw = raw[1:]
	}
	return append(dst, raw...)
}

func (c *PlainColumn) appendFloat(dst []byte, v float64) []byte {
	bits := 64
	if c.column.Kind == "float" {
		bits = 32
	}
	return strconv.AppendFloat(dst, v, 'g', -1, bits)
}

func (c *PlainColumn) appendWords(dst []byte, n uint64) []byte {
	if c.column.Kind == "enum" { // 0 is the empty word of a value that was refused
		if n > 0 && n <= uint64(len(c.words)) {
			dst = append(dst, c.words[n-1]...)
		}
		return dst
	}
	first := true
	for i, w := range c.words {
		if n&(1<<i) != 0 {
			if !first {
				dst = append(dst, ',')
			}
			dst, first = append(dst, w...), false
		}
	}
	return dst
}

// wordsOf are the words of enum('a','b') or set('a','b'), as information_schema has them.
func wordsOf(columnType string) []string {
	var out []string
	for i := strings.IndexByte(columnType, '(') + 1; i > 0 && i < len(columnType); {
		if columnType[i] != '\'' {
			i++
			continue
		}
		end := i + 1
		var w []byte
		for end < len(columnType) {
			if columnType[end] == '\'' {
				if end+1 >= len(columnType) || columnType[end+1] != '\'' {
					break
				}
				end++
			}
			w = append(w, columnType[end])
			end++
		}
		out = append(out, string(w))
		i = end + 1
	}
	return out
}

// decimalsOf is n of time(n).
func decimalsOf(columnType string) int {
	_, in, ok := strings.Cut(columnType, "(")
	if !ok {
		return 0
	}
	in, _, _ = strings.Cut(in, ")")
	n, err := strconv.Atoi(in)
	if err != nil {
		return 0
	}
	return n
}

// AppendJSON adds one value as JSON: numbers as numbers (a BIGINT has more
// digits than a double holds), bytes as base64, MySQL's JSON as it is, anything
// else as a string.
func (c *PlainColumn) AppendJSON(dst, value []byte) []byte {
	switch {
	case value == nil:
		return append(dst, "null"...)
	case c.Kind == PlainInt || c.Kind == PlainUint || c.Kind == PlainFloat || c.Kind == PlainJSON:
		return append(dst, value...)
	case c.Kind == PlainBytes:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, value)
		return append(dst, '"')
	}
	return AppendJSONString(dst, value)
}

// AppendObject adds a row as a JSON object, in the order of the columns; only
// nil: all of them.
func (p *Plain) AppendObject(dst []byte, row PlainRow, only []int) []byte {
	dst = append(dst, '{')
	first := true
	for i := range p.Columns {
		if only != nil && !slices.Contains(only, i) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = AppendJSONString(dst, []byte(p.Columns[i].Name))
		dst = append(dst, ':')
		dst = p.Columns[i].AppendJSON(dst, row[i])
	}
	return append(dst, '}')
}
