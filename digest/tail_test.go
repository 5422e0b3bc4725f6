package digest

import (
	"fmt"
	"strings"
	"testing"
)

// A log that is read while it grows, however it is cut, counts what it counts at the end.
func TestTailCountsWhatTheWholeLogHolds(t *testing.T) {
	log := banner + strings.Repeat(logged(30, "SELECT a\nFROM t WHERE id = 1;\n# User@Host: x")+logged(10, "COMMIT"), 200)
	want := read(t, Options{}, []byte(log))
	for _, step := range []int{7, 100, 4096, len(log)} {
		tail := NewTail("log", Options{})
		for at := 0; at < len(log); at += step {
			if err := tail.Add([]byte(log[at:min(len(log), at+step)])); err != nil {
				t.Fatal(err)
			}
		}
		waiting := tail.Digest().Events()
		if err := tail.Flush(); err != nil {
			t.Fatal(err)
		}
		got := tail.Digest().Report()
		if got.Events != want.Events || got.ClassCount != want.ClassCount || got.QueryTimeSum != want.QueryTimeSum || waiting >= got.Events || len(got.Inputs) != 1 || got.Inputs[0].Bytes != int64(len(log)) {
			t.Errorf("in steps of %d: %d events (%d before the end) in %d classes, want %d in %d; %+v", step, got.Events, waiting, got.ClassCount, want.Events, want.ClassCount, got.Inputs)
		}
	}
}

// A server writes use when the database changes. What was read at another time lost its database, and its notes.
func TestTailRemembersWhatLinesBeforeSaid(t *testing.T) {
	event := func(at int) string {
		return fmt.Sprintf("# User@Host: a[a] @ h []  Id: 9\n# Query_time: 0.5  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1\nSET timestamp=%d;\nCOMMIT;\n", at)
	}
	log := strings.Replace(event(1), "SET", "use shop;\nSET", 1) + event(2) + event(3) +
		strings.Replace(event(4), "0.5", "abc", 1) + strings.Replace(event(5), "0.5", "abc", 1) + event(6)
	want := read(t, Options{}, []byte(log))
	tail := NewTail("log", Options{})
	for at := range len(log) {
		if err := tail.Add([]byte{log[at]}); err != nil {
			t.Fatal(err)
		}
	}
	if err := tail.Flush(); err != nil {
		t.Fatal(err)
	}
	got := tail.Digest().Report()
	if d := got.Classes[0].DBs; len(d) != 1 || d[0].Count != want.Classes[0].DBs[0].Count {
		t.Errorf("databases %+v, want %+v", d, want.Classes[0].DBs)
	}
	if fmt.Sprintf("%+v", got.Inputs[0].Notes) != fmt.Sprintf("%+v", want.Inputs[0].Notes) || len(want.Inputs[0].Notes) == 0 {
		t.Errorf("notes %+v, want %+v", got.Inputs[0].Notes, want.Inputs[0].Notes)
	}
}
