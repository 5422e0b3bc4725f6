package mysql

import (
	"fmt"
	"slices"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	binlog "github.com/go-mysql-org/go-mysql/replication"
)

// shape is what an event says of its table.
type shape struct {
	types []byte
	metas []uint16
	names []string // nil without binlog_row_metadata=FULL
}

func shapeOf(t *binlog.TableMapEvent) shape {
	return shape{t.ColumnType, t.ColumnMeta, t.ColumnNameString()}
}

// Fits reports an event that was written when the table had other columns.
// Without binlog_row_metadata=FULL it has no names, and only a column of
// another type is noticed.
func (p *Plain) Fits(c Change) error {
	if err := c.Fits(p.Table); err != nil {
		return err
	}
	for i := range p.Columns {
		col := &p.Columns[i]
		if c.shape.names != nil && c.shape.names[i] != col.Name {
			return fmt.Errorf("column %d of %s is called %s in an event, and %s in the table", i+1, p.Table, c.shape.names[i], col.Name)
		}
		if is := c.shape.kind(i); !slices.Contains(eventTypes[col.column.Kind], is) && len(eventTypes[col.column.Kind]) > 0 {
			return fmt.Errorf("column %s of %s is %s, an event has it with type number %d", col.Name, p.Table, col.column.Type, is)
		}
	}
	for i, missing := range c.Skipped {
		if len(missing) > 0 && i < len(c.Rows) {
			return fmt.Errorf("an event of %s lacks column %s", p.Table, p.Columns[missing[0]].Name)
		}
	}
	return nil
}

// IsNamed reports whether the event has names of columns.
func (c Change) IsNamed() bool { return c.shape.names != nil }

// kind is a column's type. ENUM and SET are kept as strings that say what they are.
func (s shape) kind(i int) byte {
	if real := byte(s.metas[i] >> 8); s.types[i] == gomysql.MYSQL_TYPE_STRING && (real == gomysql.MYSQL_TYPE_ENUM || real == gomysql.MYSQL_TYPE_SET) {
		return real
	}
	return s.types[i]
}

// eventTypes are the types by which events have each kind of column; a kind
// that is not here is not checked.
var eventTypes = map[string][]byte{
	"tinyint": {gomysql.MYSQL_TYPE_TINY}, "smallint": {gomysql.MYSQL_TYPE_SHORT}, "mediumint": {gomysql.MYSQL_TYPE_INT24},
	"int": {gomysql.MYSQL_TYPE_LONG}, "bigint": {gomysql.MYSQL_TYPE_LONGLONG}, "decimal": {gomysql.MYSQL_TYPE_NEWDECIMAL},
	"float": {gomysql.MYSQL_TYPE_FLOAT}, "double": {gomysql.MYSQL_TYPE_DOUBLE}, "bit": {gomysql.MYSQL_TYPE_BIT}, "year": {gomysql.MYSQL_TYPE_YEAR},
	"date": {gomysql.MYSQL_TYPE_DATE, gomysql.MYSQL_TYPE_NEWDATE}, "time": {gomysql.MYSQL_TYPE_TIME2}, "datetime": {gomysql.MYSQL_TYPE_DATETIME2}, "timestamp": {gomysql.MYSQL_TYPE_TIMESTAMP2},
	"char": {gomysql.MYSQL_TYPE_STRING}, "binary": {gomysql.MYSQL_TYPE_STRING}, "varchar": {gomysql.MYSQL_TYPE_VARCHAR, gomysql.MYSQL_TYPE_VAR_STRING}, "varbinary": {gomysql.MYSQL_TYPE_VARCHAR, gomysql.MYSQL_TYPE_VAR_STRING},
	"enum": {gomysql.MYSQL_TYPE_ENUM}, "set": {gomysql.MYSQL_TYPE_SET}, "json": {gomysql.MYSQL_TYPE_JSON},
	"tinytext": {gomysql.MYSQL_TYPE_BLOB}, "text": {gomysql.MYSQL_TYPE_BLOB}, "mediumtext": {gomysql.MYSQL_TYPE_BLOB}, "longtext": {gomysql.MYSQL_TYPE_BLOB},
	"tinyblob": {gomysql.MYSQL_TYPE_BLOB}, "blob": {gomysql.MYSQL_TYPE_BLOB}, "mediumblob": {gomysql.MYSQL_TYPE_BLOB}, "longblob": {gomysql.MYSQL_TYPE_BLOB},
}
