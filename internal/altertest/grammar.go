package altertest

import (
	"fmt"
	"math/rand"
	"regexp"
	"strconv"
	"strings"

	"stowage/schema"
)

// Draw is one change of a table, as people would write it; many of them are ones that a server refuses, or that lose data.
func Draw(r *rand.Rand, t schema.Table) string {
	g := grammar{r, t}
	text := g.one()
	if r.Intn(5) == 0 && !strings.Contains(text, "PARTITION") {
		if second := g.one(); !strings.Contains(second, "PARTITION") {
			text += ", " + second
		}
	}
	return "ALTER TABLE t " + inComment.ReplaceAllString(text, "$1")
}

// inComment is what servers write for their own versions only. People write it plainly.
var inComment = regexp.MustCompile(`/\*M?!\d+ ?([^*]*?) ?\*/`)

type grammar struct {
	r *rand.Rand
	t schema.Table
}

func (g grammar) of(all ...string) string { return all[g.r.Intn(len(all))] }

// one is a clause. What people do most is drawn most.
func (g grammar) one() string {
	kinds := []struct {
		weight int
		make   func() string
	}{
		{20, g.addColumn}, {5, g.addGenerated}, {12, g.dropColumn}, {5, g.renameColumn}, {30, g.changeType}, {8, g.changeNull}, {8, g.changeDefault}, {3, g.moveColumn}, {14, g.addIndex}, {8, g.dropIndex},
		{4, g.otherIndex}, {3, g.primaryKey}, {10, g.option}, {3, g.convert}, {5, g.partitions}, {6, g.constraint},
		{10, g.addOther}, {4, g.addComputed}, {3, g.dropSeveral}, {5, g.addOtherIndex}, {4, g.otherOption}, {4, g.otherPartitions}, {3, g.collate}, {2, g.otherConstraint}, {2, g.otherDefault},
	}
	sum := 0
	for _, k := range kinds {
		sum += k.weight
	}
	n := g.r.Intn(sum)
	for _, k := range kinds {
		if n -= k.weight; n < 0 {
			if text := k.make(); text != "" {
				return text
			}
			return g.one()
		}
	}
	return "FORCE"
}

var columnLine = regexp.MustCompile("(?s)^`([^`]+)` ([a-z0-9]+)(?:\\(([^)]*)\\))?( unsigned)?(.*)$")

// column is one of the table: name, type, arguments, " unsigned", and the rest.
func (g grammar) column() (name, kind, args, sign, rest string) {
	m := columnLine.FindStringSubmatch(g.t.Columns[g.r.Intn(len(g.t.Columns))].Text)
	return m[1], m[2], m[3], m[4], m[5]
}

func (g grammar) names() []string {
	var out []string
	for _, c := range g.t.Columns {
		out = append(out, c.Name)
	}
	return out
}

func (g grammar) place() string {
	switch g.r.Intn(8) {
	case 0:
		return " FIRST"
	case 1:
		return " AFTER " + g.of(g.names()...)
	}
	return ""
}

func (g grammar) addColumn() string {
	column := g.of("INT", "INT NOT NULL", "INT NOT NULL DEFAULT 9", "BIGINT UNSIGNED NOT NULL DEFAULT 18446744073709551615", "VARCHAR(30) NOT NULL DEFAULT 'äö'", "VARCHAR(30)", "VARCHAR(30) NOT NULL", "TEXT",
		"TEXT NOT NULL", "DATETIME", "DATETIME NOT NULL DEFAULT '2020-01-01 00:00:00'", "DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP", "TIMESTAMP NULL", "TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP",
		"DATETIME(6) NULL ON UPDATE CURRENT_TIMESTAMP(6)", "DATE NOT NULL", "DATETIME NOT NULL", "TIME NOT NULL", "YEAR NOT NULL", "TEXT DEFAULT 't'", "ENUM('p','q') NOT NULL DEFAULT 'q'", "ENUM('p','q') NOT NULL", "SET('p','q')", "JSON", "JSON DEFAULT '{}'", "DECIMAL(12,3) NOT NULL DEFAULT 1.5",
		"VARCHAR(36) DEFAULT (UUID())", "TINYINT(1) NOT NULL DEFAULT 0", "INT INVISIBLE DEFAULT 3", "INT UNIQUE", "BIT(3) NOT NULL DEFAULT b'101'", "BLOB", "BOOLEAN DEFAULT TRUE", "INT CHECK (added > 0)", "UUID", "DOUBLE NOT NULL DEFAULT 0.5",
		"VARCHAR(10) CHARACTER SET latin1 DEFAULT 'ß' COMMENT 'a, (b) DEFAULT 5'")
	return "ADD COLUMN added " + column + g.place()
}

