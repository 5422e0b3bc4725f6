package rows

import (
	"fmt"
	"strings"

	"stowage/mysql"
)

// An exact literal is SQL for one value of a column, and its only name: two values have the same literal where their bytes are the same, whether a row or a row event
// shows them. The server compares the literal with the column as it compares two values of the column, by its collation. There is no tab, line break or comma in it.

// exactly are the kinds of columns that have exact literals, and what is alike of their values: values of two columns are compared as in either where that is equal.
var exactly = map[string]string{
	"tinyint": "integer", "smallint": "integer", "mediumint": "integer", "int": "integer", "bigint": "integer",
	"char": "text", "varchar": "text", "binary": "bytes", "varbinary": "bytes", "date": "date", "datetime": "datetime", "uuid": "uuid",
}

// ExactKinds are they, for people.
const ExactKinds = "integers, CHAR, VARCHAR, BINARY, VARBINARY, UUID, DATE and DATETIME"

// IsExact reports whether values of the column have exact literals.
func (c CopyColumn) IsExact() bool { return exactly[c.Kind] != "" }

// ComparesLike reports whether the server compares a value of this column with one of the other as two values of the other: they are of one type, and of one collation.
func (c CopyColumn) ComparesLike(other CopyColumn) bool {
	return c.IsExact() && exactly[c.Kind] == exactly[other.Kind] && c.Collation == other.Collation
}

// Exact is the expression for the exact literal of the column in a row of a table or alias.
func (c CopyColumn) Exact(of string) string {
	name := of + "." + mysql.Ident(c.Name)
	switch exactly[c.Kind] {
	case "integer":
		return name
	case "text":
		if c.Kind == "char" { // PAD_CHAR_TO_FULL_LENGTH shows spaces that no event has
			name = "TRIM(TRAILING ' ' FROM " + name + ")"
		}
		return "CONCAT('_" + c.Charset + " X''', HEX(" + name + "), '''')"
	case "bytes":
		return "CONCAT('X''', HEX(" + name + "), '''')"
	}
	return "CONCAT('''', " + name + ", '''')"
}

// ExactEvent is the exact literal of a value out of a row event, which is not NULL.
func (c CopyColumn) ExactEvent(v any) (string, error) {
	var raw []byte
	switch x := v.(type) {
	case string:
		raw = []byte(x)
	case []byte:
		raw = x
	default:
		lit, err := c.appendEvent(nil, v)
		return string(lit), err
	}
	switch exactly[c.Kind] {
	case "text":
		return fmt.Sprintf("_%s X'%X'", c.Charset, raw), nil
	case "bytes":
		return fmt.Sprintf("X'%X'", padded(raw, c.width)), nil
	case "uuid":
		return "'" + string(shownUUID(padded(raw, c.width))) + "'", nil
	case "date", "datetime":
		return "'" + string(appendTime(nil, raw, decimalsOf(c.Type))) + "'", nil
	}
	return "", fmt.Errorf("column %s: an event holds bytes for %s", c.Name, strings.ToLower(c.Type))
}
