package schema

import (
	"fmt"
	"io"
	"strings"

	"stowage/farm"
)

// WriteDrift writes who has what they should not have: a line a difference, with the shards.
func (r Report) WriteDrift(w io.Writer) error {
	p := &page{w: w}
	p.head(r)
	table := "\x00"
	for _, v := range r.Variants {
		if at := v.Set + "/" + v.Table; at != table {
			table = at
			p.line("\n%s", v.title())
		}
		p.line("  %s: %s", v.count(), v.who())
		for _, d := range v.Differences {
			p.line("    %s", d.short())
		}
	}
	p.foot(r)
	return p.err
}

// WriteAlters writes what makes every shard what it should be, as SQL with comments.
func (r Report) WriteAlters(w io.Writer) error {
	p := &page{w: w}
	for _, v := range r.Variants {
		p.comment("%s: %s: %s", v.title(), v.count(), v.who())
		for _, d := range v.Differences {
			p.comment("%s", d.short())
		}
		switch {
		case v.Table == "":
			p.line("-- the database is missing: no statement makes it here\n")
		case v.Alter != "":
			p.line("%s;\n", v.Alter)
		case v.Differences[0].Kind == OfTable:
			p.line("-- not declared: declare it, name it in ignore-table of .skeema, or drop it by hand\n")
		default:
			p.line("-- no statement is written for this difference: write it by hand\n")
		}
	}
	p.foot(r)
	return p.err
}

type page struct {
	w   io.Writer
	err error
}

func (p *page) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// comment is one line of SQL that does nothing: names may hold line breaks, and what is behind one would be carried out.
func (p *page) comment(format string, args ...any) {
	p.line("-- %s", strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
}

func (p *page) head(r Report) {
	than := "as declared"
	if !r.Declared {
		than = "as most shards are"
	}
	p.line("%d of %s on %s: %s", r.Right, farm.Counted(r.Shards, "shard"), farm.Counted(r.Servers, "server"), than)
}

func (p *page) foot(r Report) {
	for _, s := range r.Unclaimed {
		p.comment("shard %s: no directory of schema/ names it", s)
	}
	for _, s := range r.Silent {
		p.comment("%s was not read: %s", s.Instance, s.Error)
	}
}

func (v Variant) title() string {
	t := "database"
	if v.Table != "" {
		t = "table " + v.Table
	}
	if v.Set != "" {
		t += " of " + v.Set
	}
	return t
}

func (v Variant) count() string {
	if len(v.Shards) == 0 {
		return farm.CountedAs(len(v.OneSide), "shard on one of its servers", "shards on some of their servers")
	}
	if len(v.OneSide) == 0 {
		return farm.Counted(len(v.Shards), "shard")
	}
	return farm.Counted(len(v.Shards), "shard") + ", " + fmt.Sprintf("%d more on some of their servers", len(v.OneSide))
}

// most is how many are named in a line.
const most = 8

func (v Variant) who() string {
	var all []string
	for _, s := range v.Shards {
		all = append(all, string(s))
	}
	for _, o := range v.OneSide {
		all = append(all, fmt.Sprintf("%s on %s", o.Shard, o.Instance))
	}
	if len(all) > most {
		return strings.Join(all[:most], ", ") + fmt.Sprintf(" and %d more", len(all)-most)
	}
	return strings.Join(all, ", ")
}

// short is String, but for whole tables, whose definition is not repeated.
func (d Difference) short() string {
	if d.Kind != OfTable {
		return d.String()
	}
	name := "the table"
	if d.Name == "the database" {
		name = d.Name
	}
	if d.Is == "" {
		return name + " is missing"
	}
	return name + " is not declared"
}
