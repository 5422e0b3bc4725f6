package mysql

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"stowage/internal/mariadbtest"
)

// A SET GLOBAL read_only = ON that was given up while it waited in the server
// must not be carried out after the server was opened again. (Guard
// OWN_STATEMENT_ENDED of models/swing.pml.)
func TestGivenUpFenceIsNotCarriedOutLater(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "a")
	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
	for _, died := range []string{"the sender gave up", "the sender was killed"} {
		t.Run(died, func(t *testing.T) {
			c := clientAs(t, i, mariadbtest.Stowage)
			say(t, c, "LOCK TABLES d.t WRITE")
			sender := open(t, i)
			ctx, giveUp := context.WithCancel(t.Context())
			gone := make(chan error, 1)
			go func() { gone <- sender.SetReadOnly(ctx, true) }()
			eventually(t, "the fence waits in the server", func() bool { return waitingSwitches(t, i) == 1 })
			if died == "the sender gave up" {
				giveUp()
				if err := <-gone; err == nil {
					t.Fatal("a fence that was given up says it is there")
				}
				if waitingSwitches(t, i) != 1 {
					t.Fatal("the server noticed that the sender is gone: this tests nothing")
				}
			}
			must(t, within(t, 5*time.Second, func() error { return s.SetReadOnly(t.Context(), false) }))
			if n := waitingSwitches(t, i); n != 0 {
				t.Errorf("%d statements still wait", n)
			}
			say(t, c, "UNLOCK TABLES")
			for range 100 { // the statement would now be carried out at once
				if on, err := s.IsReadOnly(t.Context()); err != nil || on {
					t.Fatalf("left read-only: %v %v", on, err)
				}
				time.Sleep(2 * time.Millisecond)
			}
			giveUp()
			if died != "the sender gave up" {
				<-gone
			}
			say(t, clientOf(t, i), "INSERT d.t VALUES (1)", "DELETE FROM d.t")
		})
	}
}

// waitingSwitches is how many statements that fence or open are in the server.
func waitingSwitches(t *testing.T, i *mariadbtest.Instance) int {
	t.Helper()
	n := 0
	fmt.Sscan(i.Value(t, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SET GLOBAL %'"), &n)
	return n
}

// A statement that is still on its way when its sender dies has no place in
// the process list, but its session holds the lock.
func TestSessionOfAnEarlierSwitchIsEnded(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "a")
	i.Exec(t, "CREATE DATABASE d")
	c := clientAs(t, i, mariadbtest.Stowage)
	ask(t, c, "SELECT GET_LOCK('"+switchLock+"', 0)")
	must(t, within(t, 5*time.Second, func() error { return s.SetReadOnly(t.Context(), true) }))
	if _, err := c.ExecContext(t.Context(), "SET GLOBAL read_only = OFF"); err == nil {
		t.Error("the session of the earlier attempt could still send its statement")
	}
	if on, err := s.IsReadOnly(t.Context()); err != nil || !on {
		t.Errorf("read_only is %v, %v", on, err)
	}
	must(t, s.SetReadOnly(t.Context(), false))
	must(t, s.SetScheduler(t.Context(), true))
}

// Somebody else who holds a lock of that name is left alone.
func TestSwitchLockOfAnotherAccount(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "a")
	i.Exec(t, "CREATE DATABASE d")
	c := clientOf(t, i)
	ask(t, c, "SELECT GET_LOCK('"+switchLock+"', 0)")
	err := s.SetReadOnly(t.Context(), true)
	if err == nil || !strings.Contains(err.Error(), switchLock) {
		t.Errorf("got %v", err)
	}
	ask(t, c, "SELECT 1")
}
