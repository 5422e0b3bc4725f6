package stowage_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fakeGo plays the go command for scripts: its version, and a build of packages
// that takes a while.
const fakeGo = `#!/bin/bash
case $1 in
env) echo "go$FAKE_GO" ;;
version) [[ $FAKE_FETCH != fails ]] || { echo "go: download go1.99 for linux/amd64: toolchain not available" >&2; exit 1; }; echo "go version go$FAKE_GO linux/amd64" ;;
list) printf '%s\n' $FAKE_PACKAGES ;;
build)
	for p in $FAKE_PACKAGES; do echo "$p" >&2; done
	[[ $FAKE_BUILD != fails ]] || { printf '# stowage/a\na/a.go:1:1: no such thing\n' >&2; exit 1; } ;;
esac
`

// runScript runs a script of ours with a go that plays a part, "" for none at all.
func runScript(t *testing.T, goes string, env []string, script ...string) (said string, code int) {
	t.Helper()
	bin := t.TempDir()
	for _, tool := range []string{"bash", "awk", "sort", "head", "tail", "uname", "cat", "dirname", "readlink", "mktemp", "rm"} {
		if path, err := exec.LookPath(tool); err == nil {
			if err := os.Symlink(path, filepath.Join(bin, tool)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if goes != "" {
		if err := os.WriteFile(filepath.Join(bin, "go"), []byte(goes), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("bash", script...)
	cmd.Env = append([]string{"PATH=" + bin, "HOME=" + os.Getenv("HOME")}, env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// Who has Debian's own Go, or none, is told which is needed and where to get it.
// (Go 1.19 says "invalid go version '1.26.0': must match format 1.23".)
func TestWhichGoIsNeeded(t *testing.T) {
	wanted := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(readText(t, "go.mod"))[1]
	for _, x := range []struct {
		name, goes, env string
		code            int
		says            []string
	}{
		{"none", "", "", 1, []string{"go is not on the PATH", wanted, "bookworm-backports", "https://go.dev/dl/go" + wanted + ".linux-"}},
		{"1.19 cannot fetch", fakeGo, "FAKE_GO=1.19.8", 1, []string{"is Go 1.19.8; go.mod asks for Go " + wanted, "cannot fetch another", "bookworm-backports", "https://go.dev/dl/go" + wanted + ".linux-"}},
		{"1.23 fetches", fakeGo, "FAKE_GO=1.23.4", 0, nil},
		{"newer", fakeGo, "FAKE_GO=1.99.0", 0, nil},
		{"development", fakeGo, "FAKE_GO=1.99rc1 X:something", 0, nil},
	} {
		said, code := runScript(t, x.goes, []string{x.env}, "scripts/need-go.sh")
		if code != x.code || x.says == nil && said != "" {
			t.Errorf("%s: exit %d, want %d:\n%s", x.name, code, x.code, said)
		}
		for _, want := range x.says {
			if !strings.Contains(said, want) {
				t.Errorf("%s: it does not say %q:\n%s", x.name, want, said)
			}
		}
	}
	said, code := runScript(t, fakeGo, []string{"FAKE_GO=1.23.4", "FAKE_FETCH=fails"}, "scripts/need-go.sh")
	if code != 1 || !strings.Contains(said, "toolchain not available") || !strings.Contains(said, "GOPROXY") {
		t.Errorf("a Go that cannot be fetched: exit %d\n%s", code, said)
	}
}

// A build says how far it is, packages of how many; what go says besides is passed
// on, and so is its end. Between two lines there is time, and with nothing to
// compile it says nothing.
func TestBuildsShowHowFarTheyAre(t *testing.T) {
	build := []string{"scripts/go-build.sh", "-trimpath", "-o", "bin/program", "./cmd/program"}
	packages := "FAKE_PACKAGES=stowage/a stowage/b golang.org/x/d stowage/cmd/program"
	always, never := "STOWAGE_PROGRESS_SECONDS=0", "STOWAGE_PROGRESS_SECONDS=100000"
	said, code := runScript(t, fakeGo, []string{always, packages}, build...)
	for _, want := range []string{"1 of 4 packages, now stowage/a", "2 of 4 packages, now stowage/b", "3 of 4 packages, now golang.org/x/d", "the packages are compiled; the program is compiled and linked"} {
		if !regexp.MustCompile(`(?m)^    \d+:\d\d  bin/program: `+want+`$`).MatchString(said) || code != 0 {
			t.Errorf("exit %d, and it does not say %q:\n%s", code, want, said)
		}
	}
	said, code = runScript(t, fakeGo, []string{never, packages}, build...)
	if code != 0 || said != "" {
		t.Errorf("no time has passed: exit %d:\n%s", code, said)
	}
	said, code = runScript(t, fakeGo, []string{never, packages, "FAKE_BUILD=fails"}, build...)
	if code != 1 || said != "# stowage/a\na/a.go:1:1: no such thing\n" {
		t.Errorf("a build that fails: exit %d:\n%s", code, said)
	}
	said, code = runScript(t, fakeGo, []string{always, "FAKE_PACKAGES=stowage/cmd/program"}, build...)
	if code != 0 || said != "stowage/cmd/program\n" { // which is fakeGo's build
		t.Errorf("nothing to compile: exit %d:\n%s", code, said)
	}
}
