package rows

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"stowage/farm"
)

// Event makes plain values of a row as an event has it. They are good until
// into is used again.
func (p *Plain) Event(ctx context.Context, row []any, into PlainRow) (PlainRow, error) {
	into = p.sized(into)
	if !p.Table.isWhole(row) {
		return into, fmt.Errorf("table %s has %s, an event has %d", p.Table.Name, farm.Counted(len(p.Columns), "column"), len(row))
	}
	for i := range p.Columns {
		if row[i] == nil {
			into[i] = nil
			continue
		}
		var err error
		if into[i], err = p.event(ctx, &p.Columns[i], into[i][:0], row[i]); err != nil {
			return into, fmt.Errorf("column %s of %s: %w", p.Columns[i].Name, p.Table.Name, err)
		}
	}
	return into, nil
}

// event is never nil.
func (p *Plain) event(ctx context.Context, c *PlainColumn, dst []byte, v any) ([]byte, error) {
	if dst == nil {
		dst = []byte{}
	}
	switch x := v.(type) {
	case string:
		return p.eventBytes(ctx, c, dst, []byte(x))
	case []byte:
		return p.eventBytes(ctx, c, dst, x)
	case float32:
		return c.appendFloat(dst, float64(x)), nil
	case float64:
		return c.appendFloat(dst, x), nil
	}
	n, ok := asInt(v)
	if !ok {
		return nil, fmt.Errorf("an event holds a %T for %s", v, c.column.Type)
	}
	if c.column.Kind == "enum" || c.column.Kind == "set" {
		return c.appendWords(dst, uint64(n)), nil
	}
	return c.column.appendEvent(dst, v)
}

func (p *Plain) eventBytes(ctx context.Context, c *PlainColumn, dst, raw []byte) ([]byte, error) {
	switch c.column.Kind {
	case "decimal":
		return appendDecimal(dst, raw), nil
	case "binary":
		return append(dst, padded(raw, c.column.width)...), nil
	case "uuid":
		return append(dst, shownUUID(padded(raw, c.column.width))...), nil
	case "inet6":
		return appendInet6(dst, padded(raw, c.column.width)), nil
	case "inet4":
		return append(dst, inet4(padded(raw, c.column.width))...), nil
	case "json":
		return appendDocument(dst, raw), nil
	case "time", "datetime", "timestamp":
		return appendTime(dst, raw, c.decimals), nil
	case "tinyint", "smallint", "mediumint", "int", "bigint", "float", "double", "bit", "enum", "set", "year":
		return nil, fmt.Errorf("an event holds bytes for %s", c.column.Type)
	}
	if c.column.Charset == "" {
		return append(dst, raw...), nil
	}
	return p.text(ctx, c, dst, raw)
}

// appendTime gives a time the fraction that its column has: zero dates come without one.
func appendTime(dst, raw []byte, decimals int) []byte {
	dst = append(dst, raw...)
	if decimals == 0 {
		return dst
	}
	at := slices.Index(raw, '.')
	have := 0
	if at < 0 {
		dst = append(dst, '.')
	} else {
		have = len(raw) - at - 1
	}
	for ; have < decimals; have++ {
		dst = append(dst, '0')
	}
	return dst
}

func inet4(raw []byte) string {
	a, _ := netip.AddrFromSlice(raw[:4])
	return a.String()
}

// appendInet6 writes an address as MariaDB does: the first of the longest runs
// of zero words is left out, be it one word, and an address that ends in one of
// IPv4 shows it.
func appendInet6(dst, raw []byte) []byte {
	var words [8]uint16
	for i := range words {
		words[i] = binary.BigEndian.Uint16(raw[2*i:])
	}
	from, length := -1, 0
	for i := 0; i < len(words); i++ {
		n := 0
		for i+n < len(words) && words[i+n] == 0 {
			n++
		}
		if n > length {
			from, length = i, n
		}
		i += n
	}
	isIPv4 := from == 0 && (length == 6 || length == 5 && words[5] == 0xffff)
	var out strings.Builder
	for i := 0; i < len(words); i++ {
		switch {
		case i == from:
			out.WriteString("::")
			i += length - 1
			continue
		case i > 0 && i != from+length:
			out.WriteByte(':')
		}
		if isIPv4 && i == 6 {
			out.WriteString(inet4(raw[12:]))
			break
		}
		out.WriteString(strconv.FormatUint(uint64(words[i]), 16))
	}
	return append(dst, out.String()...)
}
