package format

import (
	"encoding/base64"
	"io"
	"strconv"
	"unicode/utf8"
)

// jsonLines writes an object a line, its members in the order of the columns. Numbers are numbers, DECIMAL is a string with
// all its digits, bytes are base64 (RFC 4648, padded), BIT is a number, JSON of MySQL's type JSON is
// as it is (in MariaDB JSON is text), times are the text the server shows, NULL is null.
type jsonLines struct {
	lines
	columns []Column
	names   [][]byte // ,"name":
}

func newJSONLines(w io.Writer, columns []Column) *jsonLines {
	j := &jsonLines{lines: lines{w: w}, columns: columns}
	for i, c := range columns {
		before := byte(',')
		if i == 0 {
			before = '{'
		}
		j.names = append(j.names, append(appendString([]byte{before}, []byte(c.Name)), ':'))
	}
	return j
}

// Row writes one line.
func (j *jsonLines) Row(values [][]byte) error {
	for i, v := range values {
		j.buf = append(j.buf, j.names[i]...)
		j.buf = AppendJSON(j.buf, j.columns[i], v)
	}
	j.buf = append(j.buf, '}', '\n')
	return j.ended()
}

// AppendJSON appends one value as JSON, null where it is nil.
func AppendJSON(dst []byte, c Column, v []byte) []byte {
	if v == nil {
		return append(dst, "null"...)
	}
	switch c.class() {
	case number, document:
		return append(dst, v...)
	case decimal:
		return append(append(append(dst, '"'), unpadded(v)...), '"')
	case bits:
		return strconv.AppendUint(dst, ofBits(v), 10)
	case octets:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, v)
		return append(dst, '"')
	}
	return appendString(dst, v)
}

// unpadded is a DECIMAL without the zeros that ZEROFILL shows.
func unpadded(v []byte) []byte {
	for len(v) > 1 && v[0] == '0' && v[1] != '.' {
		v = v[1:]
	}
	return v
}

const hexDigits = "0123456789abcdef"

// appendString quotes text. Bytes that are no UTF-8 become U+FFFD, as encoding/json has it.
func appendString(dst, text []byte) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRune(text[i:])
			if r != utf8.RuneError || n != 1 {
				i += n
				continue
			}
		}
		dst = append(dst, text[from:i]...)
		dst = appendEscape(dst, c)
		i++
		from = i
	}
	return append(append(dst, text[from:]...), '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, `\n`...)
	case '\t':
		return append(dst, `\t`...)
	case '\r':
		return append(dst, `\r`...)
	}
	if c >= utf8.RuneSelf {
		return append(dst, `\ufffd`...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
