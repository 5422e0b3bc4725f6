package copier

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/internal/turns"
	"stowage/mysql"
	"stowage/mysql/rows"
)

// TestOrders forces the orders in which a change can meet the copying of its
// row: before it is read, between reading and writing, and after it is
// written, each for a row that is changed, deleted, inserted, or moved.
func TestOrders(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	changes := map[string][]string{
		"r_update": {"UPDATE r_update SET v = 'new' WHERE id = 5"},
		"r_delete": {"DELETE FROM r_delete WHERE id = 5"},
		"r_insert": {"INSERT INTO r_insert VALUES (6, 'new', 60)"},
		"r_move":   {"UPDATE r_move SET id = 8 WHERE id = 5"},
		"r_again":  {"DELETE FROM r_again WHERE id = 5", "INSERT INTO r_again VALUES (5, 'again', 50)"},
		// A value of a unique key changes hands, in one transaction.
		"r_swap": {"BEGIN", "UPDATE r_swap SET u = 0 WHERE id = 1", "UPDATE r_swap SET u = 1 WHERE id = 9", "UPDATE r_swap SET u = 90 WHERE id = 1", "COMMIT"},
	}
	for _, when := range []string{"before", "between", "after"} {
		t.Run(when, func(t *testing.T) {
			var statements []string
			for name := range changes {
				statements = append(statements, "CREATE TABLE "+name+" (id INT PRIMARY KEY, v VARCHAR(20) NOT NULL, u INT NOT NULL, UNIQUE KEY (u))",
					"INSERT INTO "+name+" VALUES (1, 'old', 1), (5, 'old', 5), (9, 'old', 90)")
			}
			f := start(t, statements...)
			must(t, f.c.Prepare(t.Context()))
			alter := func(name string) { f.from.Exec(t, append([]string{"USE shop"}, changes[name]...)...) }
			at := map[string]stage{"between": stageRead, "after": stageWritten}[when]
			altered := map[string]bool{}
			var mu sync.Mutex
			ctx := context.WithValue(t.Context(), stageKey{}, func(s stage, table string) {
				mu.Lock()
				defer mu.Unlock()
				if s == at && !altered[table] {
					altered[table] = true
					alter(table)
					time.Sleep(250 * time.Millisecond) // a feed that is not held back would have applied it by now
				}
			})
			if when == "before" {
				for name := range changes {
					alter(name)
				}
			}
			must(t, f.c.Carry(ctx))
			if when != "before" && len(altered) != len(changes) {
				t.Fatalf("only %v were changed on the way", altered)
			}
			f.equal(t, "")
		})
	}
}

// TestLockedRowsAreWaitedFor: a change whose transaction has not ended is not read past.
func TestLockedRowsAreWaitedFor(t *testing.T) {
	t.Parallel() // it mostly waits
	f := start(t, "CREATE TABLE r (id INT PRIMARY KEY, v INT)", "INSERT INTO r VALUES (1, 1), (2, 2)")
	must(t, f.c.Prepare(t.Context()))
	tx, err := f.from.DB(t, mariadbtest.App, "shop").Begin()
	must(t, err)
	_, err = tx.Exec("UPDATE r SET v = 9 WHERE id = 2")
	must(t, err)
	src, err := rows.OpenStream(t.Context(), f.c.From, time.Second)
	must(t, err)
	defer src.Close()
	parts := f.parts(t)
	if _, err := src.ReadChunk(t.Context(), parts[0], 10, parts[0].Table, false); !rows.IsLockWait(err) {
		t.Fatalf("read past a row that is locked: %v", err)
	}
	must(t, tx.Commit())
	must(t, f.c.Carry(t.Context()))
	if v := f.to.Value(t, "SELECT v FROM shop.r WHERE id = 2"); v != "9" {
		t.Errorf("the target has %s, want 9", v)
	}
}

func (f *farmOfTwo) parts(t *testing.T) []*rows.Part {
	t.Helper()
	here, err := f.c.standing(t.Context(), f.c.From)
	must(t, err)
	parts, err := rows.Parts(t.Context(), f.c.To, f.c.marks(), here.tables)
	must(t, err)
	return parts
}

