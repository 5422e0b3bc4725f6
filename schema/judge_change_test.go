package schema

import (
	"slices"
	"strings"
	"testing"
)

// judged is what a change means that makes one text of another.
func judged(t *testing.T, before, after, change string, algorithm Algorithm, around Around) Judgement {
	t.Helper()
	c, err := Changes("x.sql", []byte("ALTER TABLE t "+change))
	if err != nil {
		t.Fatal(err)
	}
	return JudgeChange(Tried{Change: c[0], Before: read(t, before), After: read(t, after), Algorithm: algorithm}, around)
}

const small = "CREATE TABLE `t` (\n  `id` bigint(20) NOT NULL,\n  `v` varchar(20) DEFAULT NULL,\n  `n` int(11) DEFAULT 7,\n  PRIMARY KEY (`id`),\n  KEY `n` (`n`)\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci"

// with replaces pieces of the small table.
func with(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(small) }

// What each class is, beside what servers do in their own way. schema/scratch has the same on a real server, docs/guide/alter.md the table.
func TestJudgeChange(t *testing.T) {
	longer := with("`n` int(11)", "`n` bigint(20)")
	added := with("DEFAULT 7,", "DEFAULT 7,\n  `c` int(11) NOT NULL DEFAULT 9,")
	both := strings.Replace(added, "`n` int(11)", "`n` bigint(20)", 1)
	renamed := with("`n` int", "`number` int", "KEY `n` (`n`)", "KEY `n` (`number`)")
	rekeyed := with("PRIMARY KEY (`id`)", "PRIMARY KEY (`id`,`n`)", "DEFAULT 7", "NOT NULL DEFAULT 7")
	solid := with("DEFAULT 7", "NOT NULL DEFAULT 7")
	names := Object{"d.o", "SELECT `t`.`v` FROM `d`.`t`"}
	for _, x := range []struct {
		name, before, after, change string
		algorithm                   Algorithm
		around                      Around
		class                       Class
		instant, conversions        bool
		refused                     string
	}{
		{"nothing", small, small, "MODIFY n INT DEFAULT 7", InstantAlgorithm, Around{}, Unchanged, true, false, ""},
		{"an instant column", small, added, "ADD c INT NOT NULL DEFAULT 9", InstantAlgorithm, Around{}, Directional, true, false, ""},
		{"a default", small, with("DEFAULT 7", "DEFAULT 8"), "ALTER n SET DEFAULT 8", InstantAlgorithm, Around{}, Instant, true, false, ""},
		{"a default, where it is not cheap", small, with("DEFAULT 7", "DEFAULT 8"), "ALTER n SET DEFAULT 8", InPlace, Around{}, Invisible, false, false, ""},
		{"the counter", small, small, "AUTO_INCREMENT=100", InstantAlgorithm, Around{}, Instant, true, false, ""},
		{"a rebuild", small, small, "FORCE", InPlace, Around{}, Invisible, false, false, ""},
		{"an index", small, with("KEY `n` (`n`)", "KEY `n` (`n`),\n  KEY `v` (`v`)"), "ADD KEY v (v)", NoCopy, Around{}, Invisible, false, false, ""},
		{"a longer type", small, longer, "MODIFY n BIGINT DEFAULT 7", Copy, Around{}, Directional, false, true, ""},
		{"a rename", small, renamed, "RENAME COLUMN n TO number", InstantAlgorithm, Around{}, Directional, true, false, ""},
		{"a rename in other words", small, renamed, "CHANGE n number INT DEFAULT 7", InstantAlgorithm, Around{}, Directional, true, false, ""},
		{"a swap of names", small, with("`v` varchar(20) DEFAULT NULL,\n  `n` int(11)", "`n` varchar(20) DEFAULT NULL,\n  `v` int(11)", "(`n`)", "(`v`)"), "RENAME COLUMN n TO v, RENAME COLUMN v TO n", InstantAlgorithm, Around{}, Directional, true, false, ""},
		{"the same name, another column", small, with("`n` int(11) DEFAULT 7", "`n` int(11) DEFAULT NULL", ",\n  KEY `n` (`n`)", ""), "DROP COLUMN n, ADD COLUMN n INT", InstantAlgorithm, Around{}, Breaking, true, false, "dropped and added in one step"},
		{"one goes, one comes", small, with("`n` int(11) DEFAULT 7", "`x` int(11) DEFAULT NULL", ",\n  KEY `n` (`n`)", ""), "DROP COLUMN n, ADD COLUMN x INT", InstantAlgorithm, Around{}, Breaking, true, false, "dropped and added in one step"},
		{"an unknown clause", small, with("DEFAULT 7", "DEFAULT 8"), "ORDER BY n", Copy, Around{}, Breaking, false, false, "does not know"},
		{"an unknown option", small, small + " INSERT_METHOD=FIRST", "INSERT_METHOD=FIRST", Copy, Around{}, Breaking, false, false, "INSERT_METHOD"},
		{"an unknown attribute", small, with("DEFAULT 7", "DEFAULT 7 SPARSE"), "MODIFY n INT DEFAULT 7 SPARSE", InstantAlgorithm, Around{}, Breaking, true, false, "does not know"},
		{"names in the log", small, added, "ADD c INT NOT NULL DEFAULT 9", InstantAlgorithm, Around{MapsByName: true}, Breaking, true, false, "by name"},
		{"names in the log, no column", small, with("DEFAULT 7", "DEFAULT 8"), "ALTER n SET DEFAULT 8", InstantAlgorithm, Around{MapsByName: true}, Instant, true, false, ""},
		{"MySQL, a mixture", small, both, "ADD c INT NOT NULL DEFAULT 9, MODIFY n BIGINT", Copy, Around{MySQL: true}, Breaking, false, false, "as many columns"},
		{"MariaDB, a mixture", small, both, "ADD c INT NOT NULL DEFAULT 9, MODIFY n BIGINT", Copy, Around{}, Directional, false, true, ""},
		{"MySQL, unsigned", with("int(11)", "int(10) unsigned"), with("int(11)", "bigint(20) unsigned"), "MODIFY n BIGINT UNSIGNED DEFAULT 7", Copy, Around{MySQL: true}, Breaking, false, false, "as a signed one"},
		{"a key, full images", solid, rekeyed, "DROP PRIMARY KEY, ADD PRIMARY KEY (id, n)", InPlace, Around{}, Directional, false, false, ""},
		{"a key, minimal images", solid, rekeyed, "DROP PRIMARY KEY, ADD PRIMARY KEY (id, n)", InPlace, Around{MinimalImages: true}, Breaking, false, false, "binlog_row_image"},
		{"a default, minimal images", small, with("DEFAULT 7", "DEFAULT 8"), "ALTER n SET DEFAULT 8", InstantAlgorithm, Around{MinimalImages: true}, Breaking, true, false, "its own default"},
		{"an index, minimal images", small, with(",\n  KEY `n` (`n`)", ""), "DROP KEY n", NoCopy, Around{MinimalImages: true}, Invisible, false, false, ""},
		{"a trigger that names the column", small, longer, "MODIFY n BIGINT DEFAULT 7", Copy, Around{Triggers: []Object{{"d.tr", "SET NEW.n = 1"}}}, Breaking, false, false, "trigger d.tr names column n, which is changed"},
		{"a trigger that names another", small, longer, "MODIFY n BIGINT DEFAULT 7", Copy, Around{Triggers: []Object{{"d.tr", "SET NEW.number = 1, NEW.v = 'n1'"}}}, Directional, false, true, ""},
		{"triggers that run for rows of others", small, longer, "MODIFY n BIGINT DEFAULT 7", Copy, Around{RunsTriggers: true, Triggers: []Object{{"d.tr", "SET NEW.v = 1"}}}, Breaking, false, false, "slave_run_triggers_for_rbr"},
		{"a view, column changed", small, with("varchar(20)", "varchar(40)"), "MODIFY v VARCHAR(40)", InstantAlgorithm, Around{Views: []Object{names}}, Directional, true, true, ""},
		{"a view, column renamed", small, with("`v`", "`w`"), "RENAME COLUMN v TO w", InstantAlgorithm, Around{Views: []Object{names}}, Breaking, true, false, "view d.o names column v"},
		{"a routine, column renamed", small, with("`v`", "`w`"), "RENAME COLUMN v TO w", InstantAlgorithm, Around{Routines: []Object{names}}, Breaking, true, false, "routine d.o names column v"},
		{"an event, column renamed", small, with("`v`", "`w`"), "RENAME COLUMN v TO w", InstantAlgorithm, Around{Events: []Object{names}}, Breaking, true, false, "event d.o names column v"},
		{"a column behind a hidden one", hashedKey, strings.Replace(hashedKey, ",\n  UNIQUE", ",\n  `c` bigint(20) DEFAULT NULL,\n  UNIQUE", 1), "ADD c BIGINT", InstantAlgorithm, Around{}, Breaking, true, false, "hidden column behind all others"},
		{"a column before a hidden one", hashedKey, strings.Replace(hashedKey, "  `n` int(11) DEFAULT 7,\n", "", 1), "DROP n", InstantAlgorithm, Around{}, Breaking, true, false, "hidden column behind all others"},
		{"a column and the hidden one", hashedKey, strings.Replace(strings.Replace(hashedKey, ",\n  `n` int(11) DEFAULT 7", "", 1), ",\n  UNIQUE KEY `tx` (`tx`) USING HASH", "", 1), "DROP n, DROP KEY tx", Copy, Around{}, Directional, false, false, ""},
		{"no hidden column", hashedKey, strings.Replace(hashedKey, ",\n  UNIQUE", ",\n  `c` bigint(20) DEFAULT NULL,\n  UNIQUE", 1), "ADD c BIGINT", InstantAlgorithm, Around{MySQL: true}, Directional, true, false, ""},
		{"a list with a place for all others", small, small + "\n PARTITION BY LIST (`id`)\n(PARTITION `a` VALUES IN (1) ENGINE = InnoDB,\n PARTITION `d` DEFAULT COMMENT = 'x' ENGINE = InnoDB)", "PARTITION BY LIST (id) (PARTITION a VALUES IN (1), PARTITION d DEFAULT COMMENT = 'x')", Copy, Around{}, Invisible, false, false, ""},
		{"partitions in a list", small + rangeOf + "p0` VALUES LESS THAN (10) ENGINE = InnoDB,\n PARTITION `p1` VALUES LESS THAN MAXVALUE ENGINE = InnoDB)", small + rangeOf + "p` VALUES LESS THAN MAXVALUE ENGINE = InnoDB)", "REORGANIZE PARTITION p0, p1 INTO (PARTITION p VALUES LESS THAN MAXVALUE)", Copy, Around{}, Invisible, false, false, ""},
		{"a foreign key of its own database", small, longer, "MODIFY n BIGINT DEFAULT 7", Copy, Around{Table: "d.t", ReferencedBy: []string{"d.c"}}, Directional, false, true, ""},
		{"a foreign key of another database", small, longer, "MODIFY n BIGINT DEFAULT 7", Copy, Around{Table: "d.t", ReferencedBy: []string{"e.c"}}, Breaking, false, false, "of another database (e.c)"},
	} {
		j := judged(t, x.before, x.after, x.change, x.algorithm, x.around)
		if j.Class != x.class || j.Instant != x.instant || j.Conversions != x.conversions || j.Algorithm != x.algorithm {
			t.Errorf("%s: %s, instant %v, conversions %v: %q", x.name, j.Class, j.Instant, j.Conversions, j.Refused)
		}
		if refused := strings.Join(j.Refused, "; "); !strings.Contains(refused, x.refused) || (refused == "") != (x.refused == "") {
			t.Errorf("%s: refused with %q", x.name, refused)
		}
		if j.Class != Breaking && j.SafeSteps != nil {
			t.Errorf("%s: %s, with steps %q", x.name, j.Class, j.SafeSteps)
		}
	}
}

