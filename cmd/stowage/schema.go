package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
	"stowage/schema"
	"stowage/schema/ask"
	"stowage/schema/scratch"
	"stowage/session"
	"stowage/workspace"
)

func (a *app) schemaCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "schema", Short: "Declare the tables of all shards, and find the shards that differ",
		Long: `schema/ in the workspace holds a CREATE TABLE statement a file, in the layout of skeema.
'pull' writes it, 'drift' names the shards and the sides that differ from it, 'diff' prints
the ALTER statements that make them equal. All of them only read from servers. docs/guide/schema.md.

` + exitHelp,
		Example: "  stowage schema pull\n  stowage schema drift\n  stowage schema diff 'shard01*' > fix.sql",
		Args:    args(cobra.NoArgs),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	drift := &cobra.Command{
		Use: "drift [SHARD]...", Short: "Name the shards whose tables are not as declared",
		Long: `Reads the tables of every shard on each of its servers, and compares them with schema/. Where
nothing is declared, what most shards have is what all should have. SHARD is a name or a
pattern. Exit code 1 when something differs, or a server did not answer.

` + exitHelp,
		Example: "  stowage schema drift\n  stowage schema drift --json | jq '.variants[] | {table, shards}'",
		RunE: func(c *cobra.Command, given []string) error {
			return a.schemaReport(c, given, schema.Report.WriteDrift)
		},
	}
	diff := &cobra.Command{
		Use: "diff [SHARD]...", Short: "Print the ALTER statements that make shards as declared",
		Long: `Reads as 'drift' does, and prints SQL: for every way in which a table differs one statement,
with the shards it is for in a comment. Nothing is carried out. Read it before you use it:
a column that was renamed is a column less and a new one here.

` + exitHelp,
		Example: "  stowage schema diff\n  stowage schema diff shard017 > fix.sql",
		RunE: func(c *cobra.Command, given []string) error {
			return a.schemaReport(c, given, schema.Report.WriteAlters)
		},
	}
	pull := &cobra.Command{
		Use: "pull [SHARD]...", Short: "Write the tables that most shards have into schema/",
		Long: `Writes every table that at least half of the shards have, as most of those have it, into
schema/TABLE.sql. In a file that exists only the statement of the table is replaced, and no
file is removed. For shards of another kind make schema/NAME/.skeema with schema=PATTERN,
and pull again.

` + exitHelp,
		Example: "  stowage schema pull && git diff schema\n  stowage schema pull shard001",
		RunE:    func(c *cobra.Command, given []string) error { return a.schemaPull(c, given) },
	}
	cmd.AddCommand(pull, diff, drift)
	return cmd
}

func (a *app) schemaReport(c *cobra.Command, patterns []string, text func(schema.Report, io.Writer) error) error {
	x, err := a.readTables(c, patterns)
	if err != nil {
		return err
	}
	defer x.Close()
	sets, err := a.declared(c.Context(), x.dirs, x.seen, x.versions)
	if err != nil {
		return err
	}
	r := schema.Judge(x.Farm.Name, x.seen, sets)
	r.Silent = append(r.Silent, x.silent...)
	if len(x.versions) > 1 {
		a.say("servers of %s were read: they may write the same definition in several ways", strings.Join(slices.Sorted(maps.Keys(x.versions)), " and "))
	}
	next := []string{a.cmd("inventory")}
	switch {
	case len(r.Silent) > 0:
		next = []string{a.cmd("doctor")}
	case len(r.Variants) > 0 && len(x.dirs) > 0:
		next = []string{a.cmd("alter --declared --dry-run")}
	case len(r.Variants)+len(r.Unclaimed) > 0:
		next = []string{a.cmd("schema pull")}
	}
	if err := a.emit(r, func(w io.Writer) error { return text(r, w) }, next...); err != nil {
		return err
	}
	if len(r.Variants)+len(r.Silent)+len(r.Unclaimed) > 0 {
		return farm.ErrFindings
	}
	return nil
}

// readTables are what is declared, and the tables of the shards that are named, or of all, on each of their servers.
type readTables struct {
	*session.Session
	dirs     []workspace.SchemaDir
	seen     []schema.Seen
	silent   []schema.Silent
	versions map[string]int // of servers, by series
}

func (a *app) readTables(c *cobra.Command, patterns []string) (x readTables, err error) {
	if x.Session, err = a.look(); err != nil {
		return x, err
	}
	if err = x.Login(); err == nil {
		x.dirs, err = x.Workspace.Schemas()
	}
	if err == nil {
		done := a.doing("reading the tables of %s", farm.Counted(len(x.Farm.Pairs), "pair"))
		x.seen, x.silent, x.versions, err = a.askShards(c, x.Session, patterns)
		done()
	}
	if err != nil {
		x.Close()
	}
	return x, err
}

