package rows

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/internal/turns"
	"stowage/mysql"
)

// A comparison that dies after any chunk and is begun again goes on behind the last chunk it had kept, and finds in the
// end what one that was never cut short finds.
func TestComparisonGoesOn(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	_, bi, a, b := twins(t)
	whole := verdict(t, a, b, nil)
	if len(whole.Mismatches) > 0 || whole.Rows == 0 || whole.Fresh != whole.Rows {
		t.Fatalf("uncut: %+v", whole)
	}
	cut := errors.New("cut")
	kept, attempts, fresh := []byte("{}"), 0, int64(0)
	for done := false; !done; attempts++ {
		if attempts > 500 {
			t.Fatal("it never comes to an end")
		}
		v, err := attempt(t, a, b, kept, func(p Progress) error {
			text, err := json.Marshal(p)
			must(t, err)
			same := string(text) == string(kept)
			if kept = text; same {
				return nil
			}
			return cut // right after it was kept: the next attempt must not do it again
		})
		fresh += v.Fresh
		done = err == nil
		if err != nil && !errors.Is(err, cut) {
			t.Fatal(err)
		}
	}
	if fresh != whole.Rows {
		t.Errorf("%d rows were summed in %d attempts, there are %d", fresh, attempts, whole.Rows)
	}
	if attempts < 30 {
		t.Errorf("it was cut short only %d times", attempts-1)
	}
	// What was found equal before is not looked at again; a table that has changed its shape is.
	v, err := attempt(t, a, b, kept, nil)
	must(t, err)
	if v.Fresh != 0 {
		t.Errorf("after the end %d rows were summed again", v.Fresh)
	}
	for _, s := range []*mysql.Server{a, b} {
		must(t, s.Build(t.Context(), []string{"ALTER TABLE d.many MODIFY v VARCHAR(30)"}))
	}
	bi.Exec(t, "UPDATE d.many SET v = 'other' WHERE id = 20")
	v, err = attempt(t, a, b, kept, nil)
	must(t, err)
	if v.Fresh != 100 || len(v.Mismatches) != 1 {
		t.Errorf("after a change of shape %d rows were summed, %v", v.Fresh, v.Mismatches)
	}
}

// A table with a difference is never kept as equal, wherever the comparison was cut.
func TestDifferencesAreNotForgotten(t *testing.T) {
	t.Parallel() // it mostly waits
	_, bi, a, b := twins(t)
	bi.Exec(t, "UPDATE d.many SET v = 'other' WHERE id = 4", "DELETE FROM d.many WHERE id = 100", "INSERT d.many VALUES (101, '')")
	kept, cut := []byte("{}"), errors.New("cut")
	for range 20 {
		_, err := attempt(t, a, b, kept, func(p Progress) error {
			text, err := json.Marshal(p)
			must(t, err)
			if string(text) == string(kept) || p.Table != "d.many" {
				kept = text
				return nil
			}
			kept = text
			return cut
		})
		if err != nil && !errors.Is(err, cut) {
			t.Fatal(err)
		}
	}
	v, err := attempt(t, a, b, kept, nil)
	must(t, err)
	missing, extra, changed := 0, 0, 0
	for _, m := range v.Mismatches {
		missing, extra, changed = missing+m.Rows.Missing, extra+m.Rows.Extra, changed+m.Rows.Changed
	}
	if missing != 1 || extra != 1 || changed != 1 {
		t.Errorf("after many cuts: %v", v.Mismatches)
	}
	text := fmt.Sprint(v.Mismatches)
	for _, want := range []string{"(4) differs", "(100) is missing", "(101) should not be there"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s does not say %q", text, want)
		}
	}
}

func attempt(t *testing.T, a, b *mysql.Server, kept []byte, save func(Progress) error) (Verdict, error) {
	t.Helper()
	var p Progress
	must(t, json.Unmarshal(kept, &p))
	snap, err := DefinedSnapshot(t.Context(), a, nil)
	must(t, err)
	defer func() { must(t, snap.Close()) }()
	return Comparison{Copy: b, ChunkRows: 7, List: 10, Begin: p, Save: save}.Compare(t.Context(), snap, nil)
}

