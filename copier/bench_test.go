package copier

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stowage/internal/mariadbtest"
	"stowage/mysql"
	"stowage/mysql/rows"
)

// TestBenchBesideMyloader measures the copier, the copier that hands over to the
// target's own replication, and mydumper with myloader on the same data and
// servers, in turn; and then how fast the first two apply what was written
// meanwhile. scripts/bench/copier.sh runs it and reads
// its lines: BENCH_COPIER is the megabytes of the schema.
func TestBenchBesideMyloader(t *testing.T) {
	megabytes, err := strconv.Atoi(os.Getenv("BENCH_COPIER"))
	if err != nil {
		t.Skip("BENCH_COPIER is not set: this is a measurement, not a test")
	}
	rounds := 3
	if n, err := strconv.Atoi(os.Getenv("ROUNDS")); err == nil {
		rounds = n
	}
	for _, program := range []string{"mydumper", "myloader"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%s is not installed (scripts/setup.sh bench)", program)
		}
	}
	settings := []string{"--innodb-buffer-pool-size=512M", "--innodb-log-file-size=512M", "--innodb-flush-log-at-trx-commit=1", "--sync-binlog=1", "--innodb-read-io-threads=4", "--innodb-write-io-threads=4", "--innodb-log-buffer-size=16M", "--tmp-table-size=64M", "--table-open-cache=1000", "--slave-parallel-threads=8"}
	f := &farmOfTwo{from: mariadbtest.Start(t, "source", settings...), to: mariadbtest.Start(t, "target", settings...)}
	const tables, rowBytes = 8, 240
	rows := megabytes * 1_000_000 / rowBytes / tables
	f.from.Exec(t, "CREATE DATABASE shop", "USE shop")
	for i := range tables {
		f.from.Exec(t, "USE shop", fmt.Sprintf(`CREATE TABLE sbtest%d (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL DEFAULT 0,
			c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '', KEY k_1 (k))`, i+1),
			fmt.Sprintf(`INSERT INTO sbtest%d (id, k, c, pad) SELECT seq, 1 + (seq * 2654435761) %% %d, CONCAT_WS('-', MD5(seq), MD5(seq + 1), MD5(seq + 2)), MD5(-seq) FROM seq_1_to_%d`, i+1, rows, rows),
			fmt.Sprintf("ANALYZE TABLE sbtest%d", i+1))
	}
	threads := 4
	for round := range rounds {
		before := f.cpu(t)
		ours := f.timeCopier(t, threads)
		between := f.cpu(t)
		theirs := f.timeMyloader(t, threads)
		cpu := f.cpu(t)
		f.native = true
		native := f.timeCopier(t, threads)
		f.native = false
		// Read by the script: seconds of each, and processor seconds of both servers and the programs, of the first two.
		fmt.Printf("round %d copier %.3f myloader %.3f CPU %.2f and %.2f native %.3f\n", round+1, ours.Seconds(), theirs.Seconds(), between-before, cpu-between, native.Seconds())
	}
	for _, f.native = range []bool{false, true} {
		f.timeFollowing(t, rows, rounds)
	}
}

// timeFollowing prints how many rows a second are applied of what was written
// while nobody followed, by 8 clients, in transactions of 5 and of 500 rows.
func (f *farmOfTwo) timeFollowing(t *testing.T, rows, rounds int) {
	t.Helper()
	const clients, all = 8, 40000
	f.c = f.copy(t)
	must(t, f.c.Prepare(t.Context()))
	must(t, f.c.Carry(t.Context()))
	must(t, f.c.Finish(t.Context()))
	here, err := f.c.standing(t.Context(), f.c.To)
	must(t, err)
	link, name := f.c.link(byName(here.tables)), "copier"
	if f.native {
		name = "native"
	}
	for round := range rounds {
		for _, each := range []int{5, 500} {
			if f.native {
				must(t, f.c.To.StopLink(t.Context(), link))
			}
			f.write(t, clients, all/clients/each, each, rows)
			begin := time.Now()
			r, err := f.c.open(t.Context(), false)
			must(t, err)
			must(t, r.reachNow(t.Context()))
			// Read by the script.
			fmt.Printf("applied by %s%d: round %d %.0f rows/s\n", name, each, round+1, all/time.Since(begin).Seconds())
			r.close()
		}
	}
	f.clean(t)
	must(t, f.c.Discard(t.Context()))
}

