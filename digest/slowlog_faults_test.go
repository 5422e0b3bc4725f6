package digest

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

// The faults of the reference, one test each, numbered as in the research note. Every log here is our own.

func readLog(t *testing.T, log string) Report {
	t.Helper()
	b := New(Options{})
	if err := b.ReadSlowLog("log", strings.NewReader(log)); err != nil {
		t.Fatal(err)
	}
	return b.Digest().Report()
}

// want checks the classes of a report: "count fingerprint" lines, in the order of the report.
func want(t *testing.T, r Report, lines ...string) {
	t.Helper()
	var got []string
	for _, c := range r.Classes {
		got = append(got, fmt.Sprintf("%d %s", c.Count, c.Fingerprint))
	}
	if g, w := strings.Join(got, "\n"), strings.Join(lines, "\n"); g != w {
		t.Errorf("classes:\n%s\nwant:\n%s", g, w)
	}
}

// event is one event as MariaDB writes it.
func logged(micros int, query string) string {
	return fmt.Sprintf("# User@Host: app[app] @ web1 [10.0.0.7]\n# Thread_id: 9  Schema: shop  QC_hit: No\n"+
		"# Query_time: %d.%06d  Lock_time: 0.000007  Rows_sent: 1  Rows_examined: 2\n# Rows_affected: 0  Bytes_sent: 197\n"+
		"SET timestamp=1795297544;\n%s;\n", micros/1000000, micros%1000000, query)
}

const banner = "/usr/sbin/mariadbd, Version: 10.11.19-MariaDB-log (Debian 12). started with:\n" +
	"Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\nTime\t\t    Id Command\tArgument\n"

func TestB1WindowsLineEnds(t *testing.T) {
	log := strings.ReplaceAll(banner+logged(30, "SELECT a\nFROM t WHERE id=1")+logged(20, "COMMIT"), "\n", "\r\n")
	r := readLog(t, log)
	want(t, r, "1 select a from t where id=?", "1 commit")
	if r.Inputs[0].Dialect == "unknown server" || len(r.Inputs[0].Skipped) != 0 {
		t.Errorf("input %+v", r.Inputs[0])
	}
}

const forged = ";\n# Time: 251121 21:00:00\n# User@Host: root[root] @ localhost []\n" +
	"# Query_time: 99.000000  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 1\nSET timestamp=1795297544;\nDROP TABLE money;\n"

func TestB2ForgedEventInsideALiteral(t *testing.T) {
	for name, query := range map[string]string{
		"single quotes":   "SELECT 'x" + forged + "'",
		"double quotes":   `SELECT "x` + forged + `"`,
		"backticks":       "SELECT `x" + forged + "`",
		"comment":         "SELECT 1 /* x" + forged + "*/",
		"escaped quote":   `SELECT 'it\'s` + forged + "'",
		"doubled quote":   "SELECT 'it''s" + forged + "'",
		"balanced halves": "SELECT 'x" + strings.Replace(forged, "money", "`money`", 1) + "SELECT ', 'y'",
	} {
		t.Run(name, func(t *testing.T) {
			r := readLog(t, logged(30, query)+logged(20, "COMMIT"))
			if r.Events != 2 || math.Abs(r.QueryTimeSum-0.00005) > 1e-9 {
				t.Errorf("%d events, %v s; the forged event was believed: %+v", r.Events, r.QueryTimeSum, r.Classes)
			}
			if notes := r.Inputs[0].Notes; len(notes) != 1 || !strings.Contains(notes[0].Reason, "literal") {
				t.Errorf("no note of the forgery: %+v", notes)
			}
		})
	}
}

