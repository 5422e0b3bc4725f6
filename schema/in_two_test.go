package schema

import (
	"strings"
	"testing"
)

// Keys and constraints that values made up by the server would break wait for the values that there were; all else is there at once.
func TestAWayBackIsPartedInTwo(t *testing.T) {
	for _, x := range []struct{ back, first, then string }{
		{"ALTER TABLE `t` ADD COLUMN `c` int(11) NOT NULL", "ALTER TABLE `t` ADD COLUMN `c` int(11) NOT NULL", ""},
		{"ALTER TABLE `t` ADD COLUMN `c` int(11) NOT NULL, ADD KEY `c` (`c`), ADD UNIQUE KEY `id` (`id`)", "ALTER TABLE `t` ADD COLUMN `c` int(11) NOT NULL, ADD KEY `c` (`c`), ADD UNIQUE KEY `id` (`id`)", ""},
		{"ALTER TABLE `t`\n  DROP KEY `k`,\n  ADD COLUMN `C` int(11) NOT NULL COMMENT 'a, b',\n  ADD UNIQUE KEY `k` (`id`,`c`),\n  ADD CONSTRAINT `f` FOREIGN KEY (`c`) REFERENCES `p` (`id`),\n  ADD CONSTRAINT `o` CHECK (`id` > 0)",
			"ALTER TABLE `t` DROP KEY `k`, ADD COLUMN `C` int(11) NOT NULL COMMENT 'a, b', ADD CONSTRAINT `o` CHECK (`id` > 0)",
			"ALTER TABLE `t` ADD UNIQUE KEY `k` (`id`,`c`), ADD CONSTRAINT `f` FOREIGN KEY (`c`) REFERENCES `p` (`id`)"},
	} {
		first, then, waits := InTwo(x.back)
		if first != x.first || then != x.then || len(waits) != strings.Count(x.then, "ADD ") {
			t.Errorf("%s\nfirst %s\nthen  %s\n%v", x.back, first, then, waits)
		}
	}
	should, _ := Read("CREATE TABLE `t` (\n  `id` int(11) NOT NULL,\n  `c` int(11) NOT NULL,\n  UNIQUE KEY `k` (`id`,`c`),\n  KEY `c` (`c`)\n)")
	of := []Difference{{Kind: OfKey, Name: "k"}}
	for text, want := range map[string]bool{
		should.Text: false,
		"CREATE TABLE `t` (\n  `id` int(11) NOT NULL,\n  `c` int(11) NOT NULL,\n  KEY `c` (`c`)\n)":                        true,
		"CREATE TABLE `t` (\n  `id` int(11) NOT NULL,\n  `c` int(11) NOT NULL\n)":                                          false,
		"CREATE TABLE `t` (\n  `id` int(11) NOT NULL,\n  `c` int(11) NOT NULL,\n  KEY `k` (`id`,`c`),\n  KEY `c` (`c`)\n)": false,
	} {
		if is, _ := Read(text); LacksOnly(is, should, of) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}
