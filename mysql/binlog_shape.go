package mysql

import (
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

// IsNamed reports whether the event has names of columns.
func (c Change) IsNamed() bool { return c.shape.names != nil }

// Column is what the event says of a column: its name, "" without binlog_row_metadata=FULL, and the number of its type; fits: that
// is how events have columns of this kind (DATA_TYPE).
func (c Change) Column(i int, kind string) (name string, number byte, fits bool) {
	if c.shape.names != nil {
		name = c.shape.names[i]
	}
	number = c.shape.kind(i)
	return name, number, len(eventTypes[kind]) == 0 || slices.Contains(eventTypes[kind], number)
}

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
