package copier

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"
)

// farmOfTwo is a source and a target, with a database shop on the source.
type farmOfTwo struct {
	from, to *mariadbtest.Instance
	c        *Copy
	native   bool // the target follows by its own replication
}

func start(t *testing.T, statements ...string) *farmOfTwo {
	t.Helper()
	return startOn(t, mariadbtest.Default(t), statements...)
}

func startOn(t *testing.T, l mariadbtest.Line, statements ...string) *farmOfTwo {
	t.Helper()
	f := &farmOfTwo{from: l.Start(t, "source"), to: l.Start(t, "target")}
	f.from.Exec(t, append([]string{"CREATE DATABASE shop CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", "USE shop"}, statements...)...)
	f.c = f.copy(t)
	return f
}

// copy is another process's view of the same job.
func (f *farmOfTwo) copy(t *testing.T) *Copy {
	t.Helper()
	c := &Copy{Job: "j1", From: mysqltest.Open(t, f.from), To: mysqltest.Open(t, f.to), Schema: "shop", ServerID: 990001,
		Settings: Settings{Streams: 3, ChunkTime: 50 * time.Millisecond, LockWait: 2 * time.Second}}
	if f.native {
		c.Native = nativeFrom(f.from.ServerID)
	}
	return c
}

// nativeFrom needs no option file: these servers are started with skip_slave_start.
func nativeFrom(domain uint32) *Native {
	return &Native{Account: mysqltest.Account(mariadbtest.Repl), Domains: []uint32{domain}}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (f *farmOfTwo) carried(t *testing.T) {
	t.Helper()
	must(t, f.c.Prepare(t.Context()))
	must(t, f.c.Carry(t.Context()))
	must(t, f.c.Finish(t.Context()))
}

func (f *farmOfTwo) cutOver(t *testing.T) {
	t.Helper()
	fence, err := f.c.Fence(t.Context())
	must(t, err)
	must(t, fence.Reach(t.Context()))
	must(t, fence.Rename(t.Context()))
	must(t, fence.Unlock(t.Context()))
}

// clean compares through the copier, and then in a way that shares nothing with it.
func (f *farmOfTwo) clean(t *testing.T) {
	t.Helper()
	found, err := f.c.Compare(t.Context())
	must(t, err)
	if len(found) > 0 {
		t.Fatalf("%d differences, the first: %s", len(found), found[0])
	}
}

// equal reads every row of both databases as hexadecimal text; prefix is the
// one that the tables on the source have.
func (f *farmOfTwo) equal(t *testing.T, prefix string) {
	t.Helper()
	was, is := dump(t, f.from, prefix), dump(t, f.to, "")
	if len(was) == 0 {
		t.Fatal("no tables")
	}
	for table, rows := range was {
		if slices.Equal(rows, is[table]) {
			continue
		}
		for _, r := range rows {
			if !slices.Contains(is[table], r) {
				t.Errorf("%s: not on the target: %s", table, r)
				break
			}
		}
		for _, r := range is[table] {
			if !slices.Contains(rows, r) {
				t.Errorf("%s: only on the target: %s", table, r)
				break
			}
		}
		t.Fatalf("%s: %d rows on the source, %d on the target", table, len(rows), len(is[table]))
	}
	if len(is) != len(was) {
		t.Fatalf("%d tables on the source, %d on the target", len(was), len(is))
	}
}

func dump(t *testing.T, i *mariadbtest.Instance, prefix string) map[string][]string {
	t.Helper()
	return dumpOf(t, i, "shop", prefix)
}

func dumpOf(t *testing.T, i *mariadbtest.Instance, schema, prefix string) map[string][]string {
	t.Helper()
	db := i.DB(t, mariadbtest.Stowage, schema)
	columns := map[string][]string{}
	for _, r := range query(t, db, `SELECT c.TABLE_NAME, c.COLUMN_NAME FROM information_schema.COLUMNS c JOIN information_schema.TABLES t USING (TABLE_SCHEMA, TABLE_NAME)
		WHERE c.TABLE_SCHEMA = ? AND t.TABLE_TYPE = 'BASE TABLE' AND c.TABLE_NAME NOT LIKE '\_stowmark\_%' ORDER BY 1, c.ORDINAL_POSITION`, schema) {
		if !strings.HasPrefix(r[0], prefix) {
			t.Fatalf("table %s on %s should begin with %q", r[0], i.Name, prefix)
		}
		columns[r[0]] = append(columns[r[0]], "COALESCE(HEX(CAST(`"+r[1]+"` AS BINARY)), 'NULL')")
	}
	out := map[string][]string{}
	for table, exprs := range columns {
		name := strings.TrimPrefix(table, prefix)
		out[name] = []string{}
		for _, r := range query(t, db, "SELECT CONCAT_WS(',', "+strings.Join(exprs, ", ")+") FROM `"+table+"`") {
			out[name] = append(out[name], r[0])
		}
		slices.Sort(out[name])
	}
	return out
}

func query(t *testing.T, db *sql.DB, text string, args ...any) [][]string {
	t.Helper()
	rows, err := db.Query(text, args...)
	must(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	must(t, err)
	var out [][]string
	for rows.Next() {
		cells := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		must(t, rows.Scan(into...))
		row := make([]string, len(columns))
		for i, c := range cells {
			row[i] = c.String
		}
		out = append(out, row)
	}
	must(t, rows.Err())
	return out
}

// writers change rows of tables k (integer key), s (text key) and c (two
// columns) until stop; stop returns how many changes were acknowledged.
func (f *farmOfTwo) writers(t *testing.T, i *mariadbtest.Instance, n int) (stop func() int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	var acked atomic.Int64
	db := i.DB(t, mariadbtest.App, "shop")
	for w := range n {
		done.Add(1)
		go func() {
			defer done.Done()
			r := rand.New(rand.NewPCG(uint64(w), 7))
			for ctx.Err() == nil {
				if err := change(ctx, db, r); err != nil && ctx.Err() == nil && !isAside(err) {
					t.Errorf("writer: %v", err)
					return
				}
				acked.Add(1)
				time.Sleep(time.Millisecond)
			}
		}()
	}
	return func() int64 { cancel(); done.Wait(); return acked.Load() }
}

func isAside(err error) bool {
	return strings.Contains(err.Error(), "1146") || strings.Contains(err.Error(), "1213") || strings.Contains(err.Error(), "1205")
}

func change(ctx context.Context, db *sql.DB, r *rand.Rand) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for range 1 + r.IntN(4) {
		k := r.IntN(4000)
		word := fmt.Sprintf("%c%04d", 'a'+rune(k%26), k)
		var text string
		var args []any
		switch r.IntN(9) {
		case 0:
			text, args = "INSERT INTO k (id, v) VALUES (?, ?) ON DUPLICATE KEY UPDATE v = VALUES(v)", []any{k, r.IntN(1000)}
		case 1:
			text, args = "DELETE FROM k WHERE id = ?", []any{k}
		case 2:
			text, args = "UPDATE k SET v = v + 1 WHERE id BETWEEN ? AND ?", []any{k, k + 5}
		case 3:
			text, args = "REPLACE INTO s (word, n) VALUES (?, ?)", []any{word, r.IntN(1000)}
		case 4:
			text, args = "DELETE FROM s WHERE word = ?", []any{word}
		case 5: // the key changes in its letters only
			text, args = "UPDATE s SET word = UPPER(word), n = n + 1 WHERE word = ?", []any{word}
		case 6:
			text, args = "INSERT IGNORE INTO c (a, b, v, u) VALUES (?, ?, ?, ?)", []any{k % 50, word, r.IntN(1000), r.IntN(1 << 30)}
		case 7:
			text, args = "UPDATE IGNORE c SET b = ?, u = u + 1 WHERE a = ? LIMIT 2", []any{word, k % 50}
		case 8:
			text, args = "DELETE FROM c WHERE a = ? ORDER BY b LIMIT 1", []any{k % 50}
		}
		if _, err := tx.ExecContext(ctx, text, args...); err != nil {
			return err
		}
	}
	if r.IntN(10) == 0 {
		return nil // rolled back
	}
	return tx.Commit()
}

// busy are the tables that writers change.
var busy = []string{
	"CREATE TABLE k (id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, v INT NOT NULL, KEY by_v (v))",
	"CREATE TABLE s (word VARCHAR(40) NOT NULL PRIMARY KEY, n INT NOT NULL)",
	"CREATE TABLE c (a SMALLINT NOT NULL, b CHAR(10) CHARACTER SET latin1 COLLATE latin1_german1_ci NOT NULL, v INT, u INT UNSIGNED NOT NULL, PRIMARY KEY (a, b), UNIQUE KEY (u))",
	"INSERT INTO k (id, v) SELECT seq, seq FROM seq_1_to_3000",
	"INSERT INTO s SELECT CONCAT(CHAR(97 + seq % 26), LPAD(seq, 4, '0')), seq FROM seq_1_to_2500",
	"INSERT INTO c SELECT seq % 50, CONCAT('x', seq), seq, seq FROM seq_1_to_2000",
}

func TestCarryUnderWriters(t *testing.T) {
	t.Parallel() // it mostly waits
	f := start(t, busy...)
	stop := f.writers(t, f.from, 3)
	f.carried(t)
	f.clean(t)
	fence, err := f.c.Fence(t.Context())
	must(t, err)
	must(t, fence.Reach(t.Context()))
	must(t, fence.Rename(t.Context()))
	must(t, fence.Unlock(t.Context()))
	if n := stop(); n < 20 {
		t.Fatalf("the writers did only %d changes, which shows nothing", n)
	}
	f.equal(t, mysql.AsidePrefix)
}

// TestThereAndBack writes on the target after the cutover and takes everything back.
func TestThereAndBack(t *testing.T) {
	t.Parallel() // it mostly waits
	f := start(t, busy...)
	f.carried(t)
	f.cutOver(t)
	stop := f.writers(t, f.to, 2)
	over, end := context.WithCancel(t.Context())
	end()
	must(t, f.c.Back(over)) // told to stop before it has begun
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.c.Back(ctx) }()
	time.Sleep(300 * time.Millisecond)
	cancel()
	must(t, <-ended)
	time.Sleep(50 * time.Millisecond) // what is written now is for FenceBack to find
	if err := f.c.Carry(t.Context()); !errors.Is(err, farm.ErrRefused) {
		t.Fatalf("Carry beside the feed back: %v, want a refusal", err)
	}
	if err := f.c.Discard(t.Context()); !errors.Is(err, farm.ErrRefused) {
		t.Fatalf("Discard of what serves: %v, want a refusal", err)
	}
	fence, err := f.c.FenceBack(t.Context())
	must(t, err)
	must(t, fence.Reach(t.Context()))
	must(t, fence.Rename(t.Context()))
	must(t, fence.Unlock(t.Context()))
	stop()
	was := dump(t, f.to, mysql.AsidePrefix)
	is := dump(t, f.from, "")
	for table := range was {
		if !slices.Equal(was[table], is[table]) {
			t.Errorf("%s: %d rows on the target, %d came back", table, len(was[table]), len(is[table]))
		}
	}
	must(t, f.c.Discard(t.Context()))
	if n := f.to.Value(t, "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'shop'"); n != "0" {
		t.Error("the target's database is still there")
	}
	f.from.Exec(t, "INSERT INTO shop.k (v) VALUES (1)")
	if left := f.from.Value(t, "SELECT GROUP_CONCAT(TABLE_NAME) FROM information_schema.TABLES WHERE TABLE_NAME LIKE '\\_stow%'"); left != "" {
		t.Errorf("left on the source: %s", left)
	}
}
