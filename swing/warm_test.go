package swing_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
	"stowage/mysql"
	"stowage/swing"
	"stowage/swing/swingtest"
)

// warmScene is a pair with rows, whose twin serves; what the step tells is kept.
type warmScene struct {
	*swingtest.Scene
	history bool // of statements, kept by the twin
	told    []string
}

func newWarmScene(t *testing.T, twin ...string) *warmScene {
	x := &warmScene{Scene: swingtest.New(t), history: slices.Equal(twin, history)}
	x.A.Exec(t, "USE d", "CREATE TABLE r (id INT PRIMARY KEY, k INT, pad CHAR(100), KEY (k))", "INSERT r SELECT seq, seq * 7 % 20000, seq FROM seq_1_to_20000")
	mariadbtest.AwaitApplied(t, x.B, x.A)
	if twin != nil {
		x.B.SetOptions(twin...)
		x.B.Restart(t)
	}
	x.Swing.Tell = func(_ farm.EventKind, phase, text string, _ float64) {
		if phase == "warm" {
			x.told = append(x.told, text)
		}
	}
	was, err := swing.ReadBaseline(t.Context(), x.Swing.Leaves)
	if err != nil {
		t.Fatal(err)
	}
	x.Swing.Baseline = &was
	return x
}

// history has the twin keep a history of statements: on a busy machine few short ones run at the moment that one looks.
var history = []string{"performance_schema=ON", "performance_schema_consumer_events_statements_current=ON", "performance_schema_consumer_events_statements_history=ON"}

// ask has eight clients ask the twin, or two if it keeps a history, until the test ends. What a text has as %d is another number each time.
func (x *warmScene) ask(texts ...string) {
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	db := x.B.DB(x.T, mariadbtest.Stowage, "d")
	clients, pause := 8, time.Duration(0)
	if x.history {
		clients, pause = 2, 2*time.Millisecond
	}
	var begun sync.WaitGroup // the first statements are answered
	begun.Add(clients)
	for c := range clients {
		wg.Go(func() {
			answered := sync.OnceFunc(begun.Done)
			defer answered()
			for n := c; ctx.Err() == nil; n += 13 {
				text := texts[n%len(texts)]
				if strings.Contains(text, "%d") {
					text = fmt.Sprintf(text, n%20000+1)
				}
				rows, err := db.QueryContext(ctx, text)
				if err == nil {
					for rows.Next() { // to its end
					}
					_ = rows.Err() // many are refused, on purpose
					rows.Close()
				}
				answered()
				time.Sleep(pause)
			}
		})
	}
	begun.Wait()
	x.T.Cleanup(func() { stop(); wg.Wait() })
}

func (x *warmScene) warm(want string) {
	x.T.Helper()
	if err := x.Swing.Warm(x.T.Context()); err != nil {
		x.T.Fatal(err)
	}
	if len(x.told) == 0 || !strings.Contains(x.told[len(x.told)-1], want) {
		x.T.Errorf("told %q, want %q", x.told, want)
	}
}

// Reads decide, wherever the twin lets them be seen.
func TestReadsOfTheTwinSayThatASideIsWarm(t *testing.T) {
	for name, options := range map[string][]string{
		"the process list": nil,
		"the process list, beside performance_schema":  {"performance_schema=ON"},
		"performance_schema.events_statements_history": history,
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && !strings.HasSuffix(name, "history") { // the part whole of test-all has them
				t.Skip("SKIPPED: a server that works for some seconds to be seen in its process list")
			}
			x := newWarmScene(t, options...)
			x.ask("SELECT COUNT(*) FROM d.r WHERE pad <> '%d'") // some milliseconds
			// One read in the first second is enough then: how many a busy machine lets be seen is no matter here.
			x.Swing.Settings.WarmReads = 10
			x.warm("; seen in " + strings.Split(name, ",")[0])
		})
	}
}

// A side that is slower though it has all pages stays slower however long one waits: that is said, and does not hold up anybody.
func TestSlowSideIsNotCalledWarm(t *testing.T) {
	turns.One(t, 6)
	x := newWarmScene(t, history...)
	x.A.Exec(t, "SET sql_log_bin = 0", "ALTER TABLE d.r DROP KEY k")
	x.Swing.Settings.WarmReads = 20
	x.ask("SELECT pad FROM d.r WHERE k = %d")
	x.warm("slower than its twin, and not for want of pages: p95 of ")
}

// Nobody asks: then nothing can be said, and that is said.
func TestTooFewReadsAreNoJudgement(t *testing.T) {
	x := newWarmScene(t)
	x.warm("too few reads to compare with the twin (0 reads of clients in a quarter of a second, seen in the process list): by its pages")
}