func verdict(t *testing.T, a, b *mysql.Server, databases []string) Verdict {
	t.Helper()
	snap, err := DefinedSnapshot(t.Context(), a, databases)
	must(t, err)
	defer func() { must(t, snap.Close()) }()
	v, err := Comparison{Copy: b, List: 10}.Compare(t.Context(), snap, databases)
	must(t, err)
	return v
}

// A key of literals is kept as they are, and shown as people read it.
func TestKeysAreShown(t *testing.T) {
	t.Parallel() // it mostly waits
	for want, key := range map[string][]string{
		"(-7)":              {"-7"},
		"(anna, 1.5e0)":     {"_utf8mb4 X'616E6E61'", "1.5e0"},
		"(0xE9)":            {"_latin1 X'E9'"},
		"(0x0061)":          {"_utf16 X'0061'"},
		"(0x00ff)":          {"X'00ff'"},
		`(it's \, fe80::1)`: {`'it\'s \'`, "_latin1'fe80::1'"},
		"()":                {"''"},
	} {
		if got := ShowKey(key); got != want {
			t.Errorf("%q is shown as %s, want %s", key, got, want)
		}
	}
}

// What is no row of a table, each thing spoiled in turn on the copy of a replicating pair.
func TestComparisonSeesMoreThanRows(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	ai, a := start(t, "a")
	bi, b := start(t, "b")
	follow(t, b, ai)
	ai.Exec(t, "CREATE DATABASE d", "CREATE DATABASE e", "USE d",
		"CREATE TABLE p (id INT PRIMARY KEY, c INT DEFAULT 5, v VARCHAR(10), CONSTRAINT small CHECK (c < 100), KEY by_c (c))",
		"CREATE TABLE c (id INT PRIMARY KEY, pid INT, CONSTRAINT fk FOREIGN KEY (pid) REFERENCES p (id) ON DELETE CASCADE)",
		"CREATE TABLE hist (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING",
		"CREATE TABLE hist2 (id INT PRIMARY KEY, v INT, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING",
		"INSERT hist SELECT seq, 0 FROM seq_1_to_30", "INSERT hist2 (id, v) SELECT seq, 0 FROM seq_1_to_30",
		"UPDATE hist SET v = v + 1 WHERE id < 10", "UPDATE hist2 SET v = v + 1 WHERE id < 10",
		"START TRANSACTION", "UPDATE hist SET v = v + 1 WHERE id = 3", "DO SLEEP(0.05)", "UPDATE hist SET v = v + 1 WHERE id = 3", "DELETE FROM hist WHERE id = 4", "COMMIT",
		"REPLACE hist VALUES (5, 9)", "INSERT hist VALUES (6, 1) ON DUPLICATE KEY UPDATE v = v + 7", "DELETE FROM hist2 WHERE id = 20",
		"CREATE SEQUENCE sq CACHE 10", "DO NEXTVAL(sq)", "CREATE TRIGGER tr BEFORE INSERT ON p FOR EACH ROW SET NEW.v = 'x'",
		"CREATE VIEW vw AS SELECT id FROM p", "CREATE FUNCTION fn() RETURNS INT DETERMINISTIC RETURN 1", "CREATE EVENT ev ON SCHEDULE EVERY 1 DAY STARTS '2030-01-01' DO SELECT 1")
	must(t, b.WaitFor(t.Context(), mysqltest.Position(t, a), patience))
	must(t, b.StopReplicating(t.Context()))
	if v := verdict(t, a, b, nil); len(v.Mismatches) > 0 || v.Tables != 4 {
		t.Fatalf("a replica differs from its source: %v", v.Mismatches)
	}
	for _, c := range []struct{ what, spoil, mend string }{
		{"index d.p.by_c", "ALTER TABLE d.p DROP KEY by_c", "ALTER TABLE d.p ADD KEY by_c (c)"},
		{"index d.p.more", "ALTER TABLE d.p ADD UNIQUE KEY more (v)", "ALTER TABLE d.p DROP KEY more"},
		{"index d.p.by_c", "ALTER TABLE d.p DROP KEY by_c, ADD KEY by_c (c, v(3))", "ALTER TABLE d.p DROP KEY by_c, ADD KEY by_c (c)"},
		{"column d.p.c", "ALTER TABLE d.p ALTER c SET DEFAULT 6", "ALTER TABLE d.p ALTER c SET DEFAULT 5"},
		{"check d.p.small", "ALTER TABLE d.p DROP CONSTRAINT small", "ALTER TABLE d.p ADD CONSTRAINT small CHECK (c < 100)"},
		{"foreign key d.fk", "ALTER TABLE d.c DROP FOREIGN KEY fk; ALTER TABLE d.c ADD CONSTRAINT fk FOREIGN KEY (pid) REFERENCES d.p (id)",
			"ALTER TABLE d.c DROP FOREIGN KEY fk; ALTER TABLE d.c ADD CONSTRAINT fk FOREIGN KEY (pid) REFERENCES d.p (id) ON DELETE CASCADE"},
		{"trigger d.tr", "DROP TRIGGER d.tr", "CREATE TRIGGER d.tr BEFORE INSERT ON d.p FOR EACH ROW SET NEW.v = 'x'"},
		{"view d.vw", "ALTER VIEW d.vw AS SELECT c FROM d.p", "ALTER VIEW d.vw AS SELECT id FROM d.p"},
		{"routine d.fn (function)", "DROP FUNCTION d.fn", "CREATE FUNCTION d.fn() RETURNS INT DETERMINISTIC RETURN 1"},
		{"event d.ev", "ALTER EVENT d.ev DO SELECT 2", "ALTER EVENT d.ev DO SELECT 1"},
		{"table d.p", "ALTER TABLE d.p ROW_FORMAT=COMPRESSED", "ALTER TABLE d.p ROW_FORMAT=DEFAULT"},
		{"sequence d.sq", "DO SETVAL(d.sq, 500)", "ALTER SEQUENCE d.sq RESTART 11"},
		{"d.hist", "SET SESSION system_versioning_alter_history = KEEP; SET SESSION timestamp = 1000000000; UPDATE d.hist2 SET v = v", ""},
		{"d.hist", "DELETE HISTORY FROM d.hist", ""},
	} {
		bi.Exec(t, append([]string{"USE d", "SET SESSION sql_log_bin = 0"}, strings.Split(c.spoil, "; ")...)...)
		v := verdict(t, a, b, nil)
		if !slices.ContainsFunc(v.Mismatches, func(m Mismatch) bool { return strings.HasPrefix(m.Table, c.what) }) {
			t.Errorf("%s: not seen: %v", c.spoil, v.Mismatches)
		}
		if v := verdict(t, a, b, []string{"e"}); len(v.Mismatches) > 0 || v.Tables > 0 {
			t.Errorf("%s: seen in another database: %v", c.spoil, v.Mismatches)
		}
		if c.mend == "" {
			continue
		}
		bi.Exec(t, append([]string{"USE d", "SET SESSION sql_log_bin = 0"}, strings.Split(c.mend, "; ")...)...)
		if v := verdict(t, a, b, nil); len(v.Mismatches) > 0 {
			t.Errorf("%s: still differs after it was taken back: %v", c.spoil, v.Mismatches)
			break
		}
	}
}

