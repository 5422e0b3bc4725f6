package traffic

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stowage/digest"
	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/mysql"
)

// watched are the options of a server that remembers statements in every way there is. Its time zone is odd on purpose.
var watched = []string{
	"--log-output=TABLE,FILE", "--slow-query-log=1", "--long-query-time=0", "--log-slow-verbosity=query_plan", "--general-log=1",
	"--default-time-zone=+05:30", "--performance-schema=ON", "--performance-schema-digests-size=1000",
	"--performance-schema-consumer-events-statements-current=ON", "--performance-schema-consumer-events-statements-history=ON",
	"--performance-schema-consumer-events-statements-history-long=ON",
}

const sessions, rounds = 4, 60

// asked is how often each class of work is asked for, by its fingerprint under the rules of pt-query-digest.
var asked = map[string]uint64{
	"select v from t where id = ?":        sessions * rounds,
	"insert into w (a) values(?+)":        sessions * rounds / 3,
	"select count(*) from t where v = ??": sessions * rounds / 5,
	"select * from nosuch where id = ?":   sessions * rounds / 10,
}

// work asks a server all of that, in several sessions at the same time. One session keeps a time zone of its own.
func work(t *testing.T, i *mariadbtest.Instance) {
	t.Helper()
	db := i.DB(t, mariadbtest.App, "d")
	var all sync.WaitGroup
	for s := range sessions {
		conn, err := db.Conn(t.Context())
		must(t, err)
		all.Go(func() {
			defer conn.Close()
			if s == 1 {
				if _, err := conn.ExecContext(t.Context(), "SET time_zone = '-08:00'"); err != nil {
					t.Error(err)
				}
			}
			run := func(query string) {
				rows, err := conn.QueryContext(t.Context(), query)
				if err == nil {
					for rows.Next() {
					}
					err = errors.Join(rows.Err(), rows.Close())
				}
				if err != nil && !strings.Contains(query, "nosuch") {
					t.Error(err)
				}
			}
			for n := range rounds {
				run(fmt.Sprintf("SELECT v FROM t WHERE id = %d", n))
				if n%3 == 0 {
					run(fmt.Sprintf("INSERT INTO w (a) VALUES (%d)", n))
				}
				if n%5 == 0 {
					run("SELECT COUNT(*) FROM t WHERE v = 'it''s \\\\ \"a\", é;\n# User@Host: x[x] @ y []\nselect 1;\n'")
				}
				if n%10 == 0 {
					run(fmt.Sprintf("SELECT * FROM nosuch WHERE id = %d", n))
				}
			}
		})
	}
	all.Wait()
	must(t, db.Close())
	// A statement is written down after its client has been answered: only when its session is gone it surely has been.
	for i.Value(t, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'app'") != "0" {
		time.Sleep(time.Millisecond)
	}
}

func watchedServer(t *testing.T, name string, more ...string) (*mariadbtest.Instance, *mysql.Server) {
	t.Helper()
	i, s := start(t, name, append(slices.Clone(watched), more...)...)
	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(50)) ENGINE=InnoDB", "INSERT d.t SELECT seq, CONCAT('v', seq) FROM d.seq_0_to_99",
		"CREATE TABLE d.w (n INT AUTO_INCREMENT PRIMARY KEY, a INT) ENGINE=InnoDB")
	return i, s
}