// TestSuperseded: what a copier sends after another has taken over does not land.
func TestSuperseded(t *testing.T) {
	t.Parallel() // it mostly waits
	f := start(t, "CREATE TABLE r (id INT PRIMARY KEY, v INT)", "INSERT INTO r VALUES (1, 1)")
	must(t, f.c.Prepare(t.Context()))
	old, err := f.c.open(t.Context(), false)
	must(t, err)
	defer old.close()
	dst, err := rows.OpenStream(t.Context(), old.to, 2*time.Second)
	must(t, err)
	defer dst.Close()
	heir, err := f.copy(t).open(t.Context(), false)
	must(t, err)
	heir.close()
	_, err = dst.Write(t.Context(), f.c.marks(), old.epoch, f.c.marks().MoveMark(nil),
		rows.Cargo{Statements: [][]byte{[]byte("REPLACE INTO shop.r VALUES (1, 666)")}})
	if !errors.Is(err, rows.ErrSuperseded) {
		t.Fatalf("the old copier wrote: %v", err)
	}
	if n := f.to.Value(t, "SELECT COUNT(*) FROM shop.r WHERE v = 666"); n != "0" {
		t.Error("its row is there")
	}
}

// TestWriterBehindTheLock: who waits at the lock when the tables are renamed
// gets an error, and nothing of it is on either side.
func TestWriterBehindTheLock(t *testing.T) {
	t.Parallel() // it mostly waits
	f := start(t, "CREATE TABLE r (id INT PRIMARY KEY, v INT)", "INSERT INTO r VALUES (1, 1)")
	f.carried(t)
	fence, err := f.c.Fence(t.Context())
	must(t, err)
	wrote := make(chan error, 3)
	for i := range 3 {
		db := f.from.DB(t, mariadbtest.App, "shop")
		go func() { _, err := db.Exec("INSERT INTO r VALUES (?, 0)", 100+i); wrote <- err }()
	}
	await(t, func() bool {
		return f.from.Value(t, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'app' AND STATE LIKE '%lock%'") == "3"
	})
	if v := f.from.Value(t, "SELECT v FROM shop.r WHERE id = 1"); v != "1" {
		t.Error("readers are kept out")
	}
	must(t, fence.Reach(t.Context()))
	must(t, fence.Rename(t.Context()))
	must(t, fence.Unlock(t.Context()))
	for range 3 {
		if err := <-wrote; err == nil || !strings.Contains(err.Error(), "1146") {
			t.Errorf("a writer behind the lock: %v, want error 1146", err)
		}
	}
	f.equal(t, mysql.AsidePrefix)
	if n := f.to.Value(t, "SELECT COUNT(*) FROM shop.r"); n != "1" {
		t.Errorf("the target has %s rows, want 1", n)
	}
}

// TestLockLostUnnoticed: the session that locks is lost between the last look
// at it and the RENAME, and a write gets in. It is on the target before clients are.
func TestLockLostUnnoticed(t *testing.T) {
	t.Parallel() // it mostly waits
	f := start(t, "CREATE TABLE r (id INT PRIMARY KEY, v INT)", "INSERT INTO r VALUES (1, 1)")
	f.carried(t)
	fence, err := f.c.Fence(t.Context())
	must(t, err)
	must(t, fence.Reach(t.Context()))
	must(t, fence.lock.Release())
	if err := fence.Rename(t.Context()); err == nil {
		t.Fatal("the tables are renamed though the lock is lost, and nobody says so")
	}
	fence.lock = nil
	// The feed comes late, so that it is not done with the row by chance.
	id, _ := fence.run.hold.place(fence.at)
	f.from.Exec(t, "INSERT INTO shop.r VALUES (2, 2)")
	st, err := f.c.standing(t.Context(), f.c.From)
	must(t, err)
	fence.rename, err = rows.RenameAside(t.Context(), f.c.From, st.tables, true, time.Minute)
	must(t, err)
	time.AfterFunc(300*time.Millisecond, func(hold *hold) func() { return func() { hold.lift(id) } }(fence.run.hold))
	must(t, fence.Unlock(t.Context()))
	f.equal(t, mysql.AsidePrefix)
}

// TestReaderIsMended: the feed goes on when its connection to the source is lost.
func TestReaderIsMended(t *testing.T) {
	t.Parallel() // it mostly waits
	f := start(t, "CREATE TABLE r (id INT PRIMARY KEY, v INT)")
	must(t, f.c.Prepare(t.Context()))
	r, err := f.c.open(t.Context(), false)
	must(t, err)
	defer r.close()
	dump := "SELECT ID FROM information_schema.PROCESSLIST WHERE COMMAND = 'Binlog Dump'"
	for i := range 3 {
		f.from.Exec(t, fmt.Sprintf("INSERT INTO shop.r VALUES (%d, 0)", i))
		must(t, r.reachNow(t.Context()))
		await(t, func() bool { return f.from.Value(t, "SELECT COUNT(*) FROM ("+dump+") d") == "1" })
		f.from.Exec(t, "KILL "+f.from.Value(t, dump))
	}
	f.from.Exec(t, "INSERT INTO shop.r VALUES (9, 9)")
	must(t, r.reachNow(t.Context()))
	f.equal(t, "")
}

// TestPositionIsGone: a source that has purged what comes next is an error at once, not a gap.
func TestPositionIsGone(t *testing.T) {
	t.Parallel() // it mostly waits
	f := start(t, "CREATE TABLE r (id INT PRIMARY KEY, v INT)")
	must(t, f.c.Prepare(t.Context()))
	f.from.Exec(t, "INSERT INTO shop.r VALUES (1, 1)", "FLUSH BINARY LOGS", "INSERT INTO shop.r VALUES (2, 2)", "FLUSH BINARY LOGS")
	db := f.from.DB(t, mariadbtest.Stowage, "")
	await(t, func() bool { // the server keeps a log until InnoDB has made a checkpoint behind it
		f.from.Exec(t, "PURGE BINARY LOGS TO 'bl.000003'")
		return len(query(t, db, "SHOW BINARY LOGS")) == 1
	})
	err := f.c.Carry(t.Context())
	if err == nil || !strings.Contains(err.Error(), "1236") {
		t.Fatalf("got %v, want error 1236", err)
	}
}

func await(t *testing.T, claim func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !claim(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never came")
		}
	}
}

