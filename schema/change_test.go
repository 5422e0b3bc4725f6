package schema

import (
	"errors"
	"strings"
	"testing"

	"stowage/farm"
)

func TestChangesOfAScript(t *testing.T) {
	script := "-- what it is for; really\n/* ; */ ALTER TABLE events ADD c INT -- at the end\n  NOT NULL COMMENT 'a; -- b';\n\ncreate unique index `u` using btree on `o``dd` (a, b(3)) comment 'x';\nDROP INDEX i ON two;\nOPTIMIZE TABLE three;\n" +
		"CREATE FULLTEXT INDEX IF NOT EXISTS f ON four (v)\n"
	script = "\ufeff" + script + "--\r\n--\ta tab; and a text\r\n--"
	got, err := Changes("x.sql", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	want := []Change{
		{"events", "ALTER TABLE `events` ADD c INT  \n  NOT NULL COMMENT 'a; -- b'", "x.sql:2"},
		{"o`dd", "ALTER TABLE `o``dd` ADD UNIQUE INDEX `u` using btree (a, b(3)) comment 'x'", "x.sql:5"},
		{"two", "ALTER TABLE `two` DROP INDEX `i`", "x.sql:6"},
		{"three", "ALTER TABLE `three` FORCE", "x.sql:7"},
		{"four", "ALTER TABLE `four` ADD FULLTEXT INDEX IF NOT EXISTS `f` (v)", "x.sql:8"},
	}
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for n := range want {
		if got[n] != want[n] {
			t.Errorf("%q, should be %q", got[n], want[n])
		}
	}
}

func TestChangesRefuses(t *testing.T) {
	for script, why := range map[string]string{
		"":                                     "no statement",
		"ALTER TABLE d.t ADD c INT":            "a database before",
		"ALTER TABLE `d` . t ADD c INT":        "a database before",
		"CREATE INDEX i ON d.t (a)":            "a database before",
		"DROP INDEX i ON d.t":                  "a database before",
		"RENAME TABLE a TO b":                  "renames a table",
		"ALTER TABLE t ADD c INT, RENAME TO u": "renames a table",
		"ALTER TABLE t RENAME u":               "renames a table",
		"DROP TABLE t":                         "removes all rows",
		"TRUNCATE t":                           "removes all rows",
		"CREATE TABLE t (id INT)":              "makes a table",
		"UPDATE t SET a = 1":                   "rows",
		"SET sql_log_bin = 0":                  "a setting",
		"USE d":                                "chooses a database",
		"DELIMITER //":                         "word of the mysql client",
		"source x.sql":                         "word of the mysql client",
		"START TRANSACTION":                    "transactions",
		"CREATE VIEW v AS SELECT 1":            "changes no table",
		"EXPLAIN SELECT 1":                     "unknown statement",
		"ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u":                   "exchanges",
		"ALTER TABLE t CONVERT TABLE u TO PARTITION p VALUES LESS THAN (1)": "exchanges",
		"ALTER TABLE t DISCARD TABLESPACE":                                  "tablespace",
		"ALTER TABLE t ADD a INT; ALTER TABLE t ADD b INT":                  "changed at x.sql:1, too",
		"ALTER TABLE t ADD a INT, ALGORITHM=INPLACE":                        "ALGORITHM, LOCK",
		"ALTER TABLE t LOCK NONE, ADD a INT":                                "ALGORITHM, LOCK",
		"ALTER TABLE t WAIT 1 ADD a INT":                                    "ALGORITHM, LOCK",
		"ALTER TABLE t NOWAIT ADD a INT":                                    "ALGORITHM, LOCK",
		"ALTER ONLINE TABLE t ADD a INT":                                    "ALGORITHM, LOCK",
		"CREATE INDEX i ON t (a) ALGORITHM=NOCOPY":                          "ALGORITHM, LOCK",
		"CREATE INDEX i ON t (a) WAIT 3":                                    "ALGORITHM, LOCK",
		"DROP INDEX i ON t NOWAIT":                                          "ALGORITHM, LOCK",
		"ALTER IGNORE TABLE t ADD UNIQUE (a)":                               "drops rows",
		"ALTER TABLE IF EXISTS t ADD a INT":                                 "IF EXISTS",
		"ALTER TABLE t /*!50100 ADD a INT */":                               "executable comment",
		"ALTER TABLE t /*M!100301 ADD a INT */":                             "executable comment",
		"ALTER TABLE t ADD a INT COMMENT 'open":                             "not closed",
		"ALTER TABLE t":                                                     "changes nothing",
		"OPTIMIZE TABLE a, b":                                               "of more than one table",
		"CREATE OR REPLACE INDEX i ON t (a)":                                "OR REPLACE",
	} {
		_, err := Changes("x.sql", []byte(script))
		if !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), "x.sql") {
			t.Errorf("%s: %v", script, err)
		}
	}
	for _, script := range []string{"ALTER TABLE t ADD `lock` INT COMMENT 'ALGORITHM=COPY'", "ALTER TABLE t ADD g INT AS (`lock` = 1) VIRTUAL", "ALTER TABLE t DROP COLUMN wait, RENAME INDEX a TO b"} {
		if _, err := Changes("x.sql", []byte(script)); err != nil {
			t.Errorf("%s: %v", script, err)
		}
	}
}

