package packaged

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	now  = "0.1.0" // as the file VERSION has it
	next = "0.1.1"
)

// deb makes a package of this source in a directory of its own.
func deb(t *testing.T, version string, env ...string) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "scripts/package.sh", dir)
	cmd.Dir = "../../.."
	cmd.Env = append(append(os.Environ(), "VERSION="+version), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		if bytes.Contains(out, []byte("building nfpm")) && !bytes.Contains(out, []byte("building the programs")) {
			t.Skipf("NOT TESTED: packages: nfpm cannot be had: %s", last(string(out), 1000))
		}
		t.Fatalf("%v: %s", err, last(string(out), 2000))
	}
	found, _ := filepath.Glob(dir + "/*")
	if len(found) != 1 || !strings.HasPrefix(filepath.Base(found[0]), "stowage_"+version+"_") {
		t.Fatalf("made %v", found)
	}
	return found[0]
}

// made is a package of STOWAGE_DEBS=, a directory with some that scripts/package.sh has made before, or a fresh one.
func made(t *testing.T, version string) string {
	t.Helper()
	if found, _ := filepath.Glob(filepath.Join(os.Getenv("STOWAGE_DEBS"), "stowage_"+version+"_*.deb")); len(found) == 1 {
		return found[0]
	}
	return deb(t, version)
}

// Made again at another time, in another time zone and by somebody with other habits, a package has the same bytes.
func TestSameSourceMakesTheSamePackage(t *testing.T) {
	first, second := deb(t, now), deb(t, now, "TZ=Asia/Tokyo", "LC_ALL=C.UTF-8", "HOME="+os.Getenv("HOME")+"/.", "GOFLAGS=-trimpath")
	a, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(second)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Errorf("%d and %d bytes, and they differ", len(a), len(b))
	}
}

// lintian has no error to tell of, where it is installed.
func TestLintianHasNoErrors(t *testing.T) {
	lintian, err := exec.LookPath("lintian")
	if err != nil {
		t.Skip("NOT TESTED: what lintian says: there is no lintian")
	}
	out, err := exec.CommandContext(t.Context(), lintian, "--allow-root", "--fail-on", "error", made(t, now)).CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}
