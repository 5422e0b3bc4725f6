package digest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// wallRow is a row of a CSV slow log: when its statement ended in truth, and how far the clock of its session was off.
type wallRow struct{ end, off time.Duration }

// through takes rows through a Live with the wall clock of a server, one statement of a second each, and gives back the
// ends that were counted, and the notes.
func through(t *testing.T, now time.Duration, rows ...wallRow) ([]time.Duration, []Remark) {
	t.Helper()
	begin := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	b := New(Options{})
	var ends []time.Duration
	b.sink = func(e *event) {
		ends = append(ends, time.UnixMicro(e.at).Sub(begin)+time.Duration(e.queryTime.lo))
		if string(e.text) != fmt.Sprint(len(ends)-1) {
			t.Errorf("statement %s comes as number %d", e.text, len(ends)-1)
		}
	}
	in := b.Live("db1", "mysql.slow_log", "")
	in.WallClock(begin.Add(now))
	buffer := make([]byte, 0, 16) // as a driver does: one buffer for all rows
	for i, r := range rows {
		buffer = fmt.Append(buffer[:0], i)
		in.Statement(&Statement{Query: buffer, At: begin.Add(r.end + r.off - time.Second), Time: time.Second, Timed: true})
	}
	in.Close()
	return ends, b.d.Report().Inputs[0].Notes
}

func TestWallClockPutsSessionsWithTheirOwnZoneRight(t *testing.T) {
	const m, h = time.Minute, time.Hour
	row := func(end time.Duration) wallRow { return wallRow{end, 0} }
	for _, tt := range []struct {
		name  string
		rows  []wallRow
		wrong int // rows whose end is not what it was in truth
		notes string
	}{
		{"one zone", []wallRow{row(0), row(m), row(m), row(2 * m)}, 0, ""},
		{"ahead", []wallRow{row(0), {m, 14 * h}, {m + 1, 14 * h}, row(m + 2)}, 0, noteOtherZone},
		{"behind", []wallRow{row(0), {m, -7*h - 30*m}, row(m + 2)}, 0, noteOtherZone},
		{"by turns", []wallRow{row(0), {1, 9 * h}, row(2), {3, 9 * h}, row(4), {5, -5 * h}, row(6)}, 0, noteOtherZone},
		{"at the end, later than now", []wallRow{row(0), row(m), {m + 1, 9 * h}}, 0, noteOtherZone},
		{"a clock of its own", []wallRow{row(0), {0, -20 * 365 * 24 * h}, row(0)}, 0, noteOwnTime},
		{"idle", []wallRow{row(0), row(3 * h), row(3*h + m), row(9 * h)}, 0, ""},
		{"idle, then another zone", []wallRow{row(0), row(3 * h), row(3*h + m), {3*h + m, 14 * h}, row(3*h + m)}, 0, noteOtherZone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var now time.Duration
			for _, r := range tt.rows {
				now = max(now, r.end)
			}
			ends, notes := through(t, now, tt.rows...)
			if len(ends) != len(tt.rows) {
				t.Fatalf("%d of %d rows", len(ends), len(tt.rows))
			}
			for i, end := range ends {
				if off := end - tt.rows[i].end; off < -2*m || off > 2*m {
					t.Errorf("row %d ended at %s, counted as %s", i, tt.rows[i].end, end)
				}
			}
			if len(notes) > 0 != (tt.notes != "") || len(notes) > 0 && notes[0].Reason != tt.notes {
				t.Errorf("notes %+v", notes)
			}
		})
	}
}

// A log with a statement a day is all jumps, and they are all believed; none is lost.
func TestWallClockKeepsSparseLogs(t *testing.T) {
	var rows []wallRow
	for i := range 3000 {
		rows = append(rows, wallRow{time.Duration(i) * 24 * time.Hour, 0})
	}
	ends, notes := through(t, 3000*24*time.Hour, rows...)
	if len(ends) != 3000 || ends[2999] != rows[2999].end || len(notes) != 0 {
		t.Errorf("%d rows, notes %+v", len(ends), notes)
	}
}

// A general log counts the same from its file and from its table.
func TestGeneralLogTableIsAsTheFile(t *testing.T) {
	file := New(Options{})
	err := file.Read("general.log", strings.NewReader(`2026-11-21T10:00:00.000000Z	    7 Connect	app@web1 on shop using TCP/IP
2026-11-21T10:00:01.000000Z	    7 Query	select * from t where id = 5
2026-11-21T10:00:02.000000Z	    7 Init DB	other
2026-11-21T10:00:03.000000Z	    7 Query	select * from t where id = 6
2026-11-21T10:00:04.000000Z	    7 Quit	
`))
	if err != nil {
		t.Fatal(err)
	}
	table := New(Options{})
	in := table.Live("db1", "mysql.general_log", "")
	for i, c := range [][2]string{{"Connect", "app@web1 on shop using TCP/IP"}, {"Query", "select * from t where id = 5"}, {"Init DB", "other"}, {"Query", "select * from t where id = 6"}, {"Quit", ""}} {
		user := "app[app] @ web1 []"
		if i == 0 {
			user = "[app] @ web1 []" // as servers write it
		}
		in.Command(&Command{At: time.Date(2026, 11, 21, 10, 0, i, 0, time.UTC), Thread: 7, UserHost: user, Name: c[0], Argument: []byte(c[1])})
	}
	in.Skip("nothing", 0)
	in.Close()
	if in.Events() != 5 { // people are told how many rows were read, after the end: "0 rows of mysql.general_log"
		t.Errorf("%d events behind the end", in.Events())
	}
	a, b := file.Digest().Report(), table.Digest().Report()
	if len(a.Classes) != 4 || b.Inputs[0].Events != 5 || b.Inputs[0].Name != "db1" {
		t.Errorf("%d classes, input %+v", len(a.Classes), b.Inputs)
	}
	if x, y := fmt.Sprintf("%+v", a.Classes), fmt.Sprintf("%+v", b.Classes); stripPointers(x) != stripPointers(y) {
		t.Errorf("from the file\n%s\nfrom the table\n%s", x, y)
	}
}

// stripPointers takes the addresses of times out of a printed report.
func stripPointers(s string) string {
	var out []string
	for _, w := range strings.Fields(s) {
		if !strings.Contains(w, "0x") {
			out = append(out, w)
		}
	}
	return strings.Join(out, " ")
}