// TestRenameOfTheDead: a RENAME that a killed copier has left waiting is ended
// and not carried out later.
func TestRenameOfTheDead(t *testing.T) {
	t.Parallel() // it mostly waits
	f := start(t, "CREATE TABLE r (id INT PRIMARY KEY, v INT)")
	f.carried(t)
	tx, err := f.from.DB(t, mariadbtest.App, "shop").Begin()
	must(t, err)
	_, err = tx.Exec("SELECT * FROM r")
	must(t, err)
	st, err := f.c.standing(t.Context(), f.c.From)
	must(t, err)
	_, err = rows.RenameAside(t.Context(), f.c.From, st.tables, true, time.Minute)
	must(t, err)
	must(t, f.copy(t).Unfence(t.Context()))
	must(t, tx.Commit())
	time.Sleep(50 * time.Millisecond)
	f.from.Exec(t, "INSERT INTO shop.r VALUES (1, 1)")
}

// TestUnfenceFromEveryPhase: writers go on afterwards, and the copy can go on too.
func TestUnfenceFromEveryPhase(t *testing.T) {
	t.Parallel() // it mostly waits
	f := start(t, "CREATE TABLE r (id INT AUTO_INCREMENT PRIMARY KEY, v INT)", "CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, w INT)", "INSERT INTO r (v) VALUES (1), (2)",
		"CREATE TRIGGER tr AFTER INSERT ON r FOR EACH ROW INSERT INTO log (w) VALUES (NEW.v)")
	f.carried(t)
	for phase := range 4 {
		fence, err := f.c.Fence(t.Context())
		must(t, err)
		for i, do := range []func(context.Context) error{fence.Reach, fence.Rename, fence.Unlock} {
			if i < phase {
				must(t, do(t.Context()))
			}
		}
		if phase < 3 { // an attempt that gives up lets go of what it holds, and a killed one is let go of
			must(t, fence.release())
		}
		must(t, f.c.Unfence(t.Context()))
		must(t, f.c.Unfence(t.Context()))
		logged := f.from.Value(t, "SELECT COUNT(*) FROM shop.log")
		f.from.Exec(t, "INSERT INTO shop.r (v) VALUES (3)")
		if now := f.from.Value(t, "SELECT COUNT(*) FROM shop.log"); now == logged {
			t.Errorf("phase %d: the trigger is gone", phase)
		}
		must(t, f.c.Carry(t.Context()))
		f.equal(t, "")
	}
	f.cutOver(t)
	f.to.Exec(t, "INSERT INTO shop.r (v) VALUES (4)")
	if n := f.to.Value(t, "SELECT COUNT(*) FROM shop.log WHERE w = 4"); n != "1" {
		t.Errorf("the target logged %s times, want once", n)
	}
	must(t, f.c.BackTo(t.Context(), mysqltest.Position(t, f.c.To)))
	f.equal(t, mysql.AsidePrefix)
	must(t, f.c.Settle(t.Context()))
	must(t, f.c.Settle(t.Context()))
	if n := f.from.Value(t, "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'shop'"); n != "0" {
		t.Error("the source's database is still there")
	}
	if left := f.to.Value(t, "SELECT GROUP_CONCAT(TABLE_NAME) FROM information_schema.TABLES WHERE TABLE_NAME LIKE '\\_stow%'"); left != "" {
		t.Errorf("left on the target: %s", left)
	}
}

