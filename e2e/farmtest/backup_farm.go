package farmtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/demo"
	"stowage/farm"
)

// KeptFarm is a farm under load whose farm.yaml says where backups go.
type KeptFarm struct {
	*HeldSide
	Vault string
	Of    farm.SideName // that is backed up, of the only pair
}

// StartKeptFarm is one whose farm.yaml says so, and more of backup if that is given: "full: 1d".
func StartKeptFarm(t *testing.T, more ...string) *KeptFarm {
	t.Helper()
	return keep(t, StartHeldSide(t), more...)
}

// StartKeptPairs is one of several pairs.
func StartKeptPairs(t *testing.T, pairs int) *KeptFarm {
	t.Helper()
	t.Parallel() // it mostly waits
	f := Raise(t, demo.Options{Pairs: pairs, Shards: 2, Hosts: 2, Rows: 50}, 40, nil)
	return keep(t, &HeldSide{F: f})
}

// StartKeptInDomainZero is one pair whose sides both write GTID domain 0.
func StartKeptInDomainZero(t *testing.T) *KeptFarm {
	t.Helper()
	t.Parallel() // it mostly waits
	return keep(t, &HeldSide{F: StartInDomainZero(t, farm.ActiveActive, 1, true), Name: "dbshard001/A"})
}

// StartKeptPrimary is one of two pairs with one writer each.
func StartKeptPrimary(t *testing.T) *KeptFarm {
	t.Helper()
	t.Parallel() // it mostly waits
	f := Raise(t, demo.Options{Topology: farm.PrimaryReplica, Pairs: 2, Shards: 1, Hosts: 3, Rows: 50}, 40, nil)
	return keep(t, &HeldSide{F: f, Name: "dbshard001/A"})
}

// KeepFarm is one that was started already.
func KeepFarm(f *LiveFarm, name string, more ...string) *KeptFarm {
	return keep(f.T, &HeldSide{F: f, Name: name}, more...)
}

func keep(t *testing.T, s *HeldSide, more ...string) *KeptFarm {
	t.Helper()
	k := &KeptFarm{s, filepath.Join(s.F.Dir, "vault"), farm.B}
	if err := os.Mkdir(k.Vault, 0o700); err != nil {
		t.Fatal(err)
	}
	k.Say(strings.Join(append([]string{"dir: " + k.Vault}, more...), ", "))
	return k
}

// KeptOn is a farm on machines of their own, whose vault is a directory of one of them.
func KeptOn(f *NetFarm, on farm.HostName) *KeptFarm {
	f.T.Helper()
	_, fm, _, err := FarmAccess(f.Dir)
	f.Did(err)
	k := &KeptFarm{&HeldSide{F: f.LiveFarm, Name: string(fm.Pairs[0].Name) + "/A"}, filepath.Join(f.Dir, "vault"), farm.B}
	f.Did(os.Mkdir(k.Vault, 0o700))
	k.Say(fmt.Sprintf("dir: %s, host: %s", k.Vault, on))
	f.Must("agent", "certs") // the agents' lists of directories have the vault
	return k
}

// InRepository has farm.yaml name a repository instead of a directory, with a password of its own.
func (k *KeptFarm) InRepository(repository string, more ...string) {
	k.F.T.Helper()
	password := filepath.Join(k.F.Dir, "restic.pw")
	if err := os.WriteFile(password, []byte("a long 'word'\n"), 0o600); err != nil {
		k.F.T.Fatal(err)
	}
	k.Say(strings.Join(append([]string{"restic: " + repository, "password_file: " + password}, more...), ", "))
}

// Say writes what is in farm.yaml of backups; load and hosts are not measured: nobody has switched performance_schema on, and a window is a minute.
func (k *KeptFarm) Say(backup string) {
	k.F.T.Helper()
	path := filepath.Join(k.F.Dir, "farm.yaml")
	text, err := os.ReadFile(path)
	if err == nil {
		own, _, _ := strings.Cut(string(text), "due: {load: off, hosts: off}\n")
		err = os.WriteFile(path, []byte(own+"due: {load: off, hosts: off}\nbackup: {"+backup+"}\n"), 0o644)
	}
	if err != nil {
		k.F.T.Fatal(err)
	}
}

// DamageLogs flips a bit in the middle of each archived file of a binary log below a directory.
func (f *LiveFarm) DamageLogs(vault string) {
	f.T.Helper()
	files, err := filepath.Glob(filepath.Join(vault, "*", "binlog", "*", "*.[0-9][0-9][0-9][0-9][0-9][0-9]"))
	if err != nil || len(files) == 0 {
		f.T.Fatalf("no archived log in %s: %v", vault, err)
	}
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err == nil {
			raw[len(raw)/2] ^= 1
			err = os.WriteFile(path, raw, 0o640)
		}
		if err != nil {
			f.T.Fatal(err)
		}
	}
}
