package digest

import (
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