// TestDefinitionsAreNoticed: what rows do not show ends the copy, at once and for good.
func TestDefinitionsAreNoticed(t *testing.T) {
	t.Parallel() // it mostly waits
	f := start(t)
	for name, statements := range map[string][]string{
		"altered":    {"ALTER TABLE DB.r ADD COLUMN z INT"},
		"elsewhere":  {"CREATE DATABASE other", "USE other", "ALTER TABLE DB.r ADD COLUMN z INT"},
		"new_table":  {"USE DB", "CREATE TABLE fresh (id INT PRIMARY KEY)"},
		"truncate":   {"TRUNCATE DB.r"},
		"statements": {"SET SESSION binlog_format = STATEMENT", "USE DB", "INSERT INTO r VALUES (2, 2)"},
		"minimal":    {"SET SESSION binlog_row_image = MINIMAL", "USE DB", "UPDATE r SET v = 5 WHERE id = 1"},
		"two_phases": {"USE DB", "XA START 'x'", "INSERT INTO r VALUES (3, 3)", "XA END 'x'", "XA PREPARE 'x'", "XA ROLLBACK 'x'"},
		"gone":       {"DROP DATABASE DB"},
	} {
		t.Run(name, func(t *testing.T) {
			f.from.Exec(t, "CREATE DATABASE "+name, "USE "+name, "CREATE TABLE r (id INT PRIMARY KEY, v INT)", "INSERT INTO r VALUES (1, 1)")
			c := f.copy(t)
			c.Job, c.Schema = name, name
			must(t, c.Prepare(t.Context()))
			must(t, c.Carry(t.Context()))
			for i := range statements {
				statements[i] = strings.ReplaceAll(statements[i], "DB", name)
			}
			f.from.Exec(t, statements...)
			for range 2 { // and whoever tries again meets it again
				r, err := c.open(t.Context(), false)
				must(t, err)
				err = r.reachNow(t.Context())
				r.close()
				if !errors.Is(err, ErrDefinition) || !errors.Is(err, farm.ErrRefused) {
					t.Fatalf("got %v, want a refusal", err)
				}
			}
		})
	}
	t.Run("harmless", func(t *testing.T) {
		f := start(t, "CREATE TABLE r (id INT PRIMARY KEY, v INT)", "INSERT INTO r VALUES (1, 1)")
		must(t, f.c.Prepare(t.Context()))
		must(t, f.c.Carry(t.Context()))
		f.from.Exec(t, "CREATE DATABASE other", "USE other", "CREATE TABLE shop (id INT, shop INT)", "ALTER TABLE shop ADD x INT COMMENT 'shop.r'", "INSERT INTO shop VALUES (1, 1, 1)", "USE shop", "ANALYZE TABLE r",
			"CREATE USER u@'%'", "FLUSH TABLES", "CREATE TEMPORARY TABLE tmp (id INT)", "INSERT INTO tmp VALUES (1)", "DROP TEMPORARY TABLE tmp", "DROP DATABASE other",
			"BEGIN", "INSERT INTO r VALUES (7, 7)", "SAVEPOINT a", "INSERT INTO r VALUES (8, 8)", "ROLLBACK TO a", "COMMIT")
		must(t, f.c.Carry(t.Context()))
		f.equal(t, "")
	})
}

