package stowage_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"stowage/internal/turns"
)

// Every directory of e2e/long has its row in docs/internals/tests.md and its minutes in
// scripts/parts.tsv, once each, and neither speaks of one that is gone.
func TestTableOfTestsHasEveryPart(t *testing.T) {
	want := map[string]bool{"whole": true, "turns": true, "lint": true, "models": true, "fuzz": true, "race": true, "faultseeds": true, "agentfaults": true}
	dirs, err := filepath.Glob("e2e/long/*")
	if err != nil || len(dirs) == 0 {
		t.Fatal(dirs, err)
	}
	for _, d := range dirs {
		want["long/"+filepath.Base(d)] = true
		if text := readText(t, d+"/main_test.go"); !strings.Contains(text, "farmtest.Main(m)") {
			t.Errorf("%s: its TestMain does not find the engine", d)
		}
	}
	for file, row := range map[string]string{"docs/internals/tests.md": "(?m)^\\| `([a-z/]+)` \\|", "scripts/parts.tsv": `(?m)^([a-z/]+)\t(?:\d+|-)$`} {
		has := map[string]bool{}
		for _, m := range regexp.MustCompile(row).FindAllStringSubmatch(readText(t, file), -1) {
			if has[m[1]] {
				t.Errorf("%s has the part %s twice", file, m[1])
			}
			has[m[1]] = true
			if !want[m[1]] {
				t.Errorf("%s has a part %s, which is not there", file, m[1])
			}
		}
		for name := range want {
			if !has[name] {
				t.Errorf("%s lacks the part %s", file, name)
			}
		}
	}
}

// Each heavy test has a turn of its own.
func TestHeavyTestsHaveTheirTurns(t *testing.T) {
	out, err := exec.Command("grep", "-rhoE", "--include=*_test.go", `turns\.Heavy\(t, [0-9]+`, ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for _, m := range strings.Fields(strings.ReplaceAll(string(out), "turns.Heavy(t, ", "")) {
		if has[m] {
			t.Errorf("two tests have the turn %s", m)
		}
		has[m] = true
	}
	for i := range turns.Heavies {
		if !has[strconv.Itoa(i)] {
			t.Errorf("no test has the turn %d of %d", i, turns.Heavies)
		}
	}
}

// Faults that are put in are at least twelve, apply to the code as it is, and
// are expected to be found by what `make test` runs, or say that they are not.
func TestFaultsThatArePutInStillApply(t *testing.T) {
	patches, err := filepath.Glob("e2e/faultseeds/*.patch")
	if err != nil || len(patches) < 12 {
		t.Fatalf("%d faults: %v", len(patches), err)
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NOT TESTED: whether the faults of e2e/faultseeds apply: there is no git")
	}
	for _, p := range patches {
		text := readText(t, p)
		by := regexp.MustCompile(`(?m)^found by: (.+)$`).FindStringSubmatch(text)
		if by == nil || !strings.HasPrefix(text, "what: ") {
			t.Errorf("%s does not begin with what: and found by:", p)
			continue
		}
		for _, dir := range strings.Fields(by[1]) {
			if strings.HasPrefix(dir, "-run=") {
				continue
			}
			if _, err := os.Stat(dir); err != nil {
				t.Errorf("%s: %v", p, err)
			}
		}
		if out, err := exec.Command("git", "apply", "--check", p).CombinedOutput(); err != nil {
			t.Errorf("%s does not apply any more: %v\n%s", p, err, out)
		}
	}
}

// A module that both programs link has one version, or Go compiles it twice. Two
// versions of golang.org/x/sys once cost 105 packages, SQLite and gRPC among them.
func TestModulesOfBothProgramsAreCompiledOnce(t *testing.T) {
	versions := func(file string) map[string]string {
		all := map[string]string{}
		for _, m := range regexp.MustCompile(`(?m)^(?:require )?\s*([a-z0-9.-]+\.[a-z]+/\S+) (v\S+)`).FindAllStringSubmatch(readText(t, file), -1) {
			all[m[1]] = m[2]
		}
		if len(all) < 20 {
			t.Fatalf("%s: only %d modules were read", file, len(all))
		}
		return all
	}
	ours, engines := versions("go.mod"), versions("engined/go.mod")
	for name, v := range ours {
		if e, both := engines[name]; both && e != v {
			t.Errorf("%s is %s in go.mod and %s in engined/go.mod: go get the newer one in both, then make notices", name, v, e)
		}
	}
}
