package mysql

import (
	"errors"
	"strings"
	"testing"

	"stowage/farm"
)

// TestAccountOfOneHost: what [group@HOST] says holds there, by the host's name
// in farm.yaml or its address, and nowhere else.
func TestAccountOfOneHost(t *testing.T) {
	a, err := ReadAccount(optionFile(t, "[backup]\nuser=b\npassword=p\n[backup@db001]\npassword=own\n[backup@10.0.0.2]\nuser=two\n"), "backup")
	must(t, err)
	a = a.Named(func(name string) (string, bool) { return "10.0.0.1", name == "db001" })
	for address, want := range map[string]string{"10.0.0.1:3306": "b own", "10.0.0.2:3307": "two p", "10.0.0.3:3306": "b p", "db001:3306": "b own"} {
		if at := a.At(address); at.User+" "+at.Password != want || at.Hosts != nil {
			t.Errorf("at %s: %s %s, with %d hosts; want %s and none", address, at.User, at.Password, len(at.Hosts), want)
		}
	}
}

// TestMissingBackupGroup: a group that is not there is one thing, one that is
// half there another: nobody's copies are made with the admin account by a slip.
func TestMissingBackupGroup(t *testing.T) {
	for text, missing := range map[string]bool{
		"[stowage]\nuser=s\n":             true,
		"[backup]\npassword=p\n":          false,
		"[backup@db001]\nuser=b\n":        false,
		"[stowage]\nuser=s\n[backup]\n\n": false,
	} {
		if _, err := ReadAccount(optionFile(t, text), "backup"); err == nil || errors.Is(err, ErrNoGroup) != missing {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestKeysThatProtectNobody: what cannot be done is refused, and not taken for done.
func TestKeysThatProtectNobody(t *testing.T) {
	for keys, says := range map[string]string{
		"ssl":                                 "TLS without ssl-ca",
		"ssl=1":                               "TLS without ssl-ca",
		"ssl-cert=c\nssl-key=k":               "TLS without ssl-ca",
		"ssl-ca=none.pem":                     "no such file",
		"ssl-ca=accounts.cnf":                 "no certificate (PEM)",
		"ssl-capath=/etc/ssl":                 "ssl-capath is not supported",
		"ssl-mode=REQUIRED":                   "ssl-mode is not supported",
		"ssl=maybe":                           "want 1 or 0",
		"ssl-verify-server-cert=yep":          "want 1 or 0",
		"server-public-key-path=accounts.cnf": "no public key (PEM)",
	} {
		_, err := ReadAccount(optionFile(t, "[stowage]\nuser=s\n"+keys+"\n"), "stowage")
		if !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", keys, err, says)
		}
	}
	for _, keys := range []string{"ssl=0\nssl-ca=none.pem", "skip-ssl", "ssl-verify-server-cert=0", "default-character-set=utf8mb4"} {
		if a, err := ReadAccount(optionFile(t, "[stowage]\nuser=s\n"+keys+"\n"), "stowage"); err != nil || a.TLS != nil {
			t.Errorf("%q: %v, TLS %v", keys, err, a.TLS)
		}
	}
	if _, err := ReadAccount(optionFile(t, "[replication]\nuser=r\nssl-ca=ca.pem\n"), "replication"); err == nil || !strings.Contains(err.Error(), "write an absolute path") {
		t.Errorf("a path of the controller for a replica: %v", err)
	}
}
