package altertest

import (
	"fmt"
	"strings"
)

// otherTypes are what types that few tables have are changed to.
func otherTypes(kind string) []string {
	switch kind {
	case "uuid":
		return []string{"char(36)", "binary(16)", "varchar(36)", "inet6"}
	case "inet6":
		return []string{"varchar(45)", "binary(16)", "inet4", "uuid"}
	case "inet4":
		return []string{"inet6", "int unsigned", "varchar(15)", "binary(4)"}
	case "point":
		return []string{"geometry", "blob", "linestring"}
	case "geometry":
		return []string{"point", "longblob"}
	}
	return nil
}

func (g grammar) addOther() string {
	column := g.of("UUID NOT NULL", "UUID DEFAULT '123e4567-e89b-12d3-a456-426614174000'", "UUID NOT NULL DEFAULT UUID()", "INET6 NOT NULL DEFAULT '::1'", "INET6 NOT NULL", "INET4 DEFAULT '10.0.0.1'", "INET4 NOT NULL", "POINT", "GEOMETRY NOT NULL", "GEOMETRY DEFAULT POINT(1,1)",
		"TIMESTAMP NOT NULL DEFAULT '2020-01-01 00:00:00'", "TIMESTAMP(3) NOT NULL DEFAULT '2020-01-01 00:00:00.123'", "TIMESTAMP NOT NULL", "TIMESTAMP NULL DEFAULT '2020-03-29 02:30:00'", "DATETIME(3) DEFAULT '2020-01-01 00:00:00.123'", "DATETIME(6) NOT NULL DEFAULT '2020-01-01 00:00:00'",
		"VARCHAR(50) COMPRESSED DEFAULT 'c'", "TEXT COMPRESSED", "VARCHAR(50) COMPRESSED NOT NULL DEFAULT 'ccc'", "INT DEFAULT (2)", "VARCHAR(30) COLLATE utf8mb4_uca1400_ai_ci DEFAULT 'ö'", "CHAR(10) NOT NULL DEFAULT 'x '", "BINARY(4) NOT NULL", "BINARY(4) NOT NULL DEFAULT 'ab'",
		"VARBINARY(9) DEFAULT x'00ff'", "VARBINARY(9) NOT NULL DEFAULT 'a\\0b'", "BIGINT DEFAULT 0x10", "FLOAT NOT NULL DEFAULT 0.1", "FLOAT(7,3) NOT NULL DEFAULT 0.12345", "DECIMAL(5,1) DEFAULT 1.25", "DECIMAL(65,30) NOT NULL DEFAULT 1", "SET('p','q') NOT NULL DEFAULT 'p,q'", "SET('p','q') NOT NULL", "INT(5) UNSIGNED ZEROFILL NOT NULL DEFAULT 7",
		"TIME(3) NOT NULL DEFAULT '10:00:00.5'", "TIME NOT NULL DEFAULT '-10:00:00'", "YEAR NOT NULL DEFAULT 24", "INT UNIQUE INVISIBLE", "BIT(64) NOT NULL DEFAULT b'1'", "BIT(9) NOT NULL", "TINYBLOB NOT NULL", "LONGTEXT NOT NULL", "JSON NOT NULL", "JSON NOT NULL DEFAULT '[]'", "VARCHAR(20) NOT NULL DEFAULT '' CHECK (added <> 'no')",
		"ENUM('ä','ö') CHARACTER SET latin1 NOT NULL DEFAULT 'ö'", "CHAR(0)", "CHAR(3) CHARACTER SET ucs2 NOT NULL DEFAULT 'ab'", "VARCHAR(20) DEFAULT CURRENT_USER()", "VARCHAR(64) NOT NULL DEFAULT 'it''s, \\\\ (x) `q`'", "DATE DEFAULT CURRENT_DATE", "DATE NOT NULL DEFAULT '2020-02-29'", "INT DEFAULT NULL COMMENT 'x' INVISIBLE", "DATETIME NOT NULL DEFAULT NOW() ON UPDATE NOW()",
		"INT REFERENCES p (id)", "SMALLINT UNSIGNED NOT NULL DEFAULT 65535", "MEDIUMINT NOT NULL DEFAULT -8388608", "BOOL NOT NULL DEFAULT FALSE")
	switch g.r.Intn(8) {
	case 0:
		return "ADD COLUMN IF NOT EXISTS added " + column
	case 1:
		if !strings.Contains(column, "UNIQUE") {
			return "ADD (added " + column + ", beside INT DEFAULT 5)"
		}
	case 2:
		return "ADD COLUMN added " + column + ", ADD INDEX added (added" + g.of("", "(3)", " DESC") + ")"
	}
	return "ADD added " + column + g.place()
}

