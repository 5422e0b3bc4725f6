package attack

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/host"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"
	"stowage/mysql/traffic"

	"stowage/e2e/farmtest"
	"stowage/internal/turns"
	"stowage/mysql/rows"
)

var (
	admin = mysqltest.Account(mariadbtest.Stowage)
	quiet = slog.New(slog.DiscardHandler)
)

// secured is a server with TLS, and the CA it is vouched for by.
func secured(t *testing.T, l mariadbtest.Line, ca *farmtest.Authority, name string) (*mariadbtest.Instance, string) {
	t.Helper()
	i := l.Start(t, name)
	dir := openDir(t)
	cert, key := ca.Sign(t, i.Host, "localhost")
	write(t, dir, "ca.pem", ca.PEM, 0o644)
	write(t, dir, "cert.pem", cert, 0o644)
	write(t, dir, "key.pem", key, 0o644) // for a server of another account, for the time of a test
	i.SetOptions("--ssl-ca="+dir+"/ca.pem", "--ssl-cert="+dir+"/cert.pem", "--ssl-key="+dir+"/key.pem")
	i.Restart(t)
	return i, dir
}

// TestEveryDoorHasTLS: on real servers, with an account that may log in with a
// certificate only, from an accounts file as people write it.
func TestEveryDoorHasTLS(t *testing.T) {
	mariadbtest.OnEach(t, func(t *testing.T, l mariadbtest.Line) {
		ca := farmtest.NewAuthority(t)
		i, _ := secured(t, l, ca, "a")
		i.Exec(t, "CREATE USER careful@'%' IDENTIFIED BY 'careful-password' REQUIRE X509", "GRANT ALL ON *.* TO careful@'%'",
			"CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v TEXT)", "INSERT d.t VALUES (1, 'x'), (2, 'y')", "SET GLOBAL require_secure_transport = ON")
		dir := t.TempDir()
		cert, key := ca.Sign(t, "stowage")
		write(t, dir, "ca.pem", ca.PEM, 0o644)
		write(t, dir, "mine.pem", cert, 0o644)
		write(t, dir, "mine.key", key, 0o600)
		accounts := write(t, dir, "accounts.cnf", "[stowage]\nuser=careful\npassword=careful-password\nssl-ca=ca.pem\nssl-cert=mine.pem\nssl-key=mine.key\n[without]\nuser=careful\npassword=careful-password\n", 0o600)
		as, err := mysql.ReadAccount(accounts, "stowage")
		must(t, err)
		s := mysql.Open("a", i.Address, as, quiet)
		defer s.Close()
		must(t, s.Ping(t.Context()))
		w, err := rows.OpenStream(t.Context(), s, time.Second)
		must(t, err)
		w.Close()
		c, err := traffic.OpenClient(t.Context(), s, traffic.ClientOptions{})
		must(t, err)
		defer c.Close()
		a, err := c.Query(t.Context(), "SELECT * FROM d.t", true)
		if err != nil || a.Rows != 2 || a.Bytes == 0 {
			t.Errorf("what is counted above TLS: %+v, %v", a, err)
		}
		a, err = c.Query(t.Context(), "SHOW SESSION STATUS LIKE 'Ssl_version'", true)
		if err != nil || !strings.Contains(fmt.Sprint(a.Sample), "TLSv1") {
			t.Errorf("the session has no TLS: %v, %v", a.Sample, err)
		}
		at, err := s.BinlogPosition(t.Context())
		must(t, err)
		r, err := s.Binlog(t.Context(), 4711, at, "d")
		must(t, err)
		defer r.Close()
		_, err = c.Query(t.Context(), "INSERT d.t VALUES (3, 'z')", false)
		must(t, err)
		seen := false
		for range 50 {
			change, ok, err := r.Next(t.Context(), time.Second)
			must(t, err)
			if seen = seen || ok && change.Kind == mysql.Insert; seen {
				break
			}
		}
		if !seen {
			t.Error("the reader of the binary log over TLS saw no row")
		}
		bare, err := mysql.ReadAccount(accounts, "without")
		must(t, err)
		plain := mysql.Open("a", i.Address, bare, quiet)
		defer plain.Close()
		if err := plain.Ping(t.Context()); err == nil {
			t.Error("an account that requires a certificate logs in without")
		}
	})
}