func (a *app) askShards(c *cobra.Command, d *session.Session, patterns []string) ([]schema.Seen, []schema.Silent, map[string]int, error) {
	used := map[string]bool{}
	var targets []ask.Target
	for _, p := range d.Farm.Pairs {
		var shards []farm.ShardName
		for _, s := range p.Shards {
			if len(patterns) == 0 {
				shards = append(shards, s.Name)
			}
			for _, pattern := range patterns {
				ok, err := path.Match(pattern, string(s.Name))
				if err != nil {
					return nil, nil, nil, usage(c, fmt.Errorf("%q is not a pattern of shards", pattern))
				}
				if ok && !slices.Contains(shards, s.Name) {
					shards = append(shards, s.Name)
				}
				used[pattern] = used[pattern] || ok
			}
		}
		if len(shards) == 0 {
			continue
		}
		for _, side := range p.SideNames() {
			targets = append(targets, ask.Target{Server: d.Server(p.Instance(side), d.Farm.Address(p.Sides[side])), Shards: shards})
		}
	}
	defer func() {
		for _, t := range targets {
			_ = t.Server.Close()
		}
	}()
	for _, p := range patterns {
		if !used[p] {
			return nil, nil, nil, usage(c, fmt.Errorf("no shard of farm.yaml is called %s", p))
		}
	}
	seen, silent, versions := ask.Shards(c.Context(), targets)
	if c.Context().Err() != nil {
		return nil, nil, nil, &farm.Error{Op: "read tables", Err: farm.ErrInterrupted}
	}
	if len(seen) == 0 && len(silent) > 0 {
		return nil, nil, nil, &farm.Error{Op: "read tables", Subject: string(silent[0].Instance), Err: errors.New(silent[0].Error), Hint: "no server answered; 'stowage doctor' says what is missing"}
	}
	return seen, silent, versions, nil
}

// declared makes sets of the directories. What people wrote in words of their own is read by a throw-away server.
func (a *app) declared(ctx context.Context, dirs []workspace.SchemaDir, seen []schema.Seen, versions map[string]int) ([]schema.Set, error) {
	if dirs == nil {
		return nil, nil
	}
	sets := []schema.Set{}
	for _, dir := range dirs {
		set := schema.Set{Name: dir.Name, Patterns: dir.Patterns, Ignore: dir.Ignore, Tables: map[string]schema.Table{}}
		tables, err := schema.Declarations(declaredFiles(dir))
		if err != nil {
			return nil, err
		}
		var foreign []scratch.Statement
		for _, t := range tables {
			if is, known := t.AsServersWrite(seen); known {
				set.Tables[t.Table] = is
			} else {
				foreign = append(foreign, scratch.Statement{Table: t.Table, Text: t.Text, Place: t.Place()})
			}
		}
		if len(foreign) > 0 {
			if err := a.readForeign(ctx, dir, foreign, set, versions); err != nil {
				return nil, err
			}
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// readForeign has a throw-away server read what no server of the farm has just so.
func (a *app) readForeign(ctx context.Context, dir workspace.SchemaDir, statements []scratch.Statement, set schema.Set, versions map[string]int) error {
	local, err := host.NewLocal(a.log)
	if err != nil {
		return &farm.Error{Op: "read", Subject: statements[0].Place, Err: fmt.Errorf("no server has this definition in the same words, and none can be asked here: %w", err),
			Hint: "install the server package on this machine, or let 'stowage schema pull' write the file"}
	}
	a.say("a throw-away server reads %s of schema/ that no server has in the same words", farm.Counted(len(statements), "table"))
	texts, flavor, err := scratch.Read(ctx, scratch.Question{Local: local, Dir: scratch.Place(ctx, local), Charset: dir.Charset, Collation: dir.Collation, Statements: statements,
		Open: func(address string, account mysql.Account) *mysql.Server {
			return mysql.Open("scratch", address, account, a.log)
		}})
	if err != nil {
		return err
	}
	if series := ask.Series(flavor); versions[series] == 0 && len(versions) > 0 {
		a.say("the throw-away server is %s, the farm has %s: some differences may be in wording only", series, strings.Join(slices.Sorted(maps.Keys(versions)), " and "))
	}
	for _, s := range statements {
		t, err := schema.Read(texts[s.Table])
		if err != nil {
			return &farm.Error{Op: "read", Subject: s.Place, Err: err}
		}
		set.Tables[s.Table] = t
	}
	return nil
}

func declaredFiles(dir workspace.SchemaDir) []schema.File {
	out := make([]schema.File, len(dir.Files))
	for n, f := range dir.Files {
		out[n] = schema.File{Path: f.Path, Text: f.Text}
	}
	return out
}
