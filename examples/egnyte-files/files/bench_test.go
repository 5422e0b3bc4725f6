package files

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	egnyte "stowage/examples/egnyte-files"
	"stowage/internal/mariadbtest"
)

// benchSizes are the tenants that are measured, in versions; the largest of the plan comes besides.
var benchSizes = []int64{5_000, 20_000, 50_000, 200_000, 1_000_000, 3_000_000}

// TestBenchSnapshots measures BENCH=reshape: how long one multi-table UPDATE takes to fill the carried columns in, and then every
// form of the snapshot for tenants of several sizes, in turns, each first with nothing in the pool and then once more.
// scripts/bench/reshape.sh runs it and reads its lines. BENCH_RESHAPE is the number of versions, ROUNDS how often, LIMIT the
// seconds after which a statement is ended and counted as slower, FILL_ROWS the files of one transaction of the fill-in; ONLY=fill
// leaves the snapshots out.
func TestBenchSnapshots(t *testing.T) {
	versions, err := strconv.ParseInt(os.Getenv("BENCH_RESHAPE"), 10, 64)
	if err != nil {
		t.Skip("BENCH_RESHAPE is not set: this is a measurement, not a test")
	}
	b := &bench{limit: whole("LIMIT", 600), rounds: whole("ROUNDS", 3), dead: map[string]bool{}}
	if os.Getenv("ONLY") == "fill" {
		b.rounds = 0
	}
	poolMB := max(64, versions/1_000_000*int64(whole("POOL_MB_PER_MILLION", 43)))
	b.instance = mariadbtest.Start(t, "bench", fmt.Sprintf("--innodb-buffer-pool-size=%dM", poolMB), "--innodb-log-file-size=1G", "--innodb-log-buffer-size=16M",
		"--innodb-read-io-threads=4", "--innodb-write-io-threads=4", "--sort-buffer-size=2M", "--join-buffer-size=256K", "--read-buffer-size=128K",
		"--tmp-table-size=16M", "--max-heap-table-size=16M", "--net-write-timeout=3600", "--innodb-buffer-pool-dump-at-shutdown=0")
	db := b.instance.DB(t, mariadbtest.Stowage, "")
	db.SetMaxIdleConns(0) // the server is started again and again
	began := time.Now()
	tenants, err := Generate(t.Context(), db, shard, Plan{Seed: 1, Versions: versions, Largest: versions * 2 / 3, Unlogged: true,
		Say: func(line string) { fmt.Printf("# %s, %.0f s\n", line, time.Since(began).Seconds()) }})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("generated versions=%d tenants=%d seconds=%.1f\n", versions, len(tenants), time.Since(began).Seconds())
	b.size(t, "before", poolMB)
	b.fillIn(t)
	b.fillByTenants(t, tenants)
	b.size(t, "after", poolMB)
	b.instance.Exec(t, "ANALYZE TABLE "+shard+".files, "+shard+".versions, "+shard+".folders")
	b.settle(t)
	chosen := b.choose(t, db, tenants)
	for round := range b.rounds {
		for _, tenant := range chosen {
			for n := range egnyte.Forms {
				b.measure(t, round, tenant, egnyte.Forms[(n+round)%len(egnyte.Forms)])
			}
		}
	}
}

type bench struct {
	instance *mariadbtest.Instance
	limit    int
	rounds   int
	dead     map[string]bool // forms that ran into the limit, by form and tenant
}

func whole(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}

func (b *bench) size(t *testing.T, when string, poolMB int64) {
	t.Helper()
	b.instance.Exec(t, "ANALYZE TABLE "+shard+".files, "+shard+".versions")
	fmt.Printf("size %s files_mb=%s all_mb=%s pool_mb=%d\n", when,
		b.instance.Value(t, "SELECT ROUND(SUM(FILE_SIZE) / 1048576) FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME = ?", shard+"/files"),
		b.instance.Value(t, "SELECT ROUND(SUM(FILE_SIZE) / 1048576) FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME LIKE ?", shard+"/%"), poolMB)
}

// fillIn times one multi-table UPDATE of all files, from an empty pool.
func (b *bench) fillIn(t *testing.T) {
	t.Helper()
	server := open(t, b.instance)
	addColumns(t, server, shapeOf(t, server), false)
	b.settle(t)
	b.instance.Restart(t)
	b.timeFill(t, "one UPDATE", func() (int64, error) {
		db := b.instance.DB(t, mariadbtest.Stowage, shard)
		defer db.Close()
		done, err := db.ExecContext(t.Context(), FillIn)
		if err != nil {
			return 0, err
		}
		return done.RowsAffected()
	})
}