// addComputed adds columns that are computed of what columns hold.
func (g grammar) addComputed() string {
	a, b := "`"+g.of(g.names()...)+"`", "`"+g.of(g.names()...)+"`"
	expression := g.of("CONCAT("+a+", '-', "+b+")", "COALESCE("+a+", "+b+")", "UPPER("+a+")", "MD5("+a+")", a+" IS NULL", "LEFT("+a+", 3)", a+" + 0", "JSON_VALUE("+a+", '$.k')", "IF("+a+" = "+b+", 1, 2)", "CAST("+a+" AS CHAR(50))", "DATE("+a+")", a+" = 'a'")
	text := fmt.Sprintf("ADD COLUMN computed %s AS (%s) %s", g.of("VARCHAR(300)", "VARCHAR(200) CHARACTER SET utf8mb4", "INT", "TEXT", "CHAR(20)"), expression, g.of("VIRTUAL", "STORED", "PERSISTENT"))
	switch g.r.Intn(5) {
	case 0:
		text += ", ADD INDEX computed (computed(10))"
	case 1:
		text += g.place()
	}
	return text
}

// dropSeveral drops the last columns, and maybe what names them.
func (g grammar) dropSeveral() string {
	n := len(g.t.Columns)
	last := "DROP COLUMN `" + g.t.Columns[n-1].Name + "`"
	before := "DROP COLUMN `" + g.t.Columns[n-2].Name + "`"
	switch g.r.Intn(4) {
	case 0:
		return last + ", " + before
	case 1:
		return before + ", " + last
	case 2:
		if k := g.key(); k != "" {
			return "DROP INDEX `" + k + "`, " + last
		}
	}
	return "DROP COLUMN IF EXISTS nobody, " + last
}

func (g grammar) addOtherIndex() string {
	a, b := "`"+g.of(g.names()...)+"`", "`"+g.of(g.names()...)+"`"
	return g.of("ADD INDEX fresh ("+a+" DESC)", "ADD INDEX fresh ("+a+"(4), "+b+" DESC)", "ADD UNIQUE INDEX fresh ("+a+"(5))", "ADD UNIQUE fresh ("+a+", "+b+")", "ADD UNIQUE (`id`, "+b+")", "ADD UNIQUE INDEX fresh ("+b+", id)", "ADD SPATIAL INDEX fresh ("+a+")", "ADD INDEX IF NOT EXISTS fresh USING BTREE ("+a+") COMMENT 'why'",
		"ADD INDEX fresh ("+a+") IGNORED", "ADD UNIQUE fresh (id) USING HASH", "ADD UNIQUE INDEX fresh ("+a+") USING HASH", "ADD FULLTEXT fresh ("+a+", "+b+")", "DROP INDEX IF EXISTS nobody")
}

func (g grammar) otherOption() string {
	return g.of("ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4", "KEY_BLOCK_SIZE=8", "ROW_FORMAT=COMPACT", "PAGE_COMPRESSED=1 PAGE_COMPRESSION_LEVEL=3", "CHECKSUM=1", "MAX_ROWS=100 AVG_ROW_LENGTH=20", "STATS_AUTO_RECALC=0, STATS_SAMPLE_PAGES=4", "DROP SYSTEM VERSIONING", "ENABLE KEYS",
		"DEFAULT CHARACTER SET latin1 COLLATE latin1_bin", "COLLATE=utf8mb4_uca1400_ai_ci", "PACK_KEYS=1", "DELAY_KEY_WRITE=1", "ENCRYPTED=NO", "DROP PERIOD FOR p", "ADD PERIOD FOR p (s, e)")
}