const (
	// hashedKey is a table with a unique key that MariaDB keeps by a hidden column.
	hashedKey = "CREATE TABLE `t` (\n  `id` int(11) NOT NULL,\n  `tx` text NOT NULL,\n  `n` int(11) DEFAULT 7,\n  PRIMARY KEY (`id`),\n  UNIQUE KEY `tx` (`tx`) USING HASH\n) ENGINE=InnoDB"
	rangeOf   = "\n PARTITION BY RANGE (`id`)\n(PARTITION `"
)

func TestUndoAndWhatItWouldLose(t *testing.T) {
	for _, x := range []struct{ after, change, undo, lost string }{
		{with("DEFAULT 7", "DEFAULT 8"), "ALTER n SET DEFAULT 8", "ALTER TABLE `t` MODIFY COLUMN `n` int(11) DEFAULT 7", ""},
		{with("`n` int", "`m` int", "(`n`)", "(`m`)"), "RENAME COLUMN n TO m", "ALTER TABLE `t` CHANGE COLUMN `m` `n` int(11) DEFAULT 7", ""},
		{with(",\n  KEY `n` (`n`)", ""), "DROP KEY n", "ALTER TABLE `t` ADD KEY `n` (`n`)", ""},
		{with("KEY `n` (`n`)", "KEY `m` (`n`)"), "RENAME INDEX n TO m", "ALTER TABLE `t` RENAME INDEX `m` TO `n`", ""},
		{with("KEY `n` (`n`)", "KEY `n` (`n`,`v`)"), "DROP KEY n, ADD KEY n (n, v)", "ALTER TABLE `t` DROP KEY `n`, ADD KEY `n` (`n`)", ""},
		{small + " COMMENT='x'", "COMMENT='x'", "ALTER TABLE `t` COMMENT=''", ""},
		{small + "\n PARTITION BY HASH (`id`)", "PARTITION BY HASH (id)", "ALTER TABLE `t` REMOVE PARTITIONING", ""},
		{with("DEFAULT 7,", "DEFAULT 7,\n  `c` int(11) DEFAULT NULL,"), "ADD c INT", "", "the values of column c"},
		{with(",\n  `n` int(11) DEFAULT 7", "", ",\n  KEY `n` (`n`)", ""), "DROP n", "", "the values of column n"},
		{with("`v` varchar(20) DEFAULT NULL,\n  `n` int(11)", "`n` varchar(20) DEFAULT NULL,\n  `v` int(11)", "(`n`)", "(`v`)"), "RENAME COLUMN n TO v, RENAME COLUMN v TO n",
			"ALTER TABLE `t` CHANGE COLUMN `v` `n` int(11) DEFAULT 7, CHANGE COLUMN `n` `v` varchar(20) DEFAULT NULL", ""},
		{with("int(11)", "bigint(20)", "varchar(20)", "varchar(40)"), "MODIFY n BIGINT DEFAULT 7, MODIFY v VARCHAR(40)", "", "texts that do not fit varchar(20); values that do not fit int(11)"},
	} {
		j := judged(t, small, x.after, x.change, Copy, Around{})
		if j.Class == Breaking || j.Undo != x.undo || j.Lost != x.lost {
			t.Errorf("%s: %s, undo %q, lost %q", x.change, j.Class, j.Undo, j.Lost)
		}
		if j.Reverse == "" || x.undo != "" && j.Reverse != x.undo {
			t.Errorf("%s: reverse %q", x.change, j.Reverse)
		}
	}
}

