package latest

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"stowage/mysql"
	"stowage/mysql/rows"
	"stowage/reshape/spec"
)

// leased is a stand with the table of leases.
func leased(t *testing.T) *stand {
	s := raise(t)
	s.build(CreateLeases)
	return s
}

// A lease says how far the columns are, and runs out by the server's clock.
func TestLease(t *testing.T) {
	s := raise(t)
	if all, there, err := s.shape.Leases(t.Context(), s.server, "fs1"); there || err != nil || len(all) > 0 {
		t.Fatalf("before there is a table: %v, %v, %v", all, there, err)
	}
	s.build(CreateLeases, CreateLeases)
	x := s.session()
	m, err := x.Moment(t.Context())
	s.must(err)
	s.must(x.Grant(t.Context(), "fs1", "pair/0", m, 400*time.Millisecond, m.Goal))
	all, there, err := s.shape.Leases(t.Context(), s.server, "fs1")
	own, ok := Own(all)
	if err != nil || !there || !ok || own.Place != "pair/0" || !own.IsGood || !own.Position.Equal(m.Goal) {
		t.Fatalf("granted: %+v, %v, %v", all, there, err)
	}
	time.Sleep(450 * time.Millisecond)
	if all, _, err = s.shape.Leases(t.Context(), s.server, "fs1"); err != nil || all[0].IsGood || all[0].Lag < 400*time.Millisecond {
		t.Errorf("a lease of 400 ms is good after 450: %+v, %v", all, err)
	}
	m, err = x.Moment(t.Context())
	s.must(err)
	s.must(x.Grant(t.Context(), "fs1", "pair/0", m, time.Minute, m.Goal))
	if all, _, err = s.shape.Leases(t.Context(), s.server, "fs1"); err != nil || len(all) != 1 || !all[0].IsGood {
		t.Errorf("renewed: %+v, %v", all, err)
	}
	x.May = func(context.Context) error { return errors.New("not here") }
	if err := x.Grant(t.Context(), "fs1", "pair/0", m, time.Minute, m.Goal); err == nil {
		t.Error("a lease is granted where nobody is served")
	}
}

// An applier that does not catch up notes how far it is: the next one begins there, and no lease is good for it.
func TestFarBehindIsKept(t *testing.T) {
	s := leased(t)
	x := s.session()
	m, err := x.Moment(t.Context())
	s.must(err)
	further := m.Goal.WithLast(mysql.GTID{Domain: 7, Server: 7, Seq: 7})
	s.must(x.Keep(t.Context(), "fs1", "pair/0", further)) // there is no lease yet
	s.must(x.Grant(t.Context(), "fs1", "pair/0", m, 0, m.Goal))
	s.must(x.Keep(t.Context(), "fs1", "pair/1", further))
	all, _, err := s.shape.Leases(t.Context(), s.server, "fs1")
	if p, ok := Furthest(all, "pair/0"); err != nil || len(all) != 1 || !ok || !p.Equal(m.Goal) {
		t.Fatalf("what another place has kept: %+v, %v", all, err)
	}
	s.must(x.Keep(t.Context(), "fs1", "pair/0", further))
	all, _, err = s.shape.Leases(t.Context(), s.server, "fs1")
	if err != nil || len(all) != 1 || !all[0].Position.Equal(further) || all[0].IsGood {
		t.Errorf("kept: %+v, %v", all, err)
	}
	x.May = func(context.Context) error { return errors.New("not here") }
	if err := x.Keep(t.Context(), "fs1", "pair/0", m.Goal); err == nil {
		t.Error("a position is written where nobody is served")
	}
	if after, _, err := s.shape.Leases(t.Context(), s.server, "fs1"); err != nil || len(after) != 1 || !after[0].Position.Equal(further) {
		t.Errorf("written where nobody is served: %+v, %v", after, err)
	}
	for _, leases := range [][]Lease{{{Place: "pair/0", Position: m.Goal}, {Place: "pair/0", Position: further}}, {{Place: "pair/0", Position: further}, {Place: "pair/0", Position: m.Goal}, {Place: "pair/1"}}} {
		if p, ok := Furthest(leases, "pair/0"); !ok || !p.Equal(further) {
			t.Errorf("the furthest of %+v is %v, %t", leases, p, ok)
		}
	}
	if _, ok := Furthest(all, "pair/2"); ok {
		t.Error("a position of another place is taken")
	}
}

// A snapshot is of a position: what an applier keeps is behind it, and is not read for one by itself.
func TestWhatIsBehindIsNoSnapshot(t *testing.T) {
	for keep, want := range map[spec.Keep]Form{spec.Triggers: Denormalised, spec.Application: Denormalised, spec.Applier: Correlated} {
		s := Shape{filesSpec()}
		s.Keep = keep
		if s.OfFlag(true) != want || s.Keyed(true) != want || s.OfFlag(false) != Correlated || s.Keyed(false) != Correlated {
			t.Errorf("kept by %s, an active tenant is read %s and %s, want %s", keep, s.OfFlag(true), s.Keyed(true), want)
		}
	}
}

