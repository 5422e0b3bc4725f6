package format

import (
	"bytes"
	"encoding/hex"
	"io"
	"strconv"
)

// csvLines writes CSV as RFC 4180 has it: a line of names first, lines end with CR LF, a quote within text is doubled. Text
// always stands in quotes. NULL is an empty field without quotes, the empty text is "": PostgreSQL's COPY and DuckDB tell them
// apart. Numbers and times stand without quotes, bytes are hexadecimal digits.
type csvLines struct {
	lines
	columns []Column
}

func newCSV(w io.Writer, columns []Column) *csvLines {
	c := &csvLines{lines: lines{w: w}, columns: columns}
	for i, column := range columns {
		c.comma(i)
		c.quoted([]byte(column.Name))
	}
	c.buf = append(c.buf, '\r', '\n')
	return c
}

// Row writes one line.
func (c *csvLines) Row(values [][]byte) error {
	for i, v := range values {
		c.comma(i)
		if v != nil {
			c.value(c.columns[i].class(), v)
		}
	}
	c.buf = append(c.buf, '\r', '\n')
	return c.ended()
}

func (c *csvLines) comma(i int) {
	if i > 0 {
		c.buf = append(c.buf, ',')
	}
}

func (c *csvLines) value(is class, v []byte) {
	switch {
	case is == bits:
		c.buf = strconv.AppendUint(c.buf, ofBits(v), 10)
	case is == octets && len(v) > 0:
		c.buf = hex.AppendEncode(c.buf, v)
	case is == text || is == document || len(v) == 0:
		c.quoted(v)
	case is == decimal:
		c.buf = append(c.buf, unpadded(v)...)
	default:
		c.buf = append(c.buf, v...)
	}
}

func (c *csvLines) quoted(v []byte) {
	c.buf = append(c.buf, '"')
	for {
		i := bytes.IndexByte(v, '"')
		if i < 0 {
			break
		}
		c.buf = append(append(c.buf, v[:i]...), '"', '"')
		v = v[i+1:]
	}
	c.buf = append(append(c.buf, v...), '"')
}
