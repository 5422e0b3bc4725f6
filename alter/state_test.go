package alter

import (
	"strings"
	"testing"

	"stowage/alter/plan"
	"stowage/schema"
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

// A script that takes back what was changed on shards that differ is refused without --mixed; several forms of one definition are no reason for it.
func TestIsMixed(t *testing.T) {
	form := func(table, after string) plan.Form {
		return plan.Form{Change: schema.Change{Table: table}, After: after}
	}
	same := []plan.Form{form("a", "x"), form("b", "y"), form("a", "x")}
	if isMixed(plan.Plan{Forms: same}) || !isMixed(plan.Plan{Forms: append(same, form("b", "z"))}) {
		t.Error("--mixed is asked for where it is not needed, or the other way round")
	}
}
