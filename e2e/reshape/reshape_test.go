// Package reshape denormalises a cloud file system under its clients, tenant by tenant, and kills once what does it.
package reshape

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/examples/egnyte-files/files"
	"stowage/farm"
	"stowage/internal/turns"
	"stowage/reshape"
)

func TestMain(m *testing.M) { farmtest.Main(m) }

// One tenant, then ten, then all, while clients of every tenant write on both sides; what is active is looked at all the time.
func TestTenantsAreReshapedUnderLoad(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFilesFarm(t, farm.ActiveActive, 10000, files.Clients{Seed: 1, Pause: 20 * time.Millisecond, DropTenants: 3})
	f.Write()
	f.Stowage(farmtest.ExitFine, "ADD COLUMN `latest_size`", "reshape", "latest-version")
	f.Stowage(farmtest.ExitUsage, "has a tenant nobody", "reshape", "--tenant", "nobody")
	f.Stowage(farmtest.ExitFine, "1 of 1 tenant right", "reshape", "latest-version", "--tenants", "1")
	if n := f.Active(); n != 1 {
		t.Errorf("%d tenants are active", n)
	}
	f.Stowage(farmtest.ExitFine, "10 of 10 tenants right", "reshape", "--tenants", "10")
	for name, db := range f.Sides() {
		f.Right(name, db)
	}
	f.Stowage(farmtest.ExitFine, "", "reshape", "--all")
	for name, db := range f.Sides() { // triggers of an older version: clients never write without one
		conn, err := db.Conn(t.Context())
		for _, text := range []string{"SET SESSION sql_log_bin = 0", "USE " + farmtest.FilesShard, "CREATE OR REPLACE TRIGGER `stowage_latest_latest-version_0` BEFORE INSERT ON versions FOR EACH ROW SET @older = 1"} {
			if err == nil {
				_, err = conn.ExecContext(t.Context(), text)
			}
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_ = conn.Close()
	}
	f.Stowage(farmtest.ExitFine, "the tables have what they need", "reshape", "--prepare")
	if log := f.Stowage(farmtest.ExitFine, "CREATE OR REPLACE TRIGGER", "log").Stdout; strings.Contains(log, "DROP TRIGGER") {
		t.Errorf("a trigger is dropped before the new one is there:\n%s", log)
	}
	f.Stowage(farmtest.ExitFine, "is right", "reshape", "verify")
	states := f.States()
	for _, s := range states {
		if !s.Migrated || !s.Active || s.VerifiedAt == nil || s.Mismatches > 0 {
			t.Errorf("tenant %+v", s)
		}
	}
	f.Stowage(farmtest.ExitFine, "is read from its children", "reshape", "off", states[0].ID)
	if f.Active() != len(states)-1 {
		t.Error("a tenant that is off is active")
	}
	f.Stowage(farmtest.ExitFine, "is active", "reshape", "on", states[0].ID)
	f.Stowage(farmtest.ExitFine, "every tenant of the wave is done", "reshape", "--all")
	f.Rest()
	for name, db := range f.Sides() {
		if n := f.Right(name, db); n != int64(len(states)) && n < int64(len(states))-3 {
			t.Errorf("%s: %d tenants were looked at, %d are active", name, n, len(states))
		}
	}

	// Somebody writes past the triggers: what is due finds it in what was written, and the next comparison of all rows.
	due := func(code int, want string) {
		t.Helper()
		for _, db := range f.Sides() {
			_ = db.Close()
		}
		f.Forget("reshape")
		f.Stowage(code, want, "due")
	}
	due(farmtest.ExitFine, "0 rows that had changed compared")
	f.Past("UPDATE fs01.files SET latest_size = 4711 WHERE tenant_id = ? AND latest_size IS NOT NULL LIMIT 2", states[2].ID)
	due(farmtest.ExitFindings, "2 of its")
	if f.Active() != len(states)-1 {
		t.Error("a tenant whose rows are wrong is active after what is due was done")
	}
	f.Stowage(farmtest.ExitFine, "1 of 1 tenant right", "reshape", "--tenant", states[2].ID)
	f.Past("UPDATE fs01.files SET name = 'renamed' WHERE tenant_id = ? LIMIT 5", states[2].ID)
	due(farmtest.ExitFine, "rows that had changed compared")

	// Rows of a table as it was stand in the log before the ALTER: they cannot be read any more, once and not at every call.
	f.Past("UPDATE fs01.files SET name = 'renamed again' WHERE tenant_id = ? LIMIT 5", states[2].ID)
	if _, err := f.Root(farm.A).ExecContext(t.Context(), "ALTER TABLE fs01.files ADD COLUMN colour INT NOT NULL DEFAULT 0 AFTER name"); err != nil {
		t.Fatal(err)
	}
	f.Past("UPDATE fs01.files SET colour = 1 WHERE tenant_id = ? LIMIT 5", states[2].ID)
	due(farmtest.ExitFine, "could not all be read")
	f.Past("UPDATE fs01.files SET colour = 2 WHERE tenant_id = ? LIMIT 5", states[2].ID)
	due(farmtest.ExitFine, "5 rows that had changed compared")
	f.Past("UPDATE fs01.files SET latest_size = 4711 WHERE tenant_id = ? AND latest_size IS NOT NULL LIMIT 1", states[1].ID)
	f.Stowage(farmtest.ExitFindings, "differ from their latest child", "reshape", "verify", states[1].ID)
	if f.Active() != len(states)-1 {
		t.Error("a tenant whose rows are wrong is active")
	}
	pages := farmtest.OpenPages(t, f.Dir)
	shows := func(wants ...string) {
		t.Helper()
		status, text := pages.Get("/reshape")
		for _, want := range wants {
			if status != http.StatusOK || !strings.Contains(text, want) {
				t.Errorf("the page Reshape, %d, does not have %q", status, want)
			}
		}
	}
	shows("1 tenant wrong.", fmt.Sprintf("%d active, 1 wrong", len(states)-1), "fs01/"+states[1].ID+": wrong", "read from its children")
	f.Stowage(farmtest.ExitFine, fmt.Sprintf(`stowage_reshape_tenants{spec="latest-version",state="active"} %d`, len(states)-1), "metrics")
	f.Stowage(farmtest.ExitFine, "1 of 1 tenant right", "reshape", "--tenant", states[1].ID)
	shows(fmt.Sprintf("%d of %[1]d tenants active.", len(states)), "found none", "Runs, newest first", `id="chart-times-t"`) // nobody has asked for flags since
}

// The application keeps the columns itself: they come first, then the application that writes them, then the tenants.
func TestApplicationKeepsColumns(t *testing.T) {
	turns.Heavy(t, 4)
	t.Parallel() // it mostly waits
	f := farmtest.StartFilesFarm(t, farm.PrimaryReplica, 3000, files.Clients{Seed: 3, Pause: 8 * time.Millisecond, Keeps: true})
	f.Spec("keep: triggers", "keep: application")
	f.Stowage(farmtest.ExitFine, "the tables have what they need", "reshape", "--prepare")
	f.Write()
	f.Stowage(farmtest.ExitFine, "3 of 3 tenants right", "reshape", "--tenants", "3", "--only-migrate")
	if n := f.Active(); n != 0 {
		t.Errorf("%d tenants are active, and only flags of migration were asked for", n)
	}
	f.Stowage(farmtest.ExitFine, "", "reshape", "--all")
	if n := f.Active(); n != len(f.Tenants) {
		t.Errorf("%d of %d tenants are active", n, len(f.Tenants))
	}
	f.Rest()
	for name, text := range f.Definitions() {
		if strings.Contains(text, "stowage_latest") {
			t.Errorf("%s has triggers, and the application keeps the columns", name)
		}
	}
}

// What a spec must not say is refused with its line, before anything is touched.
func TestSpecsThatDoNotFit(t *testing.T) {
	turns.One(t, 8)
	t.Parallel() // it mostly waits
	f := farmtest.StartFilesFarm(t, farm.ActiveActive, 1000, files.Clients{Seed: 4})
	was := f.Definitions()
	for _, c := range []struct {
		from, to, want string
		code           int
	}{
		{"latest: [version_no DESC]", "latest: [size DESC]", "so the latest is undefined", farmtest.ExitRefused},
		{"latest: [version_no DESC]", "latest: [version_nr DESC]", "table versions has no column version_nr", farmtest.ExitRefused},
		{"key: [version_id]", "key: [author]", "author is not a unique key of table versions", farmtest.ExitRefused},
		{"counts: \"deleted_at IS NULL\"", "counts: \"deleted_at > NOW()\"", "changes with time", farmtest.ExitRefused},
		{"counts: \"deleted_at IS NULL\"", "counts: \"deleted_at IS\"", "latest-version.yaml:", farmtest.ExitRefused},
		{"  latest_version_id: version_id\n", "", "a parent without children looks like any other", farmtest.ExitRefused},
		{"  routed_by: \"{tenant}\"\n", "", "by which key a tenant's clients are routed", farmtest.ExitRefused},
		{"folders.path", "tenants.name", "is not in a table that the snapshot reads", farmtest.ExitRefused},
		{"keep: triggers", "keeps: triggers", "unknown key \"keeps\" in the spec; did you mean \"keep\"?", farmtest.ExitUsage},
		{"shards: [fs01]", "shards: [fs99]", "no shard of this name", farmtest.ExitUsage},
	} {
		f.Spec(c.from, c.to)
		p := f.Stowage(c.code, c.want, "reshape", "--all")
		if !strings.Contains(p.Stdout+p.Stderr, "latest-version.yaml:") {
			t.Errorf("%s: no line is named:\n%s%s", c.to, p.Stdout, p.Stderr)
		}
		f.Spec("", "")
	}
	for name, is := range f.Definitions() {
		if is != was[name] {
			t.Errorf("%s was touched:\n%s", name, is)
		}
	}
}

// One border of all, another with each commit: e2e/long/reshape has the others.
func TestReshapeKilledOnce(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFilesFarm(t, farm.ActiveActive, 6000, files.Clients{Seed: 2, Pause: 20 * time.Millisecond})
	f.Write()
	book, _ := reshape.Kind(nil).Runbook(reshape.Name)
	points := book.Points()
	at := points[farmtest.Turn()%len(points)]
	p := farmtest.RunProgram(t, "both @ "+at, "reshape", "--all", "-C", f.Dir)
	if !strings.Contains(p.Stdout+p.Stderr, farmtest.MarkOfKill+at) {
		t.Fatalf("never met %q: exit %d\n%s%s", at, p.Code, p.Stdout, p.Stderr)
	}
	f.Stowage(farmtest.ExitFine, "right", "resume")
	if n := f.Active(); n != len(f.Tenants) {
		t.Errorf("%d of %d tenants are active", n, len(f.Tenants))
	}
	f.Rest()
}
