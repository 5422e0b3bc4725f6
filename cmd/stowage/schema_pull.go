package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/schema"
	"stowage/workspace"
)

// pulled is what 'schema pull' did to the files.
type pulled struct {
	FormatVersion int             `json:"format_version"`
	Written       []string        `json:"written"`
	Same          int             `json:"same"`
	Nowhere       []string        `json:"nowhere"` // declared, and had by less than half of the shards
	Few           []string        `json:"few"`     // had by less than half of the shards, and not declared
	Silent        []schema.Silent `json:"silent"`
}

func (a *app) schemaPull(c *cobra.Command, patterns []string) error {
	x, err := a.readTables(c, patterns)
	if err != nil {
		return err
	}
	defer x.Close()
	dirs := x.dirs
	if !slices.ContainsFunc(dirs, func(x workspace.SchemaDir) bool { return len(x.Patterns) == 0 }) {
		dirs = append(dirs, workspace.SchemaDir{}) // schema/ itself, for the rest
	}
	sets := make([]schema.Set, len(dirs))
	for n, dir := range dirs {
		sets[n] = schema.Set{Name: dir.Name, Patterns: dir.Patterns, Ignore: dir.Ignore}
	}
	out := pulled{FormatVersion: 1, Written: []string{}, Nowhere: []string{}, Few: []string{}, Silent: append([]schema.Silent{}, x.silent...)}
	for n, dir := range dirs {
		of := schema.Of(x.seen, sets, n)
		if len(of) == 0 {
			continue
		}
		if err := a.pullInto(x.Workspace, dir, sets[n], of, &out); err != nil {
			return err
		}
	}
	next := a.cmd("schema drift")
	if len(x.silent) > 0 {
		next = a.cmd("doctor")
	}
	if err := a.emit(out, out.writeText, next); err != nil {
		return err
	}
	if len(x.silent) > 0 {
		return farm.ErrFindings
	}
	return nil
}

// pullInto writes the files of one directory.
func (a *app) pullInto(w *workspace.Workspace, dir workspace.SchemaDir, set schema.Set, seen []schema.Seen, out *pulled) error {
	declared, err := schema.Declarations(declaredFiles(dir))
	if err != nil {
		return err
	}
	texts := map[string]string{}
	for _, f := range dir.Files {
		texts[f.Path] = f.Text
	}
	most := schema.Majority(seen)
	for _, s := range seen {
		for name := range s.Tables {
			_, has := most.Tables[name]
			if at := workspace.SchemaPath(dir.Name, name); !has && !slices.Contains(out.Few, at) && !(set.Ignore != nil && set.Ignore.MatchString(name)) {
				out.Few = append(out.Few, at)
			}
		}
	}
	// From the end of a file to its beginning: places before a statement stay right.
	for _, x := range slices.Backward(declared) {
		t, has := most.Tables[x.Table]
		if !has {
			out.Nowhere = append(out.Nowhere, x.Place())
			out.Few = slices.DeleteFunc(out.Few, func(at string) bool { return at == workspace.SchemaPath(dir.Name, x.Table) })
			continue
		}
		if is, err := schema.Read(x.Text); err != nil || is.Text != t.Text {
			texts[x.File] = schema.Written(texts[x.File], &x, t)
			if !slices.Contains(out.Written, x.File) {
				out.Written = append(out.Written, x.File)
			}
		} else {
			out.Same++
		}
		delete(most.Tables, x.Table)
	}
	for _, name := range slices.Sorted(maps.Keys(most.Tables)) {
		if set.Ignore != nil && set.Ignore.MatchString(name) {
			continue
		}
		at := workspace.SchemaPath(dir.Name, name)
		texts[at] = schema.Written(texts[at], nil, most.Tables[name])
		if !slices.Contains(out.Written, at) {
			out.Written = append(out.Written, at)
		}
	}
	slices.Sort(out.Written)
	slices.Sort(out.Few)
	slices.Sort(out.Nowhere)
	for _, at := range out.Written {
		if text, ours := texts[at]; ours {
			if err := w.SaveSchemaFile(at, text); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p pulled) writeText(w io.Writer) error {
	for _, f := range p.Written {
		fmt.Fprintf(w, "wrote %s\n", f)
	}
	if len(p.Written) == 0 {
		fmt.Fprintf(w, "%s as declared; nothing written\n", farm.Counted(p.Same, "table"))
	}
	for _, at := range p.Nowhere {
		fmt.Fprintf(w, "%s: less than half of the shards have this table; the file stays\n", at)
	}
	for _, at := range p.Few {
		fmt.Fprintf(w, "not written: %s: less than half of the shards have this table\n", at)
	}
	for _, s := range p.Silent {
		fmt.Fprintf(w, "%s was not read: %s\n", s.Instance, s.Error)
	}
	return nil
}
