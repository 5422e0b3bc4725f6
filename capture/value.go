package capture

import (
	"math"
	"strconv"
)

// Kind is what a Value holds.
type Kind uint8

// The kinds of values.
const (
	Null Kind = iota
	Int
	Uint
	Float  // single precision
	Double // double precision
	Bytes  // text, blobs, decimals
	Time   // dates and times, as text
)

// Value is one value bound to a prepared statement. Only the field of its Kind
// is set; Bytes is valid until the callback returns.
type Value struct {
	Kind  Kind
	Int   int64
	Uint  uint64
	Float float64
	Bytes []byte // also of Time: "2006-01-02 15:04:05.000000"
}

// AppendSQL appends the value as a literal of SQL.
func (v *Value) AppendSQL(to []byte) []byte {
	switch v.Kind {
	case Int:
		return strconv.AppendInt(to, v.Int, 10)
	case Uint:
		return strconv.AppendUint(to, v.Uint, 10)
	case Float:
		return strconv.AppendFloat(to, v.Float, 'g', -1, 32)
	case Double:
		return strconv.AppendFloat(to, v.Float, 'g', -1, 64)
	case Bytes, Time:
		to = append(to, '\'')
		for _, c := range v.Bytes {
			switch c {
			case 0:
				to = append(to, '\\', '0')
			case '\n':
				to = append(to, '\\', 'n')
			case '\r':
				to = append(to, '\\', 'r')
			case 0x1a:
				to = append(to, '\\', 'Z')
			case '\'', '"', '\\':
				to = append(to, '\\', c)
			default:
				to = append(to, c)
			}
		}
		return append(to, '\'')
	}
	return append(to, "NULL"...)
}

// Types of columns and parameters, as in mysql_com.h.
const (
	typeTiny      = 1
	typeShort     = 2
	typeLong      = 3
	typeFloat     = 4
	typeDouble    = 5
	typeNull      = 6
	typeTimestamp = 7
	typeLonglong  = 8
	typeInt24     = 9
	typeDate      = 10
	typeTime      = 11
	typeDatetime  = 12
	typeYear      = 13
	isUnsigned    = 0x80 // in the byte behind the type
)

// hasParameterCount is the flag of an execute that is followed by the number of
// parameters, attributes included (MySQL 8.0.23).
const hasParameterCount = 8

// decode appends the values of an execute; nothing if it cannot be decoded.
// Dates and times become text at the end of text. Source: MySQL internals,
// COM_STMT_EXECUTE.
func (st *statement) decode(to []Value, body, text []byte) (values []Value, all []byte) {
	r := reader{d: body, text: text}
	r.bytes(4)
	flags := r.number(1)
	r.bytes(4)
	n, hasNames := st.params, flags&hasParameterCount != 0
	if hasNames {
		most := r.length()
		if most > uint64(len(body))*8 {
			return to, text
		}
		n = max(n, int(most))
	}
	if n == 0 || r.isShort {
		return to, text
	}
	nulls := r.bytes((n + 7) / 8)
	if r.number(1) == 1 {
		st.types = st.types[:0]
		for k := 0; k < n && !r.isShort; k++ {
			st.types = append(st.types, r.bytes(2)...)
			if hasNames {
				r.string()
			}
		}
	}
	if r.isShort || len(st.types) < 2*n {
		return to, text
	}
	for k := range st.params {
		v := Value{}
		if long, ok := st.long[uint16(k)]; ok {
			v = Value{Kind: Bytes, Bytes: long}
		} else if nulls[k/8]>>(k%8)&1 == 0 {
			v = r.value(st.types[2*k], st.types[2*k+1]&isUnsigned != 0)
		}
		if r.isShort {
			return to[:0], text
		}
		to = append(to, v)
	}
	return to, r.text
}

// value is one value in the binary protocol.
func (r *reader) value(kind byte, unsigned bool) Value {
	switch kind {
	case typeNull:
		return Value{}
	case typeTiny:
		return integer(r.number(1), 8, unsigned)
	case typeShort, typeYear:
		return integer(r.number(2), 16, unsigned)
	case typeLong, typeInt24:
		return integer(r.number(4), 32, unsigned)
	case typeLonglong:
		return integer(r.number(8), 64, unsigned)
	case typeFloat:
		return Value{Kind: Float, Float: float64(math.Float32frombits(uint32(r.number(4))))}
	case typeDouble:
		return Value{Kind: Double, Float: math.Float64frombits(r.number(8))}
	case typeDate, typeDatetime, typeTimestamp:
		return Value{Kind: Time, Bytes: r.date(kind == typeDate)}
	case typeTime:
		return Value{Kind: Time, Bytes: r.clock()}
	}
	return Value{Kind: Bytes, Bytes: r.string()}
}

func integer(v uint64, bits int, unsigned bool) Value {
	if unsigned {
		return Value{Kind: Uint, Uint: v}
	}
	return Value{Kind: Int, Int: int64(v<<(64-bits)) >> (64 - bits)}
}

// date is a length of 0, 4, 7 or 11, and as much of year to microsecond.
func (r *reader) date(isDate bool) []byte {
	n, begin := int(r.number(1)), len(r.text)
	f := reader{d: r.bytes(n)}
	b := digits(r.text, f.number(2), 4)
	b = digits(append(b, '-'), f.number(1), 2)
	b = digits(append(b, '-'), f.number(1), 2)
	if !isDate || n > 4 {
		b = f.hours(append(b, ' '), 0, n == 11)
	}
	r.text = b
	return b[begin:len(b):len(b)]
}

// clock is a length of 0, 8 or 12: sign, days, hours to microsecond.
func (r *reader) clock() []byte {
	n, begin := int(r.number(1)), len(r.text)
	f := reader{d: r.bytes(n)}
	b := r.text
	if f.number(1) == 1 {
		b = append(b, '-')
	}
	b = f.hours(b, f.number(4), n == 12)
	r.text = b
	return b[begin:len(b):len(b)]
}

func (r *reader) hours(b []byte, days uint64, hasMicros bool) []byte {
	b = digits(b, days*24+r.number(1), 2)
	b = digits(append(b, ':'), r.number(1), 2)
	b = digits(append(b, ':'), r.number(1), 2)
	if hasMicros {
		b = digits(append(b, '.'), r.number(4), 6)
	}
	return b
}

func digits(b []byte, v uint64, width int) []byte {
	for limit := uint64(10); width > 1; width-- {
		if v < limit {
			limit = 1
			for range width - 1 {
				limit *= 10
			}
			if v < limit {
				b = append(b, '0')
				limit = 10
				continue
			}
			break
		}
		limit = 10
	}
	return strconv.AppendUint(b, v, 10)
}
