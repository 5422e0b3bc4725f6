package move

import (
	"log/slog"
	"strings"
	"testing"

	"stowage/act"
	"stowage/fresh"
	"stowage/host"
	"stowage/mysql"
	"stowage/session"
	"stowage/swing"
)

// The host of an empty server that will clone reads its first statements: they bear the account for copies, of the donor's host if
// that has one of its own, and never Stowage's. (They made Stowage's account, with its password.)
func TestEmptyServerThatClonesIsNotToldStowagesPassword(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	admin := mysql.Account{User: "stowage", Password: "admin-canary", PublicKey: "pinned"}
	backup := mysql.Account{User: "backup", Password: "backup-canary", Hosts: map[string]mysql.Account{"127.0.0.3": {User: "backup_db3", Password: "db3-canary"}}}
	r := &replacement{fresh: host.Instance{Name: "p1a", Address: "127.0.0.9", Port: 3306}}
	r.mover = &Mover{Accounts: session.Accounts{Admin: admin, Backup: backup}, Conductor: &act.Conductor{Log: quiet}}
	for address, want := range map[string]string{"127.0.0.2:3306": "'backup-canary'", "127.0.0.3:3306": "'db3-canary'"} {
		r.Swing = &swing.Swing{Twin: mysql.Open("p1b", address, admin, quiet)}
		defer r.Twin.Close()
		as := r.cloning().Newcomer()
		said := string(fresh.Setup(as))
		if !strings.Contains(said, want) || strings.Contains(said, "admin-canary") {
			t.Errorf("cloning from %s: %s", address, said)
		}
		if as.PublicKey != "pinned" {
			t.Error("the key that is pinned for this server is not")
		}
	}
	r.mover.Backup = admin // without a group [backup]
	if as := r.cloning().Newcomer(); as.Password != "admin-canary" {
		t.Errorf("%+v", as)
	}
}