// TestLinkKeepsItsTLS: a link that is made anew has the TLS of the one it
// replaces, and one that is only pointed elsewhere keeps its own.
func TestLinkKeepsItsTLS(t *testing.T) {
	turns.One(t, 6)
	mariadbtest.OnEach(t, func(t *testing.T, l mariadbtest.Line) {
		ca := farmtest.NewAuthority(t)
		a, dir := secured(t, l, ca, "a")
		a2, _ := secured(t, l, ca, "a2")
		b, c := l.Start(t, "b"), l.Start(t, "c")
		for _, source := range []*mariadbtest.Instance{a, a2} {
			source.Exec(t, "ALTER USER repl@'%' REQUIRE SSL")
		}
		open := func(i *mariadbtest.Instance) *mysql.Server {
			s := mysql.Open("x", i.Address, admin, quiet)
			t.Cleanup(func() { s.Close() })
			return s
		}
		repl := mysqltest.Account(mariadbtest.Repl)
		told := repl
		told.Source = &mysql.SourceTLS{CA: dir + "/ca.pem", Verify: true}
		must(t, open(b).Follow(t.Context(), a.Address, told, time.Minute))
		has := func(who string, i *mariadbtest.Instance) {
			t.Helper()
			st := i.ReplicaStatus(t)
			if st["Master_SSL_Allowed"] != "Yes" || st["Master_SSL_CA_File"] != dir+"/ca.pem" || st["Master_SSL_Verify_Server_Cert"] != "Yes" || st["Slave_IO_Running"] != "Yes" {
				t.Errorf("%s: SSL %q, CA %q, verify %q, IO thread %q %s", who, st["Master_SSL_Allowed"], st["Master_SSL_CA_File"], st["Master_SSL_Verify_Server_Cert"], st["Slave_IO_Running"], st["Last_IO_Error"])
			}
		}
		has("as [replication] says", b)
		// The new side of a move, which has no link: as the old one's.
		as, err := repl.LinkedAs(t.Context(), open(a), open(b))
		must(t, err)
		must(t, open(c).Follow(t.Context(), a.Address, as, time.Minute))
		has("as the link before", c)
		// And the twin, which is pointed at another source.
		must(t, open(b).Follow(t.Context(), a2.Address, repl, time.Minute))
		has("pointed elsewhere", b)
	})
}

// TestLinkAsksForItsCertificate: a link with TLS does not take a source that
// another CA vouches for.
func TestLinkAsksForItsCertificate(t *testing.T) {
	l := mariadbtest.Default(t)
	a, _ := secured(t, l, farmtest.NewAuthority(t), "a")
	b := l.Start(t, "b")
	dir := openDir(t)
	as := mysql.Account{User: string(mariadbtest.Repl), Password: mariadbtest.Repl.Password(), Source: &mysql.SourceTLS{CA: write(t, dir, "ca.pem", farmtest.NewAuthority(t).PEM, 0o644), Verify: true}}
	s := mysql.Open("b", b.Address, admin, quiet)
	defer s.Close()
	err := s.Follow(t.Context(), a.Address, as, 4*time.Second)
	if err == nil || !strings.Contains(err.Error(), "SSL") {
		t.Errorf("said %v", err)
	}
}