// The other side of the same coin: a literal without an end must not swallow the events behind it.
func TestB2LiteralNeverClosed(t *testing.T) {
	log := logged(30, "SELEC broken 'abc") + strings.Repeat(logged(20, "COMMIT"), 10)
	r := readLog(t, log)
	want(t, r, "10 commit", "1 selec broken 'abc")
	// With more behind it than is looked at, the same.
	r = readLog(t, logged(30, "SELEC broken 'abc")+strings.Repeat(logged(20, "COMMIT"), 20000))
	want(t, r, "20000 commit", "1 selec broken 'abc")
}

func TestB3BannerInMidFile(t *testing.T) {
	r := readLog(t, banner+logged(30, "COMMIT")+banner+logged(20, "COMMIT")+"\n"+banner)
	want(t, r, "2 commit")
	if len(r.Inputs[0].Skipped)+len(r.Inputs[0].Notes) != 0 {
		t.Errorf("input %+v", r.Inputs[0])
	}
	// A server that died in the middle of a statement and came back.
	for _, cut := range []string{"SELECT a FROM", "SELECT 'never closed"} {
		half := logged(30, cut)
		half = strings.TrimSuffix(half, ";\n")
		r = readLog(t, half+banner+logged(20, "COMMIT"))
		if r.Events != 2 || len(r.Classes) != 2 || len(r.Inputs[0].Notes) != 1 {
			t.Errorf("%q: %d events, classes %+v, notes %+v", cut, r.Events, r.Classes, r.Inputs[0].Notes)
		}
		r = readLog(t, half+"\n"+banner+logged(20, "COMMIT"))
		if r.Events != 2 || len(r.Classes) != 2 || len(r.Inputs[0].Notes) != 1 {
			t.Errorf("%q and a line end: %d events, classes %+v, notes %+v", cut, r.Events, r.Classes, r.Inputs[0].Notes)
		}
	}
}

func TestB4StatementIsUseOrSet(t *testing.T) {
	r := readLog(t, logged(30, "use shop")+logged(20, "SET timestamp=5")+logged(10, "COMMIT"))
	want(t, r, "1 use ?", "1 set timestamp=?", "1 commit")
	// Servers before 5.1 write no SET line of their own.
	old := "# User@Host: a[a] @ h []\n# Query_time: 1  Lock_time: 0  Rows_sent: 0  Rows_examined: 0\nuse shop;\n" +
		"# User@Host: a[a] @ h []\n# Query_time: 2  Lock_time: 0  Rows_sent: 0  Rows_examined: 0\nSELECT 1;\n"
	want(t, readLog(t, old), "1 select ?", "1 use ?")
}

func TestB5AttributeFirstSeenLate(t *testing.T) {
	plain := strings.ReplaceAll(logged(20, "COMMIT"), "# Rows_affected: 0  Bytes_sent: 197\n", "")
	log := strings.Repeat(plain, 2000) + strings.ReplaceAll(logged(20, "COMMIT"), "Bytes_sent: 197", "Bytes_sent: 5  Full_scan: Yes")
	r := readLog(t, log)
	if c := r.Classes[0]; c.BytesSentSum != 5 || c.Flags["full_scan"] != 1 {
		t.Errorf("attributes that come late are lost: %+v", c)
	}
}

func TestB6FirstValueDecidesNothing(t *testing.T) {
	unknown := strings.ReplaceAll(logged(20, "COMMIT"), "Rows_sent: 1", "Rows_sent: -1")
	r := readLog(t, unknown+logged(20, "COMMIT"))
	if c := r.Classes[0]; c.Count != 2 || c.RowsSentSum != 1 {
		t.Errorf("-1 for unknown: %+v", c)
	}
	broken := strings.ReplaceAll(logged(20, "COMMIT"), "Query_time: 0.000020", "Query_time: abc")
	r = readLog(t, broken+logged(20, "COMMIT"))
	c := r.Classes[0]
	if c.Count != 2 || c.Untimed != 1 || c.QueryTime.Min != 0.00002 || len(r.Inputs[0].Notes) == 0 {
		t.Errorf("a broken time first: %+v, notes %+v", c, r.Inputs[0].Notes)
	}
}

