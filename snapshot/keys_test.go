package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/internal/turns"
	"stowage/mysql"
	"stowage/mysql/latest"
	"stowage/reshape/spec"
)

// keyKind is a kind of keys of parents: the types of its columns, and the literals of key n in one of its spellings, all of which the server takes for the same key.
type keyKind struct {
	name    string
	columns []string
	of      func(n, spelling int) []string
	is10    bool // tried on the machine's own server only
}

func hexOf(text string) string { return fmt.Sprintf("X'%X'", text) }

// spelled writes a text in one of four ways that are the same to a collation without case or accents that pads.
func spelled(text string, spelling int) string {
	return []string{text, strings.ToUpper(text), strings.ToUpper(text[:1]) + text[1:], text + "  "}[spelling%4]
}

func uuidOf(n int) string {
	return fmt.Sprintf("%08x-ab%02x-4cde-8f00-%012x", n*2654435761%(1<<32), n%256, n)
}

var keyKinds = []keyKind{
	{name: "integer", is10: true, columns: []string{"BIGINT UNSIGNED"}, of: func(n, _ int) []string { return []string{fmt.Sprint(n * 7919 % 10007)} }},
	{name: "char", columns: []string{"CHAR(36) CHARACTER SET ascii COLLATE ascii_general_ci"}, of: func(n, s int) []string { return []string{mysql.Quote(spelled(uuidOf(n), s))} }},
	{name: "varchar", columns: []string{"VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"}, of: func(n, s int) []string {
		text := spelled(fmt.Sprintf("größe,\t'\\ %d\n", n*7919%10007), s)
		if s%4 == 2 {
			text = strings.NewReplacer("öß", "Oss").Replace(text)
		}
		return []string{mysql.Quote(text)}
	}},
	{name: "latin1", is10: true, columns: []string{"VARCHAR(60) CHARACTER SET latin1 COLLATE latin1_swedish_ci"}, of: func(n, s int) []string { return []string{mysql.Quote(spelled(fmt.Sprintf("zürich%d", n), s))} }},
	{name: "binary", columns: []string{"BINARY(16)"}, of: func(n, _ int) []string { // some end with zero bytes
		return []string{hexOf(string([]byte{byte(n), '\'', '\\', 0xff, byte(n >> 8), 0, '\n', byte(n % 3), 0, 0, 0, 0, 0, 0, 0, byte(n % 2)}))}
	}},
	{name: "varbinary", is10: true, columns: []string{"VARBINARY(20)"}, of: func(n, _ int) []string { return []string{hexOf(fmt.Sprintf("%c%d\x00", 0x80+n%100, n))} }},
	{name: "composite", columns: []string{"VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", "DATE", "SMALLINT", "BINARY(4)"}, of: func(n, s int) []string {
		return []string{mysql.Quote(spelled(fmt.Sprintf("shop-é%d", n%5), s)), fmt.Sprintf("'2026-01-%02d'", 1+n%28), fmt.Sprint(n%9 - 4), hexOf(string([]byte{byte(n >> 8), byte(n)}))}
	}},
	{name: "uuid", is10: true, columns: []string{"UUID"}, of: func(n, s int) []string { return []string{mysql.Quote(strings.TrimSpace(spelled(uuidOf(n), s)))} }},
}

const keyParents = 900

func (k keyKind) list(format string) string {
	out := make([]string, len(k.columns))
	for i := range out {
		out[i] = strings.NewReplacer("NAME", fmt.Sprintf("k%d", i), "TYPE", k.columns[i]).Replace(format)
	}
	return strings.Join(out, ", ")
}

// is is the condition for a key, as a client writes it.
func (k keyKind) is(n, spelling int) string {
	var terms []string
	for i, lit := range k.of(n, spelling) {
		terms = append(terms, fmt.Sprintf("k%d = %s", i, lit))
	}
	return strings.Join(terms, " AND ")
}

func (k keyKind) shard() farm.ShardName { return farm.ShardName("k_" + k.name) }