func (g grammar) addGenerated() string {
	name, _, _, _, _ := g.column()
	text := fmt.Sprintf("ADD COLUMN made %s AS (%s) %s", g.of("VARCHAR(300)", "INT"), g.of("LENGTH(`"+name+"`)", "1 + 1"), g.of("VIRTUAL", "STORED", "VIRTUAL"))
	if g.r.Intn(3) == 0 {
		text += ", ADD INDEX made (made)"
	}
	return text
}

func (g grammar) dropColumn() string {
	if g.r.Intn(2) == 0 {
		return "DROP COLUMN `" + g.t.Columns[len(g.t.Columns)-1].Name + "`"
	}
	return "DROP COLUMN `" + g.of(g.names()...) + "`"
}

func (g grammar) renameColumn() string {
	return "RENAME COLUMN `" + g.of(g.names()...) + "` TO renamed"
}

var integers = []string{"tinyint", "smallint", "mediumint", "int", "bigint"}

// types are what a type is changed to.
func (g grammar) types(kind, args, sign string) []string {
	n, _ := strconv.Atoi(strings.Split(args, ",")[0])
	for at, i := range integers {
		if i == kind {
			out := []string{"bigint" + sign, integers[min(at+1, 4)] + sign, integers[min(at+1, 4)] + sign, "bigint", "int", kind + " unsigned", kind, "decimal(20,0)", "varchar(30)", integers[max(at-1, 0)] + sign}
			return out
		}
	}
	switch kind {
	case "varchar", "char":
		return []string{fmt.Sprintf("varchar(%d)", n+10), fmt.Sprintf("varchar(%d)", n*2), fmt.Sprintf("varchar(%d)", n), fmt.Sprintf("varchar(%d)", n+200), fmt.Sprintf("char(%d)", min(n+5, 200)), fmt.Sprintf("varchar(%d)", max(n/2, 1)), "text",
			"mediumtext", "tinytext", fmt.Sprintf("varbinary(%d)", n*4), fmt.Sprintf("varchar(%d) character set utf8mb4", n), fmt.Sprintf("varchar(%d) character set latin1", n), fmt.Sprintf("varchar(%d) collate utf8mb4_bin", n), "int"}
	case "tinytext", "text", "mediumtext", "longtext":
		return []string{"text", "mediumtext", "longtext", "blob", "mediumblob", "text character set utf8mb4", "varchar(100)", "text character set latin1", "json"}
	case "tinyblob", "blob", "mediumblob", "longblob", "varbinary", "binary":
		return []string{"blob", "mediumblob", "varbinary(40)", "binary(20)", "text", "longblob"}
	case "enum", "set":
		return []string{kind + "(" + args + ",'more')", kind + "(" + args + ",'more','most')", kind + "('first'," + args + ")", kind + "(" + args + ",'more')", "varchar(20)", kind + "(" + g.of(strings.Split(args, ",")...) + ")"}
	case "decimal":
		p, s, _ := strings.Cut(args, ",")
		whole, _ := strconv.Atoi(p)
		behind, _ := strconv.Atoi(s)
		return []string{fmt.Sprintf("decimal(%d,%d)", whole+4, behind), fmt.Sprintf("decimal(%d,%d)", whole+4, behind+2), fmt.Sprintf("decimal(%d,%d)", whole, behind+1), fmt.Sprintf("decimal(%d,%d)", whole-1, behind), "double", "bigint"}
	case "float", "double":
		return []string{"double", "float", "decimal(30,5)", "int"}
	case "datetime", "timestamp", "time":
		return []string{kind + "(6)", kind + "(3)", kind, "datetime(6)", "date", kind + "(4)"}
	case "date":
		return []string{"datetime", "datetime(3)", "varchar(20)", "timestamp"}
	case "bit":
		return []string{"bit(12)", "bit(2)", "int", "bit(6)"}
	case "year":
		return []string{"smallint", "int"}
	}
	return otherTypes(kind)
}

