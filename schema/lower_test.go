package schema

import (
	"strings"
	"testing"
)

// A server with lower_case_table_names=1 has the declared tables under names in lower case. They were called missing, with a CREATE TABLE that the server refuses, and the ones in lower case
// not declared, to be dropped by hand.
func TestATableInLowerCaseIsTheDeclaredOne(t *testing.T) {
	const clients = "CREATE TABLE `Clients` (\n  `Id` int(11) NOT NULL,\n  PRIMARY KEY (`Id`)\n) ENGINE=InnoDB"
	const orders = "CREATE TABLE `Order-Items` (\n  `Client` int(11) DEFAULT NULL COMMENT 'REFERENCES `Clients`',\n  KEY `K` (`Client`),\n" +
		"  CONSTRAINT `FK` FOREIGN KEY (`Client`) REFERENCES `Clients` (`Id`) ON DELETE CASCADE\n) ENGINE=InnoDB"
	set := Set{Tables: map[string]Table{"Clients": read(t, clients), "Order-Items": read(t, orders)}}
	low := map[string]string{
		"clients":     strings.Replace(clients, "TABLE `Clients`", "TABLE `clients`", 1),
		"order-items": strings.NewReplacer("TABLE `Order-Items`", "TABLE `order-items`", "REFERENCES `Clients` (", "REFERENCES `clients` (").Replace(orders),
	}
	seen := func(lower bool) []Seen { return []Seen{{Shard: "s", Instance: "a", Lower: lower, Tables: low}} }
	if r := Judge("f", seen(true), []Set{set}); r.Right != 1 || len(r.Variants) != 0 {
		t.Errorf("%d right: %+v", r.Right, r.Variants)
	}
	if r := Judge("f", seen(false), []Set{set}); len(r.Variants) != 4 { // two missing, two too many: there they are other tables
		t.Errorf("where case counts: %+v", r.Variants)
	}
	low["clients"] = strings.Replace(low["clients"], "int(11)", "bigint(20)", 1)
	r := Judge("f", seen(true), []Set{set})
	if len(r.Variants) != 1 || !strings.HasPrefix(r.Variants[0].Alter, "ALTER TABLE `clients`") {
		t.Errorf("one column differs: %+v", r.Variants)
	}
	// Declared twice, the one in lower case counts.
	set.Tables["clients"] = read(t, low["clients"])
	if r := Judge("f", seen(true), []Set{set}); r.Right != 1 {
		t.Errorf("declared twice: %+v", r.Variants)
	}
}