// Partitions and options that come go again, with words of their own.
func TestReverseOfPartitionsAndOptions(t *testing.T) {
	const by, p1, most = " PARTITION BY RANGE (`id`)\n(PARTITION `p0` VALUES LESS THAN (10) ENGINE = InnoDB", ",\n PARTITION `p,1` VALUES LESS THAN (20) ENGINE = InnoDB", ",\n PARTITION `pm` VALUES LESS THAN MAXVALUE ENGINE = InnoDB"
	for _, x := range []struct{ before, after, change, reverse, lost string }{
		{by + ")", by + p1 + ")", "ADD PARTITION (PARTITION `p,1` VALUES LESS THAN (20))", "DROP PARTITION `p,1`", "the rows of the new partitions"},
		{by + most + ")", by + p1 + most + ")", "REORGANIZE PARTITION pm INTO (PARTITION `p,1` VALUES LESS THAN (20), PARTITION pm VALUES LESS THAN MAXVALUE)", strings.TrimSpace(by + most + ")"), ""},
		{" PARTITION BY HASH (`id`)\nPARTITIONS 3", " PARTITION BY HASH (`id`)\nPARTITIONS 4", "ADD PARTITION PARTITIONS 1", "PARTITION BY HASH (`id`)\nPARTITIONS 3", ""},
		{" PARTITION BY HASH (`id`)\nPARTITIONS 3", " PARTITION BY HASH (`id`)\nPARTITIONS 2", "COALESCE PARTITION 1", "PARTITION BY HASH (`id`)\nPARTITIONS 3", ""},
		{"", " `PAGE_COMPRESSED`=1 `PAGE_COMPRESSION_LEVEL`=7", "PAGE_COMPRESSED=1 PAGE_COMPRESSION_LEVEL=7", "PAGE_COMPRESSED=DEFAULT PAGE_COMPRESSION_LEVEL=DEFAULT", ""},
		{" `ENCRYPTED`=YES", "", "ENCRYPTED=DEFAULT", "`ENCRYPTED`=YES", ""},
	} {
		j := judged(t, small+x.before, small+x.after, x.change, Copy, Around{})
		if j.Class == Breaking || j.Reverse != "ALTER TABLE `t` "+x.reverse || j.Lost != x.lost || (j.Undo == "") != (x.lost != "") {
			t.Errorf("%s: %s, reverse %q, undo %q, lost %q", x.change, j.Class, j.Reverse, j.Undo, j.Lost)
		}
	}
}

