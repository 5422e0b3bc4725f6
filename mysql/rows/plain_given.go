package rows

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"stowage/internal/lazy"
)

// integerBits are the widths of integers, as values of a column have them.
var integerBits = map[string]int{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64, "year": 16, "bit": 64}

// givenCasts are the types that a server casts to, of columns whose values it shows in one spelling.
var givenCasts = map[string]string{"date": "DATE", "time": "TIME", "datetime": "DATETIME", "timestamp": "DATETIME", "uuid": "UUID", "inet4": "INET4", "inet6": "INET6"}

// Given is the plain value of a column that a person means by a text: 007 is the number 7, and a UUID may be in capitals. ok is false for what no row
// has there: 7x in an INT, which a server takes for 7. Text stays as it is: Equal knows its spellings.
func (p *Plain) Given(ctx context.Context, column int, text string) (value string, ok bool, err error) {
	c := &p.Columns[column]
	switch kind := c.column.Kind; {
	case integerBits[kind] > 0:
		value, ok = c.givenInteger(strings.TrimSpace(text))
	case kind == "decimal":
		value, ok = c.givenDecimal(strings.TrimSpace(text))
	case kind == "float" || kind == "double":
		v, err := strconv.ParseFloat(strings.TrimSpace(text), map[string]int{"float": 32, "double": 64}[kind])
		value, ok = string(c.appendFloat(nil, v)), err == nil && !math.IsInf(v, 0) && !math.IsNaN(v)
	case kind == "binary":
		return string(padded([]byte(text), c.column.width)), len(text) <= c.column.width, nil
	case givenCasts[kind] != "":
		return p.givenCast(ctx, c, text)
	default:
		return text, true, nil
	}
	return value, ok, nil
}

func (c *PlainColumn) givenInteger(text string) (string, bool) {
	bits := integerBits[c.column.Kind]
	if c.Kind == PlainUint {
		n, err := strconv.ParseUint(strings.TrimPrefix(text, "+"), 10, bits)
		return strconv.FormatUint(n, 10), err == nil
	}
	n, err := strconv.ParseInt(text, 10, bits)
	return strconv.FormatInt(n, 10), err == nil
}

var decimalText = lazy.Regexp(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)$`)

// givenDecimal refuses what the column would round.
func (c *PlainColumn) givenDecimal(text string) (string, bool) {
	var digits, decimals int
	if _, err := fmt.Sscanf(c.column.Type, "decimal(%d,%d)", &digits, &decimals); err != nil || !decimalText().MatchString(text) {
		return "", false
	}
	given, ok := new(big.Rat).SetString(text)
	if !ok || c.column.Unsigned && given.Sign() < 0 {
		return "", false
	}
	value := given.FloatString(decimals)
	kept, _ := new(big.Rat).SetString(value)
	whole, _, _ := strings.Cut(strings.TrimLeft(value, "-0"), ".")
	return value, kept.Cmp(given) == 0 && len(whole) <= digits-decimals
}

func (p *Plain) givenCast(ctx context.Context, c *PlainColumn, text string) (string, bool, error) {
	kind := givenCasts[c.column.Kind]
	if c.decimals > 0 {
		kind += fmt.Sprintf("(%d)", c.decimals)
	}
	var value sql.NullString
	err := p.server.Row(ctx, "SELECT CAST(CAST(? AS "+kind+") AS CHAR)", []any{text}, &value)
	return value.String, value.Valid, err
}
