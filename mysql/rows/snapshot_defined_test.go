package rows

import (
	"testing"

	"stowage/internal/mariadbtest"
	"stowage/mysql"
)

// TestSchemaChangesAreCounted: of clients and of replication alike, and nothing else is.
func TestSchemaChangesAreCounted(t *testing.T) {
	t.Parallel()
	a, source := start(t, "a")
	b, replica := start(t, "b")
	follow(t, replica, a)
	for _, s := range []*mysql.Server{source, replica} {
		before, err := schemaChanges(t.Context(), mysql.Through(s))
		must(t, err)
		a.Exec(t, "CREATE DATABASE IF NOT EXISTS d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "ALTER TABLE d.t ADD COLUMN v INT", "CREATE TEMPORARY TABLE d.x (id INT)", "DROP TEMPORARY TABLE d.x")
		mariadbtest.AwaitApplied(t, b, a)
		after, err := schemaChanges(t.Context(), mysql.Through(s))
		must(t, err)
		if after != before+3 {
			t.Errorf("%s counts %d changes, want 3", s.Name(), after-before)
		}
		a.Exec(t, "INSERT INTO d.t VALUES (1, 1)", "DROP TABLE d.t")
		mariadbtest.AwaitApplied(t, b, a)
	}
}
