package backup

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"stowage/e2e/farmtest"
)

// A byte that was changed in the vault is found and named, by check and by whoever restores; a vault that is gone, or whose file system is full, ends a
// backup with its cause, and leaves nothing that could be taken for one.
func TestBrokenVaults(t *testing.T) {
	k := farmtest.StartKeptFarm(t)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run")
	id := k.Backups()[0]
	k.Run(farmtest.ExitFine, "1 of 1 backup as written", "backup", "check")

	file := filepath.Join(k.Vault, id, "base.xb.zst")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		at := rand.IntN(len(text))
		text[at] ^= 1
		write(t, file, text)
		k.Run(farmtest.ExitFindings, "base.xb", "backup", "check")
		k.Run(farmtest.ExitFindings, "damaged", "backup", "status")
		k.Run(farmtest.ExitRefused, "damaged", "restore", id)
		text[at] ^= 1
		write(t, file, text)
		k.Run(farmtest.ExitFine, "as written", "backup", "check")
	}
	text[len(text)/2] ^= 1 // and nobody has checked
	write(t, file, text)
	k.Run(farmtest.ExitFailed, "damaged", "restore", id)
	k.NothingLeft()
	text[len(text)/2] ^= 1
	write(t, file, text)

	k.Run(farmtest.ExitRefused, "damaged", "restore", id) // the catalogue remembers
	k.Run(farmtest.ExitFine, "as written", "backup", "check")

	gone := k.Vault + "-gone"
	if err := os.Rename(k.Vault, gone); err != nil {
		t.Fatal(err)
	}
	k.Run(farmtest.ExitRefused, "vault", "backup", "run")
	k.Run(farmtest.ExitRefused, "vault", "restore", id)
	if err := os.Rename(gone, k.Vault); err != nil {
		t.Fatal(err)
	}
	if ids := k.Backups(); len(ids) != 1 {
		t.Errorf("there are %q", ids)
	}

	// The catalogue is lost, and read from the vault again.
	if err := os.RemoveAll(filepath.Join(k.F.Dir, ".stowage", "stowage.db")); err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{"-wal", "-shm"} {
		_ = os.Remove(filepath.Join(k.F.Dir, ".stowage", "stowage.db"+more))
	}
	k.Run(farmtest.ExitFine, id, "backup", "list", "--scan")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "verify")
	k.F.CheckLedger()
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
