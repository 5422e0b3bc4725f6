package mariadbtest_test

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"stowage/internal/mariadbtest"
)

// TestRing: what is written on either side is read on the other, keys of the
// two sides do not meet, and the app account obeys read_only.
func TestRing(t *testing.T) {
	a, b := mariadbtest.Start(t, "a"), mariadbtest.Start(t, "b")
	mariadbtest.Ring(t, a, b)
	a.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, v INT)", "INSERT d.t (v) VALUES (1),(2)")
	mariadbtest.AwaitApplied(t, b, a)
	b.Exec(t, "INSERT d.t (v) VALUES (3)")
	mariadbtest.AwaitApplied(t, a, b)
	const q = "SELECT GROUP_CONCAT(CONCAT(id,'=',v) ORDER BY id) FROM d.t"
	if got, want := a.Value(t, q), "1=1,3=2,4=3"; got != want {
		t.Errorf("side a holds %s, want %s", got, want)
	}
	if got, want := b.Value(t, q), "1=1,3=2,4=3"; got != want {
		t.Errorf("side b holds %s, want %s", got, want)
	}

	a.Exec(t, "SET GLOBAL read_only=1")
	_, err := a.DB(t, mariadbtest.App, "d").Exec("INSERT t (v) VALUES (4)")
	var refused *mysql.MySQLError
	if !errors.As(err, &refused) || refused.Number != 1290 {
		t.Errorf("app wrote to a read-only server: %v", err)
	}
}

// TestRestart: a killed server comes back with its data and its options.
func TestRestart(t *testing.T) {
	i := mariadbtest.Start(t, "r", "--auto-increment-offset=2")
	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY)", "INSERT d.t VALUES ()")
	i.Kill()
	if c, err := net.DialTimeout("tcp", i.Address, time.Second); err == nil {
		c.Close()
		t.Fatal("a killed server still listens")
	}
	i.SetOptions("--read-only=1")
	i.Restart(t)
	if got := i.Value(t, "SELECT CONCAT(COUNT(*), ' ', MAX(id), ' ', @@read_only) FROM d.t"); got != "1 2 ON" {
		t.Errorf("after the restart: %s, want 1 2 ON", got)
	}
}

// TestNothingLeft: the directory and the port are gone after the test.
func TestNothingLeft(t *testing.T) {
	var i *mariadbtest.Instance
	t.Run("inner", func(t *testing.T) { i = mariadbtest.Start(t, "x") })
	if i == nil {
		t.Skip("NOT TESTED: no server was started")
	}
	if _, err := os.Stat(i.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("directory %s is left: %v", i.Dir, err)
	}
	if c, err := net.DialTimeout("tcp", i.Address, time.Second); err == nil {
		c.Close()
		t.Error("the server is still there")
	}
}