func TestCompareFindsAndRepairs(t *testing.T) {
	t.Parallel() // it mostly waits
	f := start(t, append(busy, "CREATE TABLE txt (w VARCHAR(20) PRIMARY KEY, v INT)", "INSERT INTO txt VALUES ('a', 1), ('b', 2)")...)
	f.carried(t)
	f.to.Exec(t, "USE shop", "SET SESSION sql_log_bin = 0", "UPDATE k SET v = v + 1 WHERE id = 17", "DELETE FROM k WHERE id = 2999", "INSERT INTO k VALUES (77777, 1)", "UPDATE txt SET w = 'B' WHERE w = 'b'")
	for range 2 {
		found, err := f.c.Compare(t.Context())
		must(t, err)
		var got []string
		for _, d := range found {
			got = append(got, d.String())
		}
		want := "table k, key (17) differs; table k, key (2999) is missing; table k, key (77777) should not be there; table txt, key (b) is missing; table txt, key (B) should not be there"
		if text := strings.Join(got, "; "); text != want {
			t.Fatalf("found %s\nwant  %s", text, want)
		}
		if n := f.to.Value(t, "SELECT COUNT(*) FROM shop.k WHERE id = 77777"); n != "1" {
			t.Fatal("Compare has changed something")
		}
	}
	stop := f.writers(t, f.from, 2)
	found, err := f.c.Compare(t.Context())
	must(t, err)
	must(t, f.c.Repair(t.Context(), found))
	f.clean(t)
	stop()
	must(t, f.c.Carry(t.Context()))
	f.equal(t, "")
	f.to.Exec(t, "ALTER TABLE shop.k MODIFY v BIGINT NOT NULL")
	found, err = f.c.Compare(t.Context())
	must(t, err)
	if len(found) != 1 || found[0].Kind != "definition" {
		t.Errorf("another definition: found %v", found)
	}
}

// TestManyTables carries 200 small ones and what hangs on them.
func TestManyTables(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	var statements []string
	for i := range 200 {
		statements = append(statements, fmt.Sprintf("CREATE TABLE t%03d (id INT AUTO_INCREMENT PRIMARY KEY, v INT, KEY (v))", i), fmt.Sprintf("INSERT INTO t%03d (v) SELECT seq FROM seq_1_to_5", i))
	}
	f := start(t, statements...)
	f.carried(t)
	f.clean(t)
	begin := time.Now()
	f.cutOver(t)
	t.Logf("fence of 200 tables: %v", time.Since(begin).Round(time.Millisecond))
	f.equal(t, mysql.AsidePrefix)
}