func TestB7QuantilesWithinMinAndMax(t *testing.T) {
	r := readLog(t, strings.Repeat(logged(7, "COMMIT"), 3))
	if q := r.Classes[0].QueryTime; q.Avg != 7e-6 || q.P50 != 7e-6 || q.P95 != 7e-6 || q.P99 != 7e-6 || q.Min != 7e-6 {
		t.Errorf("three events of 7 microseconds: %+v", q)
	}
}

func TestB8LastLineWithoutItsEnd(t *testing.T) {
	log := logged(30, "COMMIT") + logged(20, "COMMIT")
	for _, cut := range []string{"\n", ";\n"} {
		want(t, readLog(t, strings.TrimSuffix(log, cut)), "2 commit")
	}
	r := readLog(t, strings.TrimSuffix(log, ";\n"))
	if len(r.Inputs[0].Notes) != 1 {
		t.Errorf("nothing says that the last statement is cut off: %+v", r.Inputs[0])
	}
}

func TestB9CountsAreDecimal(t *testing.T) {
	if got := count(489820); got != "489,820" {
		t.Errorf("count is written as %s", got)
	}
	if got := bytesText(1000); got != "1.00 kB" {
		t.Errorf("a thousand bytes are written as %s", got)
	}
}

func TestB10EngineTimeIsMilliseconds(t *testing.T) {
	log := strings.ReplaceAll(logged(20, "COMMIT"), "# Rows_aff", "# Pages_read_time: 0.0000  Engine_time: 12.5000\n# Rows_aff")
	if c := readLog(t, log).Classes[0]; c.EngineTimeSum != 0.0125 {
		t.Errorf("12.5 ms read as %v s", c.EngineTimeSum)
	}
	odd := strings.ReplaceAll(log, "Engine_time: 12.5000", "Engine_time: 12.5") // the long way
	if c := readLog(t, odd).Classes[0]; c.EngineTimeSum != 0.0125 {
		t.Errorf("12.5 ms read as %v s", c.EngineTimeSum)
	}
}

// extra is an event as MySQL 8.0.14 and later write it with log_slow_extra.
func extra(i int) string {
	at := fmt.Sprintf("2026-11-21T20:%02d:%02d.123456Z", i/60%60, i%60)
	return fmt.Sprintf("# Time: %s\n# User@Host: app[app] @ web1 [10.0.0.7]  Id: %5d\n"+
		"# Query_time: 0.000345  Lock_time: 0.000002 Rows_sent: 1  Rows_examined: 2 Thread_id: %d Errno: 0 Killed: 0 Bytes_received: 0 "+
		"Bytes_sent: 57 Read_first: 0 Read_last: 0 Read_key: 0 Start: %s End: %s\nSET timestamp=1795297544;\nSELECT %d;\n", at, i, i, at, at, i)
}

func TestB11MemoryDoesNotGrowWithStartAndEnd(t *testing.T) {
	r := readLog(t, extra(1)+extra(2))
	want(t, r, "2 select ?")
	if c := r.Classes[0]; c.BytesSentSum != 114 || c.RowsExaminedSum != 4 || c.Users[0].Name != "app" || c.Hosts[0].Name != "web1" {
		t.Errorf("class %+v", c)
	}
	if r.FirstSeen.Format("15:04:05.000000") != "20:00:01.123456" || !strings.Contains(r.Inputs[0].Dialect, "log_slow_extra") {
		t.Errorf("first seen %v in a log of %s", r.FirstSeen, r.Inputs[0].Dialect)
	}
	b := New(Options{})
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	feed := func(n int) {
		var log bytes.Buffer
		for i := range n {
			log.WriteString(extra(i))
		}
		if err := b.ReadSlowLog("log", &log); err != nil {
			t.Fatal(err)
		}
	}
	feed(2000)
	before := heap()
	feed(20000)
	if grown := int64(heap()) - int64(before); grown > 1<<20 {
		t.Errorf("20,000 more events of one class took %d bytes more", grown)
	}
	runtime.KeepAlive(b)
}