// What is no row of a table on MySQL: foreign keys, checks, parts of indexes that are expressions, indexes longer than
// GROUP_CONCAT gives; and a date in a JSON value, whose text is that of a string.
func TestComparisonSeesMoreThanRowsOnMySQL(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	line := mariadbtest.Named(t, mariadbtest.MySQL9)
	var servers []*mysql.Server
	var instances []*mariadbtest.Instance
	long := strings.Repeat("a_column_with_a_long_name_", 2)
	for _, name := range []string{"a", "b"} {
		i := line.Start(t, name)
		columns, parts := "", make([]string, 16)
		for n := range parts {
			parts[n] = fmt.Sprintf("%s%012d", long, n)
			columns += parts[n] + " INT, "
		}
		i.Exec(t, "CREATE DATABASE d", "CREATE DATABASE e", "USE d",
			"CREATE TABLE p (id INT PRIMARY KEY, c INT, j JSON, CONSTRAINT small CHECK (c < 100), KEY by_sum ((c + 1)))",
			"CREATE TABLE c (id INT PRIMARY KEY, pid INT, CONSTRAINT fk FOREIGN KEY (pid) REFERENCES p (id) ON DELETE CASCADE)",
			"CREATE TABLE wide (id INT PRIMARY KEY, "+columns+"KEY far ("+strings.Join(parts, ", ")+"))",
			`INSERT p VALUES (1, 1, JSON_OBJECT('d', '2020-01-02')), (2, 2, NULL)`)
		instances, servers = append(instances, i), append(servers, mysqltest.Open(t, i))
	}
	a, b, bi := servers[0], servers[1], instances[1]
	if v := verdict(t, a, b, nil); len(v.Mismatches) > 0 || v.Tables != 3 {
		t.Fatalf("equal servers differ: %v", v.Mismatches)
	}
	for _, c := range []struct{ what, spoil, mend string }{
		{"foreign key d.fk", "ALTER TABLE d.c DROP FOREIGN KEY fk; ALTER TABLE d.c ADD CONSTRAINT fk FOREIGN KEY (pid) REFERENCES d.p (id)",
			"ALTER TABLE d.c DROP FOREIGN KEY fk; ALTER TABLE d.c ADD CONSTRAINT fk FOREIGN KEY (pid) REFERENCES d.p (id) ON DELETE CASCADE"},
		{"check d.p.small", "ALTER TABLE d.p DROP CONSTRAINT small", "ALTER TABLE d.p ADD CONSTRAINT small CHECK (c < 100)"},
		{"check d.p.small", "ALTER TABLE d.p ALTER CHECK small NOT ENFORCED", "ALTER TABLE d.p ALTER CHECK small ENFORCED"},
		{"index d.p.by_sum", "ALTER TABLE d.p DROP KEY by_sum, ADD KEY by_sum ((c + 2))", "ALTER TABLE d.p DROP KEY by_sum, ADD KEY by_sum ((c + 1))"},
		{"index d.wide.far", fmt.Sprintf("ALTER TABLE d.wide DROP KEY far, ADD KEY far (%[1]s000000000000, %[1]s000000000001)", long), ""},
		{"d.p", "UPDATE d.p SET j = JSON_OBJECT('d', DATE '2020-01-02') WHERE id = 1", ""},
	} {
		bi.Exec(t, append([]string{"USE d", "SET SESSION sql_log_bin = 0"}, strings.Split(c.spoil, "; ")...)...)
		v := verdict(t, a, b, nil)
		if !slices.ContainsFunc(v.Mismatches, func(m Mismatch) bool { return m.Table == c.what }) {
			t.Errorf("%s: not seen: %v", c.spoil, v.Mismatches)
		}
		if v := verdict(t, a, b, []string{"e"}); len(v.Mismatches) > 0 || v.Tables > 0 {
			t.Errorf("%s: seen in another database: %v", c.spoil, v.Mismatches)
		}
		if c.mend != "" {
			bi.Exec(t, append([]string{"USE d", "SET SESSION sql_log_bin = 0"}, strings.Split(c.mend, "; ")...)...)
			if v := verdict(t, a, b, nil); len(v.Mismatches) > 0 {
				t.Errorf("%s: still differs after it was taken back: %v", c.spoil, v.Mismatches)
			}
		}
	}
}

