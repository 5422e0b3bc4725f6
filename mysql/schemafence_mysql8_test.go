package mysql

import (
	"errors"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
)

// TestSchemaReadOnly: what the fence of one database on MySQL stops, whom it
// waits for, and what it leaves alone.
func TestSchemaReadOnly(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	l := mariadbtest.Named(t, mariadbtest.MySQL9)
	ai, bi, a, b := pairOf(t, l)
	ctx := t.Context()
	ai.Exec(t, "CREATE DATABASE moves", "CREATE TABLE moves.t (id INT PRIMARY KEY)", "CREATE DATABASE stays", "CREATE TABLE stays.t (id INT PRIMARY KEY)")
	must(t, b.WaitFor(ctx, position(t, a), patience))
	refused := func(err error) bool {
		var my *driver.MySQLError
		return errors.As(err, &my) && my.Number == 3989
	}

	conn, err := ai.DB(t, mariadbtest.App, "moves").Conn(ctx)
	must(t, err)
	defer conn.Close()
	speak(t, conn, "BEGIN", "INSERT t VALUES (1)")
	if err := a.SetSchemaReadOnly(ctx, "moves", true, time.Second); CodeOf(err) != 1205 {
		t.Errorf("with a transaction open that has written: %v, want a timeout", err)
	}
	speak(t, conn, "COMMIT", "INSERT t VALUES (2)") // what had waited and given up does not fence later
	must(t, a.SetSchemaReadOnly(ctx, "moves", true, time.Second))
	must(t, a.SetSchemaReadOnly(ctx, "moves", true, time.Second))
	if _, err := conn.ExecContext(ctx, "INSERT t VALUES (3)"); !refused(err) {
		t.Errorf("a session that was there before: %v", err)
	}
	if _, err := ai.DB(t, mariadbtest.Root, "").Exec("INSERT moves.t VALUES (3)"); !refused(err) {
		t.Errorf("root: %v", err)
	}
	speak(t, conn, "SELECT COUNT(*) FROM t", "INSERT stays.t VALUES (1)")
	if on, err := b.SchemaReadOnly(ctx, "moves"); err != nil || on {
		t.Errorf("the other side is fenced too: %v, %v", on, err)
	}
	bi.Exec(t, "INSERT moves.t VALUES (4)")
	must(t, a.WaitFor(ctx, position(t, b), patience)) // replication goes on into it
	if n := ai.Value(t, "SELECT COUNT(*) FROM moves.t"); n != "3" {
		t.Errorf("%s rows", n)
	}
	ai.Restart(t)
	if on, err := a.SchemaReadOnly(ctx, "moves"); err != nil || !on {
		t.Errorf("after a restart: %v, %v", on, err)
	}
	must(t, a.SetSchemaReadOnly(ctx, "moves", false, time.Second))
	ai.Exec(t, "INSERT moves.t VALUES (5)")
}
