package tune

import (
	"slices"
	"strings"

	"stowage/farm"
)

// Rule is one piece of advice about a machine.
type Rule struct {
	ID     string // "FS-XFS-GONE"; stable, scripts name it
	Title  string // what it is about
	Reads  string // where its facts come from
	Source string // who says so; "measured" is what we saw ourselves
	Except string // when it does not apply although the condition is met
	Prove  string // the step of the storage benchmark that decides it here; "" when nothing is to be measured
	// Passing: its findings come and go by themselves, with load, temperature or the use of a file, and say nothing of what was changed between two times.
	Passing bool
	Check   func(*Facts) Outcome
}

// Finding is what one rule says about one subject. All texts are for people
// but ID, Severity and Prove.
type Finding struct {
	ID       string        `json:"id"`
	Severity farm.Severity `json:"severity"`
	Subject  string        `json:"subject"` // a disk, a mount point, a file with its line, an instance
	Read     string        `json:"read"`    // what was read, and where
	Verdict  string        `json:"verdict"` // what that means, one sentence
	Why      string        `json:"why"`
	Source   string        `json:"source"`
	Except   string        `json:"except"` // when the verdict does not hold
	Fix      string        `json:"fix"`    // a command or an instruction
	Persist  string        `json:"persist"`
	Revert   string        `json:"revert"`
	Prove    string        `json:"prove"`
	Change   *Change       `json:"change,omitempty"` // the fix, when the program can carry it out
	Also     []Change      `json:"also,omitempty"`   // further writes, where it takes several
	Option   *Change       `json:"option,omitempty"` // the fix as an option of a server, which a restart may be needed for
}

// Change is a setting that can be written while the machine runs: a file below
// /sys or /proc/sys, a dynamic variable of a server, or how a mount keeps times of
// access (noatime, relatime or strictatime). Exactly one of Path, Variable and Mount is set.
type Change struct {
	Path     string `json:"path,omitempty"`  // "/sys/block/sda/queue/scheduler"
	Mount    string `json:"mount,omitempty"` // "/var/lib/mysql"
	Instance string `json:"instance,omitempty"`
	Variable string `json:"variable,omitempty"`
	From     string `json:"from"`
	To       string `json:"to"`
}

// Setting names what is changed, for people.
func (c Change) Setting() string {
	switch {
	case c.Path != "":
		return c.Path
	case c.Mount != "":
		return c.Mount + ": times of access"
	}
	return c.Instance + ": " + c.Variable
}

// Outcome is a rule's answer. Without findings, without anything that is not
// known, and without a reason why it does not apply, the machine follows the
// advice.
type Outcome struct {
	Findings      []Finding
	NotKnown      []NotKnown
	Subjects      []string // what it looked at, where it judges one after the other
	NotApplicable string
}

// NotKnown is a subject that a rule could not judge: an answer was not there, was
// empty, was cut, or lacked what the rule asks for.
type NotKnown struct {
	ID      string `json:"id"`
	Subject string `json:"subject"`
	Missing string `json:"missing"` // what was not read
	Get     string `json:"get"`     // how to get it
}

func found(fs ...Finding) Outcome { return Outcome{Findings: fs} }

func notApplicable(why string) Outcome { return Outcome{NotApplicable: why} }

// judged is the outcome of looking at n subjects; none says why there were
// none.
func judged(fs []Finding, n int, none string) Outcome {
	if n == 0 && len(fs) == 0 {
		return notApplicable(none)
	}
	return Outcome{Findings: fs}
}

// NotApplicable is a rule that has nothing to say about this machine.
type NotApplicable struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

// The three states of a rule about one subject.
const (
	Followed    = "followed"
	NotFollowed = "not followed"
	Unknown     = "not known"
)

// State is what one rule says about one subject.
type State struct {
	ID      string `json:"id"`
	Subject string `json:"subject"`
	State   string `json:"state"`
}