func TestWithPutsClausesWhereServersWantThem(t *testing.T) {
	for _, x := range []struct {
		statement string
		algorithm Algorithm
		lock      string
		wait      int
		mariadb   bool
		want      string
	}{
		{"ALTER TABLE t ADD c INT", NoCopy, "NONE", 1, true, "ALTER TABLE `t` WAIT 1 ALGORITHM=NOCOPY, LOCK=NONE, ADD c INT"},
		{"ALTER TABLE t ADD c INT", InPlace, "none", 1, false, "ALTER TABLE `t` ALGORITHM=INPLACE, LOCK=NONE, ADD c INT"},
		{"ALTER TABLE t ADD c INT", InstantAlgorithm, "NONE", -1, false, "ALTER TABLE `t` ALGORITHM=INSTANT, ADD c INT"},
		{"ALTER TABLE t ADD c INT", "", "", -1, true, "ALTER TABLE `t` ADD c INT"},
		{"CREATE INDEX i ON t (a)", "", "SHARED", 0, true, "ALTER TABLE `t` WAIT 0 LOCK=SHARED, ADD INDEX `i` (a)"},
		{"ALTER TABLE t PARTITION BY HASH (id)", Copy, "SHARED", 1, true, "ALTER TABLE `t` WAIT 1 ALGORITHM=COPY, LOCK=SHARED PARTITION BY HASH (id)"},
		{"ALTER TABLE t ADD c INT PARTITION BY HASH (id)", Copy, "", 1, true, "ALTER TABLE `t` WAIT 1 ALGORITHM=COPY, ADD c INT PARTITION BY HASH (id)"},
		{"ALTER TABLE t ADD PARTITION (PARTITION p VALUES LESS THAN (9))", Copy, "NONE", 1, true, "ALTER TABLE `t` WAIT 1 ADD PARTITION (PARTITION p VALUES LESS THAN (9))"},
	} {
		c, err := Changes("x.sql", []byte(x.statement))
		if err != nil {
			t.Fatal(err)
		}
		if got := c[0].With(x.algorithm, x.lock, x.wait, x.mariadb); got != x.want {
			t.Errorf("%s, should be %s", got, x.want)
		}
	}
}

func TestBoundsThatDependOnTheTimeZone(t *testing.T) {
	for text, want := range map[string]bool{
		"PARTITION BY RANGE (UNIX_TIMESTAMP(ts)) (PARTITION p VALUES LESS THAN (unix_timestamp ('2026-01-01')))":               true,
		"ADD PARTITION (PARTITION p VALUES LESS THAN (UNIX_TIMESTAMP(20260101)))":                                              true,
		"ADD PARTITION (PARTITION p VALUES LESS THAN (UNIX_TIMESTAMP(CAST('2026-01-01' AS DATETIME))))":                        true,
		"PARTITION BY RANGE (UNIX_TIMESTAMP(`ts` )) (PARTITION p VALUES LESS THAN (1767225600) COMMENT = 'unix_timestamp(1)')": false,
		"ADD CHECK (d > UNIX_TIMESTAMP('2026-01-01'))":                                                                         false,
	} {
		all, err := Changes("x.sql", []byte("ALTER TABLE t "+text))
		if err != nil || all[0].HasZonedBounds() != want {
			t.Errorf("%s: %v %v", text, !want, err)
		}
	}
}

// Whatever people write, a change that was read is one ALTER of the table it names, and reads as itself again.
func FuzzChanges(f *testing.F) {
	for _, s := range []string{"ALTER TABLE t ADD c INT, DROP d", "create unique index `a b` on t (x desc) -- y", "DROP INDEX i ON `t``x`;", "OPTIMIZE TABLE t", "ALTER TABLE t ADD (a INT, KEY (a)) PARTITION BY HASH (a)",
		"ALTER TABLE t CHANGE a `b` INT, RENAME COLUMN c TO d", "ALTER TABLE t COMMENT 'x;' /* y */ ENGINE=InnoDB", "alter table \"t\" add x int default ')'", "ALTER TABLE t ADD `"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := Changes("f.sql", []byte(text))
		if err != nil {
			if !errors.Is(err, farm.ErrInput) {
				t.Errorf("%v", err)
			}
			return
		}
		for _, c := range all {
			again, err := Changes("f.sql", []byte(c.Text))
			if err != nil || len(again) != 1 || again[0].Table != c.Table || again[0].Text != c.Text {
				t.Errorf("%q reads as %q, %v", c.Text, again, err)
			}
			c.With(Copy, "NONE", 1, true)
			table := Table{Name: c.Table, Columns: []Part{{"a", "`a` int(11)"}}}
			JudgeChange(Tried{Change: c, Before: table, After: table}, Around{})
		}
	})
}