// A parent gets what its latest child has now, whoever writes meanwhile: rows that a client has changed and not committed are waited for.
func TestApply(t *testing.T) {
	s := leased(t)
	x := s.session()
	keys := []Key{{"1"}, {"2"}, {"1995"}, {"7777"}}
	tenants, err := x.TenantsOf(t.Context(), "fs1", keys)
	if err != nil || len(tenants) != 3 || tenants[0] != "2" || tenants[1] != "1" || tenants[2] != "2" {
		t.Fatalf("tenants %v, %v", tenants, err)
	}
	if n, err := x.Apply(t.Context(), "fs1", keys); err != nil || n != 2 { // one has no children, one is not there
		t.Fatalf("%d parents changed, %v", n, err)
	}
	if n, err := x.Apply(t.Context(), "fs1", keys); err != nil || n != 0 {
		t.Errorf("applied again, %d parents changed, %v", n, err)
	}
	tx, err := s.db.BeginTx(t.Context(), nil)
	s.must(err)
	for _, statement := range []string{
		"INSERT INTO fs1.versions (tenant_id, file_id, version_no, size) VALUES (1, 2, 99, 4711)",
		"INSERT INTO fs1.files (file_id, tenant_id) VALUES (7777, 2)",
	} {
		_, err := tx.ExecContext(t.Context(), statement)
		s.must(err)
	}
	if _, err := x.Apply(t.Context(), "fs1", keys); !errors.Is(err, ErrBusy) {
		t.Errorf("a child that is not committed is passed over: %v", err)
	}
	if _, err := x.TenantsOf(t.Context(), "fs1", keys); !errors.Is(err, ErrBusy) {
		t.Errorf("a parent that is not committed is passed over: %v", err)
	}
	s.must(tx.Commit())
	if n, err := x.Apply(t.Context(), "fs1", keys); err != nil || n != 1 {
		t.Errorf("%d parents changed, %v", n, err)
	}
	var size int
	s.must(s.db.QueryRowContext(t.Context(), "SELECT latest_size FROM fs1.files WHERE file_id = 2").Scan(&size))
	if size != 4711 {
		t.Errorf("size %d is carried, want 4711", size)
	}
}

// Two spellings of a key are one parent, each of them has its tenant as the tenant's own row spells it, and a parent of no tenant holds up nobody.
func TestTenantsOfTextKeys(t *testing.T) {
	s := leased(t)
	s.build("CREATE TABLE shops (shop VARCHAR(20) PRIMARY KEY) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
		"CREATE TABLE orders (code VARCHAR(20), line INT, shop VARCHAR(20) NULL, PRIMARY KEY (code, line)) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
		"INSERT INTO shops VALUES ('Acme')", "INSERT INTO orders VALUES ('a', 1, 'ACME'), ('b', 1, NULL), ('c', 1, 'gone'), ('c', 2, 'acme')")
	x := s.session()
	x.Tenant, x.Parent = spec.Tenant{Table: "shops", Key: "shop"}, spec.Parent{Table: "orders", Tenant: "shop", Key: []string{"code", "line"}}
	got, err := x.TenantsOf(t.Context(), "fs1", []Key{{"'A'", "1"}, {"'b'", "1"}, {"'a'", "1"}, {"'x'", "1"}, {"'c'", "1"}, {"'C'", "2"}})
	if want := map[int]string{0: "Acme", 2: "Acme", 4: "gone", 5: "Acme"}; err != nil || !maps.Equal(got, want) {
		t.Errorf("tenants %v, %v, want %v", got, err, want)
	}
}