func (k keyKind) schema() []string {
	code := "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
	var parents, kids, groups []string
	for n := range keyParents {
		key := strings.Join(k.of(n, rand.IntN(4)), ", ")
		parents = append(parents, fmt.Sprintf("(%s, %d, 'Ä%d', 'p%d')", key, 1+n%2, n%12, n))
		for no := range 3 {
			kids = append(kids, fmt.Sprintf("(%s, %d, %d)", strings.Join(k.of(n, rand.IntN(4)), ", "), no, n*no))
		}
	}
	for g := range 12 {
		groups = append(groups, fmt.Sprintf("('ä%d', '/%d')", g, g))
	}
	return []string{
		"CREATE DATABASE " + string(k.shard()) + " CHARACTER SET utf8mb4", "USE " + string(k.shard()),
		"CREATE TABLE tenants (tenant_id INT PRIMARY KEY, m TINYINT NOT NULL DEFAULT 0, a TINYINT NOT NULL DEFAULT 0)",
		"CREATE TABLE parents (" + k.list("NAME TYPE NOT NULL") + ", tenant_id INT NOT NULL, code " + code + ", name VARCHAR(60), PRIMARY KEY (" + k.list("NAME") + "), KEY (tenant_id))",
		"CREATE TABLE kids (id BIGINT AUTO_INCREMENT PRIMARY KEY, " + k.list("NAME TYPE") + ", no INT NOT NULL, size INT, gone INT, KEY (" + k.list("NAME") + ", no))",
		"CREATE TABLE codes (code " + code + " PRIMARY KEY, path VARCHAR(100))",
		"INSERT INTO tenants (tenant_id) VALUES (1), (2)",
		"INSERT INTO codes VALUES " + strings.Join(groups, ", "),
		"INSERT INTO parents (" + k.list("NAME") + ", tenant_id, code, name) VALUES " + strings.Join(parents, ", "),
		"INSERT INTO kids (" + k.list("NAME") + ", no, size) VALUES " + strings.Join(kids, ", "),
	}
}

func (k keyKind) spec() spec.Spec {
	s := spec.Spec{Name: "keys", File: "reshape/keys.yaml",
		Tenant:   spec.Tenant{Table: "tenants", Key: "tenant_id", Migrated: "m", Active: "a"},
		Parent:   spec.Parent{Table: "parents", Tenant: "tenant_id"},
		Child:    spec.Child{Table: "kids", Counts: "gone IS NULL", Latest: []spec.Order{{Column: "no", Desc: true}, {Column: "id", Desc: true}}},
		Carry:    []spec.Carry{{Column: "latest_id", From: "id"}, {Column: "latest_size", From: "size"}},
		Snapshot: spec.Snapshot{Join: []spec.Join{{Table: "codes", On: map[string]string{"code": "code"}}}, Columns: []string{"parents.name", "codes.path", "codes.code", "kids.size"}},
	}
	for i := range k.columns {
		s.Child.Parent = append(s.Child.Parent, fmt.Sprintf("k%d", i))
		s.Snapshot.Columns = append(s.Snapshot.Columns, fmt.Sprintf("parents.k%d", i))
	}
	return s
}

// writes are what an application does, one transaction each.
func (k keyKind) writes(n int) []string {
	key, sp := n%(keyParents+100), rand.IntN(4)
	lits := func(n, s int) string { return strings.Join(k.of(n, s), ", ") }
	set := func(n, s int) string {
		var out []string
		for i, lit := range k.of(n, s) {
			out = append(out, fmt.Sprintf("k%d = %s", i, lit))
		}
		return strings.Join(out, ", ")
	}
	parent := fmt.Sprintf("INSERT INTO parents (%s, tenant_id, code, name) VALUES (%s, %d, 'ä%d', 'again %d')", k.list("NAME"), lits(key, sp), 1+rand.IntN(2), rand.IntN(12), n)
	all := [][]string{
		{fmt.Sprintf("INSERT INTO kids (%s, no, size) VALUES (%s, %d, %d)", k.list("NAME"), lits(key, sp), 10+n, n)},
		{fmt.Sprintf("UPDATE kids SET gone = IF(gone IS NULL, 1, NULL) WHERE %s ORDER BY no DESC LIMIT 1", k.is(key, sp))},
		{fmt.Sprintf("DELETE FROM kids WHERE %s ORDER BY no DESC LIMIT 1", k.is(key, sp))},
		{fmt.Sprintf("DELETE FROM kids WHERE %s", k.is(key, sp))},
		{fmt.Sprintf("UPDATE kids SET %s WHERE %s", set(rand.IntN(keyParents), sp), k.is(key, sp))},
		{fmt.Sprintf("UPDATE codes SET path = '/renamed/%d' WHERE code = 'Ä%d'", n, n%12)},
		{fmt.Sprintf("UPDATE codes SET code = '%s%d' WHERE code = 'a%d'", []string{"ä", "Ä", "a", "A"}[sp], n%12, n%12)},
		{fmt.Sprintf("UPDATE parents SET code = '%s%d', name = 'n%d' WHERE %s", []string{"ä", "Ä", "a", "A"}[sp], rand.IntN(13), n, k.is(key, sp))},
		{fmt.Sprintf("UPDATE parents SET tenant_id = 3 - tenant_id WHERE %s", k.is(key, sp))},
		{"DELETE FROM parents WHERE " + k.is(key, sp)},
		{parent},
		{"DELETE FROM parents WHERE " + k.is(key, sp), parent},
		{fmt.Sprintf("UPDATE parents SET %s WHERE %s", set(key, rand.IntN(4)), k.is(key, sp))},
		{fmt.Sprintf("UPDATE parents SET %s WHERE %s", set(rand.IntN(keyParents), sp), k.is(key, sp))},
	}
	return all[rand.IntN(len(all))]
}