func TestB12AttributeLineWithoutItsHash(t *testing.T) {
	log := strings.ReplaceAll(logged(20, "COMMIT"), "SET timestamp", "  Tmp_tables: 1  Tmp_disk_tables: 0  Tmp_table_sizes: 16384\nSET timestamp")
	want(t, readLog(t, log+logged(20, "COMMIT")), "2 commit")
}

func TestB15DatabaseStaysWithItsOwn(t *testing.T) {
	a := strings.ReplaceAll(logged(20, "COMMIT"), "Schema: shop", "Schema: shop")
	none := strings.ReplaceAll(logged(20, "BEGIN"), "Schema: shop", "Schema: ")
	r := readLog(t, strings.ReplaceAll(a, "SET timestamp", "use shop;\nSET timestamp")+none)
	for _, c := range r.Classes {
		if c.Fingerprint == "begin" && len(c.DBs) != 0 {
			t.Errorf("a connection without a database was given %+v", c.DBs)
		}
	}
}

// B13 (UTF-16) and B16 (sequence numbers of a capture) stand with their readers; B14: an empty input is a report too.
func TestB14NoEventsIsAReport(t *testing.T) {
	r := readLog(t, "")
	if r.Classes == nil || r.Events != 0 || len(r.Inputs) != 1 || r.Inputs[0].Skipped == nil {
		t.Errorf("report of nothing: %+v", r)
	}
}

func TestSlowLogInSmallPieces(t *testing.T) {
	log := banner + logged(30, "SELECT 'x"+forged+"'") + logged(20, "COMMIT") + banner + logged(20, "UPDATE t\nSET a=1\nWHERE b='\\''") + extra(1)
	whole := readLog(t, log)
	b := New(Options{})
	if err := b.ReadSlowLog("log", iotest.OneByteReader(strings.NewReader(log))); err != nil {
		t.Fatal(err)
	}
	if a, b := fmt.Sprintf("%+v", whole.Classes), fmt.Sprintf("%+v", b.Digest().Report().Classes); len(a) != len(b) {
		t.Errorf("read byte by byte:\n%s\nat once:\n%s", b, a)
	}
	b = New(Options{})
	if err := b.ReadSlowLog("log", iotest.TimeoutReader(strings.NewReader(strings.Repeat(log, 2000)))); err == nil {
		t.Error("a read error is not reported")
	} else if d := b.Digest(); d.Events() < 100 {
		t.Errorf("%d events kept of what was read before the error", d.Events())
	}
}

func TestHugeStatement(t *testing.T) {
	b := New(Options{MaxStatement: 1 << 20})
	huge := "INSERT INTO blobs VALUES ('" + strings.Repeat("0123456789abcde\n", 1<<19) + "')" // 8 MiB
	log := logged(10, "BEGIN") + logged(50, huge) + logged(20, "COMMIT") + logged(60, "SELECT '"+strings.Repeat("x", 8<<20)+forged+"'") + logged(20, "COMMIT")
	if err := b.ReadSlowLog("log", strings.NewReader(log)); err != nil {
		t.Fatal(err)
	}
	r := b.Digest().Report()
	if r.Events != 5 || len(r.Inputs[0].Skipped) != 0 || r.Inputs[0].Bytes != int64(len(log)) {
		t.Errorf("%d events of 5; input %+v", r.Events, r.Inputs[0])
	}
	if math.Abs(r.QueryTimeSum-0.00016) > 1e-9 {
		t.Errorf("query time %v", r.QueryTimeSum)
	}
}