// A row that is only behind is not wrong, one that stays wrong is; and nothing is said before the barrier.
func TestVerifyBehind(t *testing.T) {
	s := leased(t)
	x := s.session()
	s.fill(x, "1", 500)
	flags := map[string]bool{"latest_entry_migrated": true, "latest_entry_active": true}
	isActive := func() (is bool) {
		t.Helper()
		f, err := s.shape.Flag(t.Context(), s.db, "fs1", "1")
		s.must(err)
		return f.Active
	}

	// Two files change, and are applied when the barrier is asked for the second time.
	y, asked := s.session(), 0
	s.build("UPDATE versions SET size = size + 1 WHERE file_id IN (2, 4)")
	v, err := x.VerifyBehind(t.Context(), "fs1", "1", flags, func(ctx context.Context) error {
		if asked++; asked == 2 {
			_, err := y.Apply(ctx, "fs1", []Key{{"2"}, {"4"}})
			return err
		}
		return nil
	})
	if err != nil || v.Mismatches != 0 || v.Rows == 0 || asked != 2 || !isActive() {
		t.Errorf("two rows behind: %+v, %v; the barrier was asked %d times, active %v", v, err, asked, isActive())
	}

	// Every time a look is taken they have changed again: only with their children locked it is seen that they are applied.
	s.must(x.Set(t.Context(), "fs1", "1", map[string]bool{"latest_entry_active": false}))
	locked := false
	s.build("UPDATE versions SET size = size + 1 WHERE file_id IN (2, 4)")
	v, err = x.VerifyBehind(t.Context(), "fs1", "1", flags, func(ctx context.Context) error {
		_, err := y.Apply(ctx, "fs1", []Key{{"2"}, {"4"}})
		if err != nil {
			return err
		}
		conn, err := s.db.Conn(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		if _, err = conn.ExecContext(ctx, "SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE fs1.versions SET size = size + 1 WHERE file_id IN (2, 4)"); mysql.CodeOf(err) == 1205 {
			locked, err = true, nil
		}
		return err
	})
	if err != nil || v.Mismatches != 0 || !locked || !isActive() {
		t.Errorf("two rows that change all the time: %+v, %v; locked %v", v, err, locked)
	}

	// Somebody writes past the applier: no barrier makes that right.
	s.must(x.Set(t.Context(), "fs1", "1", map[string]bool{"latest_entry_active": false}))
	s.build("UPDATE files SET latest_size = 1 WHERE file_id IN (2, 4, 6)")
	v, err = x.VerifyBehind(t.Context(), "fs1", "1", flags, func(context.Context) error { return nil })
	if !errors.Is(err, ErrMismatch) || v.Mismatches != 3 || len(v.Keys) != 3 || isActive() {
		t.Errorf("three wrong rows: %+v, %v", v, err)
	}
	if v, err = x.VerifyBehind(t.Context(), "fs1", "1", nil, func(context.Context) error { return nil }); err != nil || v.Mismatches != 3 {
		t.Errorf("three wrong rows, no flag to be set: %+v, %v", v, err)
	}
	away := errors.New("it does not run")
	if _, err = x.VerifyBehind(t.Context(), "fs1", "1", flags, func(context.Context) error { return away }); !errors.Is(err, away) || isActive() {
		t.Errorf("without an applier: %v, active %v", err, isActive())
	}
}

// Parents that are only written are not the applier's; those with new keys or another tenant, and those of all children, are.
func TestMoved(t *testing.T) {
	s := leased(t)
	for _, table := range []string{"files", "versions"} { // events have a column behind all others then
		s.build("ALTER TABLE " + table + " ADD COLUMN url TEXT, ADD UNIQUE KEY url (url)")
	}
	before, err := s.server.BinlogPosition(t.Context())
	s.must(err)
	s.build("UPDATE files SET name = 'x' WHERE file_id = 1", "INSERT INTO files (file_id, tenant_id) VALUES (8000, 1)", "UPDATE files SET file_id = 8001 WHERE file_id = 8000", "UPDATE files SET tenant_id = 1 WHERE file_id = 5",
		"DELETE FROM files WHERE file_id = 8001", "UPDATE versions SET file_id = 8002 WHERE file_id = 2 AND version_no = 5", "DELETE FROM versions WHERE file_id = 4 AND version_no = 1")
	end, err := s.server.BinlogPosition(t.Context())
	s.must(err)
	keys, err := s.shape.Keys(t.Context(), s.server, "fs1")
	s.must(err)
	log, err := s.server.Binlog(t.Context(), 4_100_000_001, before, "fs1", "files", "versions")
	s.must(err)
	defer log.Close()
	seen, at := map[string]bool{}, before
	for !at.Reached(end) {
		c, ok, err := log.Next(t.Context(), time.Minute)
		if err != nil || !ok {
			t.Fatalf("%v, %v", ok, err)
		}
		if c.Kind == mysql.Commit {
			at = at.With(c.Trx)
		}
		moved, err := keys.Moved(t.Context(), c)
		s.must(err)
		for _, k := range moved {
			seen[k.String()] = true
		}
	}
	for key, want := range map[string]bool{"1": false, "8000": true, "8001": true, "2": true, "8002": true, "3": false, "4": true, "5": true} {
		if seen[key] != want {
			t.Errorf("parent %s: %v, want %v; all: %v", key, seen[key], want, seen)
		}
	}
}

// A key of DECIMAL stands as a number, out of a table and out of an event: beside text the server compares both as DOUBLE, and finds nothing.
func TestLiteralOfDecimal(t *testing.T) {
	if got := literal(rows.PlainText, true, []byte("-90071992547408.9999999981")); got != "-90071992547408.9999999981" {
		t.Error(got)
	}
}
