package files

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	egnyte "stowage/examples/egnyte-files"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/internal/turns"
	"stowage/mysql"
	"stowage/mysql/latest"
	"stowage/workspace"
)

// shapeOf is the example's spec, complete for the tables of a server.
func shapeOf(t *testing.T, server *mysql.Server) latest.Shape {
	t.Helper()
	dir := t.TempDir() // a workspace has a farm.yaml: that of another example
	text, err := os.ReadFile("../../etsy-2016/farm.yaml")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "farm.yaml"), text, 0o600)
	}
	if err == nil {
		err = os.CopyFS(filepath.Join(dir, "reshape"), os.DirFS("../reshape"))
	}
	if err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.Reshape("latest-version")
	if err != nil {
		t.Fatal(err)
	}
	tables, err := latest.Tables(t.Context(), server, shard, s.Names())
	if err != nil {
		t.Fatal(err)
	}
	s = s.Complete(tables)
	if found := s.Check(tables); len(found) > 0 {
		t.Fatalf("the example's spec does not fit its schema: %v", found)
	}
	return latest.Shape{Spec: s}
}

func open(t *testing.T, i *mariadbtest.Instance) *mysql.Server {
	t.Helper()
	s := mysql.Open("files", i.Address, mysqltest.Account(mariadbtest.Stowage), slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// addColumns adds columns, indexes and, if asked for, triggers, as the spec says.
func addColumns(t *testing.T, server *mysql.Server, shape latest.Shape, triggers bool) {
	t.Helper()
	tables, err := latest.Tables(t.Context(), server, shard, shape.Names())
	if err != nil {
		t.Fatal(err)
	}
	statements := append([]string{"USE " + shard}, shape.AddColumns(tables)...)
	if add := shape.AddIndexes(tables); add != "" {
		statements = append(statements, add)
	}
	if triggers {
		for _, trigger := range shape.Triggers(tables) {
			statements = append(statements, trigger.Create)
		}
	}
	if err := server.Build(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
}

// fillTenant fills one tenant in; rows that clients hold are tried again.
func fillTenant(ctx context.Context, s *latest.Session, tenant string, n int) (changed int64, err error) {
	for after := latest.Key(nil); ; {
		c, err := s.Fill(ctx, shard, tenant, after, n)
		if errors.Is(err, latest.ErrBusy) {
			continue
		}
		if err != nil {
			return changed, err
		}
		changed += c.Changed
		if after = c.Last; after == nil {
			return changed, nil
		}
	}
}

// TestReshapedTenantsStayRight: on an active-active pair whose sides serve half of the tenants each, every tenant is filled in,
// verified and switched on while clients write on both sides. At no look, on no side, does an active tenant carry a version that
// is not the latest, and no acknowledged write is lost.
func TestReshapedTenantsStayRight(t *testing.T) {
	turns.One(t, 6)
	// A client, an applier's thread and the commit of another thread before it can wait for each other, and no server sees that: the client's wait ends it.
	a, b := mariadbtest.Start(t, "a", "--innodb-lock-wait-timeout=2"), mariadbtest.Start(t, "b", "--innodb-lock-wait-timeout=2")
	mariadbtest.Ring(t, a, b)
	db, tenants := generated(t, a, small)
	mariadbtest.AwaitApplied(t, b, a)
	servers := []*mysql.Server{open(t, a), open(t, b)}
	shape := shapeOf(t, servers[0])
	addColumns(t, servers[0], shape, true)
	mariadbtest.AwaitApplied(t, b, a)

	sides := []*mariadbtest.Instance{a, b}
	c := clientsOf(a)
	c.Where = func(_ context.Context, tenant uint32) (string, error) { return sides[tenant%2].Address, nil }
	c.DSN = func(address string) string {
		return sides[slices.IndexFunc(sides, func(i *mariadbtest.Instance) bool { return i.Address == address })].DSN(mariadbtest.App, shard)
	}
	w, err := NewWriters(t.Context(), db, c)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()

	views := []*sql.DB{a.DB(t, mariadbtest.Stowage, ""), b.DB(t, mariadbtest.Stowage, "")}
	reshaped := make(chan error, 1)
	go func() { reshaped <- reshape(t.Context(), shape, servers, tenants) }()
	isReshaped, enough, looks, most := false, more(w, 2000), 0, int64(0)
	written(t, w, func() bool {
		select {
		case err := <-reshaped:
			if err != nil {
				t.Fatal(err)
			}
			isReshaped = true
			enough = more(w, 1000) // and on, after all are active
		default:
		}
		return isReshaped && enough()
	}, func() {
		for n, side := range sides {
			c, err := Look(t.Context(), views[n], shard)
			if err != nil || len(c.Mismatches) > 0 {
				t.Fatalf("look %d, at %s: %d tenants, %v, %v", looks, side.Name, c.Tenants, c.Mismatches, err)
			}
			most = max(most, c.Tenants)
		}
		looks++
	})
	if int(most) < len(tenants)-c.DropTenants {
		t.Errorf("in %d looks at most %d of %d tenants were active", looks, most, len(tenants))
	}
	for range 2 {
		mariadbtest.AwaitApplied(t, b, a)
		mariadbtest.AwaitApplied(t, a, b)
	}
	for n, side := range sides {
		if faults := faultsOf(t, w, side); len(faults) > 0 {
			t.Errorf("%s: %d acknowledged writes are lost, the first: %s", side.Name, len(faults), faults[0])
		}
		if c, err := Look(t.Context(), views[n], shard); err != nil || c.Tenants == 0 || len(c.Mismatches) > 0 {
			t.Errorf("%s, at the end: %d tenants, %v, %v", side.Name, c.Tenants, c.Mismatches, err)
		}
	}
}

// reshape fills in, verifies and switches on one tenant after the other, each on the side that serves it.
func reshape(ctx context.Context, shape latest.Shape, servers []*mysql.Server, tenants []Tenant) error {
	for _, tenant := range tenants {
		s, err := shape.Open(ctx, servers[tenant.ID%2], nil)
		if err != nil {
			return err
		}
		id := strconv.Itoa(int(tenant.ID))
		_, err = fillTenant(ctx, s, id, 20)
		for err == nil {
			_, err = s.Verify(ctx, shard, id, map[string]bool{shape.Tenant.Migrated: true, shape.Tenant.Active: true})
			if errors.Is(err, latest.ErrBusy) {
				err = nil
				continue
			}
			break
		}
		s.Close()
		if err != nil && !errors.Is(err, latest.ErrNoTenant) { // the clients may have deleted it
			return err
		}
	}
	return nil
}

// TestApplicationsQueriesAreThoseOfTheSpec: what Stowage asks by the spec gives the rows that the application's queries give.
func TestApplicationsQueriesAreThoseOfTheSpec(t *testing.T) {
	i := mariadbtest.Start(t, "queries")
	_, tenants := generated(t, i, small)
	server := open(t, i)
	shape := shapeOf(t, server)
	addColumns(t, server, shape, false)
	i.Exec(t, "USE "+shard, FillIn)
	db := i.DB(t, mariadbtest.Stowage, shard)
	rowsOf := func(query string, tenant uint32) (out []string) {
		rows, err := db.QueryContext(t.Context(), query, tenant)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		defer rows.Close()
		for rows.Next() {
			var path, name, file, size, hash string
			if err := rows.Scan(&path, &name, &file, &size, &hash); err != nil {
				t.Fatal(err)
			}
			out = append(out, path+name+file+size+hash)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		slices.Sort(out)
		return out
	}
	query, err := egnyte.Query("correlated")
	if err != nil {
		t.Fatal(err)
	}
	for _, tenant := range tenants[:3] {
		want := rowsOf(query, tenant.ID)
		for _, f := range shape.Forms() {
			if got := rowsOf(shape.Query(shard, f, false), tenant.ID); len(want) < 5 || !slices.Equal(got, want) {
				t.Errorf("tenant %d, %s: %d rows, the application's query has %d, or they differ", tenant.ID, f, len(got), len(want))
			}
		}
	}
}
