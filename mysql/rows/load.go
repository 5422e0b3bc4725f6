package rows

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"

	driver "github.com/go-sql-driver/mysql"

	"stowage/farm"
	"stowage/mysql"
)

// Rows of a copy go as lines of LOAD DATA LOCAL where that keeps every value as it is: the server neither parses a statement
// nor makes an object of each value of it, which saves it a quarter of its work. It is a REPLACE all the same, in the
// same transaction as the mark, and in the binary log it is rows.

// ErrNotLoaded: the server had something to say about a row that was loaded, an error or a warning. Nothing was written. As a
// statement it may go, or will say more: LOAD DATA LOCAL is lenient where a statement is strict.
var ErrNotLoaded = errors.New("rows cannot be loaded as they are")

// loadable are the kinds of columns whose values text holds exactly, without an expression around them.
var loadable = map[string]bool{
	"tinyint": true, "smallint": true, "mediumint": true, "int": true, "bigint": true, "decimal": true,
	"date": true, "time": true, "datetime": true, "timestamp": true,
	"char": true, "varchar": true, "tinytext": true, "text": true, "mediumtext": true, "longtext": true,
	"binary": true, "varbinary": true, "tinyblob": true, "blob": true, "mediumblob": true, "longblob": true,
}

// Loads reports whether rows of a table can be sent as lines in this session.
func (w *Stream) Loads(t *CopyTable) bool {
	for _, c := range t.written {
		if !loadable[t.Columns[c].Kind] {
			return false
		}
	}
	return w.canLoad
}

// loader hands lines to the driver, which asks for them by name.
type loader struct {
	name  string
	lines [][]byte
}

// newLoader: the name is one that no other server can know, for any server may
// ask for any registered name at any time, as the answer to any statement.
func newLoader() *loader {
	l := &loader{name: "stowage-" + rand.Text()}
	driver.RegisterReaderHandler(l.name, func() io.Reader {
		readers := make([]io.Reader, len(l.lines))
		for i, piece := range l.lines {
			readers[i] = bytes.NewReader(piece)
		}
		return io.MultiReader(readers...)
	})
	return l
}

func (l *loader) close() { driver.DeregisterReaderHandler(l.name) }

// load writes lines into a table, within the open transaction.
func (w *Stream) load(ctx context.Context, to *CopyTable, lines [][]byte) error {
	w.loader.lines = lines
	defer func() { w.loader.lines = nil }()
	_, err := w.conn.ExecContext(ctx, "LOAD DATA LOCAL INFILE 'Reader::"+w.loader.name+"' REPLACE INTO TABLE "+to.At()+
		` CHARACTER SET binary FIELDS TERMINATED BY '\t' ESCAPED BY '\\' LINES TERMINATED BY '\n' (`+to.writtenNames()+")")
	if refusedValue[mysql.CodeOf(err)] {
		return fmt.Errorf("%w: %w", ErrNotLoaded, err)
	}
	if err != nil {
		return err
	}
	var warnings int
	if err := w.conn.QueryRowContext(ctx, "SELECT @@warning_count").Scan(&warnings); err != nil {
		return err
	}
	if warnings > 0 {
		return fmt.Errorf("%w: %s", ErrNotLoaded, farm.Counted(warnings, "warning"))
	}
	return nil
}

// writtenNames are the columns that hold values of their own, as a list.
func (t *CopyTable) writtenNames() string {
	names := make([]string, len(t.written))
	for i, c := range t.written {
		names[i] = mysql.Ident(t.Columns[c].Name)
	}
	return strings.Join(names, ", ")
}

// appendField writes a value as LOAD DATA reads it.
func appendField(dst, raw []byte) []byte {
	if raw == nil {
		return append(dst, `\N`...)
	}
	from := 0
	for i, b := range raw {
		var name byte
		switch b {
		case '\\':
			name = '\\'
		case '\t':
			name = 't'
		case '\n':
			name = 'n'
		default:
			continue
		}
		dst = append(append(dst, raw[from:i]...), '\\', name)
		from = i + 1
	}
	return append(dst, raw[from:]...)
}
