package backup

import (
	"testing"

	"stowage/engine"
	"stowage/farm"
)

// One instance with a blocker leaves the others their backups; a run of which nothing can begin is refused.
func TestBlockersOfSomeInstances(t *testing.T) {
	job := engine.Job{Lanes: []engine.Lane{{Name: "one", Parts: []engine.Part{{Subject: "onea"}}}, {Name: "two", Parts: []engine.Part{{Subject: "twoa"}}}}}
	blocker := func(of string) farm.Finding { return farm.Finding{Severity: farm.Blocker, Subject: of} }
	for _, c := range []struct {
		what  string
		found []farm.Finding
		want  bool
	}{
		{"nothing", nil, false},
		{"a warning of each", []farm.Finding{{Severity: farm.Warning, Subject: "onea"}, {Severity: farm.Warning, Subject: "twoa"}}, false},
		{"a blocker of one", []farm.Finding{blocker("twoa"), blocker("twoa")}, false},
		{"a blocker of each", []farm.Finding{blocker("twoa"), blocker("onea")}, true},
	} {
		if got := allBlocked(job, c.found); got != c.want {
			t.Errorf("%s: refused is %v", c.what, got)
		}
	}
}
