package spec

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"stowage/farm"
)

// Spec is what reshape/NAME.yaml says.
type Spec struct {
	Name   string   `json:"name"`
	File   string   `json:"file"`             // for messages
	Shards []string `json:"shards,omitempty"` // names and patterns; none: all shards
	Tenant Tenant   `json:"tenant"`
	Parent Parent   `json:"parent"`
	Child  Child    `json:"child"`
	Carry  []Carry  `json:"carry"`
	// Indexes are made on the parent when its rows are filled in.
	Indexes []Index `json:"indexes,omitempty"`
	Keep    Keep    `json:"keep"`
	// MaxLag is how old carried columns of an active tenant may be when the application reads them. With Applier only, and above 0 there.
	MaxLag   time.Duration `json:"max_lag,omitempty"`
	Snapshot Snapshot      `json:"snapshot"`

	Lines map[string]int `json:"lines,omitempty"` // where "child.latest" stands in the file
}

// Tenant is the table with one row a tenant, and the flags on it.
type Tenant struct {
	Table    string `json:"table"`
	Key      string `json:"key"`
	Migrated string `json:"migrated"` // flag: the carried columns are filled in and were compared
	Active   string `json:"active"`   // flag: the application reads them
	// RoutedBy is the client key by which clients of a tenant are routed; "{tenant}" and "{shard}" stand for what they say.
	RoutedBy string `json:"routed_by,omitempty"`
}

// ClientKey is the key by which clients of a tenant are routed.
func (t Tenant) ClientKey(shard farm.ShardName, tenant string) string {
	return strings.NewReplacer("{tenant}", tenant, "{shard}", string(shard)).Replace(t.RoutedBy)
}

// Parent is the table that gets the columns.
type Parent struct {
	Table  string   `json:"table"`
	Tenant string   `json:"tenant"`
	Key    []string `json:"key,omitempty"` // none: the primary key
	// Bytes and Numbers are the columns of the key that are BINARY or VARBINARY, and those that come in the order of a number and are shown as something else; Complete knows.
	Bytes   []bool `json:"-"`
	Numbers []bool `json:"-"`
	// Decimals are those that are DECIMAL: compared with text, a server rounds both to a DOUBLE.
	Decimals []bool `json:"-"`
	// Stamped are the columns that change by themselves when a row does; Complete knows.
	Stamped []string `json:"-"`
}

// Child is the table they come from.
type Child struct {
	Table  string   `json:"table"`
	Parent []string `json:"parent"`           // its columns that name the parent, in the order of the parent's key
	Key    string   `json:"key,omitempty"`    // "": the primary key
	Counts string   `json:"counts,omitempty"` // SQL over its columns: which rows count; "": all
	Latest []Order  `json:"latest"`
}

// Order is one column by which children come one after the other.
type Order struct {
	Column string `json:"column"`
	Desc   bool   `json:"desc"`
}

// Carry is one column of the child that is repeated on the parent.
type Carry struct {
	Column string `json:"column"`         // of the parent
	From   string `json:"from"`           // of the child
	Type   string `json:"type,omitempty"` // "": that of the child's column
	// Complete knows: it has a collation, by which values that differ may be equal; the parent's column has another character set.
	Text, OtherCharset bool `json:"-"`
}

// Index is one index of the parent.
type Index struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
}

// Keep is who keeps carried columns current.
type Keep string

const (
	Triggers    Keep = "triggers"    // of the server, in the client's own transaction
	Application Keep = "application" // it writes both places in one transaction
	Applier     Keep = "applier"     // `stowage reshape apply`, behind the clients: active counts only where and while its lease does
)

// Keeps are all of them.
var Keeps = []Keep{Triggers, Application, Applier}

// The bounds of MaxLag. Below the first, the lease would have to be written too often; above the second nobody would call the columns current.
const (
	ShortestLag = 500 * time.Millisecond
	LongestLag  = time.Hour
)

// Snapshot is what is read of a tenant.
type Snapshot struct {
	Join    []Join   `json:"join,omitempty"`
	Columns []string `json:"columns,omitempty"` // TABLE.COLUMN; none: the parent's key and what is carried
}

// Join is a table that is joined to the parent by a unique key.
type Join struct {
	Table string            `json:"table"`
	On    map[string]string `json:"on"` // its column: column of the parent
}

// Takes reports whether the spec is for a shard.
func (s Spec) Takes(shard farm.ShardName) bool {
	return len(s.Shards) == 0 || slices.ContainsFunc(s.Shards, func(p string) bool {
		ok, err := path.Match(p, string(shard))
		return err == nil && ok
	})
}

// Line is where a key of the file stands; of one that is not there, what it is in.
func (s Spec) Line(key string) int {
	for ; ; key = key[:strings.LastIndexByte(key, '.')] {
		if n := s.Lines[key]; n > 0 || !strings.Contains(key, ".") {
			return cmp.Or(n, 1)
		}
	}
}

// Presence is the carried column that holds the child's key: NULL where a parent has no child that counts.
func (s Spec) Presence() string {
	for _, c := range s.Carry {
		if c.From == s.Child.Key {
			return c.Column
		}
	}
	return ""
}

// Carried is the column of the parent that repeats a column of the child.
func (s Spec) Carried(from string) (string, bool) {
	for _, c := range s.Carry {
		if c.From == from {
			return c.Column, true
		}
	}
	return "", false
}
