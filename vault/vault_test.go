package vault_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"stowage/vault"
	"stowage/vault/vaulttest"
)

func TestMain(m *testing.M) { vaulttest.Main(m) }

func seed() uint64 { return uint64(time.Now().UnixNano()) }

func dirPlace(t testing.TB) vault.Place {
	dir := filepath.Join(t.TempDir(), "vault")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return vault.Place{Dir: dir}
}

func resticPlace(t testing.TB) vault.Place {
	t.Helper()
	if os.Getenv("STOWAGE_SERVERS") == "none" {
		t.Skip("SKIPPED: make check is to be quick")
	}
	if _, err := exec.LookPath("restic"); err != nil {
		t.Skip("NOT TESTED: restic is not installed (scripts/setup.sh test installs it)")
	}
	dir := t.TempDir()
	password := filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte("a test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return vault.Place{Restic: filepath.Join(dir, "repository"), PasswordFile: password}
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	flips := 300
	if testing.Short() {
		flips = 60
	}
	vaulttest.Run(t, vaulttest.Subject{Place: dirPlace, Files: func(p vault.Place) string { return p.Dir }, Exact: true, Seed: seed(), Flips: flips})
}

func TestRestic(t *testing.T) {
	t.Parallel()
	vaulttest.Run(t, vaulttest.Subject{Place: resticPlace, Files: func(p vault.Place) string { return p.Restic }, Seed: seed(), Flips: 12, Short: testing.Short()})
}
