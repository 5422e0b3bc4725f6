package rows

import (
	"context"
	"maps"
	"slices"
	"strings"

	"stowage/mysql"
)

// Extract is a database as it is called on two servers, or some of its tables: what a copy of it has.
type Extract struct {
	Schema string
	As     string   // on the copy
	Tables []string // empty: all
}

// Has reports whether a table is part of it.
func (e Extract) Has(table string) bool {
	return len(e.Tables) == 0 || slices.Contains(e.Tables, table)
}

// CompareExtract compares the definitions of the tables of one database with those of its copy, but for the copier's own. Where none differs, it returns the tables, for
// Rows. Foreign keys to tables that are not part of it are left out.
func CompareExtract(ctx context.Context, source, copied *mysql.Server, e Extract) ([]TablePair, []Mismatch, error) {
	was, err := tableDefinitions(ctx, mysql.Through(source), e.Schema)
	if err != nil {
		return nil, nil, err
	}
	is, err := tableDefinitions(ctx, mysql.Through(copied), e.As)
	if err != nil {
		return nil, nil, err
	}
	was.tables = slices.DeleteFunc(was.tables, func(t *CopyTable) bool { return !e.Has(t.Name) })
	as := was
	if e.Schema != e.As || len(e.Tables) > 0 {
		if !e.namesArePlain(was.tables) {
			was, is = was.without("foreign key"), is.without("foreign key")
		}
		as = e.renamed(was)
	}
	if found := as.diff(is); len(found) > 0 {
		return nil, found, nil
	}
	out := pairs(as, is)
	for n := range out {
		out[n].was = was.tables[n]
	}
	return out, nil, nil
}

// In is the same table in another database.
func (t *CopyTable) In(schema string) *CopyTable {
	u := *t
	u.Schema = schema
	return &u
}

// renamed are definitions of the source in the words of the copy.
func (e Extract) renamed(d definitions) definitions {
	out := definitions{objects: map[string]string{}}
	names := map[string]bool{}
	for _, t := range d.tables {
		out.tables = append(out.tables, t.In(e.As))
		names[t.nameNow()] = true
	}
	for key, text := range d.objects {
		kind, rest, _ := strings.Cut(key, " "+e.Schema+".")
		if kind == "foreign key" {
			child, parent := tiedBy(text)
			if !names[strings.TrimPrefix(child, e.Schema+"/")] || !names[strings.TrimPrefix(parent, e.Schema+"/")] {
				continue
			}
			text = strings.ReplaceAll(text, e.Schema+"/", e.As+"/")
		} else if !beginsWithOne(rest, names) {
			continue
		}
		out.objects[kind+" "+e.As+"."+rest] = text
	}
	return out
}

// beginsWithOne reports whether "table.index" is of one of the tables; a name may have dots itself.
func beginsWithOne(text string, names map[string]bool) bool {
	for at := range text {
		if text[at] == '.' && names[text[:at]] {
			return true
		}
	}
	return names[text]
}

// tiedBy are the two tables of a foreign key: "d/child -> d/parent ...".
func tiedBy(text string) (from, to string) {
	from, rest, _ := strings.Cut(text, " -> ")
	to, _, _ = strings.Cut(rest, " ")
	return from, to
}

// namesArePlain: InnoDB shows foreign keys with the names of files, in which other characters than these are written as numbers. Those of other names are not compared:
// they are in the statement with which the table was made.
func (e Extract) namesArePlain(tables []*CopyTable) bool {
	plain := func(name string) bool {
		return strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
	}
	return plain(e.Schema) && plain(e.As) && !slices.ContainsFunc(tables, func(t *CopyTable) bool { return !plain(t.nameNow()) })
}

// without leaves a kind of objects out.
func (d definitions) without(kind string) definitions {
	d.objects = maps.Clone(d.objects)
	maps.DeleteFunc(d.objects, func(key, _ string) bool { return strings.HasPrefix(key, kind+" ") })
	return d
}
