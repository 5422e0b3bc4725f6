package dump

import (
	"crypto/sha256"
	"fmt"
	"path"
	"strings"
	"time"
)

// Part is the name that the stream has in its set.
const Part = "dump.tar"

// Format is the version of the form that this program writes.
const Format = 1

// Stage is when a file is loaded.
type Stage int

// The stages, in the order of the stream.
const (
	Tables   Stage = iota + 1 // all tables, empty
	Rows                      // INSERT statements
	Objects                   // routines, views, triggers and events
	Accounts                  // of the whole server, for a server that has nothing else
)

// Head is the first file of a stream.
type Head struct {
	FormatVersion int        `json:"format_version"`
	Databases     []Database `json:"databases"`
	// At is right before the moment at which all rows stand.
	At time.Time `json:"at"`
	// File and Offset are the place in the server's binary log at which all rows stand, GTID is the same as a position. Empty: it has no binary log.
	File   string `json:"binlog_file"`
	Offset int64  `json:"binlog_offset"`
	GTID   string `json:"gtid"`
}

// Database is one that is in the stream.
type Database struct {
	Name string `json:"name"`
	// Dir is the directory of its files.
	Dir       string `json:"dir"`
	Charset   string `json:"charset"`
	Collation string `json:"collation"`
	Comment   string `json:"comment,omitempty"`
}

// End is the last file of a stream.
type End struct {
	Files int   `json:"files"` // between the two
	Rows  int64 `json:"rows"`
}

// The names of files.
const (
	headFile     = "dump.json"
	endFile      = "end.json"
	tablesFile   = "1-tables.sql"
	rowsDir      = "2-rows"
	objectsFile  = "3-objects.sql"
	accountsFile = "accounts.sql"
)

// TablesOf, ObjectsOf and RowsOf are the names of files of a database; n counts the files of a table from 1. AccountsFile is that of the accounts.
func TablesOf(d Database) string  { return path.Join(d.Dir, tablesFile) }
func ObjectsOf(d Database) string { return path.Join(d.Dir, objectsFile) }
func RowsOf(d Database, table string, n int) string {
	return path.Join(d.Dir, rowsDir, fmt.Sprintf("%s.%06d.sql", Word(table), n))
}
func AccountsFile() string { return accountsFile }

// stageOf is when a file is loaded, and the directory of its database; false: it has no name of this form.
func stageOf(name string) (Stage, string, bool) {
	dir, base := path.Split(name)
	dir = strings.TrimSuffix(dir, "/")
	switch {
	case name == accountsFile:
		return Accounts, "", true
	case base == tablesFile:
		return Tables, dir, true
	case base == objectsFile:
		return Objects, dir, true
	case path.Base(dir) == rowsDir && strings.HasSuffix(base, ".sql"):
		return Rows, path.Dir(dir), true
	}
	return 0, "", false
}

// longestWord fits with what is added to it into a name of a file, which has at most 255 bytes.
const longestWord = 200

// Word is the name of a database or a table as a name of a file: letters, digits, - and _ stand for themselves, and . where it is not the first. A name that
// gets too long is cut, and ends in a sum of the whole.
func Word(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', i > 0 && (c == '.' || c == '-'):
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	if b.Len() <= longestWord {
		return b.String()
	}
	return fmt.Sprintf("%s~%x", b.String()[:longestWord-17], sha256.Sum256([]byte(name)))[:longestWord]
}