func statementsOf(t *testing.T, s *mysql.Server) *Statements {
	t.Helper()
	r, err := OpenStatements(t.Context(), s)
	must(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// byApp counts what the application did.
func byApp(t *testing.T) digest.Options {
	t.Helper()
	f, err := digest.ParseFilter("user = app and (verb = select or verb = insert)")
	must(t, err)
	return digest.Options{Filter: f}
}

// slowLogTable is the digest of mysql.slow_log.
func slowLogTable(t *testing.T, r *Statements, o digest.Options) digest.Report {
	t.Helper()
	table, err := r.LogTable(t.Context(), "slow_log")
	must(t, err)
	b := digest.New(o)
	in := b.Live("a", "mysql.slow_log", r.Dialect())
	if table.IsWallClock() {
		in.WallClock(table.Now)
	}
	must(t, r.SlowLogRows(t.Context(), table, o.Since, o.Until, func(s *digest.Statement) error { in.Statement(s); return nil }))
	in.Close()
	return b.Digest().Report()
}

func counts(r digest.Report) map[string]uint64 {
	out := map[string]uint64{}
	for _, c := range r.Classes {
		out[c.Fingerprint] += c.Count
	}
	return out
}

// The table tells what the file tells: the same classes, counts, sums of times and rows, the same hour; in either engine.
func TestSlowLogTableIsAsTheFile(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := watchedServer(t, "a")
	for _, engine := range []string{"CSV", "MyISAM"} {
		file := filepath.Join(i.Datadir, engine+"-slow.log")
		i.Exec(t, "SET GLOBAL slow_query_log = 0", "TRUNCATE mysql.slow_log", "ALTER TABLE mysql.slow_log ENGINE = "+engine,
			"SET GLOBAL slow_query_log_file = '"+file+"'", "SET GLOBAL slow_query_log = 1")
		begin := time.Now().Add(-2 * time.Second)
		work(t, i)

		log, err := os.Open(file)
		must(t, err)
		b := digest.New(byApp(t))
		must(t, b.Read(file, log))
		must(t, log.Close())
		told, got := b.Digest().Report(), slowLogTable(t, statementsOf(t, s), byApp(t))

		if c := counts(got); !maps.Equal(c, asked) {
			t.Errorf("%s: counted %v, asked %v", engine, c, asked)
		}
		for _, c := range got.Classes {
			x := told.Classes[slices.IndexFunc(told.Classes, func(x digest.Class) bool { return x.ID32 == c.ID32 })]
			if c.Count != x.Count || math.Abs(c.QueryTime.Sum-x.QueryTime.Sum) > 1e-9 || math.Abs(c.LockTimeSum-x.LockTimeSum) > 1e-9 || c.QueryTime.P95 != x.QueryTime.P95 ||
				c.RowsExaminedSum != x.RowsExaminedSum || c.RowsSentSum != x.RowsSentSum || c.QueryBytesSum != x.QueryBytesSum {
				t.Errorf("%s: the table tells\n%+v\nthe file\n%+v", engine, c, x)
			}
			if c.FirstSeen.Before(begin) || c.LastSeen.After(time.Now().Add(time.Second)) {
				t.Errorf("%s: %s is said to have been asked from %s to %s; it was %s", engine, c.Fingerprint, c.FirstSeen, c.LastSeen, begin.UTC())
			}
			if len(c.DBs) != 1 || c.DBs[0].Name != "d" || c.Users[0].Name != "app" || len(c.Hosts) != 1 {
				t.Errorf("%s: %+v", engine, c)
			}
		}
		if zones := slices.ContainsFunc(got.Inputs[0].Notes, func(n digest.Remark) bool { return strings.Contains(n.Reason, "time_zone") }); zones != (engine == "CSV") {
			t.Errorf("%s: notes %+v", engine, got.Inputs[0].Notes)
		}
		o := byApp(t)
		if o.Since = time.Now().Add(time.Hour); slowLogTable(t, statementsOf(t, s), o).Events != 0 {
			t.Errorf("%s: statements of the next hour", engine)
		}
		if o.Since, o.Until = begin, time.Now().Add(time.Minute); slowLogTable(t, statementsOf(t, s), o).Events != got.Events {
			t.Errorf("%s: not all statements are between begin and end", engine)
		}
	}
}

// Nothing of what was read leaves a trace in what is read next: readings do not count themselves, or one another.
func TestReadingsDoNotCount(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := watchedServer(t, "a")
	read := func() {
		r := statementsOf(t, s)
		slowLogTable(t, r, digest.Options{})
		consumers, err := r.Schema(t.Context())
		must(t, err)
		_, err = r.Summary(t.Context())
		must(t, err)
		h, err := r.History(t.Context(), consumers)
		must(t, err)
		now, err := h.Tick(t.Context())
		must(t, err)
		if off := time.Since(now.At); off < -2*time.Second || off > 2*time.Second {
			t.Errorf("the server's clock is said to be at %s", now.At)
		}
		_, err = h.Poll(t.Context(), now, 0, 0, func(s *digest.Statement, _ bool) error {
			if strings.Contains(string(s.Query), "performance_schema") {
				t.Errorf("found %s", s.Query)
			}
			return nil
		})
		must(t, err)
		must(t, r.Close())
	}
	work(t, i)
	read()
	r := statementsOf(t, s)
	byStowage := slowLogTable(t, r, digest.Options{GroupBy: digest.ByUser})
	for _, c := range byStowage.Classes {
		if c.Fingerprint == "stowage" && c.Count > 8 { // those of watchedServer, and Exec's and Start's connections
			t.Errorf("%d statements of our own account", c.Count)
		}
	}
	if r.Own == 0 {
		t.Error("nothing was left out")
	}
	before, err := r.Summary(t.Context())
	must(t, err)
	read()
	after, err := r.Summary(t.Context())
	must(t, err)
	if before.Total() != after.Total() || after.Own <= before.Own {
		t.Errorf("a reading made %d statements into %d; own %d and %d", before.Total(), after.Total(), before.Own, after.Own)
	}
}

// sums digests a reading of the summary, those of a window where before is given.
func sums(r *Statements, o digest.Options, before, now SummaryReading) *digest.Digest {
	var w digest.Window
	w.Next(before.Classes)
	grown, _ := w.Next(now.Classes)
	b := digest.New(o)
	in := b.Live("a", "performance_schema", r.Dialect())
	for _, s := range grown {
		in.Sum(s, time.Time{}, time.Time{})
	}
	in.Skip("no room", now.Lost-before.Lost)
	in.Close()
	return b.Digest()
}

func TestSummaryCountsEveryStatement(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := watchedServer(t, "a")
	r := statementsOf(t, s)
	before, err := r.Summary(t.Context())
	must(t, err)
	work(t, i)
	f, err := digest.ParseFilter("db = d and (verb = select or verb = insert)")
	must(t, err)
	log := slowLogTable(t, r, byApp(t))
	var after SummaryReading
	var got digest.Report
	// A client has its answer before the server counts the statement.
	for until := time.Now().Add(10 * time.Second); got.Events < log.Events && time.Now().Before(until); {
		after, err = r.Summary(t.Context())
		must(t, err)
		got = sums(r, digest.Options{Filter: f}, before, after).Report()
	}

	// The server writes its normalised text in its own way: the classes are told by what they hold.
	byTable := map[string]uint64{}
	for _, c := range got.Classes {
		name := c.Fingerprint[:6] + " " + strings.Join(c.Tables, ",")
		if strings.Contains(c.Fingerprint, "count") {
			name = "count t"
		}
		byTable[name] = c.Count
		if q := c.QueryTime; q.Summed != c.Count || q.Sum <= 0 || !math.IsNaN(q.P95) || c.FirstSeen == nil || time.Since(*c.LastSeen) > time.Minute {
			t.Errorf("%+v", c)
		}
		if name == "select t" && (c.RowsSentSum != float64(c.Count) || c.Flags["full_scan"] != 0) || name == "count t" && c.Flags["full_scan"] != c.Count ||
			name == "select nosuch" && c.Flags["error"] != c.Count {
			t.Errorf("%+v", c)
		}
	}
	want := map[string]uint64{"select t": sessions * rounds, "insert w": sessions * rounds / 3, "count t": sessions * rounds / 5, "select nosuch": sessions * rounds / 10}
	if !maps.Equal(byTable, want) {
		t.Errorf("counted %v, asked %v", byTable, want)
	}
	// The slow log's clock starts later and stops earlier than performance_schema's.
	if got.Events != log.Events || got.QueryTimeSum < log.QueryTimeSum*0.9 {
		t.Errorf("%d events in %v s; the slow log has %d in %v s", got.Events, got.QueryTimeSum, log.Events, log.QueryTimeSum)
	}
	whole := sums(r, digest.Options{}, SummaryReading{}, after)
	if whole.Events() < got.Events || len(whole.Report().Inputs[0].Notes) == 0 {
		t.Errorf("%+v", whole.Report().Inputs)
	}
}

// What the table of sums has no room for is counted, not lost.
func TestSummaryWithoutRoomSaysHowMany(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := watchedServer(t, "a", "--performance-schema-digests-size=5")
	r := statementsOf(t, s)
	before, err := r.Summary(t.Context())
	must(t, err)
	work(t, i)
	after, err := r.Summary(t.Context())
	must(t, err)
	atLeast := asked["select v from t where id = ?"]
	if lost := after.Lost - before.Lost; lost < atLeast || len(after.Classes) > 5 {
		t.Errorf("%d statements in no class, %d classes; at least %d were asked", lost, len(after.Classes), atLeast)
	}
}

// sumsAtRest is the sums once they stand still: a server answers a statement before it counts it.
func sumsAtRest(t *testing.T, r *Statements) SummaryReading {
	t.Helper()
	last, err := r.Summary(t.Context())
	must(t, err)
	for same := 0; same < 3; {
		time.Sleep(20 * time.Millisecond)
		now, err := r.Summary(t.Context())
		must(t, err)
		if same++; now.Total() != last.Total() {
			same = 0
		}
		last = now
	}
	return last
}

// A ring that is read in time misses nothing; one that is too small misses exactly what the sums say.
func TestHistoryAndItsGapsAddUp(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, tt := range []struct {
		name, table string
		options     []string
		complete    bool
	}{
		{"long", "events_statements_history_long", nil, true},
		{"too small", "events_statements_history_long", []string{"--performance-schema-events-statements-history-long-size=40"}, false},
		{"of each thread", "events_statements_history", []string{"--performance-schema-consumer-events-statements-history-long=OFF", "--performance-schema-events-statements-history-size=500"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			i, s := watchedServer(t, "a", tt.options...)
			r := statementsOf(t, s)
			consumers, err := r.Schema(t.Context())
			must(t, err)
			h, err := r.History(t.Context(), consumers)
			must(t, err)
			if h.Table() != tt.table {
				t.Fatalf("reads %s", h.Table())
			}
			sumsAtRest(t, r)
			from, err := h.Tick(t.Context())
			must(t, err)
			before, err := r.Summary(t.Context())
			must(t, err)

			b := digest.New(byApp(t))
			in := b.Live("a", h.Table(), r.Dialect())
			var digested uint64
			fullest := 0.0
			poll := func(to uint64) {
				now, err := h.Tick(t.Context())
				must(t, err)
				fill, err := h.Poll(t.Context(), now, from.Timer, to, func(s *digest.Statement, is bool) error {
					in.Statement(s)
					if is {
						digested++
					}
					return nil
				})
				must(t, err)
				fullest = max(fullest, fill)
			}
			// Sessions of their own that stay: the ring of a thread goes with its session.
			ctx, stop := context.WithCancel(t.Context())
			var polling sync.WaitGroup
			polling.Go(func() {
				for tt.complete && ctx.Err() == nil {
					poll(0)
					time.Sleep(2 * time.Millisecond)
				}
			})
			stay := keepSessions(t, i)
			if tt.table == "events_statements_history" {
				stay(rounds)
			} else {
				work(t, i)
			}
			time.Sleep(20 * time.Millisecond)
			stop()
			polling.Wait()
			to, err := h.Tick(t.Context())
			must(t, err)
			after, err := r.Summary(t.Context())
			must(t, err)
			poll(to.Timer)
			in.Close()

			truth := after.Total() - before.Total()
			missing := truth - digested
			if tt.complete && (missing != 0 || truth < sessions*rounds) {
				t.Errorf("missed %d of %d statements, fill %v", missing, truth, fullest)
			}
			if !tt.complete && (digested > 40 || digested < 10 || fullest < 0.25 || truth < sessions*rounds) {
				t.Errorf("%d statements of %d from a ring of 40, fill %v", digested, truth, fullest)
			}
			got := b.Digest().Report()
			if tt.table == "events_statements_history_long" && tt.complete {
				if c := counts(got); !maps.Equal(c, asked) {
					t.Errorf("counted %v, asked %v", c, asked)
				}
				for _, c := range got.Classes {
					if c.QueryTime.Summed != 0 || math.IsNaN(c.QueryTime.P95) || c.DBs[0].Name != "d" || time.Since(*c.LastSeen) > time.Minute || c.LastSeen.After(time.Now().Add(time.Second)) {
						t.Errorf("%+v", c)
					}
				}
			}
		})
	}
}

// keepSessions opens sessions, and gives a function that asks something in each of them. They end with the test.
func keepSessions(t *testing.T, i *mariadbtest.Instance) func(rounds int) {
	t.Helper()
	db := i.DB(t, mariadbtest.App, "d")
	db.SetMaxOpenConns(1)
	return func(rounds int) {
		for n := range sessions * rounds {
			var v string
			must(t, db.QueryRowContext(t.Context(), fmt.Sprintf("SELECT v FROM t WHERE id = %d", n%100)).Scan(&v))
		}
	}
}

func TestMissingPrivilegesNameTheGrant(t *testing.T) {
	t.Parallel() // it mostly waits
	i, _ := watchedServer(t, "a")
	i.Exec(t, "CREATE USER poor@'%' IDENTIFIED BY 'p'")
	poor := mysql.Open("a", i.Address, mysql.Account{User: "poor", Password: "p"}, quiet)
	defer poor.Close()
	r := statementsOf(t, poor)
	says := func(what string, err error, grant string) {
		t.Helper()
		if !errors.Is(err, farm.ErrInput) || farm.Hint(err) != grant {
			t.Errorf("%s: %v, hint %q; want %q", what, err, farm.Hint(err), grant)
		}
	}
	_, err := r.LogTable(t.Context(), "slow_log")
	says("slow log", err, "GRANT SELECT ON mysql.slow_log TO 'poor'@'%'")
	_, err = r.LogTable(t.Context(), "general_log")
	says("general log", err, "GRANT SELECT ON mysql.general_log TO 'poor'@'%'")
	_, err = r.Summary(t.Context())
	says("sums", err, "GRANT SELECT ON performance_schema.* TO 'poor'@'%'")

	// What the messages ask for is enough.
	i.Exec(t, "GRANT SELECT ON mysql.slow_log TO poor@'%'", "GRANT SELECT ON performance_schema.* TO poor@'%'")
	work(t, i)
	r = statementsOf(t, poor)
	if got := slowLogTable(t, r, byApp(t)); !maps.Equal(counts(got), asked) {
		t.Errorf("%v", counts(got))
	}
	consumers, err := r.Schema(t.Context())
	must(t, err)
	h, err := r.History(t.Context(), consumers)
	must(t, err)
	_, err = h.Tick(t.Context())
	must(t, err)
	if reading, err := r.Summary(t.Context()); err != nil || reading.Total() == 0 {
		t.Errorf("%d statements, %v", reading.Total(), err)
	}
}

func TestSchemaThatIsOffSaysWhatToDo(t *testing.T) {
	t.Parallel()            // it mostly waits
	i, s := start(t, "off") // lean servers have it off
	_, err := statementsOf(t, s).Schema(t.Context())
	if !errors.Is(err, farm.ErrInput) || !strings.Contains(farm.Hint(err), "performance_schema=ON") || !strings.Contains(farm.Hint(err), "--from slow_log") {
		t.Errorf("%v, hint %q", err, farm.Hint(err))
	}
	r := statementsOf(t, s)
	if table, err := r.LogTable(t.Context(), "slow_log"); err != nil || table.IsWritten || table.Why != "log_output is FILE" || table.Engine != "CSV" {
		t.Errorf("%+v, %v", table, err)
	}
	i.SetOptions("--performance-schema=ON", "--performance-schema-consumer-statements-digest=OFF")
	i.Restart(t)
	if _, err := statementsOf(t, s).Schema(t.Context()); err == nil || !strings.Contains(farm.Hint(err), "statements_digest") {
		t.Errorf("without digests: %v", err)
	}
	i.SetOptions("--performance-schema-consumer-statements-digest=ON")
	i.Restart(t)
	r = statementsOf(t, s)
	consumers, err := r.Schema(t.Context())
	must(t, err)
	if _, err := r.History(t.Context(), consumers); !errors.Is(err, ErrNoHistory) || !strings.Contains(err.Error(), "events_statements_current") {
		t.Errorf("as MariaDB comes: %v", err)
	}
}

func TestGeneralLogTable(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := watchedServer(t, "a")
	work(t, i)
	r := statementsOf(t, s)
	table, err := r.LogTable(t.Context(), "general_log")
	must(t, err)
	b := digest.New(byApp(t))
	in := b.Live("a", "mysql.general_log", r.Dialect())
	must(t, r.GeneralLogRows(t.Context(), table, time.Time{}, time.Time{}, func(c *digest.Command) error { in.Command(c); return nil }))
	in.Close()
	got := b.Digest().Report()
	if c := counts(got); !maps.Equal(c, asked) || got.Classes[0].Untimed != got.Classes[0].Count {
		t.Errorf("counted %v, asked %v", c, asked)
	}
	if r.Own < 3 {
		t.Errorf("%d statements of our own left out", r.Own)
	}
}

func TestTimeOfDay(t *testing.T) {
	t.Parallel() // it mostly waits
	for text, want := range map[string]time.Duration{
		"00:00:01.200186": 1200186 * time.Microsecond, "838:59:59.999999": 838*time.Hour + 59*time.Minute + 59999999*time.Microsecond,
		"00:00:03": 3 * time.Second, "": 0, "x:y:z": 0,
	} {
		if got := timeOfDay([]byte(text)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
