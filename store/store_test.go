package store_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/store"
)

func open(t testing.TB, path string) *store.Store {
	t.Helper()
	s, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "store #1?.db") } // also a name that is not a URL

var noon = time.Date(2021, 6, 1, 12, 0, 0, 0, time.UTC)

func texts(events []farm.Event) []string {
	var out []string
	for _, e := range events {
		out = append(out, e.Text)
	}
	return out
}

// numbered are events with the texts "prefix 0" to "prefix n-1".
func numbered(run, prefix string, n int) []farm.Event {
	var out []farm.Event
	for i := range n {
		out = append(out, farm.Event{Run: run, Kind: farm.StepProgress, Text: fmt.Sprintf("%s %d", prefix, i)})
	}
	return out
}

// TestEventsOfTwoHandles: one writes, the other reads on from where it was, in
// order, and sees nothing of other runs.
func TestEventsOfTwoHandles(t *testing.T) {
	path := newPath(t)
	writer, reader := open(t, path), open(t, path)
	all := numbered("one", "e", 50)
	all[3] = farm.Event{Time: noon.Add(time.Nanosecond), Run: "one", Pair: "p", Side: farm.B, Step: "seed", Phase: "copy", Kind: farm.GateOpened,
		Text: "ünï \"quoted\"\n", Bytes: 1 << 60, Total: 1<<63 - 1, Millis: 0.1}
	var got []farm.Event
	var last int64
	for i := 0; i < len(all); i += 10 {
		r := writer.Record()
		for _, e := range all[i : i+10] {
			r.Add(e)
			r.Add(farm.Event{Run: "two", Text: "other"})
		}
		must(t, r.Close())
		next, at, err := reader.Events("one", last)
		must(t, err)
		if at <= last {
			t.Errorf("the last event has id %d after %d", at, last)
		}
		got, last = append(got, next...), at
	}
	if !slices.Equal(got, all) {
		t.Errorf("read %v\nwant %v", got, all)
	}
	none, at, err := reader.Events("one", last)
	if err != nil || len(none) != 0 || at != last {
		t.Errorf("nothing new: %v, %d, %v", none, at, err)
	}
	none, _, err = reader.Events("three", 0)
	if err != nil || len(none) != 0 {
		t.Errorf("a run that is not there: %v, %v", none, err)
	}
}

func TestRecorderCloseWritesEverything(t *testing.T) {
	s := open(t, newPath(t))
	r := s.Record()
	done := make(chan struct{})
	const writers, each = 4, 500
	for w := range writers {
		go func() {
			for _, e := range numbered("run", fmt.Sprint("writer ", w), each) {
				r.Add(e)
			}
			done <- struct{}{}
		}()
	}
	for range writers {
		<-done
	}
	must(t, r.Close())
	r.Add(farm.Event{Run: "run", Text: "too late"}) // a straggler
	must(t, r.Close())                              // again is no harm
	events, _, err := s.Events("run", 0)
	must(t, err)
	if len(events) != writers*each {
		t.Fatalf("%d events are there, %d were added", len(events), writers*each)
	}
	for w := range writers { // each writer's events are in its order
		var mine []string
		for _, text := range texts(events) {
			if strings.HasPrefix(text, fmt.Sprint("writer ", w)) {
				mine = append(mine, text)
			}
		}
		if !slices.Equal(mine, texts(numbered("run", fmt.Sprint("writer ", w), each))) {
			t.Errorf("events of writer %d are out of order: %v", w, mine)
		}
	}
}

func TestRecorderReportsAFailedWrite(t *testing.T) {
	s := open(t, newPath(t))
	r := s.Record()
	must(t, s.Close())
	r.Add(farm.Event{Run: "run"})
	if err := r.Close(); err == nil || !strings.Contains(err.Error(), "append events") {
		t.Errorf("error %v, want that events were not written", err)
	}
}

// appender is set in the environment of a copy of this test program that
// appends events to the store it names.
const appender = "STOWAGE_TEST_APPENDER"

func TestMain(m *testing.M) {
	if path := os.Getenv(appender); path != "" {
		os.Exit(appendEvents(path))
	}
	os.Exit(m.Run())
}

func appendEvents(path string) int {
	s, err := store.Open(path)
	if err == nil {
		r := s.Record()
		for _, e := range numbered("run", fmt.Sprint("process ", os.Getppid(), os.Getpid()), 200) {
			r.Add(e)
			time.Sleep(time.Millisecond / 4)
		}
		err = errors.Join(r.Close(), s.Close())
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// TestProcessesWriteWhileOneReads: on a store that none of them has made yet.
func TestProcessesWriteWhileOneReads(t *testing.T) {
	path := newPath(t)
	const writers = 3
	self, err := os.Executable()
	must(t, err)
	ended := make(chan error, writers)
	for range writers {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), appender+"="+path)
		go func() {
			out, err := cmd.CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			ended <- err
		}()
	}
	reader := open(t, path)
	var got []farm.Event
	var last int64
	read := func() {
		next, at, err := reader.Events("run", last)
		must(t, err)
		got, last = append(got, next...), at
	}
	for left := writers; left > 0; {
		select {
		case err := <-ended:
			must(t, err)
			left--
		default:
			read()
			must(t, reader.PutRun(store.Run{ID: "run", Kind: "move", State: store.Running, Started: noon}))
		}
	}
	read()
	if len(got) != writers*200 {
		t.Errorf("read %d events, %d were written", len(got), writers*200)
	}
	next := map[string]int{} // by process: the number its next event must have
	for _, text := range texts(got) {
		words := strings.Fields(text)
		process := strings.Join(words[:len(words)-1], " ")
		if words[len(words)-1] != fmt.Sprint(next[process]) {
			t.Fatalf("%q came when %d was next", text, next[process])
		}
		next[process]++
	}
}