// Chunks of tables with keys of each kind are one snapshot, though clients spell the same key in several ways and write until it is done: a replica that stops at its position has exactly its rows.
func TestChunksByAnyKey(t *testing.T) {
	t.Parallel() // it mostly waits
	mariadbtest.OnEach(t, func(t *testing.T, l mariadbtest.Line) {
		ai, bi := l.Start(t, "a"), l.Start(t, "b", "--auto-increment-offset=2")
		a, b := mysqltest.Open(t, ai), mysqltest.Open(t, bi)
		repl := mysqltest.Account(mariadbtest.Repl)
		for n, k := range keyKinds {
			if k.is10 && l.Name != "MariaDB" {
				continue
			}
			if ok := t.Run(k.name, func(t *testing.T) {
				turns.OneOf(t, uint32(n), uint32(len(keyKinds)))
				if err := b.Follow(t.Context(), ai.Address, repl, time.Minute); err != nil {
					t.Fatal(err)
				}
				if err := a.Build(t.Context(), k.schema()); err != nil {
					t.Fatal(err)
				}
				chunksByKey(t, k, ai, a, b)
			}); !ok {
				return
			}
		}
	})
}

func chunksByKey(t *testing.T, k keyKind, ai *mariadbtest.Instance, a, b *mysql.Server) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	must(b.WaitFor(ctx, mysqltest.Position(t, a), time.Minute))
	must(b.StopReplicating(ctx))
	shape, err := ShapeOf(ctx, a, k.spec(), k.shard())
	must(err)
	spool, err := os.Create(filepath.Join(t.TempDir(), "spool"))
	must(err)
	defer spool.Close()

	done, written := k.writing(t, ai)
	defer done()
	progress, killed, kills := Progress{ServerID: 4_000_000_001}, errors.New("killed"), 0
	var out bytes.Buffer
	var sum Summary
	for {
		c := &Chunked{Shape: shape, Shard: k.shard(), Tenant: "2", Server: a, Spool: spool, Rows: 90, Progress: progress, Keep: func(p Progress) error {
			if kills == 0 || kills < 5 && rand.IntN(4) == 0 {
				return killed // the rows are in the spool, and nobody knows
			}
			progress = p
			if kills < 5 && rand.IntN(4) == 0 {
				return killed
			}
			return nil
		}}
		if sum, err = c.Run(ctx, &out); !errors.Is(err, killed) {
			break
		}
		kills++
	}
	must(err)
	done()
	must(b.StopAtWith(ctx, ai.Address, mysqltest.Account(mariadbtest.Repl), sum.Position, time.Minute))
	want, whole := take(t, b, Of(shape, k.shard(), "2", ""), "jsonl")
	if got := out.String(); !slices.Equal(sorted(got), sorted(want)) || sum.Rows != whole.Rows {
		t.Errorf("%d rows, the replica has %d", sum.Rows, whole.Rows)
		reportDifference(t, sorted(got), sorted(want))
	}
	if !sum.Position.Equal(whole.Position) {
		t.Errorf("the snapshot is at %s, the replica at %s", sum.Position, whole.Position)
	}
	if first, err := mysql.ParsePosition(progress.From); err != nil || first.Equal(sum.Position) || kills == 0 || whole.Rows < 100 {
		t.Errorf("nobody wrote meanwhile (%s), nothing was killed (%d), or there is nothing (%d rows): %v", first, kills, whole.Rows, err)
	}
	t.Logf("%d rows, %d transactions meanwhile, %d kills", whole.Rows, written.Load(), kills)
	fillsIn(t, k, a, shape)
}

