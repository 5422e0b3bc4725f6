package mysql

import (
	"context"
	"testing"
	"time"

	"stowage/internal/mariadbtest"
)

// Who begins again knows how the marks of its statements begin, and not which of them ran when it was killed. A statement of another run is not waited for.
func TestAStatementWhoseSenderDiedIsWaitedFor(t *testing.T) {
	t.Parallel()
	i := mariadbtest.Start(t, "marks")
	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT NOT NULL PRIMARY KEY)")
	reader, err := i.DB(t, mariadbtest.Stowage, "d").BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := reader.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM t").Scan(&n); err != nil { // the ALTER waits for it
		t.Fatal(err)
	}
	s := open(t, i)
	ended := make(chan error, 1)
	go func() {
		ended <- s.Alter(t.Context(), Altering{Database: "d", Statement: "ALTER TABLE t ADD COLUMN n INT", LockWait: time.Minute, Mark: "alter run1 d 0"})
	}()
	for i.Value(t, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for table metadata lock%'") == "0" {
		time.Sleep(10 * time.Millisecond)
	}
	for mark, waits := range map[string]bool{"alter run1": true, "alter run1 d 0": true, "alter run1 d": true, "alter run": false, "alter run2": false} {
		short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if err := s.AwaitAlter(short, mark, nil); (err != nil) != waits {
			t.Errorf("%q: %v", mark, err)
		}
		cancel()
	}
	if err := reader.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := s.AwaitAlter(t.Context(), "alter run1", nil); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