// states are those of all subjects of an outcome, each once: what is not
// followed counts before what is not known.
func (o Outcome) states(id string) (out []State) {
	done := map[string]bool{}
	add := func(subject, state string) {
		if !done[subject] {
			done[subject] = true
			out = append(out, State{id, subject, state})
		}
	}
	for _, f := range o.Findings {
		add(f.Subject, NotFollowed)
	}
	for _, n := range o.NotKnown {
		add(n.Subject, Unknown)
	}
	for _, s := range o.Subjects {
		add(s, Followed)
	}
	return out
}

// Report is what all rules say about one machine.
type Report struct {
	FormatVersion int             `json:"format_version"`
	Host          string          `json:"host"`
	Findings      []Finding       `json:"findings"` // most severe first, then in the order of the rules
	NotApplicable []NotApplicable `json:"not_applicable"`
	NotKnown      []NotKnown      `json:"not_known"` // what rules could not judge
	Followed      []string        `json:"followed"`  // rules with nothing to find, which had all they ask for
	States        []State         `json:"states"`    // by rule and subject; of rules that judge a machine as a whole, findings only
	Unread        []Unread        `json:"unread"`    // what could not be read, which rules may have missed
}

// Unread is a source of facts that did not speak.
type Unread struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Audit asks every rule. Findings carry the rule's source, exceptions and
// proof from here, so that a rule says them once.
func Audit(f *Facts, rules []Rule) Report {
	r := Report{FormatVersion: 1, Host: f.Host, Findings: []Finding{}, NotApplicable: []NotApplicable{}, NotKnown: []NotKnown{}, Followed: []string{}, States: []State{}, Unread: []Unread{}}
	r.Unread = append(r.Unread, f.Unread...)
	for _, rule := range rules {
		out := rule.Check(f)
		switch {
		case out.NotApplicable != "":
			r.NotApplicable = append(r.NotApplicable, NotApplicable{rule.ID, out.NotApplicable})
		case len(out.Findings)+len(out.NotKnown) == 0:
			r.Followed = append(r.Followed, rule.ID)
		}
		r.States = append(r.States, out.states(rule.ID)...)
		for _, x := range out.NotKnown {
			x.ID = rule.ID
			r.NotKnown = append(r.NotKnown, x)
		}
		for _, x := range out.Findings {
			x.ID, x.Source, x.Except = rule.ID, rule.Source, rule.Except
			if x.Prove == "" { // a rule about several settings may have a step for each
				x.Prove = rule.Prove
			}
			r.Findings = append(r.Findings, x)
		}
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return rank(a.Severity) - rank(b.Severity) })
	return r
}

func rank(s farm.Severity) int {
	return slices.Index([]farm.Severity{farm.Blocker, farm.Warning, farm.Note}, s)
}

// AtLeast reports whether any finding is at or above a severity.
func (r Report) AtLeast(s farm.Severity) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return rank(f.Severity) <= rank(s) })
}

// Changes are the fixes that can be carried out, of findings at or above it
// as that, each setting once.
func (r Report) Changes(s farm.Severity) []Change {
	var out []Change
	for _, f := range r.Findings {
		if f.Change == nil || rank(f.Severity) > rank(s) {
			continue
		}
		for _, x := range f.Changes() {
			if !slices.ContainsFunc(out, func(c Change) bool { return c.Setting() == x.Setting() }) {
				out = append(out, x)
			}
		}
	}
	return out
}

// Changes are all writes of the fix; none when the program cannot carry it out.
func (f Finding) Changes() []Change {
	if f.Change == nil {
		return nil
	}
	return append([]Change{*f.Change}, f.Also...)
}

// Only are the rules with these ids, which may be given in small letters; an
// id that is none comes back as unknown.
func Only(rules []Rule, ids []string) (some []Rule, unknown string) {
	for _, id := range ids {
		i := slices.IndexFunc(rules, func(r Rule) bool { return strings.EqualFold(r.ID, id) })
		if i < 0 {
			return nil, id
		}
		some = append(some, rules[i])
	}
	return some, ""
}