func TestRuns(t *testing.T) {
	path := newPath(t)
	s := open(t, path)
	if _, err := s.LatestRun("move"); !errors.Is(err, store.ErrNone) {
		t.Errorf("no run yet: %v, want ErrNone", err)
	}
	// Fractions of a second of every length: newest first must not be the
	// order of their texts.
	starts := []time.Duration{0, 100 * time.Millisecond, 120 * time.Millisecond, 123456789, 200 * time.Millisecond, time.Second}
	for n, after := range starts {
		must(t, s.PutRun(store.Run{ID: fmt.Sprint("run-", n), Kind: "move", Subject: "plan", State: store.Running, Started: noon.Add(after), PID: 7}))
	}
	must(t, s.PutRun(store.Run{ID: "other", Kind: "alter", State: store.Running, Started: noon.Add(time.Hour)}))
	runs, err := s.Runs("move")
	must(t, err)
	var ids []string
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	if got := strings.Join(ids, " "); got != "run-5 run-4 run-3 run-2 run-1 run-0" {
		t.Errorf("newest first: %s", got)
	}
	changed := store.Run{ID: "run-5", Kind: "move", Subject: "plan", State: store.Done, Started: noon.Add(time.Second), Ended: noon.Add(time.Minute), PID: 8, Result: `{"x":1}`}
	must(t, s.PutRun(changed))
	got, err := open(t, path).LatestRun("move")
	if err != nil || got != changed {
		t.Errorf("latest run %+v, %v; want %+v", got, err, changed)
	}
	if !runs[5].Ended.IsZero() {
		t.Errorf("a run that goes on has ended %v", runs[5].Ended)
	}
}

func TestDocuments(t *testing.T) {
	type body struct{ N int }
	path := newPath(t)
	s := open(t, path)
	var b body
	if _, err := s.LatestDocument("digest", "a", &b); !errors.Is(err, store.ErrNone) || !strings.Contains(err.Error(), "digest a") {
		t.Errorf("no document yet: %v, want ErrNone and its name", err)
	}
	for n, name := range []string{"a", "b", "a"} {
		must(t, s.PutDocument("digest", name, noon.Add(-time.Duration(n)*time.Hour), body{n}))
	}
	must(t, s.PutDocument("other", "a", noon, body{99}))
	other := open(t, path)
	for name, want := range map[string]int{"a": 2, "b": 1, "": 2} {
		d, err := other.LatestDocument("digest", name, &b)
		if err != nil || b.N != want || d.Kind != "digest" || name != "" && d.Name != name || !d.Made.Equal(noon.Add(-time.Duration(want)*time.Hour)) {
			t.Errorf("latest %q: %+v %+v, %v; want number %d", name, d, b, err, want)
		}
	}
	if _, err := s.LatestDocument("digest", "c", &b); !errors.Is(err, store.ErrNone) {
		t.Errorf("another name: %v, want ErrNone", err)
	}
	var wrong []string
	if _, err := s.LatestDocument("digest", "a", &wrong); err == nil || errors.Is(err, store.ErrNone) {
		t.Errorf("a document of another shape: %v", err)
	}
	if err := s.PutDocument("digest", "a", noon, func() {}); err == nil {
		t.Error("kept what JSON cannot say")
	}
}

func TestDamagedFile(t *testing.T) {
	for name, content := range map[string][]byte{
		"not a store": []byte(strings.Repeat("not a store ", 1000)),
		"cut":         append([]byte("SQLite format 3\x00"), make([]byte, 50)...),
	} {
		path := filepath.Join(t.TempDir(), "stowage.db")
		must(t, os.WriteFile(path, content, 0o600))
		_, err := store.Open(path)
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(farm.Hint(err), "move it away") {
			t.Errorf("%s: %v (hint %q), want the file's name and what to do", name, err, farm.Hint(err))
		}
		if left, _ := os.ReadFile(path); string(left) != string(content) {
			t.Errorf("%s: the file was changed", name)
		}
	}
	if _, err := store.Open(filepath.Join(t.TempDir(), "no", "stowage.db")); err == nil {
		t.Error("opened a store in a directory that is not there")
	}
}

// TestOpenAgainKeepsEverything: history is appended to, by whichever program
// has the store open.
func TestOpenAgainKeepsEverything(t *testing.T) {
	path := newPath(t)
	for n := range 3 {
		s := open(t, path)
		r := s.Record()
		r.Add(farm.Event{Run: "run", Text: fmt.Sprint(n)})
		must(t, r.Close())
		must(t, s.Close())
	}
	events, _, err := open(t, path).Events("run", 0)
	if err != nil || strings.Join(texts(events), " ") != "0 1 2" {
		t.Errorf("events %v, %v", texts(events), err)
	}
}

// TestReplacedDocuments: of what is replaced only the newest is kept, and nothing else goes.
func TestReplacedDocuments(t *testing.T) {
	s := open(t, newPath(t))
	must(t, s.PutDocument("flags", "a", noon, 1))
	must(t, s.PutDocument("flags", "b", noon, 2))
	must(t, s.PutDocument("other", "a", noon, 3))
	for n := range 5 {
		must(t, s.ReplaceDocument("flags", "a", noon.Add(time.Duration(n)*time.Second), 10+n))
	}
	var v int
	d, err := s.LatestDocument("flags", "a", &v)
	must(t, err)
	all, err := s.Documents("flags")
	must(t, err)
	others, err := s.Documents("other")
	must(t, err)
	if v != 14 || !d.Made.Equal(noon.Add(4*time.Second)) || len(all) != 2 || len(others) != 1 {
		t.Errorf("%d of %v; %d documents, %d others", v, d.Made, len(all), len(others))
	}
}
