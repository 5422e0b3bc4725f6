package rows

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"stowage/mysql"
)

// unicodeWidth is a character set that is Unicode in units of two or four bytes.
type unicodeWidth struct {
	bytes    int
	isLittle bool
}

var unicodeCharsets = map[string]unicodeWidth{"ucs2": {2, false}, "utf16": {2, false}, "utf16le": {2, true}, "utf32": {4, false}}

// readCharset finds out how a column's text becomes UTF-8. The map of a
// character set with one byte a character is the server's own: its latin1 is
// nobody else's.
func readCharset(ctx context.Context, s mysql.Door, c *PlainColumn) error {
	name := c.column.Charset
	switch name {
	case "", "utf8", "utf8mb3", "utf8mb4", "ascii", "binary":
		return nil
	}
	if w, ok := unicodeCharsets[name]; ok {
		c.unicode = &w
		return nil
	}
	var width int
	if err := s.Row(ctx, "SELECT MAXLEN FROM information_schema.CHARACTER_SETS WHERE CHARACTER_SET_NAME = ?", []any{name}, &width); err != nil {
		return err
	}
	if width > 1 {
		c.isWide = true
		return nil
	}
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	text, err := converted(ctx, s, name, all, "utf32")
	if err != nil {
		return err
	}
	if len(text) != 4*256 {
		return s.Fail("read character set "+name, fmt.Errorf("256 bytes are %d bytes of UTF-32, want %d", len(text), 4*256))
	}
	c.single = new(singleBytes)
	for i := range c.single.utf8 {
		r := rune(binary.BigEndian.Uint32(text[4*i:]))
		c.single.utf8[i], c.single.isItself[i] = utf8.AppendRune(nil, r), int(r) == i && i < utf8.RuneSelf
	}
	return nil
}

// converted has the server convert text from one character set to another.
func converted(ctx context.Context, s mysql.Door, from string, raw []byte, to string) ([]byte, error) {
	var text string
	if err := s.Row(ctx, "SELECT HEX(CONVERT(_"+from+" X'"+hex.EncodeToString(raw)+"' USING "+to+"))", nil, &text); err != nil {
		return nil, err
	}
	out, err := hex.DecodeString(text)
	return out, s.Fail("convert text", err)
}

// text is UTF-8 of a value as the column keeps it.
func (p *Plain) text(ctx context.Context, c *PlainColumn, dst, raw []byte) ([]byte, error) {
	switch {
	case c.single != nil:
		return c.single.appendUTF8(dst, raw), nil
	case c.unicode != nil:
		return c.unicode.appendUTF8(dst, raw), nil
	case c.isWide && !isASCII(raw):
		out, err := converted(ctx, p.server, c.column.Charset, raw, "utf8mb4")
		return append(dst, out...), err
	}
	return c.shown(dst, raw), nil
}

// isASCII: below 0x80 all such character sets of the server are ASCII but for
// two characters of Shift JIS, which it takes for ASCII, too, when it converts.
func isASCII(raw []byte) bool {
	for _, b := range raw {
		if b >= 0x80 {
			return false
		}
	}
	return true
}

// singleBytes is UTF-8 of each byte.
type singleBytes struct {
	utf8     [256][]byte
	isItself [256]bool
}

func (s *singleBytes) appendUTF8(dst, raw []byte) []byte {
	n := 0 // most text begins as it is, and ends so
	for n < len(raw) && s.isItself[raw[n]] {
		n++
	}
	dst = append(dst, raw[:n]...)
	for _, b := range raw[n:] {
		dst = append(dst, s.utf8[b]...)
	}
	return dst
}

func (w *unicodeWidth) appendUTF8(dst, raw []byte) []byte {
	var order binary.ByteOrder = binary.BigEndian
	if w.isLittle {
		order = binary.LittleEndian
	}
	for ; len(raw) >= w.bytes; raw = raw[w.bytes:] {
		if w.bytes == 4 {
			dst = utf8.AppendRune(dst, rune(order.Uint32(raw)))
			continue
		}
		r := rune(order.Uint16(raw))
		if utf16.IsSurrogate(r) && len(raw) >= 4 {
			r = utf16.DecodeRune(r, rune(order.Uint16(raw[2:])))
			raw = raw[2:]
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// HasSpellings reports whether values of a column may be equal to the server and not have the same bytes.
func (p *Plain) HasSpellings(column int) bool {
	return p.Columns[column].column.Collation != "" && p.Columns[column].Kind == PlainText
}

// Equal asks the server whether two values of such a column, in UTF-8, are equal.
func (p *Plain) Equal(ctx context.Context, column int, a, b string) (equal bool, err error) {
	c := p.Columns[column].column
	value := "CONVERT(CAST(? AS CHAR CHARACTER SET utf8mb4) USING " + c.Charset + ") COLLATE " + c.Collation
	if db := p.server.DB(); db != nil {
		err = db.QueryRowContext(ctx, "SELECT "+value+" = "+value, a, b).Scan(&equal)
	}
	return equal, p.server.Fail("compare text", err)
}
