package rows

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"stowage/mysql"
)

// CopyColumn is one column as it is read, hashed and carried.
type CopyColumn struct {
	Name      string
	Kind      string // DATA_TYPE: varchar
	Type      string // COLUMN_TYPE: varchar(20)
	Charset   string // of text, "" for anything else
	Collation string // of text
	Unsigned  bool
	Generated bool // computed by the server: read and compared, never written
	width     int  // of BINARY(n) and addresses: an event comes without trailing zero bytes
	isLocal   bool // the number of a transaction, which is another on every server (transaction-precise versioning)
}

func widthOf(kind, full string) int {
	switch kind {
	case "binary":
		n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(full, "binary("), ")"))
		return n
	case "inet6", "uuid":
		return 16
	case "inet4":
		return 4
	}
	return 0
}

// carried are the kinds of columns whose values the copier takes over
// exactly, from a row and from an event of the binary log.
var carried = map[string]bool{
	"tinyint": true, "smallint": true, "mediumint": true, "int": true, "bigint": true, "decimal": true, "float": true, "double": true, "bit": true,
	"year": true, "date": true, "time": true, "datetime": true, "timestamp": true,
	"char": true, "varchar": true, "tinytext": true, "text": true, "mediumtext": true, "longtext": true,
	"binary": true, "varbinary": true, "tinyblob": true, "blob": true, "mediumblob": true, "longblob": true,
	"enum": true, "set": true, "inet6": true, "inet4": true,
	"geometry": true, "point": true, "linestring": true, "polygon": true, "multipoint": true, "multilinestring": true, "multipolygon": true,
	"geometrycollection": true, "geomcollection": true, "json": true, "vector": true, "uuid": true,
}

// CanCarry reports whether the column's values survive, or why not.
func (c CopyColumn) CanCarry() (bool, string) {
	switch {
	case !carried[c.Kind]:
		return false, "values of type " + c.Kind + " cannot be taken from the binary log exactly"
	case strings.Contains(c.Type, "mariadb-5.3"):
		return false, "it has the temporal format of MariaDB 5.3"
	case strings.Contains(c.Type, "COMPRESSED"):
		return false, "it is a compressed column"
	}
	return true, ""
}

// read is the expression whose text holds the whole value: as text a FLOAT
// has six digits, a BIT is bytes, and the word of an ENUM may be ambiguous.
func (c CopyColumn) read() string {
	switch c.Kind {
	case "bit", "enum", "year":
		return mysql.Ident(c.Name) + "+0"
	case "set": // 64 members: MySQL adds as DOUBLE, which has 53 bits
		return "CAST(" + mysql.Ident(c.Name) + " AS UNSIGNED)"
	case "float":
		return "CAST(" + mysql.Ident(c.Name) + " AS DOUBLE)"
	}
	return mysql.Ident(c.Name)
}

// appendText writes the literal of a value read through read(). The session
// has the binary character set, so a string literal is the bytes it is made of.
func (c CopyColumn) appendText(dst, raw []byte) []byte {
	if raw == nil {
		return append(dst, "NULL"...)
	}
	switch c.Kind {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "bit", "enum", "set", "year":
		return append(dst, raw...)
	case "float", "double": // with an exponent it is not a DECIMAL, and -0 stays -0
		dst = append(dst, raw...)
		if !strings.ContainsAny(string(raw), "eE") {
			dst = append(dst, "e0"...)
		}
		return dst
	case "inet6", "inet4", "uuid": // bytes of no character set would be taken for the address itself
		return appendQuoted(append(dst, "_latin1"...), raw)
	case "json": // MySQL makes no JSON of bytes that have no character set
		return appendQuoted(append(dst, "_utf8mb4"...), raw)
	}
	return appendQuoted(dst, raw)
}