// TestBackupAccountSuffices: mariadb-backup completes with the account that the
// accounts of a new server have for it, over TLS; and with that account
// nobody reads a row or changes anything.
func TestBackupAccountSuffices(t *testing.T) {
	l := mariadbtest.Named(t, mariadbtest.MariaDB10)
	ca := farmtest.NewAuthority(t)
	i, _ := secured(t, l, ca, "a")
	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT d.t VALUES (1)", "CREATE TABLE d.m (id INT PRIMARY KEY) ENGINE=MyISAM", "INSERT d.m VALUES (1)")
	backup := mysql.Account{User: "copies", Password: "a 'password' # of \"copies\""}
	setup, err := mysql.SetupSQL(mysql.Accounts{Admin: mysql.Account{User: "x"}, Replication: mysql.Account{User: "y"}, Client: mysql.Account{User: "z"}, Backup: backup})
	must(t, err)
	for _, statement := range strings.Split(string(setup), ";\n") {
		if strings.Contains(statement, "'copies'") {
			i.Exec(t, statement)
		}
	}
	i.Exec(t, "ALTER USER copies@'%' REQUIRE SSL")
	local, err := host.NewLocal(quiet)
	must(t, err)
	var copied counter
	watched := filepath.Dir(i.Datadir)
	login := host.Login{User: backup.User, Password: backup.Password, Address: i.Address, CA: ca.PEM}
	must(t, local.Send(t.Context(), host.Origin{Instance: host.Instance{Name: "a", Address: i.Host, Port: i.Port, Datadir: i.Datadir, Config: i.Config}, Login: login}, &copied))
	if copied < 1<<20 {
		t.Errorf("the copy has %d bytes", copied)
	}
	if left, _ := filepath.Glob(filepath.Join(watched, ".stowage-seed-*")); len(left) > 0 {
		t.Errorf("the login stayed on the host: %v", left)
	}
	s := mysql.Open("a", i.Address, mysql.Account{User: backup.User, Password: backup.Password, TLS: &mysql.TLS{CA: ca.PEM}}, quiet)
	defer s.Close()
	for _, statement := range []string{"SELECT * FROM d.t", "INSERT d.t VALUES (2)", "SELECT * FROM mysql.global_priv", "SET GLOBAL read_only = 1", "CREATE USER evil", "SHUTDOWN", "SELECT LOAD_FILE('/etc/passwd') IS NOT NULL FROM d.t"} {
		if err := s.Build(t.Context(), []string{statement}); err == nil {
			t.Errorf("the account for copies may %s", statement)
		}
	}
	login.CA = farmtest.NewAuthority(t).PEM
	if err := local.Send(t.Context(), host.Origin{Instance: host.Instance{Name: "a", Address: i.Host, Port: i.Port, Datadir: i.Datadir, Config: i.Config}, Login: login}, io.Discard); err == nil {
		t.Error("a backup logged in to a server that another CA vouches for")
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// TestAccountsFileOfOthers: a file with passwords, or a key, that others may
// read or own is refused, with the remedy.
func TestAccountsFileOfOthers(t *testing.T) {
	ca := farmtest.NewAuthority(t)
	cert, key := ca.Sign(t, "stowage")
	const text = "[stowage]\nuser=s\npassword=p\nssl-ca=ca.pem\nssl-cert=cert.pem\nssl-key=key.pem\n"
	for _, test := range []struct {
		name           string
		accounts, keys os.FileMode
		owner          int
		says           string
	}{
		{"readable by all", 0o644, 0o600, 0, "chmod 600"},
		{"readable by the group", 0o640, 0o600, 0, "chmod 600"},
		{"writable by others", 0o602, 0o600, 0, "chmod 600"},
		{"key readable by all", 0o600, 0o644, 0, "key.pem has mode 0644"},
		{"another owner", 0o600, 0o600, 65534, "uid 65534"},
		{"private", 0o600, 0o600, 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "ca.pem", ca.PEM, 0o644)
			write(t, dir, "cert.pem", cert, 0o644)
			write(t, dir, "key.pem", key, test.keys)
			path := write(t, dir, "accounts.cnf", text, test.accounts)
			if test.owner != 0 {
				if os.Geteuid() != 0 {
					t.Skip("NOT TESTED: only root can give a file away")
				}
				must(t, os.Chown(path, test.owner, test.owner))
			}
			_, err := mysql.ReadAccount(path, "stowage")
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(errText(err), test.says) {
				t.Errorf("said %v, want %q", errText(err), test.says)
			}
			if bytes.Contains([]byte(errText(err)), []byte("PRIVATE")) {
				t.Error("shows the key")
			}
		})
	}
}