func TestSessionClockIsNotBelieved(t *testing.T) {
	log := "# Time: 261121 21:45:44\n" + logged(20, "BEGIN") +
		"# Time: 700101  0:00:05\n" + strings.ReplaceAll(logged(20, "SET TIMESTAMP=5"), "1795297544", "5") +
		strings.ReplaceAll(logged(20, "INSERT INTO t VALUES (1)"), "1795297544", "5") +
		strings.ReplaceAll(logged(20, "SET timestamp=DEFAULT"), "1795297544", "5") + "# Time: 261121 21:45:44\n" + logged(20, "COMMIT")
	r := readLog(t, log)
	if y := r.FirstSeen.Year(); y != 2026 || r.Events != 5 {
		t.Errorf("%d events, the first in %d", r.Events, y)
	}
}

func TestZoneOfOldStampsIsLearned(t *testing.T) {
	// 21:45:44 in a zone one hour ahead; the second event has no SET timestamp of its own.
	log := "# Time: 261121 22:45:44\n" + logged(20, "BEGIN") + strings.ReplaceAll(logged(20, "COMMIT"), "SET timestamp=1795297544;\n", "")
	r := readLog(t, log)
	if !r.FirstSeen.Equal(*r.LastSeen) || r.FirstSeen.Format("15:04:05") != "21:45:44" {
		t.Errorf("seen from %v to %v", r.FirstSeen, r.LastSeen)
	}
}

func TestWhatIsNoSlowLog(t *testing.T) {
	r := readLog(t, "hello\nworld\n\n"+logged(20, "COMMIT")+"# User@Host: truncated")
	want(t, r, "1 commit")
	s := r.Inputs[0].Skipped
	if len(s) != 2 || s[1].Reason != "text outside of any event" || s[1].FirstOffset != 0 || s[0].Bytes != int64(len("# User@Host: truncated")) {
		t.Errorf("skipped %+v", s)
	}
}

// A log that logrotate truncated while the server went on writing at its old place begins with a hole as long as the old log.
func TestLogBehindALongHole(t *testing.T) {
	for _, n := range []int{sniffSize - 1, sniffSize, 3*sniffSize + 7, 2 << 20} {
		log := append(make([]byte, n), banner[strings.Index(banner, "\n")+1:]+logged(30, "SELECT 1")+logged(20, "COMMIT")...)
		log = append(log, make([]byte, n)...)
		r := read(t, Options{Workers: 2}, log)
		if in := r.Inputs[0]; r.Events != 2 || in.Type != "slowlog" || len(in.Skipped) != 1 || in.Skipped[0].Bytes != int64(2*n) || in.Skipped[0].Count != 2 || in.Bytes != int64(len(log)) {
			t.Errorf("%d zero bytes: %d events, %+v", n, r.Events, in)
		}
	}
	b := New(Options{})
	if err := b.Read("other", bytes.NewReader(append(make([]byte, sniffSize), "\x7fELF\x01\x02\x03\x04"...))); err == nil {
		t.Error("a program behind a hole passes for a log")
	}
}

// A statement in one line that is longer than any window was skipped, with its time, where no SET timestamp stood in front of it.
func TestAStatementLongerThanTheWindowCounts(t *testing.T) {
	for _, set := range []string{"", "SET timestamp=1764000000;\n"} {
		big := "# Time: 2025-11-24T16:00:00.000000Z\n# User@Host: a[a] @ h []\n# Query_time: 0.5  Lock_time: 0  Rows_sent: 1  Rows_examined: 1\n" + set +
			"select '" + strings.Repeat("x", 8<<20) + "' from t;\n"
		b := New(Options{MaxStatement: 64 << 10})
		if err := b.ReadSlowLog("log", strings.NewReader(big+logged(20, "COMMIT"))); err != nil {
			t.Fatal(err)
		}
		r := b.Digest().Report()
		if r.Events != 2 || r.QueryTime.Max != 0.5 || len(r.Inputs[0].Skipped) > 0 || r.ClassCount != 2 {
			t.Errorf("set %q: %d events, the longest took %v s: %+v", set, r.Events, r.QueryTime.Max, r.Inputs)
		}
	}
}
