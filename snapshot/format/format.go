package format

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Column is one column of all rows.
type Column struct {
	Name          string
	Kind          string // as information_schema's DATA_TYPE: bigint, varchar
	Unsigned      bool
	Digits, Scale int // of decimal: all digits, and those behind the point
}

// Writer writes rows. It is not safe for several goroutines.
type Writer interface {
	// Row writes one row: a value for each column as text, nil for NULL. The values are not kept.
	Row(values [][]byte) error
	// Close writes what is left, and what a file ends with. It does not close what is written to.
	Close() error
	// Lost counts the values that the format has no word for and that were written as NULL.
	Lost() int64
}

// The formats by name.
const (
	JSONLines = "jsonl"
	CSV       = "csv"
	Parquet   = "parquet"
)

// Names are the formats, the default first.
var Names = []string{JSONLines, CSV, Parquet}

// New begins a file of a format with these columns. The text is collected in front of w; Close sends the rest of it.
func New(name string, w io.Writer, columns []Column) (Writer, error) {
	if err := distinct(columns); err != nil {
		return nil, err
	}
	switch name {
	case JSONLines:
		return newJSONLines(w, columns), nil
	case CSV:
		return newCSV(w, columns), nil
	case Parquet:
		return newParquet(w, columns), nil
	}
	return nil, fmt.Errorf("unknown format %q; the formats are %s", name, strings.Join(Names, ", "))
}

// distinct refuses columns of one name: in JSON the second would hide the first.
func distinct(columns []Column) error {
	for i, c := range columns {
		if slices.ContainsFunc(columns[:i], func(d Column) bool { return d.Name == c.Name }) {
			return fmt.Errorf("two columns are called %s; give one of them another name", c.Name)
		}
	}
	return nil
}

// class is what a value of a kind is to a reader of a file.
type class int

const (
	text    class = iota
	number        // its text is a number, and is written as it comes
	decimal       // a number whose digits must not be rounded: text in JSON
	octets        // any bytes
	bits          // BIT(n): an integer without sign, as bytes, the highest first
	date
	moment   // date and time of day
	document // JSON of MySQL's own type; in MariaDB JSON is text
)

// classes are the kinds that are not text. Text are also ENUM, SET, UUID, INET6, and TIME, which goes beyond a day.
var classes = map[string]class{
	"tinyint": number, "smallint": number, "mediumint": number, "int": number, "bigint": number, "year": number,
	"float": number, "double": number, "decimal": decimal, "bit": bits,
	"binary": octets, "varbinary": octets, "tinyblob": octets, "blob": octets, "mediumblob": octets, "longblob": octets, "geometry": octets, "vector": octets,
	"date": date, "datetime": moment, "timestamp": moment, "json": document,
}

func (c Column) class() class { return classes[c.Kind] }

// ofBits is the number that BIT(n) holds.
func ofBits(raw []byte) (n uint64) {
	for _, b := range raw {
		n = n<<8 | uint64(b)
	}
	return n
}

// lineBytes is how much text is collected before it is sent.
const lineBytes = 64 << 10

// lines sends text in large pieces.
type lines struct {
	w   io.Writer
	buf []byte
}

// Lost is nothing: these formats have a word for every value.
func (*lines) Lost() int64 { return 0 }

func (l *lines) ended() error {
	if len(l.buf) < lineBytes {
		return nil
	}
	return l.Close()
}

// Close sends the rest.
func (l *lines) Close() error {
	if len(l.buf) == 0 {
		return nil
	}
	_, err := l.w.Write(l.buf)
	l.buf = l.buf[:0]
	return err
}
