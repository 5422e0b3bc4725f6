package alter

import (
	"strings"
	"testing"
)

// A way back may leave keys in another order, and the table is what it was.
func TestDiffers(t *testing.T) {
	const table = "CREATE TABLE `t` (\n  `id` int(11) NOT NULL,\n  `a` int(11) DEFAULT NULL,\n  PRIMARY KEY (`id`),\n  KEY `x` (`a`),\n  KEY `y` (`a`,`id`)\n) ENGINE=InnoDB"
	for _, x := range []struct{ is, want string }{
		{table, ""},
		{strings.NewReplacer("KEY `x` (`a`)", "KEY `y` (`a`,`id`)", "KEY `y` (`a`,`id`)", "KEY `x` (`a`)").Replace(table), ""},
		{strings.Replace(table, "`a` int(11)", "`a` bigint(20)", 1), "column a is bigint(20)"},
		{strings.Replace(table, ",\n  KEY `x` (`a`)", "", 1), "key x is missing"},
		{"", "no CREATE TABLE"},
	} {
		if got := differs(x.is, table); (got == "") != (x.want == "") || !strings.HasPrefix(got, x.want) {
			t.Errorf("%q, should be %q", got, x.want)
		}
	}
}
