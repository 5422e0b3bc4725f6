package host_test

import (
	"os"
	"path/filepath"
	"testing"

	"stowage/host/hosttest"
	"stowage/internal/mariadbtest"
	"stowage/mysql"
	"stowage/mysql/rows"
)

// TestTableWithDataDirectory: beside its source a copy has a file of its own for a table with DATA DIRECTORY, also when it is prepared again.
func TestTableWithDataDirectory(t *testing.T) {
	t.Parallel() // it mostly waits
	l := local(t)
	s := mariadbtest.Start(t, "source")
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY) DATA DIRECTORY='"+filepath.Join(s.Dir, "elsewhere")+"'", "INSERT d.t VALUES (1),(2)")
	s.Restart(t) // it is written to its file
	i := place(t, l, "copy")
	must(t, l.Claim(t.Context(), i, "test"))
	seed(t, l, s, i)
	_, err := l.Prepare(t.Context(), i)
	must(t, err)
	hosttest.Config(t, l, i, s, nil)
	must(t, l.Start(t.Context(), i, patience))
	source, copied := mysql.Open("source", s.Address, admin, newLog()), mysql.Open(i.Name, i.Dial(), admin, newLog())
	defer source.Close()
	defer copied.Close()
	snap, err := rows.Snapshot(t.Context(), source)
	must(t, err)
	defer snap.Close()
	verdict, err := rows.Comparison{Copy: copied}.Compare(t.Context(), snap, nil)
	if err != nil || len(verdict.Mismatches) > 0 || verdict.Rows != 2 {
		t.Errorf("%v, %v", verdict, err)
	}
	must(t, copied.Build(t.Context(), []string{"ALTER TABLE d.t FORCE"}))
	if _, err := os.Lstat(filepath.Join(i.Dir(), "tables", "d", "t.ibd")); err != nil {
		t.Error(err)
	}
}