func (g grammar) otherPartitions() string {
	by := "`" + g.of(g.names()...) + "`"
	text := g.t.Partitions
	switch {
	case strings.Contains(text, "LIST"):
		return g.of("ADD PARTITION (PARTITION more VALUES IN (100, 101))", "REORGANIZE PARTITION p0 INTO (PARTITION p0a VALUES IN (0, 1, NULL), PARTITION p0b VALUES IN (2))", "REORGANIZE PARTITION p0, p1 INTO (PARTITION p01 VALUES IN (0, 1, 2, 3, 4, NULL))", "REORGANIZE PARTITION p1 INTO (PARTITION p1 VALUES IN (3))",
			"DROP PARTITION pd", "DROP PARTITION p1", "TRUNCATE PARTITION p0", "ADD PARTITION (PARTITION pd2 DEFAULT)", "REORGANIZE PARTITION pd INTO (PARTITION px VALUES IN (7), PARTITION pd DEFAULT)", "REORGANIZE PARTITION pd INTO (PARTITION px VALUES IN (7))", "REMOVE PARTITIONING", "REBUILD PARTITION p0", "ANALYZE PARTITION p0")
	case strings.Contains(text, "HASH"), strings.Contains(text, "KEY"):
		return g.of("COALESCE PARTITION 1", "ADD PARTITION PARTITIONS 2", "REBUILD PARTITION ALL", "OPTIMIZE PARTITION ALL", "REORGANIZE PARTITION", "TRUNCATE PARTITION ALL", "PARTITION BY LINEAR HASH (id) PARTITIONS 2")
	case text != "":
		return g.of("REBUILD PARTITION p0", "TRUNCATE PARTITION p0", "CHECK PARTITION p0", "REORGANIZE PARTITION p0, p1 INTO (PARTITION p VALUES LESS THAN (1000))", "ADD PARTITION (PARTITION more VALUES LESS THAN MAXVALUE)", "PARTITION BY LIST (id) (PARTITION a VALUES IN (1, 2, 3), PARTITION d DEFAULT)")
	}
	return g.of("PARTITION BY LIST (id) (PARTITION a VALUES IN (1, 2, 3), PARTITION d DEFAULT)", "PARTITION BY LIST (id) (PARTITION a VALUES IN (0, 1, 2, 3))", "PARTITION BY LIST COLUMNS ("+by+") (PARTITION a VALUES IN ('a', 'b'), PARTITION d DEFAULT)", "PARTITION BY RANGE COLUMNS ("+by+") (PARTITION a VALUES LESS THAN ('m'), PARTITION m VALUES LESS THAN (MAXVALUE))",
		"PARTITION BY KEY ("+by+") PARTITIONS 3", "PARTITION BY SYSTEM_TIME (PARTITION h HISTORY, PARTITION c CURRENT)", "PARTITION BY RANGE (id) SUBPARTITION BY HASH (id) SUBPARTITIONS 2 (PARTITION m VALUES LESS THAN MAXVALUE)", "REMOVE PARTITIONING")
}

// collate gives a text another collation, and maybe another length.
func (g grammar) collate() string {
	name, kind, args, _, rest := g.column()
	if !strings.Contains(" char varchar text tinytext mediumtext enum set ", " "+kind+" ") || strings.Contains(rest, "GENERATED") {
		return "CONVERT TO CHARACTER SET utf8mb4 COLLATE " + g.of("utf8mb4_uca1400_ai_ci", "utf8mb4_nopad_bin", "utf8mb4_unicode_520_ci", "utf8mb4_general_nopad_ci")
	}
	if args != "" {
		args = "(" + args + ")"
	}
	charset, null := "utf8mb4", ""
	for _, c := range []string{"utf8mb3", "latin1"} {
		if strings.Contains(g.t.Options, "CHARSET="+c) {
			charset = c
		}
	}
	if strings.Contains(rest, "NOT NULL") {
		null = " NOT NULL"
	}
	return fmt.Sprintf("MODIFY `%s` %s%s CHARACTER SET %s COLLATE %s%s", name, kind, args, charset, charset+g.of("_bin", "_general_ci", "_nopad_bin", "_general_nopad_ci", "_uca1400_ai_ci", "_unicode_ci", "_swedish_ci"), null)
}

func (g grammar) otherConstraint() string {
	a, b := "`"+g.of(g.names()...)+"`", "`"+g.of(g.names()...)+"`"
	return g.of("ADD CHECK ("+a+" IS NULL OR "+a+" <> 'zz')", "ADD CONSTRAINT IF NOT EXISTS held CHECK (COALESCE("+a+", "+b+") IS NOT NULL)", "DROP CONSTRAINT IF EXISTS nobody", "ADD CONSTRAINT held UNIQUE ("+a+", `id`)", "ADD FOREIGN KEY held (n) REFERENCES t (id) ON UPDATE CASCADE", "ADD CONSTRAINT held FOREIGN KEY (n) REFERENCES t (id)")
}

// otherDefault changes defaults, and columns that clients do not see.
func (g grammar) otherDefault() string {
	p := g.t.Columns[g.r.Intn(len(g.t.Columns))]
	if strings.Contains(p.Text, "GENERATED") || strings.Contains(p.Text, "CHECK") || strings.Contains(p.Text, "AUTO_INCREMENT") {
		return ""
	}
	m := columnLine.FindStringSubmatch(p.Text)
	kind := strings.TrimSpace(strings.TrimSuffix(p.Text[:len(p.Text)-len(m[5])], m[5]))
	null := ""
	if strings.Contains(m[5], "NOT NULL") {
		null = " NOT NULL"
	}
	if at := strings.Index(m[5], " CHARACTER SET"); at >= 0 {
		null = " " + strings.Join(strings.Fields(m[5])[:5], " ") + null
		if !strings.Contains(m[5], "COLLATE") {
			return ""
		}
	}
	return "MODIFY COLUMN " + kind + null + g.of(" DEFAULT (1 + 1)", " DEFAULT (id)", " DEFAULT 1", " DEFAULT '1'", " DEFAULT (NULL)", " INVISIBLE DEFAULT '2'", " COMMENT 'a `b` DEFAULT 5'", " DEFAULT (CONCAT('a', 'b'))")
}