// TestRepair: whatever was done to the rows of the copy, afterwards it is equal, the source is as it was, and nothing is
// in the copy's binary log.
func TestRepair(t *testing.T) {
	t.Parallel() // it mostly waits
	ai, bi, a, b := twins(t)
	bi.Exec(t, "UPDATE d.many SET v = 'other' WHERE id = 20", "DELETE FROM d.many WHERE id IN (2, 200)", "INSERT d.many VALUES (101, ''), (100000, '')",
		"DELETE FROM d.types", "DELETE FROM d.names", "UPDATE d.pairs SET v = 0", "DELETE FROM d.bits WHERE b > 10", "UPDATE d.floats SET v = 0 WHERE v = 20",
		"DELETE FROM d.decimals", "UPDATE d.enums SET v = 9", "UPDATE d.second SET v = v + 1 WHERE b < 20 ORDER BY b DESC", "DELETE FROM d.second WHERE b > 25",
		"SET SESSION sql_mode = ''", "UPDATE d.blank SET e = 0", "DELETE FROM d.moments", "DELETE FROM d.`odd``name`", "INSERT d.empty VALUES (1)", "SET GLOBAL read_only = 1")
	source, copied := mysqltest.Position(t, a), mysqltest.Position(t, b)
	snap, err := Snapshot(t.Context(), a)
	must(t, err)
	defer snap.Close()
	v, err := Comparison{Copy: b, ChunkRows: 7}.Compare(t.Context(), snap, nil)
	must(t, err)
	if len(v.Mismatches) < 10 {
		t.Fatalf("only %v", v.Mismatches)
	}
	pool, err := bi.DB(t, mariadbtest.App, "d").Conn(t.Context()) // that never lets go
	must(t, err)
	defer pool.Close()
	if _, err := Repair(t.Context(), snap, b, v.Mismatches, false); err == nil || !strings.Contains(err.Error(), "1 clients are connected to the copy") {
		t.Errorf("beside a client: %v", err)
	}
	did, err := Repair(t.Context(), snap, b, v.Mismatches, true)
	must(t, err)
	if did.Chunks != len(v.Mismatches) || did.Written == 0 || did.Removed == 0 {
		t.Errorf("it says it did %+v", did)
	}
	v, err = Comparison{Copy: b, ChunkRows: 7, List: 10}.Compare(t.Context(), snap, nil)
	must(t, err)
	if len(v.Mismatches) > 0 {
		t.Errorf("after the repair: %v", v.Mismatches)
	}
	if !mysqltest.Position(t, a).Equal(source) || !mysqltest.Position(t, b).Equal(copied) {
		t.Error("a repair is in a binary log")
	}
	_ = ai
}