// appendQuoted escapes what ends a string; every other byte stands for itself.
func appendQuoted(dst, raw []byte) []byte {
	dst = append(dst, '\'')
	for {
		at := bytes.IndexAny(raw, `'\`)
		if at < 0 {
			return append(append(dst, raw...), '\'')
		}
		dst = append(append(dst, raw[:at]...), '\\', raw[at])
		raw = raw[at+1:]
	}
}

// appendEvent writes the literal of a value out of a row event.
func (c CopyColumn) appendEvent(dst []byte, v any) ([]byte, error) {
	switch x := v.(type) {
	case nil:
		return append(dst, "NULL"...), nil
	case string:
		return c.appendEventBytes(dst, []byte(x))
	case []byte:
		return c.appendEventBytes(dst, x)
	case float32:
		return appendDouble(dst, float64(x)), nil
	case float64:
		return appendDouble(dst, x), nil
	}
	n, ok := asInt(v)
	if !ok {
		return nil, fmt.Errorf("column %s: an event holds a %T for %s", c.Name, v, c.Type)
	}
	switch c.Kind {
	case "bit", "set":
		return strconv.AppendUint(dst, uint64(n), 10), nil
	case "enum", "year":
		return strconv.AppendInt(dst, n, 10), nil
	case "tinyint", "smallint", "mediumint", "int", "bigint":
		if c.Unsigned { // without metadata in the binary log the reader takes every number for signed
			bits := map[string]uint{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}[c.Kind]
			return strconv.AppendUint(dst, uint64(n)<<(64-bits)>>(64-bits), 10), nil
		}
		return strconv.AppendInt(dst, n, 10), nil
	}
	return nil, fmt.Errorf("column %s: an event holds a number for %s", c.Name, c.Type)
}

func (c CopyColumn) appendEventBytes(dst, raw []byte) ([]byte, error) {
	switch c.Kind {
	case "decimal":
		return append(dst, raw...), nil
	case "inet6", "inet4", "binary":
		raw = padded(raw, c.width)
		dst = hex.AppendEncode(append(dst, "X'"...), raw)
		return append(dst, '\''), nil
	case "uuid":
		return c.appendText(dst, shownUUID(padded(raw, c.width))), nil
	case "json":
		return c.appendText(dst, raw), nil
	case "tinyint", "smallint", "mediumint", "int", "bigint", "float", "double", "bit", "enum", "set", "year":
		return nil, fmt.Errorf("column %s: an event holds bytes for %s", c.Name, c.Type)
	}
	return appendQuoted(dst, raw), nil
}

func padded(raw []byte, width int) []byte {
	if len(raw) >= width {
		return raw
	}
	return append(slices.Clone(raw), make([]byte, width-len(raw))...)
}

func appendDouble(dst []byte, v float64) []byte { return strconv.AppendFloat(dst, v, 'e', -1, 64) }

func asInt(v any) (int64, bool) {
	switch x := v.(type) {
	case int8:
		return int64(x), true
	case int16:
		return int64(x), true
	case int32:
		return int64(x), true
	case int64:
		return x, true
	case int:
		return int64(x), true
	case uint8:
		return int64(x), true
	case uint16:
		return int64(x), true
	case uint32:
		return int64(x), true
	case uint64:
		return int64(x), true
	}
	return 0, false
}

// keyLiteral turns a literal's raw text into one that compares with the
// column as its index is ordered: text needs its own character set, for bytes
// of none would be compared one by one.
func (c CopyColumn) keyText(raw []byte) string {
	if c.Charset != "" && !slices.Contains([]string{"enum", "set"}, c.Kind) {
		return "_" + c.Charset + " X'" + hex.EncodeToString(raw) + "'"
	}
	switch c.Kind {
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		return "X'" + hex.EncodeToString(padded(raw, c.width)) + "'"
	}
	return string(c.appendText(nil, raw))
}

func (c CopyColumn) keyEvent(v any) (string, error) {
	var raw []byte
	switch x := v.(type) {
	case string:
		raw = []byte(x)
	case []byte:
		raw = x
	}
	if raw != nil && (c.Charset != "" || c.Kind == "varbinary" || c.Kind == "binary" || strings.HasSuffix(c.Kind, "blob")) {
		return c.keyText(raw), nil
	}
	lit, err := c.appendEvent(nil, v)
	return string(lit), err
}
