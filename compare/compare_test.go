package compare_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"stowage/compare"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql/rows"
)

// A verification as every runbook does it: at a barrier of its own each time, while the source is written; what was
// equal before is not summed again, and what differs is mended only when that was asked for.
func TestVerification(t *testing.T) {
	t.Parallel() // it mostly waits
	a := mariadbtest.Start(t, "a")
	b := mariadbtest.Start(t, "b")
	mariadbtest.Ring(t, a, b)
	a.Exec(t, "CREATE DATABASE d", "USE d", "CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT t SELECT seq, seq FROM seq_1_to_500",
		"CREATE TABLE u (id INT PRIMARY KEY)", "INSERT u VALUES (1), (2)", "CREATE SEQUENCE sq", "DO NEXTVAL(sq)")
	source, copied := mysqltest.Open(t, a), mysqltest.Open(t, b)
	b.Exec(t, "SET GLOBAL read_only = 1")

	var kept rows.Progress
	emptied, mended := 0, ""
	judge := func(repair bool) rows.Verdict {
		t.Helper()
		v := compare.Verification{Source: source, Copied: copied, Patience: time.Minute, Begin: kept, Repair: repair,
			Keep: func(_ context.Context, p rows.Progress) error {
				if len(p.Tables) == 0 && p.Table == "" {
					emptied++
				}
				kept = p
				return nil
			},
			Tell:   func(string) {},
			Mended: func(text string) { mended = text },
		}
		verdict, err := v.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r, err := copied.Replication(t.Context())
		if err != nil || r.SQL != "No" {
			t.Errorf("the copy replicates after a verification: %+v %v", r, err)
		}
		return verdict
	}
	if v := judge(false); len(v.Mismatches) > 0 || v.Fresh != 502 || v.Tables != 2 {
		t.Fatalf("the first: %+v", v)
	}
	a.Exec(t, "INSERT d.t VALUES (1001, 1)", "DO NEXTVAL(d.sq)")
	if v := judge(false); len(v.Mismatches) > 0 || v.Fresh != 0 || v.Rows != 502 {
		t.Errorf("a second, of what was found equal: %+v", v)
	}
	if n := b.Value(t, "SELECT COUNT(*) FROM d.t"); n != "501" {
		t.Errorf("the copy stands at %s rows: it did not go on to the new barrier", n)
	}
	kept = rows.Progress{}
	spoil := []string{"SET SESSION sql_log_bin = 0", "UPDATE d.t SET v = 0 WHERE id = 7", "DELETE FROM d.t WHERE id = 8", "INSERT d.u VALUES (3)"}
	b.Exec(t, spoil...)
	v := judge(false)
	if len(v.Mismatches) != 2 || mended != "" || b.Value(t, "SELECT v FROM d.t WHERE id = 7") != "0" {
		t.Errorf("not asked to Repair: %v, %q", v.Mismatches, mended)
	}
	text := compare.Differences(source, v.Mismatches)
	for _, want := range []string{"2 chunks or definitions differ from a", "(7) differs", "(8) is missing", "(3) should not be there"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not said in\n%s", want, text)
		}
	}
	emptied = 0
	v = judge(true)
	if len(v.Mismatches) > 0 || mended == "" || v.Fresh != 503 || emptied == 0 {
		t.Errorf("repaired: %+v, %q, %d", v, mended, emptied)
	}
	if b.Value(t, "SELECT v FROM d.t WHERE id = 7") != "7" || b.Value(t, "SELECT COUNT(*) FROM d.u") != "2" || a.Value(t, "SELECT COUNT(*) FROM d.u") != "2" {
		t.Error("the copy is not as its source")
	}
}

// TestComparingBesideSchemaChanges: a stream of schema changes on the source was taken for a pair that has drifted apart.
func TestComparingBesideSchemaChanges(t *testing.T) {
	t.Parallel() // it mostly waits
	a := mariadbtest.Start(t, "a")
	b := mariadbtest.Start(t, "b")
	mariadbtest.Ring(t, a, b)
	a.Exec(t, "CREATE DATABASE d", "USE d", "CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT t SELECT seq, seq FROM seq_1_to_5000", "CREATE TABLE u (id INT PRIMARY KEY)")
	b.Exec(t, "SET GLOBAL read_only = 1")
	ctx, stop := context.WithCancel(t.Context())
	changed := make(chan int)
	go func() {
		db, n := a.DB(t, mariadbtest.Stowage, "d"), 0
		for ; ctx.Err() == nil; n++ {
			for _, text := range []string{"ALTER TABLE t ADD COLUMN w INT", "CREATE TABLE x (id INT PRIMARY KEY)", "ALTER TABLE t DROP COLUMN w", "DROP TABLE x", "CREATE OR REPLACE VIEW y AS SELECT 1"} {
				if _, err := db.Exec(text); err != nil {
					t.Error(err)
				}
				time.Sleep(300 * time.Millisecond)
			}
		}
		changed <- n
	}()
	told := 0
	for n := range 3 {
		v := compare.Verification{Source: mysqltest.Open(t, a), Copied: mysqltest.Open(t, b), Patience: time.Minute,
			Keep: func(context.Context, rows.Progress) error { return nil }, Tell: func(text string) {
				if strings.Contains(text, "a schema change on a came") {
					told++
				}
			}}
		verdict, err := v.Run(t.Context())
		if err != nil || len(verdict.Mismatches) > 0 {
			t.Errorf("the comparison %d: %v %v", n, verdict.Mismatches, err)
		}
	}
	stop()
	t.Logf("%d rounds of changes, %d comparisons begun again", <-changed, told)
}
