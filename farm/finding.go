package farm

import (
	"fmt"
	"strings"
)

// Severity orders findings: a blocker stops an act, a warning does not.
type Severity string

const (
	Blocker Severity = "blocker"
	Warning Severity = "warning"
	Note    Severity = "note"
)

// Finding is something Stowage noticed: what, about whom, on which evidence,
// and what would remedy it. Findings are not failures: a check that finds
// something has worked.
type Finding struct {
	Check    string   `json:"check"` // stable name of the check: "server-id-unique"
	Severity Severity `json:"severity"`
	Subject  string   `json:"subject"` // instance, pair or host
	Text     string   `json:"text"`
	Remedy   string   `json:"remedy"`
	// Names are all those of whom Text names the first few; nil where Text has
	// them all.
	Names []string `json:"names,omitempty"`
}

// FewNames is how many names a finding's text has; Names has them all.
const FewNames = 3

// Some names the first few of many.
func Some(names []string) string {
	text := strings.Join(names[:min(FewNames, len(names))], ", ")
	if more := len(names) - FewNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// manyAlike is from how many subjects on Alike says a finding once.
const manyAlike = 5

// Alike joins findings that say the same of five subjects or more, for people: one finding, at the place of the first, whose subject names the first few
// and how many there are. Findings with Names of their own stay apart.
func Alike(fs []Finding) []Finding {
	type words struct {
		check, text, remedy string
		severity            Severity
	}
	of := func(f Finding) words { return words{f.Check, f.Text, f.Remedy, f.Severity} }
	subjects := map[words][]string{}
	for _, f := range fs {
		if f.Names == nil {
			subjects[of(f)] = append(subjects[of(f)], f.Subject)
		}
	}
	var out []Finding
	for _, f := range fs {
		names := subjects[of(f)]
		switch {
		case f.Names != nil || len(names) < manyAlike:
			out = append(out, f)
		case f.Subject == names[0]:
			f.Subject = Some(names)
			out = append(out, f)
		}
	}
	return out
}

func (f Finding) String() string {
	return fmt.Sprintf("%-8s %s: %s (%s) -> %s", f.Severity, f.Subject, f.Text, f.Check, f.Remedy)
}

// Blocks reports whether any finding is a blocker.
func Blocks(fs []Finding) bool {
	for _, f := range fs {
		if f.Severity == Blocker {
			return true
		}
	}
	return false
}