// A way back that loses nothing may be one that alter refuses: the plan says so before it is carried out.
func TestUndoThatIsRefused(t *testing.T) {
	const ranges = "\n PARTITION BY RANGE (`id`)\n(PARTITION `p0` VALUES LESS THAN (10) ENGINE = InnoDB)"
	unique, far := ",\n  UNIQUE KEY `u` (`v`)\n)", ",\n  CONSTRAINT `far` FOREIGN KEY (`n`) REFERENCES `p` (`id`)\n)"
	computed := with("DEFAULT 7,", "DEFAULT 7,\n  `g` int(11) GENERATED ALWAYS AS (`n` + 1) VIRTUAL,", ",\n  KEY `n` (`n`)", ",\n  KEY `g` (`g`)")
	for _, x := range []struct{ before, after, change, refused string }{
		{with("\n)", unique), small, "DROP KEY u", "key u: two rows"},
		{with("\n)", far), small, "DROP FOREIGN KEY far", "foreign key far: a row without its parent"},
		{small + ranges, small, "REMOVE PARTITIONING", "may have no partition"},
		{computed, with(",\n  KEY `n` (`n`)", ""), "DROP KEY g, DROP COLUMN g", "key g over a new VIRTUAL column"},
		{small, with(",\n  KEY `n` (`n`)", ""), "DROP KEY n", ""},
		{small, with("`n` int", "`m` int", "(`n`)", "(`m`)"), "RENAME COLUMN n TO m", ""},
	} {
		j := judged(t, x.before, x.after, x.change, NoCopy, Around{})
		if j.Class == Breaking || j.Undo == "" || !strings.Contains(j.UndoRefused, x.refused) || (x.refused == "") != (j.UndoRefused == "") {
			t.Errorf("%s: %s, undo %q, refused %q", x.change, j.Class, j.Undo, j.UndoRefused)
		}
	}
}

