package replay

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"stowage/digest"
	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
)

// byIndex are seven classes that find their rows by an index, and byKey five that find them by the primary key.
var (
	byIndex = []string{
		"SELECT id FROM bills WHERE who = %d", "SELECT what FROM bills WHERE who = %d", "SELECT price FROM bills WHERE who = %d", "SELECT COUNT(*) FROM bills WHERE who = %d",
		"SELECT MAX(price) FROM bills WHERE who = %d", "SELECT id, what FROM bills WHERE who = %d", "SELECT id, price FROM bills WHERE who = %d",
	}
	byKey = []string{
		"SELECT who FROM bills WHERE id = %d", "SELECT what FROM bills WHERE id = %d", "SELECT price FROM bills WHERE id = %d", "SELECT who, what FROM bills WHERE id = %d",
		"SELECT who, price FROM bills WHERE id = %d",
	}
)

// TestCopyWithoutAnIndex replays on a copy that lacks an index, so that most classes became slower: none may be called faster for
// it, and none the opposite of what its times say. Comparisons once called the other five faster.
func TestCopyWithoutAnIndex(t *testing.T) {
	turns.One(t, 8)
	t.Parallel() // it mostly waits
	original, candidate := start(t, "original", logging...), start(t, "candidate", logging...)
	for _, i := range []*mariadbtest.Instance{original, candidate} {
		i.Exec(t, "USE shop", "CREATE TABLE bills (id INT PRIMARY KEY, who INT, what VARCHAR(200), price INT, KEY by_who (who))",
			"INSERT INTO bills SELECT seq, seq MOD 4000, REPEAT('x', 200), seq FROM seq_1_to_12000", "ANALYZE TABLE bills")
	}
	candidate.Exec(t, "USE shop", "ALTER TABLE bills DROP INDEX by_who")
	openLog(t, original)
	askForBills(t, original, 2, 26*time.Second)
	is, _ := Doors(as(t, candidate, reads), nil, false)
	out, err := Run(t.Context(), Options{Inputs: []Input{slowLog(t, original)}, Candidate: is, Speed: 1})
	if err != nil {
		t.Fatal(err)
	}
	slower, seen := 0, 0
	for _, c := range out.Comparison.Classes {
		indexed := strings.Contains(c.Fingerprint, "where who =")
		if !indexed && !strings.Contains(c.Fingerprint, "from bills where id =") {
			continue
		}
		seen++
		if c.Verdict == digest.VerdictFaster && c.P95Ratio >= 1 && c.P50Ratio >= 1 && c.AvgRatio >= 1 || c.Verdict == digest.VerdictSlower && c.P95Ratio <= 1 && c.P50Ratio <= 1 && c.AvgRatio <= 1 {
			t.Errorf("%s is called %s against its times: %+v", c.Fingerprint, c.Verdict, c)
		}
		switch {
		case indexed && (c.Verdict == digest.VerdictFaster || c.Verdict == digest.VerdictUnchanged):
			t.Errorf("%s, without its index, is called %s: %+v", c.Fingerprint, c.Verdict, c)
		case indexed && c.Verdict == digest.VerdictSlower:
			slower++
		}
	}
	t.Logf("of %d classes %d are called slower; common %.2fx (%s)", seen, slower, out.Comparison.CommonFactor, out.Comparison.CommonReason)
	// How many are found depends on how busy the machine is; that the load rose does not.
	if over := out.Comparison.Overall; seen != len(byIndex)+len(byKey) || over.LoadByAvg <= 0 || over.FasterCount > 0 && over.SlowerCount == 0 {
		t.Errorf("of %d classes %d are called slower: %+v", seen, slower, over)
	}
}

// askForBills has sessions ask everything in turn, three times a second each.
func askForBills(t *testing.T, i *mariadbtest.Instance, sessions int, span time.Duration) {
	t.Helper()
	var done sync.WaitGroup
	for n := range sessions {
		done.Go(func() {
			db, err := sql.Open("mysql", i.DSN(mariadbtest.App, "shop"))
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			conn, err := db.Conn(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			began := time.Now()
			for k := n; time.Since(began) < span; k += sessions {
				for _, q := range append(byIndex, byKey...) {
					if _, err := conn.ExecContext(context.Background(), fmt.Sprintf(q, 1+k%4000)); err != nil {
						t.Error(err)
						return
					}
				}
				time.Sleep(time.Second / 3)
			}
		})
	}
	done.Wait()
}