// changeType leaves the rest of a column as it is.
func (g grammar) changeType() string {
	name, kind, args, sign, rest := g.column()
	all := g.types(kind, args, sign)
	if all == nil || strings.Contains(rest, "GENERATED") {
		return ""
	}
	to := g.of(all...)
	rest = regexp.MustCompile(` (CHARACTER SET|COLLATE) [a-z0-9_]+| CHECK .*$`).ReplaceAllString(rest, "")
	if g.r.Intn(12) == 0 {
		return fmt.Sprintf("CHANGE COLUMN `%s` renamed %s%s", name, to, rest)
	}
	return fmt.Sprintf("MODIFY COLUMN `%s` %s%s", name, to, rest)
}

func (g grammar) changeNull() string {
	p := g.t.Columns[g.r.Intn(len(g.t.Columns))]
	if strings.Contains(p.Text, "GENERATED") {
		return ""
	}
	if strings.Contains(p.Text, " NOT NULL") {
		return "MODIFY COLUMN " + strings.Replace(p.Text, " NOT NULL", "", 1)
	}
	m := columnLine.FindStringSubmatch(p.Text)
	rest := strings.Replace(m[5], " DEFAULT NULL", "", 1)
	return "MODIFY COLUMN `" + m[1] + "` " + strings.TrimPrefix(p.Text[:len(p.Text)-len(m[5])], "`"+m[1]+"` ") + " NOT NULL" + strings.Replace(rest, " NULL", "", 1)
}

func (g grammar) changeDefault() string {
	name, kind, _, _, _ := g.column()
	p := g.t.Columns[g.r.Intn(len(g.t.Columns))]
	switch g.r.Intn(4) {
	case 0:
		return "ALTER COLUMN `" + name + "` DROP DEFAULT"
	case 1:
		if strings.Contains(p.Text, "COMMENT") || strings.Contains(p.Text, "CHECK") || strings.Contains(p.Text, "GENERATED") {
			return ""
		}
		return "MODIFY COLUMN " + p.Text + " COMMENT 'it''s, (odd)'"
	case 2:
		if strings.Contains(p.Text, "CHECK") || strings.Contains(p.Text, "GENERATED") || strings.Contains(p.Text, "AUTO_INCREMENT") {
			return ""
		}
		return "MODIFY COLUMN " + p.Text + " INVISIBLE"
	}
	switch kind {
	case "int", "tinyint", "smallint", "bigint", "decimal", "double":
		return "ALTER COLUMN `" + name + "` SET DEFAULT 3"
	case "datetime":
		return "ALTER COLUMN `" + name + "` SET DEFAULT (CURRENT_TIMESTAMP)"
	case "varchar", "char", "text":
		return "ALTER COLUMN `" + name + "` SET DEFAULT 'new'"
	}
	return ""
}

func (g grammar) moveColumn() string {
	p := g.t.Columns[g.r.Intn(len(g.t.Columns))]
	return "MODIFY COLUMN " + p.Text + g.of(" FIRST", " AFTER `"+g.of(g.names()...)+"`")
}

func (g grammar) addIndex() string {
	columns := "`" + g.of(g.names()...) + "`"
	if g.r.Intn(3) == 0 {
		columns += ", `" + g.of(g.names()...) + "`"
	}
	if len(g.t.Columns) > 0 && strings.HasPrefix(g.t.Columns[0].Text, "`id`") && g.r.Intn(6) == 0 {
		columns = "`id`, " + columns
	}
	return g.of("ADD INDEX ", "ADD INDEX ", "ADD INDEX ", "ADD KEY ", "ADD UNIQUE KEY ", "ADD FULLTEXT INDEX ") + "fresh (" + columns + ")"
}

