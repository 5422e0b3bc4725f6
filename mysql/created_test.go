package mysql

import (
	"strings"
	"testing"
	"time"

	"stowage/internal/mariadbtest"
)

func TestBareSequences(t *testing.T) {
	for text, want := range map[string]string{
		"`a` bigint DEFAULT nextval(`my``db`.`s`),\n  `b` bigint DEFAULT lastval(`my``db`.`s`)": "`a` bigint DEFAULT nextval(`s`),\n  `b` bigint DEFAULT lastval(`s`)",
		"`a` bigint DEFAULT nextval(`other`.`s`) COMMENT 'it''s nextval(`my``db`.`s`)'":         "`a` bigint DEFAULT nextval(`other`.`s`) COMMENT 'it''s nextval(`my``db`.`s`)'",
		"`'` bigint DEFAULT (nextval(`my``db`.`s`) + 1) COMMENT '\\''":                          "`'` bigint DEFAULT (nextval(`s`) + 1) COMMENT '\\''",
	} {
		if got := bareSequences(text, "my`db"); got != want {
			t.Errorf("%s\nbecomes %s", text, got)
		}
	}
}

// Shards whose tables take from a sequence of their own read alike, and an ALTER made of such a text takes from the shard's own.
func TestShardsWithSequencesReadAlike(t *testing.T) {
	t.Parallel()
	i := mariadbtest.Start(t, "sequences")
	for _, db := range []string{"one", "two"} {
		i.Exec(t, "CREATE DATABASE "+db, "USE "+db, "CREATE SEQUENCE s", "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, n BIGINT DEFAULT NEXTVAL(s))")
	}
	s := open(t, i)
	all, err := s.CreatedTables(t.Context(), []string{"one", "two"})
	if err != nil {
		t.Fatal(err)
	}
	if is := all["one"]["t"]; is != all["two"]["t"] || !strings.Contains(is, "DEFAULT nextval(`s`)") {
		t.Errorf("one has\n%s\ntwo has\n%s", is, all["two"]["t"])
	}
	for _, statement := range []string{"ALTER TABLE t DROP COLUMN n", "ALTER TABLE t ADD COLUMN `n` bigint(20) DEFAULT nextval(`s`)"} {
		if err := s.Alter(t.Context(), Altering{Database: "two", Statement: statement, LockWait: time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	if is := i.Value(t, "SELECT COLUMN_DEFAULT FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'two' AND COLUMN_NAME = 'n' AND TABLE_NAME = 't'"); is != "nextval(`two`.`s`)" {
		t.Errorf("the default is %s", is)
	}
}