// Of what clients send, nothing is sent again that writes, locks, waits or is another session's own.
func TestOnlyPlainReadsAreSentAgain(t *testing.T) {
	x := newWarmScene(t, history...)
	x.Swing.Settings.WarmReads = 20
	x.ask("SELECT pad FROM d.r WHERE id = %d", "SELECT pad FROM d.r WHERE id = %d FOR UPDATE", "SELECT pad FROM d.r WHERE id = %d LOCK IN SHARE MODE",
		"SELECT GET_LOCK('x%d', 0) FROM d.r LIMIT 1", "SELECT SLEEP(0.001) FROM d.r WHERE id = %d", "SELECT @a := id FROM d.r WHERE id = %d",
		"SELECT id FROM d.r WHERE id = %d INTO @b", "SELECT pad FROM d.r WHERE id = %d INTO OUTFILE '/nowhere/x'", "UPDATE d.r SET pad = %d WHERE id = 1", "SET STATEMENT max_statement_time=0 FOR SELECT pad FROM d.r WHERE id = %d")
	x.A.Exec(t, "SET GLOBAL log_output = 'TABLE'", "SET GLOBAL general_log = ON")
	x.warm("warm: p95 of ")
	x.A.Exec(t, "SET GLOBAL general_log = OFF")
	const sent = "SELECT COUNT(*) FROM mysql.general_log WHERE command_type IN ('Query', 'Execute') AND argument LIKE '%d.r%'"
	if n := x.A.Value(t, sent+" AND argument LIKE 'SELECT pad FROM d.r WHERE id = %' AND argument NOT LIKE '% FOR UPDATE' AND argument NOT LIKE '%MODE' AND argument NOT LIKE '%INTO%'"); n == "0" {
		t.Error("no read was sent to the side")
	}
	bad := x.A.Value(t, sent+" AND (argument LIKE '%FOR UPDATE%' OR argument LIKE '%SHARE MODE%' OR argument LIKE '%LOCK(%' OR argument LIKE '%SLEEP%' OR argument LIKE '%@%' OR argument LIKE '%INTO %' OR argument LIKE 'SET STATEMENT%') AND argument NOT LIKE '%general_log%'")
	if bad != "0" {
		t.Errorf("%s statements were sent to the side that do more than read: %s", bad, x.A.Value(t, "SELECT GROUP_CONCAT(DISTINCT argument) FROM mysql.general_log WHERE argument LIKE '%d.r%'"))
	}
}

// A side that is restarted while it is out has its own pages again, and its settings.
func TestPoolOfARestartedSideIsItsOwn(t *testing.T) {
	x := newWarmScene(t)
	x.A.SetOptions("innodb_buffer_pool_dump_at_shutdown=ON", "innodb_buffer_pool_size=64M", "innodb_lru_scan_depth=100", "skip_slave_start=0")
	x.A.Restart(t)
	mariadbtest.AwaitApplied(t, x.A, x.B)
	x.A.Value(t, "SELECT COUNT(pad) FROM d.r FORCE INDEX (PRIMARY)")
	x.A.Value(t, "SELECT COUNT(k) FROM d.r FORCE INDEX (k)")
	was, err := swing.ReadBaseline(t.Context(), x.Swing.Leaves)
	if err != nil {
		t.Fatal(err)
	}
	x.Swing.Baseline = &was
	const pages, settings = "SELECT COUNT(*) FROM information_schema.innodb_buffer_page WHERE TABLE_NAME LIKE '%r`'",
		"SELECT CONCAT_WS(' ', @@innodb_buffer_pool_dump_pct, @@innodb_buffer_pool_dump_at_shutdown)"
	held := x.A.Value(t, pages)
	if err := x.Swing.Out(t.Context()); err != nil {
		t.Fatal(err)
	}
	x.A.Restart(t)
	x.warm("too few reads")
	x.A.Value(t, "SELECT COUNT(*) FROM (SELECT 1 FROM d.r LIMIT 1) AS opened") // before that its pages have no name
	if now := x.A.Value(t, pages); len(now) < len(held) || now < held[:1] {
		t.Errorf("%s pages of the table, %s before", now, held)
	}
	if got := x.A.Value(t, settings); got != "25 ON" {
		t.Errorf("settings are %q", got)
	}
	if err := x.Swing.UndoOut(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Taken out and back again without a restart, they are the same, too.
	if err := x.Swing.Out(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := x.Swing.UndoOut(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := x.A.Value(t, settings); got != "25 ON" {
		t.Errorf("settings are %q after the way back", got)
	}
}

// A table that was rebuilt while the side was out has other pages: the list of before is void, and its name is not.
func TestRebuiltTablesAreReadByName(t *testing.T) {
	large := []string{"innodb_buffer_pool_size=64M", "innodb_lru_scan_depth=100", "skip_slave_start=0"}
	x := newWarmScene(t, large...)
	mariadbtest.AwaitApplied(t, x.B, x.A)
	x.Swing.DataFile = func(_ context.Context, of *mysql.Server, name string) ([]byte, error) {
		if of != x.Swing.Twin {
			t.Errorf("a file of %s is read", of.Name())
		}
		return os.ReadFile(filepath.Join(x.B.Value(t, "SELECT @@datadir"), name))
	}
	if err := x.Swing.Out(t.Context()); err != nil {
		t.Fatal(err)
	}
	x.A.Exec(t, "SET sql_log_bin = 0", "ALTER TABLE d.r FORCE")
	x.A.SetOptions(large...)
	x.A.Restart(t)
	x.B.Value(t, "SELECT COUNT(pad) FROM d.r FORCE INDEX (PRIMARY)")
	x.B.Value(t, "SELECT COUNT(k) FROM d.r FORCE INDEX (k)")
	x.warm("too few reads")
	if !slices.ContainsFunc(x.told, func(s string) bool { return strings.Contains(s, "read whole, because the twin uses") }) {
		t.Errorf("no table was read by name: %q", x.told)
	}
	x.A.Value(t, "SELECT COUNT(*) FROM (SELECT 1 FROM d.r LIMIT 1) AS opened")
	const pages = "SELECT COUNT(*) FROM information_schema.innodb_buffer_page WHERE TABLE_NAME LIKE '%r`'"
	if n := x.A.Value(t, pages); len(n) < 3 {
		t.Errorf("%s pages of the table are in the pool", n)
	}
}