func TestRepairRefuses(t *testing.T) {
	t.Parallel() // it mostly waits
	ai, bi, a, b := twins(t)
	for _, i := range []*mariadbtest.Instance{ai, bi} {
		i.Exec(t, "CREATE TABLE d.hist (id INT PRIMARY KEY) WITH SYSTEM VERSIONING", "CREATE TABLE d.fires (id INT PRIMARY KEY)",
			"CREATE TRIGGER d.tr BEFORE INSERT ON d.fires FOR EACH ROW SET NEW.id = NEW.id")
	}
	bi.Exec(t, "SET GLOBAL read_only = 1")
	for _, c := range []struct{ spoil, mend, want string }{
		{"DELETE FROM d.nokey", "INSERT d.nokey VALUES (1,'x'),(1,'x'),(2,NULL)", "no primary key"},
		{"INSERT d.fires VALUES (1)", "DELETE FROM d.fires", "has triggers"},
		{"ALTER TABLE d.many ADD KEY (v)", "ALTER TABLE d.many DROP KEY v", "which is not rows"},
		{"SET GLOBAL read_only = 0; DELETE FROM d.empty; INSERT d.empty VALUES (1)", "DELETE FROM d.empty; SET GLOBAL read_only = 1", "the copy takes writes"},
		{"INSERT d.hist VALUES (1)", "SELECT 1", "keeps its history"},
	} {
		bi.Exec(t, strings.Split(c.spoil, "; ")...)
		snap, err := Snapshot(t.Context(), a)
		must(t, err)
		v, err := Comparison{Copy: b}.Compare(t.Context(), snap, nil)
		must(t, err)
		if _, err := Repair(t.Context(), snap, b, v.Mismatches, true); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want a refusal that says %q", c.spoil, err, c.want)
		}
		must(t, snap.Close())
		bi.Exec(t, strings.Split(c.mend, "; ")...)
	}
}

