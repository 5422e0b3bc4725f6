package format

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

const (
	groupBytes = 32 << 20 // of values in one group of rows: what a reader takes at a time, and what the writer holds
	batchRows  = 128      // rows handed to the library at a time
)

// parquetRows writes one Parquet file. All columns may be NULL. The types:
//
//	TINYINT .. BIGINT, YEAR    INT and UINT of their width (MEDIUMINT: 32)
//	BIT(n)                     UINT_64
//	FLOAT, DOUBLE              FLOAT, DOUBLE
//	DECIMAL up to 17 digits    DECIMAL over INT32 or INT64; longer ones: STRING, no digit is lost
//	DATE                       DATE
//	TIMESTAMP                  TIMESTAMP(MICROS), UTC
//	DATETIME                   TIMESTAMP(MICROS), of no time zone
//	binary, GEOMETRY           BYTE_ARRAY
//	everything else            STRING
//
// A date that no calendar has (0000-00-00, 2026-02-30) has no place in these types: it is written as NULL, and counted.
type parquetRows struct {
	out     *parquet.GenericWriter[any]
	columns []Column
	batch   []parquet.Row
	arena   []byte // the bytes of the batch
	bytes   int    // of the group
	lost    int64
}

func newParquet(w io.Writer, columns []Column) *parquetRows {
	root := ordered{Group: parquet.Group{}}
	place := map[string]int{}
	for i, c := range columns {
		root.Group[c.Name], place[c.Name] = parquet.Optional(parquetType(c)), i
	}
	root.columns = root.Group.Fields()
	slices.SortFunc(root.columns, func(a, b parquet.Field) int { return place[a.Name()] - place[b.Name()] })
	batch := make([]parquet.Row, batchRows)
	for i := range batch {
		batch[i] = make(parquet.Row, len(columns))
	}
	return &parquetRows{columns: columns, batch: batch[:0],
		out: parquet.NewGenericWriter[any](w, parquet.NewSchema("snapshot", root), parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}), parquet.CreatedBy("stowage", "", ""))}
}

// ordered is a group whose fields stay in their order. The library's own has them by name.
type ordered struct {
	parquet.Group
	columns []parquet.Field
}

// Fields are the columns.
func (o ordered) Fields() []parquet.Field { return o.columns }

func parquetType(c Column) parquet.Node {
	width := map[string]int{"tinyint": 8, "smallint": 16, "mediumint": 32, "int": 32, "bigint": 64}[c.Kind]
	switch {
	case width > 0 && c.Unsigned, c.Kind == "year":
		return parquet.Uint(max(width, 16))
	case width > 0:
		return parquet.Int(width)
	case c.Kind == "bit":
		return parquet.Uint(64)
	case c.Kind == "float":
		return parquet.Leaf(parquet.FloatType)
	case c.Kind == "double":
		return parquet.Leaf(parquet.DoubleType)
	case c.isNarrow() && c.Digits < 9: // one digit more than is said: of UNSIGNED the answer tells one less
		return parquet.Decimal(c.Scale, c.Digits+1, parquet.Int32Type)
	case c.isNarrow():
		return parquet.Decimal(c.Scale, c.Digits+1, parquet.Int64Type)
	}
	switch c.class() {
	case octets:
		return parquet.Leaf(parquet.ByteArrayType)
	case date:
		return parquet.Date()
	case moment:
		return parquet.TimestampAdjusted(parquet.Microsecond, c.Kind == "timestamp")
	}
	return parquet.String()
}

// isNarrow: a DECIMAL that 64 bits hold.
func (c Column) isNarrow() bool { return c.Kind == "decimal" && c.Digits > 0 && c.Digits < 18 }

// Row takes one row.
func (p *parquetRows) Row(values [][]byte) error {
	p.batch = p.batch[:len(p.batch)+1]
	row := p.batch[len(p.batch)-1]
	for i, v := range values {
		value, err := p.value(p.columns[i], v)
		if err != nil {
			return fmt.Errorf("column %s: %w", p.columns[i].Name, err)
		}
		level := 1
		if value.IsNull() {
			level = 0
		}
		row[i] = value.Level(0, level, i)
		p.bytes += len(v) + 1
	}
	if len(p.batch) < batchRows {
		return nil
	}
	return p.send()
}

// send hands the batch over, and ends the group when it is large enough.
func (p *parquetRows) send() error {
	_, err := p.out.WriteRows(p.batch)
	p.batch, p.arena = p.batch[:0], p.arena[:0]
	if err == nil && p.bytes >= groupBytes {
		p.bytes = 0
		err = p.out.Flush()
	}
	return err
}

// Close writes what is left, and the footer.
func (p *parquetRows) Close() error {
	if err := p.send(); err != nil {
		return err
	}
	return p.out.Close()
}

// Lost counts dates that no calendar has.
func (p *parquetRows) Lost() int64 { return p.lost }

func (p *parquetRows) value(c Column, v []byte) (parquet.Value, error) {
	if v == nil {
		return parquet.NullValue(), nil
	}
	switch c.class() {
	case number:
		return numeric(c, string(v))
	case decimal:
		if c.isNarrow() {
			return unscaled(c, v)
		}
	case bits:
		return parquet.Int64Value(int64(ofBits(v))), nil
	case date, moment:
		days, micros, ok := readMoment(v)
		switch {
		case !ok:
			p.lost++
			return parquet.NullValue(), nil
		case c.class() == date:
			return parquet.Int32Value(int32(days)), nil
		}
		return parquet.Int64Value(days*microsOfDay + micros), nil
	}
	from := len(p.arena) // a batch that outgrows the arena leaves the old one to the values that are in it
	p.arena = append(p.arena, v...)
	return parquet.ByteArrayValue(p.arena[from:]), nil
}

func numeric(c Column, v string) (parquet.Value, error) {
	switch c.Kind {
	case "float":
		f, err := strconv.ParseFloat(v, 32)
		return parquet.FloatValue(float32(f)), err
	case "double":
		f, err := strconv.ParseFloat(v, 64)
		return parquet.DoubleValue(f), err
	}
	if c.Kind == "bigint" {
		if c.Unsigned {
			n, err := strconv.ParseUint(v, 10, 64)
			return parquet.Int64Value(int64(n)), err
		}
		n, err := strconv.ParseInt(v, 10, 64)
		return parquet.Int64Value(n), err
	}
	n, err := strconv.ParseInt(v, 10, 64)
	return parquet.Int32Value(int32(n)), err // an unsigned INT keeps its 32 bits
}

// unscaled is a DECIMAL without its point.
func unscaled(c Column, v []byte) (parquet.Value, error) {
	digits := make([]byte, 0, 24)
	for _, b := range v {
		if b != '.' {
			digits = append(digits, b)
		}
	}
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if c.Digits < 9 {
		return parquet.Int32Value(int32(n)), err
	}
	return parquet.Int64Value(n), err
}
