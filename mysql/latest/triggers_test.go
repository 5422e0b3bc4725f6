package latest

import (
	"testing"
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
	if found := s.shape.Check(tables); len(found) > 0 {
		t.Fatalf("versions that go with their file are refused: %v", found)
	}
	s.triggers()
	s.fill(s.session(), "1", 500)
	s.build("UPDATE files SET tenant_id = 1 WHERE tenant_id = 2 LIMIT 10", "UPDATE files SET file_id = file_id + 1000000 WHERE tenant_id = 1 LIMIT 10",
		"UPDATE files SET tenant_id = 1, file_id = file_id + 1000000 WHERE tenant_id = 2 LIMIT 10", "DELETE FROM files WHERE tenant_id = 1 LIMIT 10")
	if n := s.wrong(); n > 0 {
		t.Errorf("%d files are wrong", n)
	}
}