// writing has two clients write until done is called.
func (k keyKind) writing(t *testing.T, i *mariadbtest.Instance) (done func(), written *atomic.Int64) {
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	written = &atomic.Int64{}
	for range 2 {
		db := i.DB(t, mariadbtest.Stowage, string(k.shard()))
		all.Go(func() {
			for ctx.Err() == nil {
				time.Sleep(4 * time.Millisecond) // the replica keeps up
				tx, err := db.BeginTx(ctx, nil)
				if err != nil {
					return
				}
				for _, st := range k.writes(rand.IntN(100_000)) {
					_, err = tx.Exec(st)
				}
				if err != nil || rand.IntN(8) == 0 { // a key that is there, a deadlock
					_ = tx.Rollback()
				} else if tx.Commit() == nil {
					written.Add(1)
				}
			}
		})
	}
	return sync.OnceFunc(func() { cancel(); all.Wait() }), written
}

// fillsIn: the reshape itself takes keys of this kind.
func fillsIn(t *testing.T, k keyKind, server *mysql.Server, shape latest.Shape) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	tables, err := latest.Tables(ctx, server, k.shard(), shape.Names())
	must(err)
	must(server.Build(ctx, append([]string{"USE " + string(k.shard())}, shape.AddColumns(tables)...)))
	session, err := shape.Open(ctx, server, nil)
	must(err)
	defer session.Close()
	for after := latest.Key(nil); ; {
		c, err := session.Fill(ctx, k.shard(), "2", after, 100)
		must(err)
		if after = c.Last; after == nil {
			break
		}
	}
	if c, err := Compare(ctx, server, shape, k.shard(), "2"); err != nil || c.Different != 0 || c.Rows < 100 {
		t.Errorf("filled in: %+v %v", c, err)
	}
}

// Keys that no event leads to rows by are refused before anything is read.
func TestKeysThatChunksRefuse(t *testing.T) {
	t.Parallel()
	i := mariadbtest.Start(t, "keys")
	server := mysqltest.Open(t, i)
	k := keyKinds[2]
	if err := server.Build(t.Context(), k.schema()); err != nil {
		t.Fatal(err)
	}
	for change, want := range map[string]string{
		"ALTER TABLE k_varchar.kids MODIFY k0 VARCHAR(60) COLLATE utf8mb4_bin":                                                                             "kids.k0 is varchar(60) COLLATE utf8mb4_bin and parents.k0 is varchar(60) COLLATE utf8mb4_unicode_ci; --chunks needs one type and one collation",
		"ALTER TABLE k_varchar.codes MODIFY code VARCHAR(20) CHARACTER SET latin1":                                                                         "codes.code is varchar(20) COLLATE latin1_swedish_ci and parents.code is varchar(20) COLLATE utf8mb4_general_ci",
		"ALTER TABLE k_varchar.kids MODIFY k0 DECIMAL(9,2)":                                                                                                "kids.k0 is decimal(9,2); --chunks takes keys of integers",
		"ALTER TABLE k_varchar.kids ADD COLUMN note TEXT COMPRESSED":                                                                                       "column kids.note: it is a compressed column",
		"ALTER TABLE k_varchar.parents MODIFY k0 VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL":                                           "--chunks needs one type and one collation",
		"ALTER TABLE k_varchar.parents ADD CONSTRAINT of_tenant FOREIGN KEY (tenant_id) REFERENCES k_varchar.tenants (tenant_id) ON DELETE CASCADE":        "a foreign key changes rows of parents by of_tenant (DELETE CASCADE)",
		"ALTER TABLE k_varchar.codes ADD COLUMN t INT, ADD CONSTRAINT code_of FOREIGN KEY (t) REFERENCES k_varchar.tenants (tenant_id) ON UPDATE SET NULL": "rows of codes by code_of (UPDATE SET NULL)",
	} {
		t.Run(want, func(t *testing.T) {
			i.Exec(t, "CREATE OR REPLACE DATABASE k_varchar CHARACTER SET utf8mb4")
			if err := server.Build(t.Context(), k.schema()[1:6]); err != nil {
				t.Fatal(err)
			}
			i.Exec(t, "SET STATEMENT sql_mode='' FOR "+change)
			shape, err := ShapeOf(t.Context(), server, k.spec(), k.shard())
			if err != nil {
				t.Fatal(err)
			}
			spool, err := os.Create(filepath.Join(t.TempDir(), "spool"))
			if err != nil {
				t.Fatal(err)
			}
			defer spool.Close()
			c := &Chunked{Shape: shape, Shard: k.shard(), Tenant: "2", Server: server, Spool: spool, Keep: func(Progress) error { t.Error("something was read"); return nil }}
			if _, err := c.Run(t.Context(), &bytes.Buffer{}); !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
		})
	}
}
