package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"stowage/farm"
)

// SchemaDir is one directory of declared tables: schema/, or one below it. The layout is that of skeema: one object a file, options in .skeema.
type SchemaDir struct {
	Name      string         // "" for schema/ itself
	Patterns  []string       // of shards, from schema= of .skeema; none: all that no other directory names
	Ignore    *regexp.Regexp // ignore-table=; nil: none
	Charset   string         // default-character-set=
	Collation string         // default-collation=
	Files     []SchemaFile
}

// SchemaFile is one file of a directory.
type SchemaFile struct {
	Path string // from the workspace: schema/events.sql
	Text string
}

const schemaDir = "schema"

// Schemas are the directories of declared tables: those that hold any, or name shards; nil where nothing is declared. Hidden directories are left out.
func (w *Workspace) Schemas() ([]SchemaDir, error) {
	entries, err := os.ReadDir(w.Path(schemaDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &farm.Error{Op: "read", Subject: schemaDir, Err: err}
	}
	var out []SchemaDir
	names := []string{""}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	for _, n := range names {
		d, err := w.schemaDir(n)
		if err != nil {
			return nil, err
		}
		if len(d.Files) > 0 || len(d.Patterns) > 0 {
			out = append(out, d)
		}
	}
	return out, nil
}

// schemaDir reads one directory; schema/ itself where the name is empty.
func (w *Workspace) schemaDir(name string) (SchemaDir, error) {
	d := SchemaDir{Name: name}
	rel := path.Join(schemaDir, name)
	files, err := filepath.Glob(w.Path(filepath.Join(rel, "*.sql")))
	if err != nil {
		return d, &farm.Error{Op: "read", Subject: rel, Err: err}
	}
	for _, f := range files {
		raw, err := read(f)
		if err != nil {
			return d, &farm.Error{Op: "read", Subject: path.Join(rel, filepath.Base(f)), Err: err}
		}
		d.Files = append(d.Files, SchemaFile{Path: path.Join(rel, filepath.Base(f)), Text: string(raw)})
	}
	raw, err := read(w.Path(filepath.Join(rel, ".skeema")))
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return d, &farm.Error{Op: "read", Subject: rel + "/.skeema", Err: err}
	}
	return d, d.options(rel+"/.skeema", string(raw))
}

// options reads what concerns us of a .skeema file: lines before the first section.
func (d *SchemaDir) options(file, text string) error {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			return nil
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		bad := func(why error, hint string) error {
			return &farm.Error{Op: "read", Subject: fmt.Sprintf("%s:%d", file, n), Err: fmt.Errorf("%w: %w", farm.ErrInput, why), Hint: hint}
		}
		switch strings.ReplaceAll(strings.TrimSpace(key), "_", "-") {
		case "schema":
			for _, p := range strings.Split(value, ",") {
				p = strings.TrimSpace(p)
				if _, err := path.Match(p, ""); err != nil || p == "" || strings.HasPrefix(p, "`") {
					return bad(fmt.Errorf("schema: %q is not a name or pattern of shards", p), "write names with * and ?, and commas between")
				}
				d.Patterns = append(d.Patterns, p)
			}
		case "ignore-table":
			re, err := regexp.Compile(value)
			if err != nil {
				return bad(fmt.Errorf("ignore-table: %w", err), "write a regular expression")
			}
			d.Ignore = re
		case "default-character-set":
			d.Charset = value
		case "default-collation":
			d.Collation = value
		}
	}
	return nil
}

// SaveSchemaFile writes a file of declared tables, as a whole.
func (w *Workspace) SaveSchemaFile(rel, text string) error {
	if err := os.MkdirAll(filepath.Dir(w.Path(rel)), 0o755); err != nil {
		return &farm.Error{Op: "write", Subject: rel, Err: err}
	}
	if err := WriteFileAtomic(w.Path(rel), []byte(text), 0o644); err != nil {
		return &farm.Error{Op: "write", Subject: rel, Err: err}
	}
	return nil
}

// SchemaPath is the file of a table in a directory of declared tables. Characters that a file name should not have are left out, as skeema does.
func SchemaPath(dir, table string) string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune("./\\:*?\"<>|'`;$&~!()[]{}", r) || r <= ' ' || r == 0x7f {
			return -1
		}
		return r
	}, table)
	if name == "" {
		name = "symbols"
	}
	return path.Join(schemaDir, dir, name+".sql")
}
