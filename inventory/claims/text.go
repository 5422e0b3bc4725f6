package claims

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/internal/table"
)

// WriteText is the person's view of a report.
func (r Report) WriteText(w io.Writer) error {
	var kinds []string
	for _, k := range Kinds {
		kinds = append(kinds, farm.Counted(r.Subjects[k], string(k)))
	}
	fmt.Fprintf(w, "%s: %s, in %s of %s\n\n", r.Farm, strings.Join(kinds, ", "), farm.Counted(r.Claims, "claim"), farm.Counted(len(r.Sources), "source"))
	t := table.New(w, "SOURCE\tKIND\tCLAIMS\tAS OF\tREMARK").Cut("REMARK")
	for _, s := range r.Sources {
		at := "never"
		if !s.At.IsZero() {
			at = s.At.UTC().Format("2006-01-02 15:04")
		}
		t.Row("%s\t%s\t%d\t%s\t%s", s.Name, s.Kind, s.Claims, at, s.remark())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, c := range r.Copies {
		fmt.Fprintf(w, "\n%s repeats %s: %s\n", c.Source, c.Of, c.Evidence)
	}
	r.writeAuthorities(w)
	if len(r.Faults) > 0 {
		fmt.Fprintf(w, "\n%s; the rest was read\n", farm.Counted(len(r.Faults), "fault"))
		for _, f := range r.Faults {
			fmt.Fprintf(w, "  %s  %s: %s\n", f.Source, f.Place, f.Text)
		}
	}
	return r.writeConflicts(w)
}

func (s SourceState) remark() string {
	switch {
	case s.IsStale && s.Claims > 0:
		return "STALE, its last claims stand here: " + s.Why
	case s.IsStale:
		return "STALE, and it was never read: " + s.Why
	case s.IsPart:
		return "read in part: " + s.Why
	case s.CopyOf != "":
		return "a copy of " + s.CopyOf
	}
	return ""
}

func (r Report) writeAuthorities(w io.Writer) {
	if len(r.Authorities) == 0 {
		return
	}
	fmt.Fprintln(w)
	t := table.New(w, "ATTRIBUTE\tAUTHORITY\tHOW\tEVIDENCE").Cut("EVIDENCE")
	for _, a := range r.Authorities {
		how := "proposed"
		if a.Declared {
			how = "declared"
		}
		t.Row("%s\t%s\t%s\t%s", a.Attribute, strings.Join(a.Sources, ", "), how, a.Evidence)
	}
	_ = t.Flush() // the writer below it reports the same error next
}

func (r Report) writeConflicts(w io.Writer) error {
	if len(r.Conflicts) == 0 {
		_, err := fmt.Fprintln(w, "\nno conflicts")
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", farm.Counted(len(r.Conflicts), "conflict"))
	for _, c := range r.Conflicts {
		err = c.writeText(w)
	}
	return err
}

func (c Conflict) writeText(w io.Writer) error {
	who := "nobody can be named"
	if len(c.Culprits) > 0 {
		who = strings.Join(c.Culprits, ", ")
		if c.IsSure {
			who += ", surely"
		}
	}
	fmt.Fprintf(w, "\n%s %s, %s: %s: %s  (%s)\n", c.Kind, c.Subject, c.Attribute, c.Verdict, who, c.Check)
	width := 0
	for _, s := range c.Claims {
		width = max(width, len(s.Value))
	}
	for _, s := range c.Claims {
		mark := " "
		if slices.Contains(c.Culprits, s.Source) {
			mark = "*"
		}
		late := ""
		if s.Stale {
			late = ", stale"
		}
		at := ""
		if !s.At.IsZero() {
			at = ", " + s.At.UTC().Format("2006-01-02 15:04")
		}
		fmt.Fprintf(w, "  %s %-*s  %s (%s%s%s)\n", mark, min(width, 40), s.Value, s.Source, s.Place, at, late)
	}
	if len(c.Repeats) > 0 {
		fmt.Fprintf(w, "    %s only repeats it\n", strings.Join(c.Repeats, ", "))
	}
	_, err := fmt.Fprintf(w, "    %s\n    -> %s\n", c.Reason, c.Remedy)
	return err
}
