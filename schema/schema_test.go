package schema

import (
	"strings"
	"testing"
)

const events = "CREATE TABLE `events` (\n  `id` bigint(20) NOT NULL AUTO_INCREMENT,\n  `v` varchar(20) DEFAULT 'a,b)''c' COMMENT 'it\\'s; (odd',\n  `e` enum('x','y,z') DEFAULT NULL,\n" +
	"  `g` int(11) GENERATED ALWAYS AS (`id` % 3) VIRTUAL,\n  PRIMARY KEY (`id`),\n  UNIQUE KEY `v` (`v`,`e`),\n  FULLTEXT KEY `ft` (`v`),\n  KEY `k``x` (`e`),\n  CONSTRAINT `fk` FOREIGN KEY (`e`) REFERENCES `o` (`a`) ON DELETE CASCADE,\n" +
	"  CONSTRAINT `c` CHECK (`id` > 0)\n) ENGINE=InnoDB AUTO_INCREMENT=77 DEFAULT CHARSET=utf8 COLLATE=utf8_bin COMMENT='AUTO_INCREMENT=5 (1)'\n PARTITION BY RANGE (`id`)\n(PARTITION `p0` VALUES LESS THAN (10) ENGINE = InnoDB)"

func read(t *testing.T, text string) Table {
	t.Helper()
	x, err := Read(text)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func names(parts []Part) string {
	var out []string
	for _, p := range parts {
		out = append(out, p.Name)
	}
	return strings.Join(out, " ")
}

func TestReadTakesATableApart(t *testing.T) {
	x := read(t, events)
	if x.Name != "events" || names(x.Columns) != "id v e g" || names(x.Keys) != "PRIMARY KEY v ft k`x" || names(x.Constraints) != "fk c" {
		t.Errorf("%q: columns %s, keys %s, constraints %s", x.Name, names(x.Columns), names(x.Keys), names(x.Constraints))
	}
	if want := "ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_bin COMMENT='AUTO_INCREMENT=5 (1)'"; x.Options != want {
		t.Errorf("options %q", x.Options)
	}
	if !strings.HasPrefix(x.Partitions, "PARTITION BY RANGE") || x.Columns[1].Text != "`v` varchar(20) DEFAULT 'a,b)''c' COMMENT 'it\\'s; (odd'" {
		t.Errorf("partitions %q, column %q", x.Partitions, x.Columns[1].Text)
	}
	if again := read(t, x.Text); again.Text != x.Text || len(Diff(again, x)) != 0 {
		t.Errorf("read again it is\n%s\nwas\n%s", again.Text, x.Text)
	}
	later := read(t, strings.Replace(events, "AUTO_INCREMENT=77", "AUTO_INCREMENT=99", 1))
	if later.Text != x.Text {
		t.Error("the counter counts")
	}
	if s := read(t, "CREATE SEQUENCE `s` start with 1 minvalue 1 ENGINE=InnoDB"); s.Name != "s" || len(s.Columns) != 0 {
		t.Errorf("%+v", s)
	}
	if _, err := Read("CREATE VIEW v AS SELECT 1"); err == nil {
		t.Error("a view was taken for a table")
	}
}

func TestDiffNamesEachDifference(t *testing.T) {
	is := read(t, events)
	should := read(t, strings.NewReplacer("varchar(20)", "varchar(30)", "  `g` int(11) GENERATED ALWAYS AS (`id` % 3) VIRTUAL,\n", "", "UNIQUE KEY `v` (`v`,`e`)", "UNIQUE KEY `v` (`v`)",
		"  CONSTRAINT `c` CHECK (`id` > 0)", "  CONSTRAINT `c` CHECK (`id` > 1),\n  CONSTRAINT `d` CHECK (`id` > 2)", "LESS THAN (10)", "LESS THAN (20)", "COLLATE=utf8_bin", "COLLATE=utf8_general_ci").Replace(events))
	var kinds []string
	for _, d := range Diff(is, should) {
		kinds = append(kinds, string(d.Kind)+" "+d.Name)
	}
	if got := strings.Join(kinds, "; "); got != "column v; column g; key v; constraint c; constraint d; options ; partitions " {
		t.Error(got)
	}
	if _, err := Alter(is, should); err == nil {
		t.Error("an ALTER leaves partitions out")
	}
	moved := read(t, strings.Replace(strings.Replace(events, "  `e` enum('x','y,z') DEFAULT NULL,\n", "", 1), "  `id` bigint", "  `e` enum('x','y,z') DEFAULT NULL,\n  `id` bigint", 1))
	if d := Diff(is, moved); len(d) != 1 || d[0].Kind != OfOrder {
		t.Errorf("%v", d)
	}
}

func TestStatementsOfAFile(t *testing.T) {
	file := "-- a; b\n/* ; */ # ;\nCREATE TABLE `a;b` (x int COMMENT ';');\n\n  create table if not exists db.`c` (y int)\n;\nUSE x;\n"
	got := Statements(file)
	if len(got) != 3 || got[0].Line != 3 || got[1].Line != 5 || file[got[1].From:got[1].From+6] != "create" {
		t.Fatalf("%+v", got)
	}
	d, err := Declarations([]File{{"schema/x.sql", file}})
	if err != nil || len(d) != 2 || d[0].Table != "a;b" || d[1].Table != "c" || d[1].Place() != "schema/x.sql:5" {
		t.Fatalf("%+v %v", d, err)
	}
	if _, err := Declarations([]File{{"a.sql", "CREATE TABLE t (x int)"}, {"b.sql", "\nCREATE TABLE t (x int)"}}); err == nil || !strings.Contains(err.Error(), "b.sql:2") {
		t.Error(err)
	}
	if got := Written(file, &d[1], Table{Text: "CREATE TABLE `c` (\n  `y` int(11)\n)"}); !strings.Contains(got, "-- a; b\n") || !strings.Contains(got, "\n  CREATE TABLE `c` (\n  `y` int(11)\n)\n;\nUSE x;\n") {
		t.Error(got)
	}
}

func TestJudgeFindsTheOddOnes(t *testing.T) {
	odd := strings.Replace(events, "varchar(20)", "varchar(10)", 1)
	seen := []Seen{
		{Shard: "s1", Instance: "p1a", Tables: map[string]string{"events": events}}, {Shard: "s1", Instance: "p1b", Tables: map[string]string{"events": events}},
		{Shard: "s2", Instance: "p1a", Tables: map[string]string{"events": odd}}, {Shard: "s2", Instance: "p1b", Tables: map[string]string{"events": odd}},
		{Shard: "s3", Instance: "p2a", Tables: map[string]string{"events": events}}, {Shard: "s3", Instance: "p2b", Tables: map[string]string{"events": odd}},
		{Shard: "s4", Instance: "p2a", Tables: map[string]string{"events": events, "old": "CREATE TABLE `old` (\n  `x` int\n)"}}, {Shard: "s4", Instance: "p2b", Absent: true},
	}
	r := Judge("f", seen, nil)
	if r.Shards != 4 || r.Servers != 4 || r.Right != 1 || len(r.Variants) != 3 {
		t.Fatalf("%+v", r)
	}
	for _, v := range r.Variants {
		switch v.Table {
		case "":
			if len(v.OneSide) != 1 || v.OneSide[0] != (Where{"s4", "p2b"}) {
				t.Errorf("%+v", v)
			}
		case "events":
			if len(v.Shards) != 1 || v.Shards[0] != "s2" || len(v.OneSide) != 1 || v.OneSide[0] != (Where{"s3", "p2b"}) || !strings.Contains(v.Alter, "MODIFY COLUMN `v` varchar(20)") {
				t.Errorf("%+v", v)
			}
		case "old":
			if v.Alter != "" || v.OneSide[0] != (Where{"s4", "p2a"}) {
				t.Errorf("%+v", v)
			}
		}
	}
	sets := []Set{{Name: "few", Patterns: []string{"s4"}, Tables: map[string]Table{}}, {Tables: map[string]Table{"events": read(t, odd)}}}
	r = Judge("f", seen, sets)
	if !r.Declared || r.Right != 1 { // s2
		t.Errorf("%+v", r)
	}
	r = Judge("f", seen, sets[:1])
	if len(r.Unclaimed) != 3 {
		t.Errorf("%+v", r.Unclaimed)
	}
}

// Names may hold anything: what is printed to be read is never carried out.
func TestCommentsEndWithTheirLine(t *testing.T) {
	evil := "CREATE TABLE `x\nDROP TABLE users;#` (\n  `c\r\nDROP TABLE users;#` int\n)"
	seen := []Seen{{Shard: "s", Instance: "i", Tables: map[string]string{"x\nDROP TABLE users;#": evil, "t": "CREATE TABLE `t` (\n  `c\nDROP TABLE users;#` int,\n  `d` int\n)"}}}
	r := Judge("f", seen, []Set{{Tables: map[string]Table{"t": read(t, "CREATE TABLE `t` (\n  `d` int\n)")}}})
	var out strings.Builder
	if err := r.WriteAlters(&out); err != nil {
		t.Fatal(err)
	}
	statements := Statements(out.String())
	if len(r.Variants) != 2 || len(statements) != 1 || !strings.HasPrefix(statements[0].Text, "ALTER TABLE `t`\n  DROP COLUMN") {
		t.Errorf("%d statements in\n%s", len(statements), out.String())
	}
}

func FuzzRead(f *testing.F) {
	f.Add(events)
	f.Add("CREATE TABLE `a` (\n  `b` int /*!80023 INVISIBLE */,\n  KEY `x` ((`b` + 1))\n) /*!50100 PARTITION BY HASH (b) */")
	f.Add("create table t(x int default '")
	f.Fuzz(func(t *testing.T, text string) {
		Statements(text)
		x, err := Read(text)
		if err != nil {
			return
		}
		if d := Diff(x, x); len(d) != 0 {
			t.Errorf("it differs from itself: %v", d)
		}
	})
}

// A server writes a table anew when it is told its own engine again: a comment alone must not do that.
func TestOptionsThatAreEqualAreLeftOut(t *testing.T) {
	const columns = "CREATE TABLE `t` (\n  `a` int(11) DEFAULT NULL\n) "
	for _, c := range []struct{ is, should, want string }{
		{"ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='x, ENGINE=y'", "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin", "COMMENT=''"},
		{"ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin WITH SYSTEM VERSIONING", "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=COMPACT COMMENT='it''s' WITH SYSTEM VERSIONING", "ROW_FORMAT=COMPACT COMMENT='it''s'"},
		{"ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin", "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci", "DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci"},
		{"ENGINE=InnoDB DEFAULT CHARSET=latin1 DATA DIRECTORY='/a' `PAGE_COMPRESSED`=1", "ENGINE=InnoDB DEFAULT CHARSET=latin1 COMMENT='c' DATA DIRECTORY='/a' `PAGE_COMPRESSED`=1", "COMMENT='c'"},
		{"ENGINE=InnoDB DEFAULT CHARSET=latin1", "ENGINE=InnoDB DEFAULT CHARSET=latin1 `PAGE_COMPRESSED`=1", "`PAGE_COMPRESSED`=1"},
		{"ENGINE=InnoDB DEFAULT CHARSET=latin1 DATA DIRECTORY='/a'", "ENGINE=InnoDB DEFAULT CHARSET=latin1 DATA DIRECTORY='/b'", ""},
	} {
		got, err := Alter(read(t, columns+c.is), read(t, columns+c.should))
		if (err != nil) != (c.want == "") || err == nil && got != "ALTER TABLE `t`\n  "+c.want {
			t.Errorf("%s becomes %s by %q: %v", c.is, c.should, got, err)
		}
	}
}

// What a server hides from other versions is said in plain words: a script of ours that has it as it stands would be refused.
func TestUnwrappedTextOfServers(t *testing.T) {
	for is, want := range map[string]string{
		"ADD COLUMN `a` int DEFAULT '/*!1 x */' /*!80023 INVISIBLE */ COMMENT 'it''s */'":            "ADD COLUMN `a` int DEFAULT '/*!1 x */' INVISIBLE COMMENT 'it''s */'",
		"MODIFY `/*!b` blob /*M!100301 COMPRESSED*/ DEFAULT NULL":                                    "MODIFY `/*!b` blob COMPRESSED DEFAULT NULL",
		"ADD FULLTEXT KEY `f` (`v`) /*!50100 WITH PARSER `ngram` */ ":                                "ADD FULLTEXT KEY `f` (`v`) WITH PARSER `ngram` ",
		"/*!50100 PARTITION BY RANGE (`id`)\n(PARTITION p0 VALUES LESS THAN (10) COMMENT = '*/') */": "PARTITION BY RANGE (`id`)\n(PARTITION p0 VALUES LESS THAN (10) COMMENT = '*/')",
	} {
		if got := unwrapped(is); got != want {
			t.Errorf("%s\nbecomes %q\nshould be %q", is, got, want)
		}
	}
}

// What Stowage writes of a server's text, Stowage reads.
func TestOwnScriptsAreRead(t *testing.T) {
	const was = "CREATE TABLE `t` (\n  `id` int NOT NULL,\n  `v` varchar(20) DEFAULT NULL,\n  `g` int GENERATED ALWAYS AS (`id` + 1) VIRTUAL /*!80023 INVISIBLE */,\n  PRIMARY KEY (`id`),\n  KEY `g` (`v`) /*!80000 INVISIBLE */,\n" +
		"  FULLTEXT KEY `f` (`v`) /*!50100 WITH PARSER `ngram` */\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 /*!80016 ENCRYPTION='Y' */\n/*!50100 PARTITION BY HASH (`id`)\nPARTITIONS 2 */"
	const is = "CREATE TABLE `t` (\n  `id` int NOT NULL,\n  `v` varchar(20) DEFAULT NULL,\n  PRIMARY KEY (`id`)\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"
	j := judged(t, was, is, "DROP COLUMN g, DROP KEY g, DROP KEY f, ENCRYPTION='N' REMOVE PARTITIONING", Copy, Around{MySQL: true})
	want := "ALTER TABLE `t` ENCRYPTION='Y', ADD COLUMN `g` int GENERATED ALWAYS AS (`id` + 1) VIRTUAL INVISIBLE, ADD FULLTEXT KEY `f` (`v`) WITH PARSER `ngram`, ADD KEY `g` (`v`) INVISIBLE PARTITION BY HASH (`id`)\nPARTITIONS 2"
	if j.Undo != want {
		t.Errorf("undo\n%s\nshould be\n%s\nlost %q, refused %q", j.Undo, want, j.Lost, j.Refused)
	}
	a, b := read(t, is), read(t, strings.Replace(was, "\n/*!50100 PARTITION BY HASH (`id`)\nPARTITIONS 2 */", "", 1))
	alter, err := Alter(a, b)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{j.Undo, alter} {
		if _, err := Changes("x.sql", []byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
