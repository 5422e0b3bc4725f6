package latest

import (
	"fmt"
	"strconv"
	"testing"

	"stowage/reshape/spec"
)

// Keys of every kind come one behind the other, none twice and none left out, and an index finds them.
func TestFillByKeysOfEveryKind(t *testing.T) {
	t.Parallel()
	s := raise(t)
	x := s.session()
	for n, k := range []struct{ kind, value string }{
		{"BIGINT", "9007199254740000 + seq"},
		{"BIGINT", "CAST(seq AS SIGNED) - 600"},
		{"BIGINT UNSIGNED", "18446744073709550000 + seq"},
		{"DECIMAL(20,0)", "CAST(9007199254740000 AS DECIMAL(20,0)) + seq"},
		{"DECIMAL(30,10)", "CAST('90071992547409.0000000001' AS DECIMAL(30,10)) + CAST(seq AS DECIMAL(30,10)) / 1000000000 - 90071992547409"},
		{"DECIMAL(30,10)", "CAST('-90071992547409.0000000001' AS DECIMAL(30,10)) + CAST(seq AS DECIMAL(30,10)) / 1000000000"},
		{"DATETIME(6)", "'1969-12-31 23:59:59.999' + INTERVAL seq MICROSECOND"},
		{"TIMESTAMP(6)", "'2026-10-25 00:59:59.999' + INTERVAL seq MICROSECOND"},
		{"DATE", "'1969-12-31' + INTERVAL seq DAY"},
		{"TIME(3)", "SEC_TO_TIME(seq / 10 - 60.0)"},
		{"DOUBLE", "seq / 3 - 100"},
		{"VARCHAR(30)", "CONCAT(CHAR(97 + seq % 26), ' ''\\\\\"/,', seq)"},
		{"VARCHAR(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_swedish_ci", "CONCAT('é', seq)"},
		{"CHAR(30) CHARACTER SET latin1 COLLATE latin1_german2_ci", "CONCAT('ß', seq)"},
		{"VARBINARY(30)", "UNHEX(MD5(seq))"},
		{"BIT(40)", "seq"},
	} {
		name := fmt.Sprintf("%d %s", n, k.kind)
		p, c := fmt.Sprintf("p%d", n), fmt.Sprintf("c%d", n)
		s.build("CREATE TABLE "+p+" (k "+k.kind+" NOT NULL PRIMARY KEY, te INT UNSIGNED NOT NULL, KEY (te))",
			"CREATE TABLE "+c+" (id BIGINT PRIMARY KEY AUTO_INCREMENT, k "+k.kind+" NOT NULL, no INT NOT NULL, UNIQUE (k, no))",
			"INSERT INTO "+p+" SELECT "+k.value+", 1 FROM seq_1_to_1200", "INSERT INTO "+c+" (k, no) SELECT k, 1 FROM "+p, "ANALYZE TABLE "+p+", "+c)
		sp := spec.Spec{Name: "k" + strconv.Itoa(n), Tenant: spec.Tenant{Table: "tenants", Key: "tenant_id", Migrated: "m", Active: "a"}, Parent: spec.Parent{Table: p, Tenant: "te"},
			Child: spec.Child{Table: c, Parent: []string{"k"}, Latest: []spec.Order{{Column: "no", Desc: true}}}, Carry: []spec.Carry{{Column: "latest_id", From: "id"}}, Keep: spec.Application}
		tables, err := Tables(t.Context(), s.server, "fs1", sp.Names())
		s.must(err)
		x.Shape = Shape{sp.Complete(tables)}
		s.build(x.Shape.AddColumns(tables)[0])
		var before, after int
		read := "SELECT SUM(VARIABLE_VALUE) FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME LIKE 'Handler_read%'"
		s.must(x.conn.QueryRowContext(t.Context(), read).Scan(&before))
		seen := 0
		for last := Key(nil); ; {
			done, err := x.Fill(t.Context(), "fs1", "1", last, 7)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
			seen += done.Parents
			if last = done.Last; last == nil || seen > 3000 {
				break
			}
		}
		s.must(x.conn.QueryRowContext(t.Context(), read).Scan(&after))
		v, err := x.compare(t.Context(), "fs1", "1", "", 3)
		s.must(err)
		if seen != 1200 || v.Mismatches > 0 {
			t.Errorf("%s: %d parents were looked at, want 1200; %d are wrong: %v", name, seen, v.Mismatches, v.Keys)
		}
		if read := after - before; read > 80*1200 {
			t.Errorf("%s: %d rows were read for 1200 parents", name, read)
		}
		s.build("UPDATE " + p + " SET latest_id = NULL LIMIT 9")
		keys, err := x.keys(t.Context(), "fs1", "1", nil, 9)
		s.must(err)
		if of, err := x.TenantsOf(t.Context(), "fs1", keys); err != nil || len(of) != 9 {
			t.Errorf("%s: %d of 9 parents have a tenant: %v", name, len(of), err)
		}
	}
}
