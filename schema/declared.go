package schema

import (
	"fmt"
	"slices"
	"strings"

	"stowage/farm"
)

// File is one file of declared tables.
type File struct {
	Path string
	Text string
}

// Declaration is a statement of a file that makes a table.
type Declaration struct {
	Table string
	Statement
	File string
}

// Place is file:line.
func (d Declaration) Place() string { return fmt.Sprintf("%s:%d", d.File, d.Line) }

// Declarations are the tables of the files, in their order. Statements that make no table (routines, USE) are left out; a table that is declared twice is an error.
func Declarations(files []File) ([]Declaration, error) {
	var out []Declaration
	for _, f := range files {
		for _, s := range Statements(f.Text) {
			name, err := Named(s.Text)
			if err != nil {
				continue
			}
			d := Declaration{Table: name, Statement: s, File: f.Path}
			if n := slices.IndexFunc(out, func(o Declaration) bool { return o.Table == name }); n >= 0 {
				return nil, &farm.Error{Op: "read", Subject: d.Place(), Err: fmt.Errorf("%w: table %s is declared in %s, too", farm.ErrInput, name, out[n].Place()), Hint: "keep one of them"}
			}
			out = append(out, d)
		}
	}
	return out, nil
}

// AsServersWrite reports whether a server that was read has just this definition: then nobody has to be asked what the text means.
func (d Declaration) AsServersWrite(seen []Seen) (Table, bool) {
	t, err := Read(d.Text)
	if err != nil {
		return t, false
	}
	known := map[string]bool{} // texts repeat in every shard
	for _, s := range seen {
		text, has := s.Tables[d.Table]
		if !has || known[text] {
			continue
		}
		known[text] = true
		if is, err := Read(text); err == nil && is.Text == t.Text {
			return is, true
		}
	}
	return t, false
}

// Written is a file with a statement replaced, or with the table at its end where none is given; what else the file says stays.
func Written(file string, d *Declaration, t Table) string {
	if d == nil {
		if file != "" && !strings.HasSuffix(file, "\n") {
			file += "\n"
		}
		return file + t.Text + ";\n"
	}
	return file[:d.From] + t.Text + file[d.From+len(d.Text):]
}

// Series is the part of a version within which servers write a definition alike: 10.11 of 10.11.19.
func Series(version string) string {
	number, _, _ := strings.Cut(version, "-")
	parts := strings.SplitN(number, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}
