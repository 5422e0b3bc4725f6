package rows

import (
	"strings"
	"testing"
)

// Foreign keys to tables that are not kept leave the text of a table, and what stays is a table still.
func TestWithoutForeignKeys(t *testing.T) {
	text := strings.Join([]string{
		"CREATE TABLE `t` (",
		"  `id` int(11) NOT NULL COMMENT 'a CONSTRAINT `x` FOREIGN KEY (`y`) REFERENCES `gone` (`id`)',",
		"  `a` int(11) DEFAULT NULL,",
		"  PRIMARY KEY (`id`),",
		"  KEY `a` (`a`),",
		"  CONSTRAINT `in` FOREIGN KEY (`a`) REFERENCES `kept` (`id`) ON DELETE CASCADE,",
		"  CONSTRAINT `od``d` FOREIGN KEY (`a`) REFERENCES `gone` (`id`),",
		"  CONSTRAINT `far` FOREIGN KEY (`a`) REFERENCES `other`.`kept` (`id`)",
		") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
		" PARTITION BY HASH (`id`)",
	}, "\n")
	got, out := WithoutForeignKeys(text, func(table string) bool { return table == "kept" })
	if strings.Join(out, ",") != "od`d,far" {
		t.Errorf("left out %q", out)
	}
	want := strings.Replace(text, "ON DELETE CASCADE,\n  CONSTRAINT `od``d` FOREIGN KEY (`a`) REFERENCES `gone` (`id`),\n  CONSTRAINT `far` FOREIGN KEY (`a`) REFERENCES `other`.`kept` (`id`)\n", "ON DELETE CASCADE\n", 1)
	if got != want {
		t.Errorf("%s", got)
	}
	if got, out := WithoutForeignKeys(text, func(table string) bool { return table != "" }); len(out) != 1 || !strings.Contains(got, "`gone` (`id`)\n)") {
		t.Errorf("left out %q of\n%s", out, got)
	}
	got, _ = WithoutForeignKeys(text, func(string) bool { return false })
	if !strings.Contains(got, "  KEY `a` (`a`)\n) ENGINE") {
		t.Errorf("%s", got)
	}
}
