package prove

import (
	"slices"
	"strings"

	"stowage/farm"
	"stowage/tune"
)

// All is the rule's place in trials of everything at once.
const All = "all"

// LeftOut is a finding that is not in the table of all, and why.
type LeftOut struct {
	Rule    string `json:"rule"`
	Subject string `json:"subject"`
	Why     string `json:"why"`
	Instead string `json:"instead"`
}

// PlanAll says what naive against tuned would try in dir: each setting that a rule proposes and that can be switched, alone, and then all
// together by each of their steps and on a server of our own, where the programs for one are. What cannot be switched is left out, with the reason.
func PlanAll(rules []tune.Rule, findings []tune.Finding, facts *tune.Facts, dir string, hasServer bool) (parts, whole []Trial, left []LeftOut) {
	for _, r := range rules {
		mine := slices.DeleteFunc(slices.Clone(findings), func(f tune.Finding) bool { return f.ID != r.ID })
		if len(mine) == 0 {
			continue
		}
		trials, err := Plan(r, mine, facts, dir)
		if err != nil {
			for _, f := range mine {
				left = append(left, LeftOut{r.ID, f.Subject, reason(err), farm.Hint(err)})
			}
			continue
		}
		for _, f := range mine {
			if f.Change == nil && f.Option == nil && !slices.ContainsFunc(trials, func(t Trial) bool { return slices.Contains(t.Subjects, f.Subject) }) {
				left = append(left, LeftOut{r.ID, f.Subject, "it cannot be switched while the machine runs", f.Fix})
			}
		}
		for _, t := range trials {
			if t.Step == ServerStep && !hasServer {
				left = append(left, LeftOut{r.ID, strings.Join(t.Subjects, ", "), "no MariaDB or MySQL server program for a server of our own", "install mariadb-server"})
				continue
			}
			parts = append(parts, t)
		}
	}
	if len(parts) > 0 {
		whole = together(dir, parts, hasServer)
	}
	return parts, whole, left
}

// reason is what a refusal says, without the words of farm.ErrRefused.
func reason(err error) string {
	_, why, ok := strings.Cut(err.Error(), farm.ErrRefused.Error()+": ")
	if !ok {
		return err.Error()
	}
	return why
}
