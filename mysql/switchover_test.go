package mysql

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"stowage/internal/mariadbtest"
)

// Before 10.11 SUPER alone passes read_only, as no server of these tests does.
func TestSuperBypassesReadOnlyBefore1011(t *testing.T) {
	for version, super := range map[string]bool{"10.6.18-MariaDB-log": true, "10.10.7-MariaDB": true, "10.11.1-MariaDB": false, "11.4.2-MariaDB": false} {
		f := parseFlavor(version)
		if got := strings.Contains(f.bypassing(), "'SUPER'"); got != super || !strings.Contains(f.bypassing(), "IN ('READ ONLY ADMIN', 'READ_ONLY ADMIN'") {
			t.Errorf("%s asks: %s", version, f.bypassing())
		}
		for grant, want := range map[string]bool{
			"GRANT SELECT, SUPER, RELOAD ON *.* TO `r`":            super,
			"GRANT SUPER ON *.* TO `r`":                            super,
			"GRANT SELECT ON *.* TO `SUPER`":                       false,
			"GRANT SELECT ON `SUPER`.* TO `r`":                     false,
			"GRANT READ ONLY ADMIN ON *.* TO `r`":                  true,
			"GRANT SELECT, READ_ONLY ADMIN ON *.* TO `r`":          true,
			"GRANT ALL PRIVILEGES ON *.* TO `r` WITH GRANT OPTION": true,
			"GRANT ALL PRIVILEGES ON `d`.* TO `r`":                 false,
			"GRANT `r` TO `s`":                                     false,
		} {
			if got := f.bypassesBy(grant); got != want {
				t.Errorf("%s: %s: %v, want %v", version, grant, got, want)
			}
		}
	}
}

func TestPrivilegedAccounts(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "a")
	i.Exec(t,
		"CREATE USER boss@'%' IDENTIFIED BY 'b'", "GRANT ALL ON *.* TO boss@'%'",
		"CREATE USER locked@'%' IDENTIFIED BY 'b' ACCOUNT LOCK", "GRANT READ ONLY ADMIN ON *.* TO locked@'%'",
		"CREATE ROLE inner_role", "GRANT READ ONLY ADMIN ON *.* TO inner_role", "CREATE ROLE outer_role", "GRANT inner_role TO outer_role",
		"CREATE USER byrole@'%' IDENTIFIED BY 'b'", "GRANT outer_role TO byrole@'%'",
		"CREATE USER plain@'%' IDENTIFIED BY 'b'", "GRANT SELECT, INSERT ON *.* TO plain@'%'",
		"CREATE USER mirror@'%' IDENTIFIED BY 'b'", "GRANT ALL ON *.* TO mirror@'%'")
	p, err := s.Privileged(t.Context(), "mirror")
	must(t, err)
	bar := fmt.Sprint(p.Bar)
	for who, want := range map[string]bool{"'boss'@'%'": true, "'byrole'@'%'": true, "locked": false, "plain": false, "mirror": false, "'root'@'localhost'": false, "stowage": false, "_role": false} {
		if strings.Contains(bar, who) != want {
			t.Errorf("to be kept out: %s; %s must be there: %v", bar, who, want)
		}
	}
	if users := strings.Join(p.Users, " "); !strings.Contains(users, "root") || !strings.Contains(users, "locked") || strings.Contains(users, "mirror") {
		t.Errorf("users whose sessions are ended: %s", users)
	}

	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)") // so that there is a position
	before := i.Value(t, "SELECT @@GLOBAL.gtid_binlog_pos")
	as := func(user string) error {
		x := Open("a", i.Address, Account{User: user, Password: "b"}, s.log)
		defer x.Close()
		return x.Ping(t.Context())
	}
	must(t, as("boss"))
	must(t, s.MayBar(t.Context()))
	must(t, s.Bar(t.Context(), p.Bar, true))
	for _, user := range []string{"boss", "byrole"} {
		if err := as(user); err == nil {
			t.Errorf("%s logs in though it is kept out", user)
		}
	}
	must(t, s.Bar(t.Context(), p.Bar, false))
	must(t, as("boss"))
	must(t, as("byrole"))
	if now := i.Value(t, "SELECT @@GLOBAL.gtid_binlog_pos"); now != before {
		t.Errorf("locking accounts was written to the binary log: %s, was %s", now, before)
	}
}

