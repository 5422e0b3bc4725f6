package flavors

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/mariadbtest"
)

// TestAlterOnOtherFlavors: MariaDB of another line changes tables by every way; MySQL what it does at once, and says of the rest why not. Killed on the way.
func TestAlterOnOtherFlavors(t *testing.T) {
	t.Parallel() // it mostly waits
	run := func(t *testing.T, f *farmtest.LiveFarm, kill string, code int, want, text string) {
		t.Helper()
		script := filepath.Join(t.TempDir(), "change.sql")
		if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		p := farmtest.RunWith(t, f.Env(kill), "alter", script, "--yes", "-C", f.Dir)
		if kill != "" {
			if !strings.Contains(p.Stderr, farmtest.MarkOfKill) {
				t.Fatalf("never met %q: exit %d\n%s", kill, p.Code, p.Stderr)
			}
			p = farmtest.RunWith(t, f.Env(""), "resume", "-C", f.Dir)
		}
		if p.Code != code || !strings.Contains(p.Stdout+p.Stderr, want) {
			t.Fatalf("%s: exit %d, want %d and %q\n%s%s", text, p.Code, code, want, p.Stdout, p.Stderr)
		}
	}
	t.Run(mariadbtest.MariaDB11, func(t *testing.T) {
		t.Parallel() // it mostly waits
		f := startOn(t, mariadbtest.MariaDB11, farm.ActiveActive, 1)
		run(t, f, "both @ after switch/flip", farmtest.ExitFine, "1 of 1 pair", farmtest.AddColour)
		run(t, f, "", farmtest.ExitFine, "1 of 1 pair", farmtest.AddIndex)
		run(t, f, "", farmtest.ExitFine, "1 of 1 pair", farmtest.Widen)
		f.CheckLedger()
	})
	t.Run(mariadbtest.MySQL9, func(t *testing.T) {
		t.Parallel() // it mostly waits
		f := startOn(t, mariadbtest.MySQL9, farm.PrimaryReplica, 1)
		run(t, f, "stowage @ after change", farmtest.ExitFine, "1 of 1 pair", farmtest.AddColour)
		run(t, f, "", farmtest.ExitFine, "1 of 1 pair", farmtest.DropColour)
		run(t, f, "", farmtest.ExitRefused, "this way of changing tables is for MariaDB", farmtest.AddIndex)
		f.CheckLedger()
	})
}