// Transaction numbers are another on every server, and no difference. (Replication loses such tables: preflight refuses
// them. A physical copy has them all.)
func TestTransactionNumbersAreNoDifference(t *testing.T) {
	t.Parallel() // it mostly waits
	ai, a := start(t, "a")
	bi, b := start(t, "b")
	bi.Exec(t, "CREATE DATABASE x", "CREATE TABLE x.t (id INT PRIMARY KEY)", "INSERT x.t VALUES (1)", "INSERT x.t VALUES (2)", "DROP DATABASE x")
	for _, i := range []*mariadbtest.Instance{ai, bi} {
		i.Exec(t, "CREATE DATABASE d", "USE d",
			"CREATE TABLE d.h (id INT PRIMARY KEY, v INT, s BIGINT UNSIGNED GENERATED ALWAYS AS ROW START, e BIGINT UNSIGNED GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING",
			"INSERT d.h (id, v) SELECT seq, 0 FROM seq_1_to_30", "UPDATE d.h SET v = 1 WHERE id < 10")
	}
	if v := verdict(t, a, b, nil); len(v.Mismatches) > 0 || v.Rows != 39 {
		t.Errorf("%d rows, %v", v.Rows, v.Mismatches)
	}
	bi.Exec(t, "UPDATE d.h SET v = 2 WHERE id = 20")
	if v := verdict(t, a, b, nil); len(v.Mismatches) != 1 {
		t.Errorf("a change and its history are not seen: %v", v.Mismatches)
	}
}

// A comparison stops soon after it is told to.
func TestComparisonIsCancelled(t *testing.T) {
	t.Parallel() // it mostly waits
	_, _, a, b := twins(t)
	ctx, cancel := context.WithCancel(t.Context())
	snap, err := Snapshot(t.Context(), a)
	must(t, err)
	defer snap.Close()
	_, err = Comparison{Copy: b, ChunkRows: 3, Tell: func(c Compared) {
		if c.Done == 3 {
			cancel()
		}
	}}.Compare(ctx, snap, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that it was cancelled", err)
	}
}

// The child of TestComparisonIsKilled: compares two servers, keeps its progress in a file, and says each chunk.
func TestComparisonOfAChild(t *testing.T) {
	t.Parallel() // it mostly waits
	given := os.Getenv("STOWAGE_COMPARE")
	if given == "" {
		t.Skip("it is run by TestComparisonIsKilled")
	}
	parts := strings.Split(given, " ")
	log := slog.New(slog.DiscardHandler)
	a, b, file := mysql.Open("a", parts[0], admin, log), mysql.Open("b", parts[1], admin, log), parts[2]
	defer a.Close()
	defer b.Close()
	var p Progress
	if raw, err := os.ReadFile(file); err == nil {
		must(t, json.Unmarshal(raw, &p))
	}
	snap, err := Snapshot(t.Context(), a)
	must(t, err)
	v, err := Comparison{Copy: b, ChunkRows: 50, Begin: p,
		Save: func(p Progress) error {
			raw, err := json.Marshal(p)
			if err != nil {
				return err
			}
			if err := os.WriteFile(file+".new", raw, 0o644); err != nil {
				return err
			}
			return os.Rename(file+".new", file)
		},
		Tell: func(c Compared) {
			fmt.Printf("chunk %s\n", c.Table)
			_, _ = os.Stdin.Read(make([]byte, 1)) // until the parent has heard it: it kills behind a chunk, also on a busy machine
		},
	}.Compare(t.Context(), snap, nil)
	must(t, err)
	fmt.Printf("verdict %d %d %d\n", len(v.Mismatches), v.Rows, v.Fresh)
}