func TestEndSessionsOf(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "a")
	i.Exec(t, "CREATE USER boss@'%' IDENTIFIED BY 'b'", "GRANT ALL ON *.* TO boss@'%'")
	x := Open("a", i.Address, Account{User: "boss", Password: "b"}, s.log)
	defer x.Close()
	conn, err := x.db.Conn(t.Context())
	must(t, err)
	defer conn.Close()
	n, err := s.EndSessionsOf(t.Context(), []string{"boss"}, 5*time.Second)
	must(t, err)
	if n != 1 || conn.PingContext(t.Context()) == nil {
		t.Errorf("ended %d sessions, and the session lives: %v", n, conn.PingContext(t.Context()) == nil)
	}
}

// A write that waits behind the lock fails when it is released under
// read_only; the position does not move; a second lock is refused; one whose
// owner is silent expires; one that an attempt left is ended by the next.
func TestWriteLock(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "a")
	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
	app := i.DB(t, mariadbtest.App, "")
	lock, err := s.LockWrites(t.Context(), time.Second, time.Minute)
	must(t, err)
	at, err := lock.Position(t.Context())
	must(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := app.ExecContext(context.Background(), "INSERT d.t VALUES (1)")
		done <- err
	}()
	time.Sleep(100 * time.Millisecond)
	if _, err := s.LockWrites(t.Context(), time.Second, time.Minute); err == nil || !strings.Contains(err.Error(), "another session") {
		t.Errorf("a second lock: %v", err)
	}
	must(t, s.SetReadOnly(t.Context(), true)) // behind our own lock: it must not wait
	now, err := lock.Position(t.Context())
	must(t, err)
	if !now.Equal(at) {
		t.Errorf("position moved behind the lock: %s, was %s", now, at)
	}
	must(t, lock.Release(t.Context()))
	must(t, lock.Release(t.Context()))
	if err := <-done; CodeOf(err) != 1290 {
		t.Errorf("the write that waited: %v, want error 1290", err)
	}
	must(t, s.SetReadOnly(t.Context(), false))

	t.Run("expires", func(t *testing.T) {
		_, err := s.LockWrites(t.Context(), time.Second, time.Second)
		must(t, err)
		if _, err := app.ExecContext(t.Context(), "INSERT d.t VALUES (2)"); err != nil {
			t.Errorf("a lock of a silent owner was never given back: %v", err)
		}
	})
	t.Run("orphan", func(t *testing.T) {
		_, err := s.LockWrites(t.Context(), time.Second, time.Hour)
		must(t, err)
		must(t, s.EndOrphanedLock(t.Context()))
		if _, err := app.ExecContext(t.Context(), "INSERT d.t VALUES (3)"); err != nil {
			t.Errorf("the lock was not ended: %v", err)
		}
	})
	t.Run("gives up", func(t *testing.T) {
		root := i.DB(t, mariadbtest.Root, "")
		conn, err := root.Conn(t.Context())
		must(t, err)
		defer conn.Close()
		_, err = conn.ExecContext(t.Context(), "LOCK TABLES d.t WRITE")
		must(t, err)
		if _, err := s.LockWrites(t.Context(), time.Second, time.Hour); err == nil {
			t.Error("locked through somebody's LOCK TABLES")
		}
		if n := i.Value(t, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'FLUSH TABLES%'"); n != "0" {
			t.Errorf("%s statements of ours still wait", n)
		}
	})
}

func TestDemoteAndReaders(t *testing.T) {
	t.Parallel() // it mostly waits
	ai, a := start(t, "a")
	bi, b := start(t, "b", "--gtid-domain-id="+ai.Value(t, "SELECT @@GLOBAL.gtid_domain_id"))
	ai.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT d.t VALUES (1)")
	follow(t, b, ai)
	must(t, b.WaitFor(t.Context(), position(t, a), patience))
	readers, others, err := a.Readers(t.Context())
	must(t, err)
	if len(readers) != 1 || others != 0 || readers[0].Address != bi.Address {
		t.Errorf("readers %+v and %d others, want %s", readers, others, bi.Address)
	}
	if err := a.Demote(t.Context(), bi.Address, Account{}, patience); err == nil {
		t.Error("a server that takes writes was made a replica")
	}
	must(t, b.StopReplicating(t.Context()))
	must(t, b.ForgetSource(t.Context()))
	must(t, a.SetReadOnly(t.Context(), true))
	bi.Exec(t, "INSERT d.t VALUES (2)")
	as := Account{User: string(mariadbtest.Repl), Password: mariadbtest.Repl.Password()}
	for range 2 { // again is harmless
		must(t, a.Demote(t.Context(), bi.Address, as, patience))
	}
	must(t, a.WaitFor(t.Context(), position(t, b), patience))
	if n := ai.Value(t, "SELECT COUNT(*) FROM d.t"); n != "2" {
		t.Errorf("the server that was demoted has %s rows, want 2", n)
	}
}