// Two generated columns that go come back in their order.
func TestUndoOfTwoColumns(t *testing.T) {
	before := with("DEFAULT 7,", "DEFAULT 7,\n  `g` int(11) GENERATED ALWAYS AS (`n` + 1) VIRTUAL,\n  `h` int(11) GENERATED ALWAYS AS (`n` + 2) VIRTUAL,")
	j := judged(t, before, small, "DROP COLUMN g, DROP COLUMN h", InstantAlgorithm, Around{})
	want := "ALTER TABLE `t` ADD COLUMN `g` int(11) GENERATED ALWAYS AS (`n` + 1) VIRTUAL, ADD COLUMN `h` int(11) GENERATED ALWAYS AS (`n` + 2) VIRTUAL"
	if j.Undo != want || j.Lost != "" {
		t.Errorf("undo %q, lost %q", j.Undo, j.Lost)
	}
}

// A run that is given up keeps the values of a renamed column, also beside a column whose values go.
func TestReverseOfARename(t *testing.T) {
	renamed := with("`n` int", "`m` int", "(`n`)", "(`m`)")
	j := judged(t, small, strings.Replace(renamed, "DEFAULT 7,", "DEFAULT 7,\n  `c` int(11) DEFAULT NULL,", 1), "RENAME COLUMN n TO m, ADD c INT", InstantAlgorithm, Around{})
	if want := "ALTER TABLE `t` DROP COLUMN `c`, CHANGE COLUMN `m` `n` int(11) DEFAULT 7"; j.Undo != "" || j.Reverse != want {
		t.Errorf("undo %q, reverse %q", j.Undo, j.Reverse)
	}
}

