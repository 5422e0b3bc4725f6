package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/digest"
	"stowage/internal/mariadbtest"
)

// What --sql writes into a real server is taken back by import: every class with its ID, its calls and its time. Written twice
// it is there once.
func TestReviewTablesThereAndBack(t *testing.T) {
	i := mariadbtest.Start(t, "review")
	i.Exec(t, "CREATE DATABASE r")
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	log := file("slow.log", "# User@Host: app[app] @ h []\n# Query_time: 0.25  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1\nSET timestamp=1795000000;\nSELECT 'it''s \\\\ odd;\n' FROM t;\n"+
		"# User@Host: app[app] @ h []\n# Query_time: 0.5  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1\nSET timestamp=1795000600;\nSELECT 'x' FROM t;\n")
	var out, said bytes.Buffer
	if code := run(t.Context(), []string{"digest", log, "--sql", "--sql-tables", "r.query_review,r.query_history", "-C", dir}, &out, &said, nil); code != exitFine {
		t.Fatalf("exit %d\n%s", code, said.String())
	}
	for range 2 {
		i.Exec(t, strings.Split(strings.TrimSuffix(out.String(), ";\n"), ";\n")...)
	}
	table := func(name string, columns ...string) string {
		rows := strings.Join(columns, "\t") + "\n"
		cells := "CONCAT_WS('\t', " + strings.Join(columns, ", ") + ")"
		return rows + i.Value(t, "SELECT GROUP_CONCAT("+cells+" SEPARATOR '\n') FROM r."+name) + "\n"
	}
	history := table("query_history", "checksum", "ts_min", "ts_max", "ts_cnt", "Query_time_sum")
	review := table("query_review", "checksum", "fingerprint")
	r, err := digest.ReadReview(strings.NewReader(review), strings.NewReader(history))
	if err != nil {
		t.Fatal(err)
	}
	before, _ := digestJSON(t, log)
	after := r.Digest.Report()
	if len(before.Classes) != 2 || len(after.Classes) != 2 || after.Events != 2 {
		t.Fatalf("before %+v\nafter %+v\n%s%s", before.Classes, after.Classes, review, history)
	}
	for k, c := range before.Classes {
		if x := after.Classes[k]; x.ID32 != c.ID32 || x.Count != c.Count || x.QueryTime.Sum != c.QueryTime.Sum {
			t.Errorf("before %+v\nafter %+v", c, x)
		}
	}
}