// fillByTenants empties the columns and times what `stowage reshape` does without a throttle: chunks of a tenant, one tenant after
// the other, by one session.
func (b *bench) fillByTenants(t *testing.T, tenants []Tenant) {
	t.Helper()
	rows := whole("FILL_ROWS", 2000)
	b.instance.Exec(t, "USE "+shard, "UPDATE files SET latest_version_id = NULL, latest_version_no = NULL, latest_size = NULL, latest_hash = NULL")
	b.settle(t)
	b.instance.Restart(t)
	b.timeFill(t, fmt.Sprintf("by tenants, %d files a transaction", rows), func() (changed int64, err error) {
		server := open(t, b.instance)
		defer server.Close()
		s, err := shapeOf(t, server).Open(t.Context(), server, nil)
		if err != nil {
			return 0, err
		}
		defer s.Close()
		for _, tenant := range tenants {
			n, err := fillTenant(t.Context(), s, strconv.Itoa(int(tenant.ID)), rows)
			if changed += n; err != nil {
				return changed, err
			}
		}
		return changed, nil
	})
}

func (b *bench) timeFill(t *testing.T, how string, fill func() (int64, error)) {
	t.Helper()
	began := time.Now()
	rows, err := fill()
	took := time.Since(began).Seconds()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("filled rows=%d seconds=%.1f rows_per_second=%.0f how=%s\n", rows, took, float64(rows)/took, how)
}

// settle waits until the server has nothing to do of its own: what was changed is purged and on disk.
func (b *bench) settle(t *testing.T) {
	t.Helper()
	b.instance.Exec(t, "SET GLOBAL innodb_max_dirty_pages_pct = 0")
	for name, most := range map[string]int{"Innodb_history_list_length": 50, "Innodb_buffer_pool_pages_dirty": 200} {
		for end := time.Now().Add(30 * time.Minute); ; time.Sleep(500 * time.Millisecond) {
			n, err := strconv.Atoi(b.instance.Value(t, "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = ?", name))
			if err != nil || time.Now().After(end) {
				t.Fatalf("%s is %d after half an hour (%v)", name, n, err)
			}
			if n <= most {
				break
			}
		}
	}
}

// sized is a tenant with the numbers of its rows as they are.
type sized struct {
	id              uint32
	versions, files int64
}

// choose are the tenants nearest to benchSizes, and the largest.
func (b *bench) choose(t *testing.T, db *sql.DB, tenants []Tenant) []sized {
	t.Helper()
	largest := slices.MaxFunc(tenants, func(a, b Tenant) int { return cmp.Compare(a.Files, b.Files) })
	var out []sized
	for _, want := range append(benchSizes, largest.Files*versionsPerFile) {
		far := func(x Tenant) int64 { return max(x.Files*versionsPerFile-want, want-x.Files*versionsPerFile) }
		near := slices.MinFunc(tenants, func(a, b Tenant) int { return cmp.Compare(far(a), far(b)) })
		if far(near) > want/2 || slices.ContainsFunc(out, func(s sized) bool { return s.id == near.ID }) {
			continue
		}
		s := sized{id: near.ID, files: near.Files}
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+shard+".versions WHERE tenant_id = ?", s.id).Scan(&s.versions); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// measure reads a tenant's snapshot by one form, first with an empty pool and then at once again.
func (b *bench) measure(t *testing.T, round int, tenant sized, form string) {
	t.Helper()
	key := fmt.Sprint(form, tenant.id)
	if b.dead[key] {
		return
	}
	b.instance.Restart(t)
	db := b.instance.DB(t, mariadbtest.Stowage, shard)
	defer db.Close()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := run(t.Context(), conn, fmt.Sprintf("SET SESSION max_statement_time = %d, net_write_timeout = 3600", b.limit), "SELECT COUNT(*) FROM tenants"); err != nil {
		t.Fatal(err)
	}
	for _, pool := range []string{"cold", "warm"} {
		before := counters(t, conn)
		began, rows := time.Now(), 0
		err := ReadBy(t.Context(), conn, form, tenant.id, func(Latest) error { rows++; return nil })
		took := time.Since(began).Seconds()
		if timedOut(err) {
			b.dead[key] = true
			fmt.Printf("snapshot round=%d versions=%d files=%d form=%s pool=%s seconds=>%d rows=0 reads=0 pages=0\n", round+1, tenant.versions, tenant.files, form, pool, b.limit)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		after := counters(t, conn)
		fmt.Printf("snapshot round=%d versions=%d files=%d form=%s pool=%s seconds=%.4f rows=%d reads=%d pages=%d\n", round+1, tenant.versions, tenant.files, form, pool,
			took, rows, after["reads"]-before["reads"], after["pages"]-before["pages"])
		if took > 120 {
			return // as cold as before: the tenant is larger than the pool
		}
	}
}

// timedOut: error 1969, max_statement_time.
func timedOut(err error) bool {
	var refused *mysql.MySQLError
	return errors.As(err, &refused) && refused.Number == 1969
}

// counters are the rows that the session has read through handlers (Handler_read_%), and the pages that the server has read.
func counters(t *testing.T, conn *sql.Conn) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	for name, query := range map[string]string{
		"reads": "SELECT SUM(VARIABLE_VALUE) FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME LIKE 'Handler\\_read\\_%' AND VARIABLE_NAME <> 'Handler_read_rnd_deleted'",
		"pages": "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'Innodb_buffer_pool_reads'",
	} {
		var n float64
		if err := conn.QueryRowContext(context.WithoutCancel(t.Context()), query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		out[name] = int64(n)
	}
	return out
}
