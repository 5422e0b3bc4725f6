package schema

import (
	"strings"
	"testing"
)

func judged(t *testing.T, before, after, change string, algorithm Algorithm, around Around) Judgement {
	t.Helper()
	c, err := Changes("x.sql", []byte(change))
	if err != nil {
		t.Fatal(err)
	}
	return JudgeChange(Tried{Change: c[0], Before: read(t, before), After: read(t, after), Algorithm: algorithm}, around)
}

const small = "CREATE TABLE `t` (\n  `id` bigint(20) NOT NULL,\n  `v` varchar(20) DEFAULT NULL,\n  `n` int(11) DEFAULT 7,\n  PRIMARY KEY (`id`),\n  KEY `n` (`n`)\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci"

func TestJudgeChangeOfAColumnAtTheEnd(t *testing.T) {
	after := strings.Replace(small, "DEFAULT 7,", "DEFAULT 7,\n  `c` int(11) NOT NULL DEFAULT 9,", 1)
	j := judged(t, small, after, "ALTER TABLE t ADD c INT NOT NULL DEFAULT 9", InstantAlgorithm, Around{})
	if j.Class != Directional || !j.Instant || j.Conversions || j.Undo != "" || j.Lost != "the values of column c" {
		t.Errorf("%+v", j)
	}
}