func (g grammar) key() string {
	var names []string
	for _, k := range g.t.Keys {
		if k.Name != "PRIMARY KEY" {
			names = append(names, k.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return g.of(names...)
}

func (g grammar) dropIndex() string {
	if k := g.key(); k != "" {
		return "DROP INDEX `" + k + "`"
	}
	return ""
}

func (g grammar) otherIndex() string {
	k := g.key()
	if k == "" {
		return ""
	}
	return g.of("RENAME INDEX `"+k+"` TO another", "ALTER INDEX `"+k+"` IGNORED")
}

func (g grammar) primaryKey() string {
	return g.of("DROP PRIMARY KEY", fmt.Sprintf("DROP PRIMARY KEY, ADD PRIMARY KEY (`%s`)", g.of(g.names()...)), fmt.Sprintf("DROP PRIMARY KEY, ADD PRIMARY KEY (`%s`, `%s`)", g.t.Columns[0].Name, g.of(g.names()...)),
		"ADD COLUMN number INT NOT NULL AUTO_INCREMENT UNIQUE")
}

func (g grammar) option() string {
	return g.of("COMMENT='new, (it''s)'", "ROW_FORMAT=COMPRESSED", "ROW_FORMAT=REDUNDANT", "FORCE", "ENGINE=InnoDB", "AUTO_INCREMENT=100000", "DEFAULT CHARSET=latin1", "DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
		"STATS_PERSISTENT=1", "PAGE_COMPRESSED=1", "COMMENT='x' ROW_FORMAT=DYNAMIC", "ENGINE=Aria", "ADD SYSTEM VERSIONING")
}

func (g grammar) convert() string {
	return "CONVERT TO CHARACTER SET " + g.of("utf8mb4", "utf8mb4", "utf8mb3", "latin1", "utf8mb4 COLLATE utf8mb4_bin")
}

func (g grammar) partitions() string {
	by := g.t.Columns[0].Name
	if g.t.Partitions != "" {
		return g.of("REMOVE PARTITIONING", "PARTITION BY HASH (`"+by+"`) PARTITIONS 2", "ADD PARTITION (PARTITION more VALUES LESS THAN (100000))", "DROP PARTITION p1",
			"REORGANIZE PARTITION p1 INTO (PARTITION p1a VALUES LESS THAN (500), PARTITION p1b VALUES LESS THAN (1000))")
	}
	return g.of("PARTITION BY HASH (`"+by+"`) PARTITIONS 4", "PARTITION BY KEY () PARTITIONS 2", "PARTITION BY RANGE (`"+by+"`) (PARTITION a VALUES LESS THAN (50), PARTITION b VALUES LESS THAN MAXVALUE)",
		"PARTITION BY RANGE (`"+by+"`) (PARTITION a VALUES LESS THAN (100000000))")
}

func (g grammar) constraint() string {
	var names []string
	foreign := map[string]bool{}
	for _, c := range g.t.Constraints {
		names = append(names, c.Name)
		foreign[c.Name] = strings.Contains(c.Text, "FOREIGN KEY")
	}
	name := g.of(g.names()...)
	add := g.of("ADD CONSTRAINT held CHECK (`"+name+"` IS NULL OR LENGTH(`"+name+"`) >= 0)", "ADD CONSTRAINT held FOREIGN KEY (p) REFERENCES p (id)", "ADD CONSTRAINT held FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE",
		"MODIFY COLUMN n INT CHECK (n <> 0)")
	if len(names) == 0 || g.r.Intn(3) == 0 {
		return add
	}
	n := g.of(names...)
	if foreign[n] {
		return "DROP FOREIGN KEY `" + n + "`"
	}
	return "DROP CONSTRAINT `" + n + "`"
}
