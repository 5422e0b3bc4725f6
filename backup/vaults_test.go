package backup

import (
	"testing"

	"stowage/act"
	"stowage/farm"
	"stowage/session"
	"stowage/vault"
)

// The password file of a repository has another path since a backup was taken: farm.yaml says which. Other repositories keep theirs.
func TestAPasswordFileThatWasMoved(t *testing.T) {
	f := &farm.Farm{Backup: farm.Backup{Restic: "rest:https://vault/one", PasswordFile: "/run/credentials/new"}}
	a := &Act{Act: &act.Act{Session: &session.Session{Farm: f}}}
	for old, want := range map[vault.Place]string{
		{Restic: "rest:https://vault/one", PasswordFile: "/etc/stowage/old"}: "/run/credentials/new",
		{Restic: "rest:https://vault/two", PasswordFile: "/etc/stowage/old"}: "/etc/stowage/old",
		{Dir: "/srv/backup"}: "",
	} {
		if got := a.placeNow(old); got.PasswordFile != want || got.Restic != old.Restic || got.Dir != old.Dir {
			t.Errorf("%+v is used as %+v, want the password file %q", old, got, want)
		}
	}
}
