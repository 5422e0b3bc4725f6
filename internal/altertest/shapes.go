package altertest

// Shape is a table called t, and what must be there before it.
type Shape struct {
	Name   string
	Tables []string // CREATE TABLE, in order; one of them makes t
}

// Shapes are the tables that changes are drawn over.
var Shapes = []Shape{
	{"plain", []string{"CREATE TABLE t (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20), n INT DEFAULT 7, KEY n (n)) DEFAULT CHARSET=utf8mb4"}},
	{"unsigned", []string{"CREATE TABLE t (id BIGINT UNSIGNED NOT NULL PRIMARY KEY, a TINYINT UNSIGNED, b SMALLINT UNSIGNED NOT NULL, c INT UNSIGNED, d MEDIUMINT, e TINYINT, f BIGINT, KEY b (b), KEY cd (c, d))"}},
	{"strings", []string{"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v60 VARCHAR(60), v100 VARCHAR(100) NOT NULL, v255 VARCHAR(255), c10 CHAR(10), tx TEXT, tt TINYTEXT, KEY v60 (v60), KEY v100 (v100(20))) DEFAULT CHARSET=utf8mb4"}},
	{"members", []string{"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, e ENUM('a','b','c') NOT NULL, s SET('x','y'), e2 ENUM('one','two'), s8 SET('1','2','3','4','5','6','7','8'), KEY e (e))"}},
	{"numbers", []string{"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, d DECIMAL(10,2), f FLOAT, g DOUBLE NOT NULL DEFAULT 1.5, d5 DECIMAL(5,0) NOT NULL, b BIT(4), KEY d (d))"}},
	{"times", []string{"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, d0 DATETIME, d3 DATETIME(3), ts TIMESTAMP(6) NULL, ti TIME(2), da DATE, y YEAR, up DATETIME DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, KEY d3 (d3))"}},
	{"blobs", []string{"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, j JSON, tx TEXT, bl BLOB, vb VARBINARY(20), mt MEDIUMTEXT, bi BINARY(8), KEY vb (vb)) DEFAULT CHARSET=utf8mb4"}},
	{"generated", []string{"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, a INT, b VARCHAR(30), g INT AS (a % 100) VIRTUAL, s INT AS (a % 7) STORED, gi VARCHAR(31) AS (CONCAT(b, '-')) VIRTUAL, n INT, KEY s (s), KEY gi (gi)) DEFAULT CHARSET=utf8mb4"}},
	{"ranges", []string{"CREATE TABLE t (id INT NOT NULL, d INT NOT NULL, v VARCHAR(20), PRIMARY KEY (id, d)) PARTITION BY RANGE (d) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (1000), PARTITION pm VALUES LESS THAN MAXVALUE)"}},
	{"bounded", []string{"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v VARCHAR(20), n SMALLINT) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (1000))"}},
	{"hashed", []string{"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v VARCHAR(20) NOT NULL DEFAULT 'x', n INT, KEY n (n)) PARTITION BY HASH (id) PARTITIONS 3"}},
	{"fulltext", []string{"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, title VARCHAR(100), body TEXT, n INT, FULLTEXT KEY ft (title), KEY n (n)) DEFAULT CHARSET=utf8mb4"}},
	{"child", []string{"CREATE TABLE p (id INT NOT NULL PRIMARY KEY, v INT)",
		"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, p INT, q INT, v VARCHAR(20), KEY p (p), KEY q (q), CONSTRAINT strict FOREIGN KEY (p) REFERENCES p (id), CONSTRAINT cascading FOREIGN KEY (q) REFERENCES p (id) ON DELETE CASCADE)"}},
	{"parent", []string{"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v VARCHAR(20), n INT)",
		"CREATE TABLE c (id INT NOT NULL PRIMARY KEY, p INT, CONSTRAINT up FOREIGN KEY (p) REFERENCES t (id) ON DELETE CASCADE)"}},
	{"loose", []string{"CREATE TABLE p (id INT NOT NULL PRIMARY KEY, v INT)", "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, p INT, v VARCHAR(30), KEY p (p))"}},
	{"keyless", []string{"CREATE TABLE t (a INT, v VARCHAR(10), n TINYINT, KEY a (a))"}},
	{"bare", []string{"CREATE TABLE t (a INT, v VARCHAR(10), n TINYINT)"}},
	{"utf8mb3", []string{"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, u VARCHAR(40) NOT NULL, v VARCHAR(40), tx TEXT, c CHAR(5), e ENUM('ä','b'), UNIQUE KEY u (u)) DEFAULT CHARSET=utf8mb3"}},
	{"latin1", []string{"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v VARCHAR(40), tx TEXT, c CHAR(8), KEY v (v)) DEFAULT CHARSET=latin1"}},
	{"unique", []string{"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, u VARCHAR(50) NOT NULL, a INT, b INT NOT NULL, v VARCHAR(20), UNIQUE KEY u (u), UNIQUE KEY ab (a, b)) DEFAULT CHARSET=utf8mb4"}},
	{"guarded", []string{"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, n INT, u BIGINT UNSIGNED, s INT, v VARCHAR(20), CONSTRAINT gn CHECK (n IS NOT NULL), CONSTRAINT gu CHECK (u <= 9223372036854775807), CONSTRAINT gs CHECK (s >= 0))"}},
	{"checked", []string{"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, n INT CHECK (n <> 3), v VARCHAR(20) NOT NULL, CONSTRAINT c CHECK (v <> 'never'))"}},
	{"composite", []string{"CREATE TABLE t (a INT NOT NULL, b VARCHAR(10) NOT NULL, n INT, v VARCHAR(20), PRIMARY KEY (a, b))"}},
	{"versioned", []string{"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v VARCHAR(20), n INT) WITH SYSTEM VERSIONING"}},
}
