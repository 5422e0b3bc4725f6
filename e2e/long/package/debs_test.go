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

// TestPackage makes packages of two versions, and looks at them from all sides.
func TestPackage(t *testing.T) {
	first, second := made(t, now), made(t, next)
	t.Run("same bytes", func(t *testing.T) { sameAgain(t, first) })
	t.Run("lintian", func(t *testing.T) { noErrors(t, first) })
	t.Run("units", func(t *testing.T) { unitsAreSound(t, first) })
	t.Run("install to purge", func(t *testing.T) { installToPurge(t, first, second) })
}

// sameAgain makes a package again: at another time, in another time zone and by somebody with other habits it has the same bytes.
func sameAgain(t *testing.T, first string) {
	second := deb(t, now, "TZ=Asia/Tokyo", "LC_ALL=C.UTF-8", "HOME="+os.Getenv("HOME")+"/.")
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

// noErrors asks lintian, where it is installed.
func noErrors(t *testing.T, deb string) {
	lintian, err := exec.LookPath("lintian")
	if err != nil {
		t.Skip("NOT TESTED: what lintian says: there is no lintian")
	}
	out, err := exec.CommandContext(t.Context(), lintian, "--allow-root", "--fail-on", "error", deb).CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

// unitsAreSound has systemd read the units, with the programs where they are unpacked.
func unitsAreSound(t *testing.T, deb string) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("NOT TESTED: what systemd makes of the units: there is no systemd-analyze")
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "dpkg-deb", "-x", deb, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	units, _ := filepath.Glob(dir + "/usr/lib/systemd/system/stowage-*")
	if len(units) != 3 {
		t.Fatalf("units %v", units)
	}
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		if err == nil {
			err = os.WriteFile(unit, bytes.ReplaceAll(text, []byte("=/usr/bin/"), []byte("="+dir+"/usr/bin/")), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), analyze, append([]string{"verify", "--man=no"}, units...)...).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}