func TestObjects(t *testing.T) {
	t.Parallel() // it mostly waits
	f := start(t, "SET NAMES utf8mb4",
		"CREATE TABLE parent (id INT PRIMARY KEY, v VARCHAR(20), KEY (v))", "CREATE TABLE child (id INT PRIMARY KEY, p INT, CONSTRAINT fk FOREIGN KEY (p) REFERENCES parent (id))",
		"CREATE TABLE counted (id INT AUTO_INCREMENT PRIMARY KEY) COMMENT 'größe'", "INSERT INTO counted () VALUES (), (), (), ()", "DELETE FROM counted WHERE id > 2",
		"CREATE TABLE oddly (a INT, id INT AUTO_INCREMENT, PRIMARY KEY (a, id), KEY (id))", "CREATE TABLE cut (id INT PRIMARY KEY, v INT, KEY (v)) PARTITION BY HASH (id) PARTITIONS 3",
		"INSERT INTO parent VALUES (1, 'x')", "INSERT INTO child VALUES (1, 1)", "INSERT INTO cut SELECT seq, seq FROM seq_1_to_20",
		"CREATE VIEW zz AS SELECT id FROM parent", "CREATE VIEW aa AS SELECT id FROM zz", "CREATE DEFINER = app@'%' SQL SECURITY INVOKER VIEW bb AS SELECT 'ä' AS a",
		"SET NAMES latin1", "CREATE FUNCTION f1(x INT) RETURNS INT DETERMINISTIC RETURN x + LENGTH('\xe4')", "SET NAMES utf8mb4",
		"SET sql_mode = 'ANSI_QUOTES'", `CREATE PROCEDURE p1() SELECT "id" FROM "parent"`, "SET sql_mode = DEFAULT",
		"CREATE EVENT e1 ON SCHEDULE EVERY 1 SECOND DO INSERT INTO counted () VALUES ()", "CREATE EVENT e2 ON SCHEDULE EVERY 1 DAY ON COMPLETION PRESERVE DISABLE COMMENT 'PRESERVE ENABLE' DO SELECT 1",
		"CREATE TRIGGER t1 BEFORE INSERT ON parent FOR EACH ROW SET NEW.v = CONCAT(NEW.v, '!')", "CREATE TRIGGER t2 BEFORE INSERT ON parent FOR EACH ROW FOLLOWS t1 SET NEW.v = CONCAT(NEW.v, '?')")
	was := objectsOf(t, f.from)
	f.carried(t)
	must(t, f.c.Finish(t.Context()))
	f.clean(t)
	f.cutOver(t)
	is := objectsOf(t, f.to)
	for name, text := range was {
		if strings.HasPrefix(name, "event") {
			text = strings.Replace(text, "PRESERVE ENABLE DO", "PRESERVE DISABLE DO", 1)
		}
		if is[name] != text {
			t.Errorf("%s:\nsource %q\ntarget %q", name, text, is[name])
		}
	}
	f.to.Exec(t, "USE shop", "INSERT INTO parent VALUES (2, 'y')", "INSERT INTO counted () VALUES ()")
	if v := f.to.Value(t, "SELECT v FROM shop.parent WHERE id = 2"); v != "y!?" {
		t.Errorf("triggers made it %q, want y!?", v)
	}
	if n := f.to.Value(t, "SELECT MAX(id) FROM shop.counted"); n != "9" { // 1, 3, 5, 7 were given out
		t.Errorf("the counter continues with %s, want 9", n)
	}
	if n := f.from.Value(t, "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'shop'"); n != "0" {
		t.Errorf("%s triggers on the source would act on what comes back", n)
	}
	must(t, f.c.Unfence(t.Context()))
	again := objectsOf(t, f.from)
	for name, text := range was {
		if again[name] != text {
			t.Errorf("back on the source, %s:\nwas %q\nis  %q", name, text, again[name])
		}
	}
	if v := f.from.Value(t, "SELECT v FROM shop.parent WHERE id = 2"); v != "y!?" {
		t.Errorf("what was written on the target came back as %q", v)
	}
}

// objectsOf are the texts of everything in the database, by kind and name.
func objectsOf(t *testing.T, i *mariadbtest.Instance) map[string]string {
	t.Helper()
	db := i.DB(t, mariadbtest.Stowage, "shop")
	out := map[string]string{}
	add := func(kind, list string) {
		for _, r := range query(t, db, list) {
			rows := query(t, db, "SHOW CREATE "+kind+" `"+r[0]+"`")
			out[kind+" "+r[0]] = strings.Join(rows[0][:min(6, len(rows[0]))], "|")
		}
	}
	add("table", "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop' AND TABLE_TYPE = 'BASE TABLE' AND TABLE_NAME <> 'counted' AND TABLE_NAME NOT LIKE '\\_stow%'")
	add("view", "SELECT TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA = 'shop'")
	add("function", "SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'shop' AND ROUTINE_TYPE = 'FUNCTION'")
	add("procedure", "SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'shop' AND ROUTINE_TYPE = 'PROCEDURE'")
	add("event", "SELECT EVENT_NAME FROM information_schema.EVENTS WHERE EVENT_SCHEMA = 'shop'")
	add("trigger", "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'shop'")
	return out
}

