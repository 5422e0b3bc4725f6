package backup

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/internal/turns"
)

// Of two chains the older one is removed from the vault, and what is left leads to any second after its backup. What no rule and no proof covers is named.
func TestPruneLeavesWhatRestoresNeed(t *testing.T) {
	turns.One(t, 6)
	k := farmtest.StartKeptFarm(t, "keep: {last: 1}")
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "--full")
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
	time.Sleep(2 * time.Second) // a set has the second in its name
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "--full")
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
	all := k.Backups()
	if len(all) != 2 {
		t.Fatalf("backups %q, want two", all)
	}
	scannedBesideDamage(k, all)
	k.Run(farmtest.ExitFindings, "no backup of it was ever restored and compared", "backup", "status")
	k.Run(farmtest.ExitFindings, "is on host db002, where its server is", "backup", "status")
	k.Run(farmtest.ExitFine, "1 of 2 chains may go", "backup", "prune")
	if left := k.Backups(); len(left) != 2 {
		t.Fatalf("a prune without --yes left %q of %q", left, all)
	}
	k.Run(farmtest.ExitFine, all[0], "backup", "prune", "--yes")
	if left := k.Backups(); len(left) != 1 || left[0] != all[1] {
		t.Fatalf("a prune left %q of %q", left, all)
	}
	if _, err := os.Stat(filepath.Join(k.Vault, all[0])); !os.IsNotExist(err) {
		t.Errorf("%s in the vault: %v", all[0], err)
	}
	time.Sleep(3 * time.Second)
	late := time.Now()
	time.Sleep(2 * time.Second)
	k.Run(farmtest.ExitFine, "dbshard001b", "backup", "binlogs")
	time.Sleep(time.Second)
	r := k.Restore("--at", late.Format(time.RFC3339))
	k.CheckSecond(r, late)
	k.Run(farmtest.ExitFine, "is stopped", "restore", "remove", r.Instance)
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "verify")
	k.Run(farmtest.ExitFine, `"proven_at": "20`, "backup", "list", "--json")
	k.F.CheckLedger()
	k.NothingLeft()
}

// scannedBesideDamage: a set whose manifest is damaged keeps no other set out of the catalogue.
func scannedBesideDamage(k *farmtest.KeptFarm, all []string) {
	t := k.F.T
	t.Helper()
	set, aside, manifest := filepath.Join(k.Vault, all[0]), filepath.Join(k.F.Dir, "aside"), filepath.Join(k.Vault, all[1], "manifest.json")
	was, err := os.ReadFile(manifest)
	if err == nil {
		err = os.Rename(set, aside)
	}
	if err != nil {
		t.Fatal(err)
	}
	k.Run(farmtest.ExitFine, "removed from the catalogue, because no vault has them: "+all[0], "backup", "list", "--scan")
	if err := errors.Join(os.Rename(aside, set), os.WriteFile(manifest, append([]byte(" "), was...), 0o600)); err != nil {
		t.Fatal(err)
	}
	k.Run(farmtest.ExitFindings, "added to the catalogue: "+all[0], "backup", "list", "--scan")
	if err := os.WriteFile(manifest, was, 0o600); err != nil {
		t.Fatal(err)
	}
	k.Run(farmtest.ExitFine, all[1], "backup", "list", "--scan")
	scannedAfterADirectoryHasChanged(k, all)
}

// scannedAfterADirectoryHasChanged: backups in the directory that farm.yaml named before are still backups; when that is away, too.
func scannedAfterADirectoryHasChanged(k *farmtest.KeptFarm, all []string) {
	t := k.F.T
	t.Helper()
	path, other, aside := filepath.Join(k.F.Dir, "farm.yaml"), filepath.Join(k.F.Dir, "other"), k.Vault+".aside"
	was, err := os.ReadFile(path)
	if err = errors.Join(err, os.Mkdir(other, 0o700), os.WriteFile(path, bytes.ReplaceAll(was, []byte(k.Vault), []byte(other)), 0o600)); err != nil {
		t.Fatal(err)
	}
	k.Run(farmtest.ExitFine, all[0], "backup", "list", "--scan")
	if err := os.Rename(k.Vault, aside); err != nil {
		t.Fatal(err)
	}
	k.Run(farmtest.ExitFindings, "vaults that could not be read", "backup", "list", "--scan")
	if err := errors.Join(os.Rename(aside, k.Vault), os.WriteFile(path, was, 0o600)); err != nil {
		t.Fatal(err)
	}
	if left := k.Backups(); len(left) != len(all) {
		t.Errorf("after scans with another directory in farm.yaml %q are left of %q", left, all)
	}
	k.Run(farmtest.ExitFine, all[1], "backup", "list", "--scan")
}
