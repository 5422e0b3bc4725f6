package mysql

import (
	"strings"
	"testing"
)

func TestSecretsAreCut(t *testing.T) {
	const canary = `geheim`
	for _, s := range []string{
		`CHANGE MASTER TO MASTER_HOST='h', MASTER_PASSWORD='geheim', MASTER_USE_GTID=slave_pos`,
		`CHANGE REPLICATION SOURCE TO SOURCE_USER='u', SOURCE_PASSWORD = "geheim"`,
		"CREATE USER `u`@`%` IDENTIFIED BY 'geheim'",
		`CREATE USER 'u'@'%' IDENTIFIED BY PASSWORD 'geheim' REQUIRE SSL`,
		`CREATE USER u IDENTIFIED VIA ed25519 USING PASSWORD('geheim') OR unix_socket`,
		`ALTER USER u IDENTIFIED WITH caching_sha2_password BY 'geheim' REPLACE 'geheim'`,
		`GRANT SELECT ON *.* TO 'u'@'h' IDENTIFIED BY 'it''s geheim'`,
		`SET PASSWORD FOR 'u'@'%' = PASSWORD('a\'geheim')`,
		`START SLAVE UNTIL x PASSWORD='geheim`,
		`CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u', PASSWORD 'geheim')`,
		"/* why */ start replica user='u' password='geheim'",
		`CLONE INSTANCE FROM 'u'@'h':3306 IDENTIFIED BY 'geheim'`,
	} {
		got := cutSecrets(s)
		if strings.Contains(got, canary) || !strings.Contains(got, cut) {
			t.Errorf("%s\n-> %s", s, got)
		}
		if !changes(s) {
			t.Errorf("is taken for a read: %s", s)
		}
	}
	plain := `SET GLOBAL read_only = ON`
	if cutSecrets(plain) != plain {
		t.Error(cutSecrets(plain))
	}
}

func FuzzSecretsAreCut(f *testing.F) {
	f.Add("x", "y")
	f.Add(`\`, `'`)
	f.Fuzz(func(t *testing.T, before, after string) {
		const canary = "cAnArY"
		text := "CREATE USER u IDENTIFIED BY " + quote(before+canary+after) + " " + "REQUIRE NONE"
		if got := cutSecrets(text); strings.Contains(got, canary) {
			t.Errorf("%q -> %q", text, got)
		}
	})
}

func TestWhatChangesSomething(t *testing.T) {
	for s, want := range map[string]bool{
		"SELECT 1": false, " (SELECT 1)": false, "/* x */ SHOW STATUS": false, "START TRANSACTION WITH CONSISTENT SNAPSHOT": false,
		"SET SESSION time_zone='+00:00'": false, "SET NAMES utf8mb4": false, "COMMIT": false, "": false, "-- x\nSELECT 1": false,
		"SET GLOBAL read_only=1": true, "SET @@GLOBAL.gtid_slave_pos='0-1-2'": true, "SET SESSION sql_log_bin = 0": true,
		"START SLAVE": true, "STOP ALL SLAVES": true, "RESET MASTER": true, "KILL 7": true, "LOCK TABLES t READ": true, "FLUSH TABLES WITH READ LOCK": true,
		"INSERT INTO t VALUES (1)": true, "whatever comes next": true, "CREATE TABLE t (a int)": true, "SET PASSWORD = 'x'": true,
	} {
		if got := changes(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestShapeHoldsNoValues(t *testing.T) {
	for s, want := range map[string]string{
		"INSERT INTO `a`.`t` (`x`, `y`) VALUES ('Anna', 1)": "INSERT INTO `a`.`t` (`x`, `y`) ...",
		"UPDATE t SET name = 'Anna' WHERE id = 7":           "UPDATE t ...",
		"DELETE FROM t WHERE id = 7":                        "DELETE FROM t ...",
		"REPLACE INTO t SELECT 'Anna'":                      "REPLACE INTO t SELECT  ...",
	} {
		if got := rowShape(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A statement of a recording is in the trail by its first words only.
func TestOpeningHasNoValues(t *testing.T) {
	for text, want := range map[string]string{
		"INSERT INTO shop.r VALUES (1, 'x')": "INSERT INTO shop.r", "/* a */ UPDATE r SET a = 5": "UPDATE r SET", "DELETE FROM`r`WHERE a=5": "DELETE FROM`r`WHERE",
		"INSERT INTO r(a) SELECT 5": "INSERT INTO", "CREATE USER 'x' IDENTIFIED BY 'y'": "CREATE USER", "": "",
	} {
		if got := opening(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
