package latest

import (
	"strings"
	"testing"

	"stowage/reshape/spec"
)

// wrong is how many parents of tenant 1 do not say what their latest child has.
func (s *stand) wrong() int64 {
	s.Helper()
	v, err := s.session().Verify(s.Context(), "fs1", "1", nil)
	s.must(err)
	return v.Mismatches
}

// A file that comes from a tenant which is not filled in brings its latest version along; the server draws its key, and versions of no file, file 0, are not its own.
func TestTriggersOfParents(t *testing.T) {
	s := raise(t)
	s.build("ALTER TABLE files MODIFY file_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT", "INSERT INTO versions (tenant_id, file_id, version_no, size) VALUES (1, 0, 1, 4711)")
	s.triggers()
	s.fill(s.session(), "1", 500)
	s.build("UPDATE files SET tenant_id = 1 WHERE tenant_id = 2 LIMIT 10", "UPDATE files SET tenant_id = 1, file_id = file_id + 1000000 WHERE tenant_id = 2 LIMIT 10",
		"INSERT INTO files (tenant_id, name) VALUES (1, 'drawn')")
	if n := s.wrong(); n > 0 {
		t.Errorf("%d files are wrong", n)
	}
}

// Versions that a foreign key binds to their file go with it, and get its new key from the server: no trigger of theirs fires.
func TestTriggersBesideForeignKey(t *testing.T) {
	s := raise(t)
	s.build("ALTER TABLE versions ADD CONSTRAINT of_file FOREIGN KEY (file_id) REFERENCES files (file_id) ON DELETE CASCADE ON UPDATE CASCADE",
		"ALTER TABLE files ADD COLUMN copy_of BIGINT UNSIGNED, ADD CONSTRAINT copy FOREIGN KEY (copy_of) REFERENCES files (file_id) ON DELETE SET NULL")
	tables := s.tables()
	if found := s.shape.Check(tables); len(found) != 1 || !found[0].Slow || !strings.Contains(found[0].Text, "REPLACE INTO files") {
		t.Fatalf("versions that go with their file are refused, or nobody is warned of REPLACE: %v", found)
	}
	if refs := tables["files"].References; len(refs) != 1 || !refs[0].Leaves || refs[0].Updates {
		t.Errorf("foreign keys of files: %+v", refs)
	}
	s.triggers()
	s.fill(s.session(), "1", 500)
	s.build("UPDATE files SET tenant_id = 1 WHERE tenant_id = 2 LIMIT 10", "UPDATE files SET file_id = file_id + 1000000 WHERE tenant_id = 1 LIMIT 10",
		"UPDATE files SET tenant_id = 1, file_id = file_id + 1000000 WHERE tenant_id = 2 LIMIT 10", "DELETE FROM files WHERE tenant_id = 1 LIMIT 10")
	if n := s.wrong(); n > 0 {
		t.Errorf("%d files are wrong", n)
	}
	// What the warning is about: the trigger reads a version, and the same statement deletes it.
	s.build("REPLACE INTO files (file_id, tenant_id, name) SELECT f.file_id, f.tenant_id, f.name FROM files f JOIN versions v USING (file_id) WHERE f.tenant_id = 1 AND v.deleted_at IS NULL LIMIT 1")
	if n := s.wrong(); n != 1 {
		t.Errorf("%d files are wrong behind a REPLACE, and preflight warns of it", n)
	}
}

// A key of an ENUM comes in the order of its words' numbers; text may be carried in another character set.
func TestFillByWords(t *testing.T) {
	s := raise(t)
	s.build("CREATE TABLE p (te INT UNSIGNED NOT NULL, k ENUM('z','m','a') NOT NULL, n INT NOT NULL, PRIMARY KEY (te, k, n))",
		"CREATE TABLE c (id INT PRIMARY KEY, te INT UNSIGNED NOT NULL, k ENUM('z','m','a') NOT NULL, n INT NOT NULL, v VARCHAR(9) CHARACTER SET latin1, KEY (te, k, n))",
		"INSERT INTO p SELECT 1, 1 + seq % 3, seq FROM seq_1_to_60", "INSERT INTO c SELECT n, te, k, n, 'é' FROM p")
	sp := filesSpec()
	sp.Parent, sp.Child = spec.Parent{Table: "p", Tenant: "te"}, spec.Child{Table: "c", Parent: []string{"te", "k", "n"}, Latest: []spec.Order{{Column: "id"}}}
	sp.Carry, sp.Indexes, sp.Snapshot = []spec.Carry{{Column: "c_id", From: "id"}, {Column: "c_v", From: "v", Type: "VARCHAR(9) CHARACTER SET utf8mb4"}}, nil, spec.Snapshot{}
	complete := func() (Shape, spec.Tables) {
		tables, err := Tables(t.Context(), s.server, "fs1", sp.Names())
		s.must(err)
		return Shape{sp.Complete(tables)}, tables
	}
	shape, tables := complete()
	if found := shape.Check(tables); len(found) > 0 {
		t.Fatalf("a spec that fits is refused: %v", found)
	}
	s.build(shape.AddColumns(tables)...)
	s.shape, _ = complete()
	s.fill(s.session(), "1", 7)
	if n := s.wrong(); n > 0 {
		t.Errorf("%d parents are wrong", n)
	}
}
