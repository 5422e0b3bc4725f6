package schema

import (
	"fmt"
	"slices"
	"strings"

	"stowage/internal/lazy"
)

// columnsNew: an applier gives columns that a row does not have their default. So they are at the end, and the default is the same for every row.
func (j *judging) columnsNew() []part {
	last := -1 // place in after of the last column that was there
	for n, from := range j.source {
		if from >= 0 {
			last = n
		}
	}
	var out []part
	for n, c := range j.after {
		if !j.fresh[n] {
			continue
		}
		p := j.columnNew(c)
		if k := hashed(j.t.Before, j.around); k != "" {
			p.refused, p.noWay = fmt.Sprintf("column %s: "+behindAll, c.name, k), true
		}
		if n < last {
			p.refused = fmt.Sprintf("column %s stands before others: row events match columns by their place, so each value behind it would be one place off, without an error; add it at the end", c.name)
		}
		out = append(out, p)
	}
	return out
}

// behindAll says why a table with such a key keeps its columns.
const behindAll = "MariaDB keeps unique key %s by a hidden column behind all others, and row events have its values: an applier takes them for those of a column at that place; on a pair with one writer an ordinary ALTER TABLE, through the binary log, has no such moment"

var byHashOf = lazy.Regexp(`(?i)\)\s*USING\s+HASH\b`)

// hashed is a unique key of a table that MariaDB keeps by a hidden column: one over a TEXT or BLOB, over more bytes than an index takes, or USING HASH. "" for none.
func hashed(t Table, around Around) string {
	for _, k := range t.Keys {
		if !around.MySQL && keyOf(k).unique && byHashOf().MatchString(mask(k.Text)) && !strings.Contains(strings.ToUpper(t.Options), "ENGINE=MEMORY") {
			return k.Name
		}
	}
	return ""
}

func (j *judging) columnNew(c column) part {
	p := part{class: Directional, ofRows: true, clauses: []string{"ADD COLUMN " + c.text}, back: []string{"DROP COLUMN " + quoted(c.name)}, lost: "the values of column " + c.name}
	refuse := func(format string, args ...any) {
		p.refused = "column " + c.name + ": " + fmt.Sprintf(format, args...)
	}
	switch {
	case c.auto:
		refuse("AUTO_INCREMENT numbers rows in the order in which they come, which is another on each side")
		p.noWay = true
	case c.period:
		refuse("columns of a period are not added by swings")
		p.noWay = true
	case c.rest != "":
		refuse("Stowage does not know %q", strings.TrimSpace(c.rest))
		p.noWay = true
	case c.generated != "":
		p.lost = ""
		if k := j.keyOver(c.name); k != "" && !c.stored {
			refuse("key %s over a new VIRTUAL column: rows of the other side would get NULL in that index, without an error; add the column first, and the key when both sides have it", k)
		}
		if find(j.t.Before.Keys, "PRIMARY KEY") < 0 && !c.stored {
			refuse("the table has no primary key, and an applier does not find rows by all their values where one more is computed")
			p.noWay = true
		}
		for n, other := range j.after {
			if j.fresh[n] && other.name != c.name && word(other.name).MatchString(c.generated) {
				refuse("it is computed of column %s, which is new, too; add that one first", other.name)
			}
		}
	case longTexts[c.kind] > 0 && c.dflt != "" && !strings.EqualFold(c.dflt, "NULL"):
		refuse("an applier gives %s no default but '' and NULL; add the column without one, then set it", strings.ToUpper(c.kind))
		p.clauses = c.constantFirst()
	case !c.isConstant():
		refuse("DEFAULT %s is another value for every row, and an applier does not compute it; add the column with a constant, then set the default", c.dflt)
		p.clauses = c.constantFirst()
	case c.dflt == "" && c.notNull && !zeroIsRight[c.kind] && (c.kind != "longtext" || c.check != ""): // JSON is a LONGTEXT with a check
		refuse("NOT NULL without a default: what a server takes for %s is another thing in an ALTER than for a row of the other side; give it a default first", c.kind)
		p.clauses = c.constantFirst()
	}
	if p.clauses == nil {
		p.noWay = true
	}
	return p
}

// keyOver is a key of the new table that has this column; "" for none.
func (j *judging) keyOver(name string) string {
	for _, k := range j.t.After.Keys {
		if keyOf(k).has(name) {
			return k.Name
		}
	}
	return ""
}

// zeroIsRight are types whose value without a default is the same in an ALTER and for an applier: 0 or ”.
var zeroIsRight = map[string]bool{"tinyint": true, "smallint": true, "mediumint": true, "int": true, "bigint": true, "decimal": true, "float": true, "double": true, "bit": true,
	"date": true, "datetime": true, "time": true, "year": true, "enum": true, "set": true, "char": true, "varchar": true, "tinytext": true, "text": true, "mediumtext": true, "varbinary": true, "binary": true, "tinyblob": true, "blob": true, "mediumblob": true, "longblob": true}

// zeros are constants that a column of a type may begin with.
var zeros = map[string]string{"date": "'1970-01-01'", "datetime": "'1970-01-01 00:00:00'", "timestamp": "'1970-01-02 00:00:00'", "time": "'00:00:00'", "year": "1970"}

// constantFirst adds a column with a constant, and sets what its default shall be afterwards; nil where no constant is known.
func (c column) constantFirst() []string {
	zero, known := zeros[c.kind]
	switch {
	case !c.notNull:
		zero = " DEFAULT NULL"
	case longTexts[c.kind] > 0:
		zero = ""
		if c.check != "" {
			return nil
		}
	case known:
		zero = " DEFAULT " + zero
	case c.kind == "enum" || c.kind == "set":
		zero = " DEFAULT " + split(c.args, ',')[0]
	case texts[c.kind] || binaries[c.kind]:
		zero = " DEFAULT ''"
	case zeroIsRight[c.kind]:
		zero = " DEFAULT 0"
	default:
		return nil
	}
	// A default stands in front of these in the line of a column.
	line, at := c.without, len(c.without)
	for _, w := range []string{" ON UPDATE ", " COMMENT ", " CHECK ", " AUTO_INCREMENT"} {
		if n := strings.Index(strings.ToUpper(outside(line)), w); n >= 0 {
			at = min(at, n)
		}
	}
	return []string{"ADD COLUMN " + line[:at] + zero + line[at:], "MODIFY COLUMN " + c.text}
}

// newOnes are the names of new columns, in lower case.
func (j *judging) newOnes() []string {
	var out []string
	for n, c := range j.after {
		if j.fresh[n] {
			out = append(out, strings.ToLower(c.name))
		}
	}
	slices.Sort(out)
	return out
}