// A column that others are computed of may become longer where their expressions do not see it. The rest was seen on a pair: 1.50 beside 1.5000 in a STORED column, an applier that stops over the key of a
// VIRTUAL one.
func TestColumnsThatOthersAreComputedOf(t *testing.T) {
	for _, x := range []struct {
		was, is, others string
		refused         bool
	}{
		{"decimal(5,2)", "decimal(8,4)", "`g` varchar(9) GENERATED ALWAYS AS (concat(`c`)) STORED", true},
		{"decimal(5,2)", "decimal(8,2)", "`g` varchar(9) GENERATED ALWAYS AS (concat(`c`)) STORED", false},
		{"float", "double", "`g` varchar(9) GENERATED ALWAYS AS (concat(`c`)) VIRTUAL,\n  KEY `g` (`g`)", true},
		{"float", "double", "`g` varchar(9) GENERATED ALWAYS AS (concat(`c`)) VIRTUAL,\n  PRIMARY KEY (`id`)", false},
		{"float", "double", "`g` varchar(9) GENERATED ALWAYS AS (concat(`c`)) VIRTUAL", true}, // no primary key
		{"date", "datetime", "`h` varchar(9) GENERATED ALWAYS AS (concat(`c`)) VIRTUAL,\n  `g` int(11) GENERATED ALWAYS AS (length(`h`)) STORED,\n  PRIMARY KEY (`id`)", true},
		{"datetime(1)", "datetime(3)", "`g` varchar(9) GENERATED ALWAYS AS (concat(`n`)) STORED", false},
		{"binary(4)", "binary(8)", "`g` int(11) GENERATED ALWAYS AS (length(`c`)) STORED", true},
		{"bit(1)", "bit(9)", "`v` int(11),\n  KEY `g` ((length(`c`)))", true},
		{"int(5) unsigned zerofill", "int(8) unsigned zerofill", "`g` varchar(9) GENERATED ALWAYS AS (concat(`c`)) STORED", true},
		{"int(11)", "bigint(20)", "`g` varchar(9) GENERATED ALWAYS AS (concat(`c`)) STORED", false},
		{"varchar(9)", "text", "`g` varchar(9) GENERATED ALWAYS AS (left(`c`,3)) STORED", false},
		{"enum('a')", "enum('a','b')", "`g` int(11) GENERATED ALWAYS AS (`c` + 0) STORED", false},
	} {
		table := "CREATE TABLE `t` (\n  `id` int(11) NOT NULL,\n  `n` datetime,\n  `c` %,\n  " + x.others + "\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"
		j := judged(t, strings.Replace(table, "%", x.was, 1), strings.Replace(table, "%", x.is, 1), "MODIFY c "+x.is, Copy, Around{})
		if got := strings.Contains(strings.Join(j.Refused, "; "), "g is computed of it"); got != x.refused || (j.Class == Breaking) != x.refused {
			t.Errorf("%s to %s, %s: %s %q", x.was, x.is, x.others, j.Class, j.Refused)
		}
		if len(j.SafeSteps) > 0 {
			t.Errorf("steps %q", j.SafeSteps)
		}
	}
}

