package schema

import (
	"fmt"
	"slices"
	"strings"
)

// surrounded are reasons that are around the table: what would fail, or do another thing, once a column is gone or is another.
func (j *judging) surrounded(parts []part, out Judgement) []string {
	var why []string
	if out.Class == Unchanged || out.Class == Instant {
		return nil
	}
	if versioned(j.t.Before) && slices.ContainsFunc(parts, func(p part) bool { return p.ofRows }) {
		why = append(why, "the table keeps the history of its rows (SYSTEM VERSIONING): its columns are not changed by swings")
	}
	for n, c := range j.before {
		at, stays := j.kept[n]
		what := ""
		switch {
		case !stays:
			what = "is dropped"
		case j.after[at].name != c.name:
			what = "gets another name"
		case j.after[at].typeText() != c.typeText() || j.after[at].charset != c.charset || j.after[at].notNull != c.notNull:
			what = "is changed"
		default:
			continue
		}
		for _, o := range j.around.Triggers {
			if word(c.name).MatchString(o.Text) {
				why = append(why, fmt.Sprintf("trigger %s names column %s, which %s", o.Name, c.name, what))
			}
		}
		if what == "is changed" {
			continue
		}
		for _, objects := range []struct {
			kind string
			of   []Object
		}{{"view", j.around.Views}, {"routine", j.around.Routines}, {"event", j.around.Events}} {
			for _, o := range objects.of {
				if word(c.name).MatchString(o.Text) {
					why = append(why, fmt.Sprintf("%s %s names column %s, which %s", objects.kind, o.Name, c.name, what))
				}
			}
		}
	}
	return append(why, j.referenced(out)...)
}

// referenced: a throw-away server has the tables of one database, so what a foreign key of another says is not tried.
func (j *judging) referenced(out Judgement) []string {
	if out.Class == Invisible {
		return nil
	}
	var why []string
	here, _, _ := strings.Cut(j.around.Table, ".")
	for _, r := range j.around.ReferencedBy {
		if database, _, _ := strings.Cut(r, "."); here != "" && database != here {
			why = append(why, fmt.Sprintf("a foreign key of another database (%s) leads to this table", r))
		}
	}
	return why
}

func versioned(t Table) bool {
	return optionValues(t.Options)["WITH SYSTEM VERSIONING"] != ""
}
