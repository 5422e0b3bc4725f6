package load

import (
	"fmt"

	"stowage/farm"
)

// MaxClients is how many clients a seeded shard has counter rows for.
const MaxClients = 64

// tables of a shard with their primary keys, in the order they are compared.
var tables = []struct {
	name, key string
	numeric   bool
}{
	{"users", "id", true},
	{"listings", "id", true},
	{"receipts", "id", true},
	{"counters", "client", false},
}

// Schema is the DDL of one shard, to be run once, on side A. Client names are
// compared byte by byte (ascii_bin), so that both ends sort them alike.
// receipts is not unique on (client, seq): a write applied twice must show.
func Schema(shard farm.ShardName) []string {
	return []string{
		fmt.Sprintf("CREATE DATABASE IF NOT EXISTS `%s` CHARACTER SET utf8mb4", shard),
		fmt.Sprintf("CREATE TABLE `%s`.users (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, name VARCHAR(64) NOT NULL, "+
			"email VARCHAR(128) NOT NULL, joined DATETIME NOT NULL) ENGINE=InnoDB", shard),
		fmt.Sprintf("CREATE TABLE `%s`.listings (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, user_id BIGINT NOT NULL, "+
			"title VARCHAR(128) NOT NULL, price INT NOT NULL, body TEXT NOT NULL, KEY (user_id)) ENGINE=InnoDB", shard),
		fmt.Sprintf("CREATE TABLE `%s`.receipts (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, "+
			"client VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, seq BIGINT NOT NULL, listing_id BIGINT NOT NULL, "+
			"amount INT NOT NULL, made DATETIME(6) NOT NULL, KEY (client, seq)) ENGINE=InnoDB", shard),
		fmt.Sprintf("CREATE TABLE `%s`.counters (client VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY, "+
			"n BIGINT NOT NULL) ENGINE=InnoDB", shard),
	}
}

// Seed fills a shard with rows listings of about 600 bytes, a tenth as many
// users, and a counter for every client. The counters must be there before
// the first write: two clients that SELECT ... FOR UPDATE missing rows of an
// empty table deadlock (error 1213). To be run once, on side A, one after the
// other.
func Seed(shard farm.ShardName, rows int) []string {
	counters := fmt.Sprintf("INSERT INTO `%s`.counters (client, n) SELECT CONCAT('client-', LPAD(seq, 2, '0')), 0 FROM %s",
		shard, numbers(MaxClients))
	if rows <= 0 {
		return []string{counters}
	}
	n := users(int64(rows))
	return []string{
		counters,
		fmt.Sprintf("INSERT INTO `%s`.users (id, name, email, joined) SELECT seq, CONCAT('user ', seq), "+
			"CONCAT('user', seq, '@%s.example'), '2016-01-01' + INTERVAL seq MINUTE FROM %s", shard, shard, numbers(int(n))),
		fmt.Sprintf("INSERT INTO `%s`.listings (id, user_id, title, price, body) SELECT seq, 1 + seq * 7919 %% %d, "+
			"CONCAT('listing ', seq), 100 + seq * 37 %% 9900, REPEAT(SHA2(CONCAT('%s', seq), 256), 8) FROM %s", shard, n, shard, numbers(rows)),
	}
}

// numbers is a table of the numbers 1 to n as seq, in words of every flavor:
// MySQL has no seq_1_to_n, and both let recursion go 1000 deep by default.
func numbers(n int) string {
	const digits = "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 " +
		"UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)"
	seq, from := "1", ""
	for place, unit := 0, 1; unit < n || place == 0; place, unit = place+1, unit*10 {
		if place > 0 {
			from += " CROSS JOIN "
		}
		seq += fmt.Sprintf(" + %d * d%d.d", unit, place)
		from += fmt.Sprintf("%s AS d%d", digits, place)
	}
	return fmt.Sprintf("(SELECT %s AS seq FROM %s) AS numbers WHERE seq <= %d ORDER BY seq", seq, from, n)
}

// users is how many users a shard with so many listings has.
func users(rows int64) int64 { return max(1, rows/10) }

// clientName is the key of a client, in routing, ledger and tables.
func clientName(n int) string { return fmt.Sprintf("client-%02d", n) }