// A refused change of three parts is taken apart, in an order in which a server takes it.
func TestSafeStepsOfAMixture(t *testing.T) {
	after := with("  `n` int", "  `m` int(11) NOT NULL,\n  `n` int", "DEFAULT 7,", "DEFAULT 7,\n  `d` datetime NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp() COMMENT 'DEFAULT (1)',", ",\n  KEY `n` (`n`)", ",\n  UNIQUE KEY `x` (`id`,`v`)")
	j := judged(t, small, after, "DROP KEY n, ADD m INT NOT NULL AFTER v, ADD d DATETIME NOT NULL DEFAULT NOW() ON UPDATE NOW() COMMENT 'DEFAULT (1)', ADD UNIQUE x (id, v)", Copy, Around{})
	want := []string{"ALTER TABLE `t` DROP KEY `n`", "ALTER TABLE `t` ADD COLUMN `m` int(11) NOT NULL",
		"ALTER TABLE `t` ADD COLUMN `d` datetime NOT NULL DEFAULT '1970-01-01 00:00:00' ON UPDATE current_timestamp() COMMENT 'DEFAULT (1)'",
		"ALTER TABLE `t` MODIFY COLUMN `d` datetime NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp() COMMENT 'DEFAULT (1)'", "ALTER TABLE `t` ADD UNIQUE KEY `x` (`id`,`v`)"}
	if j.Class != Breaking || !slices.Equal(j.SafeSteps, want) {
		t.Errorf("%s\n%s\n%q", j.Class, strings.Join(j.SafeSteps, "\n"), j.Refused)
	}
}

func TestColumnsAreReadFromTheirLines(t *testing.T) {
	for line, want := range map[string]column{
		"`a` int(10) unsigned zerofill NOT NULL AUTO_INCREMENT COMMENT 'x''y'":                                    {kind: "int", args: "10", unsigned: true, zerofill: true, notNull: true, auto: true, comment: "'x''y'"},
		"`a` enum('(x','y,''z') CHARACTER SET latin1 COLLATE latin1_bin DEFAULT 'y,''z' CHECK (`a` <> 'DEFAULT')": {kind: "enum", args: "'(x','y,''z'", charset: "latin1", collation: "latin1_bin", dflt: "'y,''z'", check: "`a` <> 'DEFAULT'"},
		"`a` varchar(36) DEFAULT uuid()": {kind: "varchar", args: "36", charset: "utf8mb4", collation: "utf8mb4_bin", dflt: "uuid()"},
		"`a` datetime(6) NOT NULL DEFAULT current_timestamp(6) ON UPDATE current_timestamp(6)": {kind: "datetime", args: "6", notNull: true, dflt: "current_timestamp(6)", onUpdate: "current_timestamp(6)"},
		"`a` int(11) GENERATED ALWAYS AS (`b` + (1)) STORED":                                   {kind: "int", args: "11", generated: "`b` + (1)", stored: true},
		"`a` timestamp(6) GENERATED ALWAYS AS ROW START":                                       {kind: "timestamp", args: "6", period: true},
		"`a` int DEFAULT (`b` + 1) /*!80023 INVISIBLE */":                                      {kind: "int", dflt: "(`b` + 1)", invisible: true},
		"`a` blob /*M!100301 COMPRESSED*/ DEFAULT NULL":                                        {kind: "blob", compressed: true, dflt: "NULL"},
		"`a` bit(3) DEFAULT b'101'":                                                            {kind: "bit", args: "3", dflt: "b'101'"},
		"`a` geometry NOT NULL /*!80003 SRID 4326 */":                                          {kind: "geometry", notNull: true, rest: " /*!80003 SRID 4326 */"},
	} {
		got := columnOf(Part{"a", line}, "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin").meaning()
		if want.name = "a"; got != want {
			t.Errorf("%s: %+v", line, got)
		}
	}
	for dflt, want := range map[string]bool{"": true, "NULL": true, "-1.5e3": true, "'it''s'": true, "b'1'": true, "x'ff'": true, "_utf8mb4'x'": true, "'a' + 'b'": false, "uuid()": false, "current_timestamp()": false, "(1)": false} {
		if (column{dflt: dflt}).isConstant() != want {
			t.Errorf("%q: %v", dflt, !want)
		}
	}
}
