package scratch

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/host"
	"stowage/internal/altertest"
	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
	"stowage/schema"
)

func opened(t *testing.T) *Server {
	t.Helper()
	s, err := Open(t.Context(), question(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(s.q.Dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", s.q.Dir, err)
		}
	})
	return s
}

func change(t *testing.T, text string) schema.Change {
	t.Helper()
	all, err := schema.Changes("schema/c.sql", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// What a server takes is the cheapest algorithm, and whether clients may write beside it.
func TestTryAsksForTheCheapest(t *testing.T) {
	t.Parallel()
	s := opened(t)
	tables := map[string]string{
		"t":    "CREATE TABLE `t` (\n  `id` int(11) NOT NULL,\n  `v` varchar(20) DEFAULT NULL,\n  `d` int(11) DEFAULT nextval(`farm`.`seq`),\n  PRIMARY KEY (`id`)\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
		"seq":  "CREATE SEQUENCE `seq` start with 1 minvalue 1 maxvalue 9223372036854775806 increment by 1 cache 1000 nocycle ENGINE=InnoDB",
		"kid":  "CREATE TABLE `kid` (\n  `id` int(11) NOT NULL,\n  `p` int(11) DEFAULT NULL,\n  `q` int(11) DEFAULT NULL,\n  PRIMARY KEY (`id`),\n  CONSTRAINT `far` FOREIGN KEY (`q`) REFERENCES `elsewhere`.`x` (`id`),\n  CONSTRAINT `up` FOREIGN KEY (`p`) REFERENCES `t` (`id`)\n) ENGINE=InnoDB",
		"late": "CREATE TABLE `late` (\n  `x` nonsense\n)",
	}
	for _, x := range []struct {
		text      string
		algorithm schema.Algorithm
		online    bool
	}{
		{"ALTER TABLE t ADD c INT", schema.InstantAlgorithm, true},
		{"CREATE INDEX v ON t (v)", schema.NoCopy, true},
		{"ALTER TABLE t FORCE", schema.InPlace, true},
		{"ALTER TABLE t ADD FULLTEXT KEY f (v)", schema.InPlace, false},
		{"ALTER TABLE t MODIFY v VARCHAR(10)", schema.Copy, s.Flavor.Major > 11 || s.Flavor.Major == 11 && s.Flavor.Minor >= 2}, // clients may write beside a copy since 11.2
		{"ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (id, v), PARTITION BY HASH (id)", "", false},
		{"ALTER TABLE kid ADD c INT", schema.InstantAlgorithm, true},
	} {
		tried, err := s.Try(t.Context(), tables, change(t, x.text), nil)
		if x.algorithm == "" {
			if err == nil {
				t.Errorf("%s: taken", x.text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", x.text, err)
		} else if tried.Algorithm != x.algorithm || tried.Online != x.online || tried.Before.Text == tried.After.Text && !strings.Contains(x.text, "FORCE") {
			t.Errorf("%s: %s, online %v", x.text, tried.Algorithm, tried.Online)
		}
	}
	if got, err := s.Try(t.Context(), map[string]string{"t": strings.Replace(tables["t"], "  `d` int(11) DEFAULT nextval(`farm`.`seq`),\n", "", 1)}, change(t, "ALTER TABLE t PARTITION BY HASH (id)"), nil); err != nil || got.Algorithm != schema.Copy || got.Online {
		t.Errorf("partitions: %+v %v", got, err)
	}
	for text, why := range map[string]string{"ALTER TABLE t DROP nothing": "refuses it", "ALTER TABLE absent ADD c INT": "no table absent", "ALTER TABLE t DROP id": "refuses it"} {
		if _, err := s.Try(t.Context(), tables, change(t, text), nil); !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), "schema/c.sql:1") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := s.Try(t.Context(), tables, change(t, "ALTER TABLE t ADD c INT"), nil); err != nil {
		t.Errorf("after a refusal: %v", err)
	}
	// The same statement is another table where the farm's settings are others.
	for _, x := range []struct {
		settings   map[string]string
		text, want string
	}{
		{nil, "ALTER TABLE t ADD c TIMESTAMP", "`c` timestamp NULL DEFAULT NULL"},
		{map[string]string{"explicit_defaults_for_timestamp": "OFF"}, "ALTER TABLE t ADD c TIMESTAMP", "`c` timestamp NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp()"},
		{map[string]string{"old_mode": ""}, "ALTER TABLE t ADD c VARCHAR(9) CHARACTER SET utf8", "`c` varchar(9) DEFAULT NULL"},
		{map[string]string{"sql_mode": "ANSI_QUOTES,PIPES_AS_CONCAT"}, `ALTER TABLE t ADD "c" VARCHAR(9) AS ("v" || 'x')`, "concat(`v`,'x')"},
		{map[string]string{"sql_mode": ""}, `ALTER TABLE t ADD c VARCHAR(9) DEFAULT "v"`, "DEFAULT 'v'"},
	} {
		if tried, err := s.Try(t.Context(), tables, change(t, x.text), x.settings); err != nil || !strings.Contains(tried.After.Text, x.want) {
			t.Errorf("%s under %v: %v\n%s", x.text, x.settings, err, tried.After.Text)
		}
	}
	for _, x := range []struct {
		allowed string
		want    schema.Algorithm
	}{{"never", schema.InPlace}, {"add_last", schema.InstantAlgorithm}, {"add_drop_reorder", schema.InstantAlgorithm}} {
		if tried, err := s.Try(t.Context(), tables, change(t, "ALTER TABLE t ADD c INT"), map[string]string{"innodb_instant_alter_column_allowed": x.allowed}); err != nil || tried.Algorithm != x.want {
			t.Errorf("innodb_instant_alter_column_allowed=%s: %s %v", x.allowed, tried.Algorithm, err)
		}
	}
	wide := map[string]string{"t": "CREATE TABLE `t` (\n  `id` int(11) NOT NULL"}
	for n := range 11 {
		wide["t"] += fmt.Sprintf(",\n  `x%d` text DEFAULT NULL", n)
	}
	wide["t"] += "\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"
	lax := map[string]string{"innodb_strict_mode": "OFF"}
	if _, err := s.Try(t.Context(), wide, change(t, "ALTER TABLE t ROW_FORMAT=COMPACT"), lax); !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), "Row size too large") {
		t.Errorf("rows that do not fit: %v", err)
	}
	wide["t"] += " ROW_FORMAT=COMPACT"
	if _, err := s.Try(t.Context(), wide, change(t, "ALTER TABLE t ADD KEY (id)"), lax); err != nil {
		t.Errorf("a table that a strict server would not make: %v", err)
	}
	const byTime = "ALTER TABLE z PARTITION BY RANGE (UNIX_TIMESTAMP(ts)) (PARTITION p VALUES LESS THAN (UNIX_TIMESTAMP('2026-07-01 00:00:00')), PARTITION pm VALUES LESS THAN MAXVALUE)"
	tables["z"] = "CREATE TABLE `z` (\n  `ts` timestamp NOT NULL DEFAULT '2026-01-01 00:00:00'\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci"
	for _, x := range []struct{ zone, text, want, refused string }{
		{"+00:00", byTime, "LESS THAN (1782864000)", ""},
		{"+02:00", byTime, "LESS THAN (1782856800)", ""},
		{"SYSTEM", byTime, "", "does not know SYSTEM; write the number"},
		{"Europe/Berlin", "ALTER TABLE z ADD d TIMESTAMP NOT NULL DEFAULT '2026-07-01 00:00:00'", "DEFAULT '2026-07-01 00:00:00'", ""},
		{"-3:30", "ALTER TABLE z ADD d TIMESTAMP NOT NULL DEFAULT '2026-07-01 00:00:00'", "DEFAULT '2026-07-01 00:00:00'", ""},
	} {
		tried, err := s.Try(t.Context(), tables, change(t, x.text), map[string]string{"time_zone": x.zone})
		switch {
		case x.refused != "":
			if err == nil || !strings.Contains(err.Error(), x.refused) {
				t.Errorf("%s: %v", x.zone, err)
			}
		case err != nil || tried.Before.Text != tables["z"] || !strings.Contains(tried.After.Text, x.want):
			t.Errorf("%s: %v\n%s\n%s", x.zone, err, tried.Before.Text, tried.After.Text)
		}
	}
	if _, err := s.Try(t.Context(), tables, change(t, "ALTER TABLE t ADD c INT"), map[string]string{"nothing": "1"}); err == nil || !strings.Contains(err.Error(), "does not take a setting") {
		t.Errorf("a setting that is not there: %v", err)
	}
}

// MySQL has no NOCOPY and takes no LOCK beside INSTANT.
func TestTryOnMySQL(t *testing.T) {
	turns.One(t, 8)
	line := mariadbtest.Named(t, mariadbtest.MySQL9)
	t.Setenv("PATH", line.Path())
	local, err := host.NewLocal(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	q := question(t)
	q.Local = local
	s, err := Open(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	if s.Flavor.Vendor == "MariaDB" {
		t.Fatalf("it is %s", s.Flavor)
	}
	tables, err := s.Read(t.Context(), []Statement{{"t", "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), n INT, g INT INVISIBLE, KEY n (n))", "x"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		text      string
		algorithm schema.Algorithm
		class     schema.Class
	}{
		{"ALTER TABLE t ADD c INT", schema.InstantAlgorithm, schema.Directional},
		{"CREATE INDEX v ON t (v)", schema.InPlace, schema.Invisible},
		{"ALTER TABLE t ALTER COLUMN n SET DEFAULT 3", schema.InstantAlgorithm, schema.Instant},
		{"ALTER TABLE t ALTER INDEX n INVISIBLE", schema.InPlace, schema.Invisible},
		{"ALTER TABLE t MODIFY n BIGINT", schema.Copy, schema.Directional},
		{"ALTER TABLE t MODIFY n BIGINT, ADD c INT", schema.Copy, schema.Breaking},
		{"ALTER TABLE t PARTITION BY HASH (id) PARTITIONS 2", schema.Copy, schema.Invisible},
		{"ALTER TABLE t MODIFY v VARCHAR(10)", schema.Copy, schema.Breaking},
		{"ALTER TABLE t ADD CONSTRAINT k CHECK (n > 0)", schema.Copy, schema.Breaking},
	} {
		tried, err := s.Try(t.Context(), tables, change(t, x.text), nil)
		if err != nil {
			t.Errorf("%s: %v", x.text, err)
			continue
		}
		if j := schema.JudgeChange(tried, schema.Around{MySQL: true}); tried.Algorithm != x.algorithm || j.Class != x.class {
			t.Errorf("%s: %s, %s %q", x.text, tried.Algorithm, j.Class, j.Refused)
		}
	}
}

// A few changes that are drawn are done on a real pair; e2e/long/alter does 200.
func TestJudgedChangesAreDone(t *testing.T) {
	turns.One(t, 6)
	t.Parallel()
	s := opened(t)
	r := altertest.Run(t, altertest.StartPair(t), 3, 20, schema.Around{}, func(tables map[string]string, c schema.Change) (schema.Tried, error) {
		return s.Try(t.Context(), tables, c, nil)
	})
	if len(r.Wrong)+len(r.BadSteps)+len(r.Unwritten) > 0 || len(r.Needless) > 2 || r.Classes[schema.Directional] == 0 || r.Classes[schema.Breaking] == 0 {
		t.Errorf("%+v", r)
	}
}
