package mysql

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
)

// altering is a change that rebuilds a table, as an act asks for it.
var altering = Altering{Database: "d", Statement: "ALTER TABLE t FORCE", LockWait: 5 * time.Second, Mark: "test"}

// codeOf runs a statement in a session of its own and gives the server's error number.
func codeOf(t *testing.T, i *mariadbtest.Instance, as mariadbtest.Account, statements ...string) (code uint16) {
	t.Helper()
	c := clientAs(t, i, as)
	defer c.Close()
	for _, st := range statements {
		_, err := c.ExecContext(t.Context(), st)
		code = CodeOf(err)
	}
	return code
}

// TestWorkFence: the fence that replaces super_read_only while our ALTER runs stops sessions of every account, those that were there before and those that come. A write that it does not stop is
// found, and it goes with a restart of the server no further than the option file says.
func TestWorkFence(t *testing.T) {
	turns.One(t, 2)
	t.Parallel() // it mostly waits
	ai, bi, a, b := pairOf(t, mariadbtest.Named(t, mariadbtest.MySQL9))
	ctx := t.Context()
	bi.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)",
		"CREATE ROLE boss", "GRANT CONNECTION_ADMIN ON *.* TO boss", "CREATE ROLE chief", "GRANT boss TO chief",
		"CREATE USER foreman@'%' IDENTIFIED BY 'foreman-password' DEFAULT ROLE chief", "GRANT INSERT, UPDATE ON d.* TO foreman@'%'", "GRANT chief TO foreman@'%'", "SET DEFAULT ROLE chief TO foreman@'%'")
	must(t, a.WaitFor(ctx, position(t, b), patience))
	must(t, a.SetReadOnly(ctx, true))
	if err := a.Alter(ctx, altering); CodeOf(err) != 1290 {
		t.Fatalf("super_read_only lets our ALTER through (%v): there is no need for another fence", err)
	}

	open := func(as mariadbtest.Account) *sql.Conn { return clientAs(t, ai, as) }
	old := map[mariadbtest.Account]*sql.Conn{mariadbtest.App: open(mariadbtest.App), mariadbtest.Root: open(mariadbtest.Root), "foreman": open("foreman")}
	users, all, err := a.unstopped(ctx)
	must(t, err)
	if len(users) != 4 || all != "" { // boss, chief, foreman and root
		t.Errorf("read_only does not stop %v %s", users, all)
	}
	if why, err := a.MayLowerFence(ctx); err != nil || why != "" {
		t.Errorf("refused: %s, %v", why, err)
	}
	ai.Exec(t, "SET GLOBAL super_read_only = OFF", "SET GLOBAL mandatory_roles = 'app_role, boss'", "SET GLOBAL super_read_only = ON")
	if why, err := a.MayLowerFence(ctx); err != nil || !strings.Contains(why, "role boss") {
		t.Errorf("every account has CONNECTION_ADMIN: %s, %v", why, err)
	}
	ai.Exec(t, "SET GLOBAL mandatory_roles = ''")
	before, err := a.OwnWrites(ctx)
	must(t, err)
	for range 2 { // twice, as after a kill
		left, err := a.LowerFence(ctx)
		must(t, err)
		if len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
	for who, c := range old {
		_, err := c.ExecContext(ctx, "INSERT t VALUES (1, 1)")
		if code := CodeOf(err); who == mariadbtest.App && code != 1290 || who != mariadbtest.App && (err == nil || code != 0) {
			t.Errorf("a session of %s that was there before: %v", who, err)
		}
	}
	for _, who := range []mariadbtest.Account{mariadbtest.App, mariadbtest.Root, "foreman"} {
		if code := codeOf(t, ai, who, "INSERT t VALUES (2, 2)"); code != 1792 && code != 1290 {
			t.Errorf("a new session of %s: error %d", who, code)
		}
	}
	if code := codeOf(t, ai, mariadbtest.Root, "ALTER TABLE t COMMENT 'theirs'"); code != 1792 {
		t.Errorf("an ALTER of root: error %d", code)
	}
	must(t, a.Alter(ctx, altering))
	bi.Exec(t, "INSERT d.t VALUES (3, 3)") // an applier that runs takes no notice, nor does a receiver, whose source may go and come
	must(t, a.WaitFor(ctx, position(t, b), patience))
	bi.Restart(t)
	bi.Exec(t, "FLUSH BINARY LOGS", "INSERT d.t VALUES (4, 4)", "FLUSH BINARY LOGS", "INSERT d.t VALUES (5, 5)")
	must(t, a.WaitFor(ctx, position(t, b), patience))
	must(t, a.HoldApplier(ctx))
	if now, err := a.OwnWrites(ctx); err != nil || !now.Equal(before) {
		t.Errorf("own writes %s, were %s: %v", now, before, err)
	}
	if code := codeOf(t, ai, mariadbtest.Root, "SET SESSION TRANSACTION READ WRITE", "INSERT t VALUES (8, 8)"); code != 0 {
		t.Errorf("root insists: error %d", code)
	}
	must(t, a.RaiseFence(ctx))
	must(t, a.RaiseFence(ctx))
	if now, err := a.OwnWrites(ctx); err != nil || now.Equal(before) {
		t.Errorf("nobody saw what root has written: %s, %v", now, err)
	}
	if code := codeOf(t, ai, mariadbtest.Root, "SET SESSION TRANSACTION READ WRITE", "INSERT t VALUES (6, 6)"); code != 1290 {
		t.Errorf("behind it root writes: error %d", code)
	}
	must(t, a.StartReplicating(ctx, patience))
	bi.Exec(t, "INSERT d.t VALUES (9, 9)")
	must(t, a.WaitFor(ctx, position(t, b), patience))
	must(t, a.SetReadOnly(ctx, false))
	if code := codeOf(t, ai, mariadbtest.App, "INSERT t VALUES (7, 7)"); code != 0 {
		t.Errorf("opened again: error %d", code)
	}
	if _, err := a.LowerFence(ctx); err == nil {
		t.Error("the fence of a server that takes writes was changed")
	}
}

// TestOfflineModeIsNoFence: why offline_mode is not part of it. It spares the accounts that read_only spares, and it ends the link of a replica.
func TestOfflineModeIsNoFence(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	ai, bi, a, b := pairOf(t, mariadbtest.Named(t, mariadbtest.MySQL9))
	ctx := t.Context()
	ai.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)")
	must(t, b.WaitFor(ctx, position(t, a), patience))
	must(t, a.SetSetting(ctx, "read_only", "1"))
	must(t, a.SetSetting(ctx, "offline_mode", "1"))
	if code := codeOf(t, ai, mariadbtest.Root, "INSERT t VALUES (1, 1)"); code != 0 {
		t.Errorf("it stops root: error %d", code)
	}
	bi.Exec(t, "INSERT d.t VALUES (2, 2)")
	must(t, a.WaitFor(ctx, position(t, b), patience)) // its own applier goes on
	eventually(t, "the replica's link ends", func() bool {
		r, err := b.Replication(context.WithoutCancel(ctx))
		return err == nil && r.IO != "Yes"
	})
	must(t, a.SetSetting(ctx, "offline_mode", "0"))
}