// write changes rows by clients side by side, in transactions of so many rows.
func (f *farmOfTwo) write(t *testing.T, clients, transactions, each, rows int) {
	var writers sync.WaitGroup
	for w := range clients {
		db := f.from.DB(t, mariadbtest.App, "shop")
		writers.Go(func() {
			for n := range transactions {
				id := 1 + (w*transactions+n)*each%max(1, rows-each)
				if _, err := db.ExecContext(t.Context(), fmt.Sprintf("UPDATE sbtest%d SET k = k + 1 WHERE id BETWEEN %d AND %d", w+1, id, id+each-1)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
}

// cpu is the processor seconds of both servers, of this program and of those it
// has run: on a busy machine they say more than the time.
func (f *farmOfTwo) cpu(t *testing.T) float64 {
	t.Helper()
	var sum float64
	for _, pid := range []int{f.from.PID(), f.to.PID()} {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		must(t, err)
		fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		for _, field := range fields[11:13] { // utime, stime: proc_pid_stat(5)
			ticks, err := strconv.ParseFloat(field, 64)
			must(t, err)
			sum += ticks / 100 // USER_HZ is 100 on every Linux that Go runs on
		}
	}
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		must(t, syscall.Getrusage(who, &u))
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
	}
	return sum
}

// timeCopier is Prepare, Carry and Finish: rows, indexes, and all that was written since.
func (f *farmOfTwo) timeCopier(t *testing.T, threads int) time.Duration {
	t.Helper()
	f.c = f.copy(t)
	f.c.Settings = Settings{Streams: threads}
	begin := time.Now()
	must(t, f.c.Prepare(t.Context()))
	must(t, f.c.Carry(t.Context()))
	rows := time.Since(begin)
	must(t, f.c.Finish(t.Context()))
	took := time.Since(begin)
	fmt.Printf("of it rows %.3f\n", rows.Seconds())
	f.clean(t)
	must(t, f.c.Discard(t.Context()))
	return took
}

// timeMyloader is a dump of one consistent snapshot and its loading.
func (f *farmOfTwo) timeMyloader(t *testing.T, threads int) time.Duration {
	t.Helper()
	dir := t.TempDir()
	run := func(program string, i *mariadbtest.Instance, more ...string) {
		args := append([]string{"--host", i.Host, "--port", strconv.Itoa(i.Port), "--user", string(mariadbtest.Stowage), "--password", mariadbtest.Stowage.Password(),
			"--threads", strconv.Itoa(threads)}, more...)
		if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", program, err, out)
		}
	}
	begin := time.Now()
	run("mydumper", f.from, "--database", "shop", "--trx-consistency-only", "--rows", "50000", "--outputdir", dir+"/dump")
	run("myloader", f.to, "--directory", dir+"/dump", "--enable-binlog")
	took := time.Since(begin)
	if was, is := f.from.Value(t, "SELECT COUNT(*) FROM shop.sbtest1"), f.to.Value(t, "SELECT COUNT(*) FROM shop.sbtest1"); was != is {
		t.Fatalf("myloader loaded %s of %s rows", is, was)
	}
	f.to.Exec(t, "DROP DATABASE shop")
	return took
}

// FuzzUnderstand: no text panics, and a statement is never taken for harmless
// because of what is around it.
func FuzzUnderstand(f *testing.F) {
	for _, s := range []string{"ALTER TABLE shop.r ADD x INT", "/*!40000 ALTER TABLE `shop`.`r` DISABLE KEYS */", "CREATE OR REPLACE DEFINER=`a`@`%` VIEW shop.v AS SELECT 'x'", "SET STATEMENT max_statement_time=1 FOR DROP TABLE shop.r",
		"-- x\nINSERT INTO shop.r VALUES ('a''b\\'')", "XA START 'x'", "DROP TABLE `shop`.`_stowmark_job` /* generated by server */", "`", "'", "/*", "\"a"} {
		f.Add(s, "other")
	}
	f.Fuzz(func(t *testing.T, text, current string) {
		mysql.Understand("shop", current, text)
		if strings.Contains(text, "stowage:copier") {
			return
		}
		// With the database as the current one, or by its name, an ALTER is seen whatever follows it.
		for _, seen := range []mysql.Meaning{mysql.Understand("shop", "shop", "ALTER TABLE r "+text), mysql.Understand("shop", current, "ALTER TABLE `shop`.r "+text), mysql.Understand("shop", current, "  /* x */ ALTER TABLE shop . r "+text)} {
			if seen != mysql.Definition {
				t.Errorf("ALTER TABLE ... %q with %q is taken for %d", text, current, seen)
			}
		}
		rows.SplitIndexes(text)
	})
}