func TestRefusals(t *testing.T) {
	t.Parallel() // it mostly waits
	f := start(t, "CREATE TABLE fine (id INT PRIMARY KEY)", "CREATE TABLE nokey (id INT, UNIQUE KEY (id))", "CREATE TABLE old (id INT PRIMARY KEY) ENGINE=Aria", "CREATE TABLE p (id INT PRIMARY KEY)",
		"CREATE TABLE ch (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)", "CREATE SEQUENCE sq", "CREATE TABLE ver (id INT PRIMARY KEY) WITH SYSTEM VERSIONING",
		"CREATE TABLE co (id INT PRIMARY KEY, b BLOB COMPRESSED)", "CREATE TABLE "+strings.Repeat("n", 60)+" (id INT PRIMARY KEY)",
		"CREATE USER only@here", "CREATE DEFINER = only@here VIEW vw AS SELECT 1",
		"CREATE TABLE gone (id INT)", "CREATE VIEW broken AS SELECT id FROM gone", "DROP TABLE gone", "CREATE DATABASE elsewhere", "CREATE TABLE elsewhere.t (id INT)",
		"CREATE VIEW abroad AS SELECT id FROM elsewhere.t", "CREATE VIEW whole AS SELECT id FROM fine", "CREATE USER late@here", "CREATE DEFINER = late@here VIEW orphan AS SELECT 1", "DROP USER late@here")
	f.to.Exec(t, "CREATE DATABASE shop")
	f.from.Exec(t, "SET GLOBAL binlog_row_image = MINIMAL")
	found, err := f.c.Refusals(t.Context())
	must(t, err)
	var text strings.Builder
	for _, x := range found {
		if x.Remedy == "" || x.Text == "" {
			t.Errorf("%+v lacks something", x)
		}
		fmt.Fprintln(&text, x)
	}
	for _, want := range []string{"nokey", "Aria", "CASCADE", "sequence", "system versioned", "compressed", "at most 55", "only@here", "already", "MINIMAL",
		"view broken: it is invalid", "view abroad: it reads tables of other databases that", "elsewhere.t"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("nothing says %q in:\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "view whole") || strings.Contains(text.String(), "view orphan: ") {
		t.Errorf("a view that can be made is refused:\n%s", text.String())
	}
	if strings.Contains(text.String(), "table fine") {
		t.Errorf("a fine table is refused:\n%s", text.String())
	}
	if err := f.c.Prepare(t.Context()); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("Prepare into somebody else's database: %v", err)
	}
	must(t, f.c.Discard(t.Context()))
	if n := f.to.Value(t, "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'shop'"); n != "1" {
		t.Error("Discard has removed a database that was not its own")
	}
}

// TestThrottle: it is asked before chunks and batches, and its no is the end.
func TestThrottle(t *testing.T) {
	t.Parallel() // it mostly waits
	f := start(t, busy...)
	must(t, f.c.Prepare(t.Context()))
	asked := 0
	enough := errors.New("enough")
	f.c.Settings.Streams = 1
	f.c.Settings.Throttle = func(context.Context) error {
		if asked++; asked > 3 {
			return enough
		}
		return nil
	}
	if err := f.c.Carry(t.Context()); !errors.Is(err, enough) {
		t.Fatalf("got %v", err)
	}
	f.c.Settings.Throttle = nil
	f.c.Settings.BytesPerSecond = 50_000
	begin := time.Now()
	must(t, f.c.Carry(t.Context()))
	if took := time.Since(begin); took < 500*time.Millisecond {
		t.Errorf("some 100 kB at 50 kB/s took %v", took)
	}
	f.equal(t, "")
}