// Killed with kill -9 in the middle, a comparison continues with the next chunk, not with the first table.
func TestComparisonIsKilled(t *testing.T) {
	t.Parallel() // it mostly waits
	ai, _ := start(t, "a")
	bi, _ := start(t, "b")
	for _, i := range []*mariadbtest.Instance{ai, bi} {
		i.Exec(t, "CREATE DATABASE d", "USE d", "CREATE TABLE d.a (id INT PRIMARY KEY, v INT)", "INSERT d.a SELECT seq, seq FROM seq_1_to_2000",
			"CREATE TABLE d.b (k VARCHAR(20) PRIMARY KEY, v INT)", "INSERT d.b SELECT CONCAT('k', seq), seq FROM seq_1_to_2000",
			"CREATE TABLE d.c (id INT PRIMARY KEY)", "INSERT d.c SELECT seq FROM seq_1_to_300")
	}
	file := t.TempDir() + "/progress"
	child := func(killAfter int) (chunks []string, verdict string) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestComparisonOfAChild$", "-test.v")
		cmd.Env = append(os.Environ(), fmt.Sprintf("STOWAGE_COMPARE=%s %s %s", ai.Address, bi.Address, file))
		out, err := cmd.StdoutPipe()
		must(t, err)
		heard, err := cmd.StdinPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if name, ok := strings.CutPrefix(lines.Text(), "chunk "); ok {
				chunks = append(chunks, name)
			}
			if text, ok := strings.CutPrefix(lines.Text(), "verdict "); ok {
				verdict = text
			}
			if len(chunks) == killAfter {
				must(t, cmd.Process.Kill())
				break
			}
			_, _ = heard.Write([]byte{'\n'}) // it may have ended
		}
		_ = cmd.Wait() // killed, or the verdict is missing
		return chunks, verdict
	}
	first, verdict := child(30)
	if verdict != "" || first[29] != "d.a" {
		t.Fatalf("it was not killed in the first table: %v %q", first, verdict)
	}
	second, verdict := child(30)
	if verdict != "" || !slices.Contains(second, "d.b") || len(second) < 30 {
		t.Fatalf("the second was not killed in the second table: %v %q", second, verdict)
	}
	if again := countOf(second, "d.a"); again > 12 { // 41 chunks, 30 of them done, and the table's end
		t.Errorf("%d chunks of the first table were summed again", again)
	}
	third, verdict := child(-1)
	var differ, rows, fresh int
	if n, err := fmt.Sscan(verdict, &differ, &rows, &fresh); n != 3 || differ != 0 || rows < 4300 || fresh > 2000 {
		t.Errorf("in the end %q %v: want no difference, 4300 rows or a chunk more, and only the rest of them summed by the last", verdict, err)
	}
	if len(third) == 0 {
		t.Error("nothing was left for the third")
	}
}

func countOf(names []string, name string) (n int) {
	for _, x := range names {
		if x == name {
			n++
		}
	}
	return n
}

// BenchmarkComparison is rows a second, both servers on this machine.
func BenchmarkComparison(b *testing.B) {
	const rows = 400_000
	ai, a := start(b, "a", "--innodb-buffer-pool-size=128M")
	bi, c := start(b, "b", "--innodb-buffer-pool-size=128M")
	for _, i := range []*mariadbtest.Instance{ai, bi} {
		i.Exec(b, "CREATE DATABASE d", "USE d", "CREATE TABLE t (id BIGINT PRIMARY KEY, k INT, c CHAR(120), pad CHAR(60), KEY (k))",
			fmt.Sprintf("INSERT t SELECT seq, seq %% 1000, MD5(seq), SHA1(seq) FROM seq_1_to_%d", rows))
	}
	for b.Loop() {
		snap, err := Snapshot(b.Context(), a)
		must(b, err)
		v, err := Comparison{Copy: c}.Compare(b.Context(), snap, nil)
		must(b, err)
		if len(v.Mismatches) > 0 || v.Fresh != rows {
			b.Fatalf("%+v", v)
		}
		b.ReportMetric(v.PerSecond(), "rows/s")
		must(b, snap.Close())
	}
}
