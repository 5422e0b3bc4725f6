package tune

import (
	"slices"
	"strings"
)

// Seen is what rules have said of a machine, short enough to be kept until it is compared with what they say later.
type Seen struct {
	Findings []Finding `json:"findings"` // without their reasons and sources
	States   []State   `json:"states"`
	Unjudged []string  `json:"unjudged"` // rules that did not apply, or lacked something
	Things   []string  `json:"things"`   // disks and mount points that were there
}

// Lasting are the rules whose findings stay until somebody changes a setting, a file or a part: only those say something
// when they are compared. The findings of the others come and go by themselves.
func Lasting(rules []Rule) []Rule {
	return slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return r.Passing })
}

// See asks rules about a machine, to compare that with what they say later.
func See(f *Facts, rules []Rule) Seen {
	r := Audit(f, rules)
	s := Seen{Findings: []Finding{}, States: r.States, Unjudged: []string{}, Things: []string{}}
	for _, x := range r.Findings {
		s.Findings = append(s.Findings, Finding{ID: x.ID, Severity: x.Severity, Subject: x.Subject, Read: x.Read, Verdict: x.Verdict, Fix: x.Fix, Change: x.Change, Also: x.Also, Option: x.Option})
	}
	for _, x := range r.NotApplicable {
		s.Unjudged = append(s.Unjudged, x.ID)
	}
	for _, x := range r.NotKnown {
		s.Unjudged = append(s.Unjudged, x.ID)
	}
	for _, d := range f.Disks {
		s.Things = append(s.Things, d.Name)
	}
	for _, m := range f.Mounts {
		s.Things = append(s.Things, m.Dir)
	}
	return s
}

// Differ says which findings a machine has now that it did not have before, and which are gone. What was not known before, or is not known now, is no
// difference: a rule that did not apply, a subject that it could not judge, a disk or a mount that was not there.
func Differ(before, now Seen) (fresh, gone []Finding) { return before.lacked(now), now.lacked(before) }

// lacked are findings of another time that s knows not to be true at its own.
func (s Seen) lacked(o Seen) (out []Finding) {
	had := map[string]int{}
	for _, x := range s.Findings {
		had[x.about()]++
	}
	for _, x := range o.Findings {
		if had[x.about()] > 0 {
			had[x.about()]--
			continue
		}
		if s.judged(x) && (!slices.Contains(o.Things, x.Subject) || slices.Contains(s.Things, x.Subject)) {
			out = append(out, x)
		}
	}
	return out
}

// judged reports whether s had all that it takes to say whether a finding is true. Of a rule that lacked something it counts that the subject follows the advice.
func (s Seen) judged(x Finding) bool {
	return !slices.Contains(s.Unjudged, x.ID) || slices.Contains(s.States, State{x.ID, x.Subject, Followed})
}

// about names what a finding is about, from one time to the other: lines of a file move when others are written into it.
func (f Finding) about() string {
	subject := f.Subject
	if at := strings.LastIndexByte(subject, ':'); strings.HasPrefix(subject, "/") && at > 0 && strings.Trim(subject[at+1:], "0123456789") == "" {
		subject = subject[:at]
	}
	return f.ID + " " + subject
}

// Sets reports whether the fix of a finding sets one of these variables of a server.
func (f Finding) Sets(variables []string) bool {
	all := f.Changes()
	if f.Option != nil {
		all = append(all, *f.Option)
	}
	return slices.ContainsFunc(all, func(c Change) bool { return c.Variable != "" && slices.Contains(variables, c.Variable) })
}
