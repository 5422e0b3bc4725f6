package schema

import (
	"strings"
	"testing"
)

// Keys are built apart where nothing needs them meanwhile, and what lacks them is recognised.
func TestKeysApart(t *testing.T) {
	const table = "CREATE TABLE `t` (\n  `id` bigint NOT NULL AUTO_INCREMENT,\n  `n` int NOT NULL,\n  `v` varchar(20) DEFAULT NULL,\n  PRIMARY KEY (`id`),\n  UNIQUE KEY `u` (`v`,`n`),\n  KEY `od``d, \"name` (`v`(3)) /*!80000 INVISIBLE */\n) ENGINE=InnoDB"
	wide := func(s string) string { return strings.Replace(s, "`n` int", "`n` bigint", 1) }
	judge := func(before, after string, a Algorithm, around Around) bool {
		return judged(t, before, after, "MODIFY n BIGINT NOT NULL", a, around).KeysApart
	}
	mysql := Around{MySQL: true}
	if !judge(table, wide(table), Copy, mysql) {
		t.Error("the keys of a plain table are not built apart")
	}
	change, _ := Changes("x.sql", []byte("ALTER TABLE t MODIFY n BIGINT NOT NULL"))
	got, is := KeysApart(change[0], read(t, table), read(t, wide(table)))
	if want := "ALTER TABLE `t` DROP KEY `u`, DROP KEY `od``d, \"name`"; !is || got.Drop != want {
		t.Errorf("the keys go by %s, want %s", got.Drop, want)
	}
	if want := "ALTER TABLE `t` ADD UNIQUE KEY `u` (`v`,`n`), ADD KEY `od``d, \"name` (`v`(3)) /*!80000 INVISIBLE */"; got.Add != want {
		t.Errorf("the keys come by %s, want %s", got.Add, want)
	}
	bare := strings.Replace(table, ",\n  UNIQUE KEY `u` (`v`,`n`),\n  KEY `od``d, \"name` (`v`(3)) /*!80000 INVISIBLE */", "", 1)
	for _, full := range []string{table, wide(table)} {
		if lacking := read(t, bare); LacksOnly(lacking, read(t, full), got.Keys) != (full == table) || !LacksOnly(read(t, wide(bare)), read(t, wide(table)), got.Keys) {
			t.Errorf("a table without its keys is not seen as what it is: %s", lacking.Text)
		}
	}
	without := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(table) }
	for name, before := range map[string]string{
		"no primary key":                 without("  PRIMARY KEY (`id`),\n", "", " AUTO_INCREMENT", ""),
		"no other key":                   bare,
		"a foreign key":                  without("\n) ENGINE", ",\n  CONSTRAINT `f` FOREIGN KEY (`v`) REFERENCES `o` (`v`)\n) ENGINE"),
		"a counter in another key":       without("PRIMARY KEY (`id`)", "PRIMARY KEY (`n`)", "KEY `u` (`v`,`n`)", "KEY `u` (`id`)"),
		"a full text key":                without("UNIQUE KEY `u` (`v`,`n`)", "FULLTEXT KEY `u` (`v`)"),
		"a key over an expression":       without("(`v`,`n`)", "((lower(`v`)))"),
		"partitions":                     table + "\n/*!50100 PARTITION BY HASH (`id`)\nPARTITIONS 2 */",
		"a counter second in its key":    without("PRIMARY KEY (`id`)", "PRIMARY KEY (`n`,`id`)"),
		"a spatial key beside the other": without("UNIQUE KEY", "SPATIAL KEY"),
	} {
		if judge(before, wide(before), Copy, mysql) {
			t.Errorf("%s: keys are built apart", name)
		}
	}
	if judge(table, wide(table), Copy, Around{}) || judge(table, wide(table), InPlace, mysql) || judge(table, wide(table), Copy, Around{MySQL: true, ReferencedBy: []string{"d.o"}}) {
		t.Error("keys are built apart for MariaDB, for a change in place, or under a foreign key of another table")
	}
	rekeyed := strings.Replace(wide(table), "KEY `u` (`v`,`n`)", "KEY `u` (`n`,`v`)", 1)
	if judge(table, rekeyed, Copy, mysql) {
		t.Error("a key that the change is about is built apart")
	}
}
