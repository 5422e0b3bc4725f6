package store_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"stowage/store"
)

var keepAll = store.Keep{Hours: 14 * 24 * time.Hour, Days: 400 * 24 * time.Hour}

func duty(task string, begun time.Time, isDone bool) store.Duty {
	return store.Duty{Task: task, Begun: begun, Ended: begun.Add(time.Second), IsDone: isDone, Said: "said"}
}

func load(at time.Time, calls int64) store.Yield {
	return store.Yield{
		Loads: []store.Load{{Server: "a", Shard: "s1", Checksum: "X", Fingerprint: "select ?", At: at, Calls: calls, Micros: 10 * calls, Rows: calls}},
		Seen:  []store.Seen{{Server: "a", At: at, Millis: 1000}},
	}
}

// TestWindowsOfAnHourAddUp, and those of a day; what was done is told from what was tried.
func TestWindowsOfAnHourAddUp(t *testing.T) {
	s := open(t, newPath(t))
	for i := range 4 {
		must(t, s.PutDuty(duty("load", noon.Add(time.Duration(i)*20*time.Minute), true), load(noon.Add(time.Duration(i)*20*time.Minute), 5), keepAll))
	}
	must(t, s.PutDuty(duty("load", noon.Add(2*time.Hour), false), store.Yield{Seen: []store.Seen{{Server: "a", At: noon.Add(2 * time.Hour), Failed: 1}}}, keepAll))
	hours, seen, err := s.Loads(noon.Add(-time.Hour), false)
	must(t, err)
	if len(hours) != 2 || hours[0].Calls != 15 || hours[0].Micros != 150 || hours[1].Calls != 5 || !hours[0].At.Equal(noon) {
		t.Errorf("hours: %+v", hours)
	}
	if len(seen) != 3 || seen[0].Millis != 3000 || seen[2].Failed != 1 || seen[2].Millis != 0 {
		t.Errorf("seen: %+v", seen)
	}
	days, _, err := s.Loads(noon.Add(-24*time.Hour), true)
	must(t, err)
	if len(days) != 1 || days[0].Calls != 20 || days[0].Fingerprint != "select ?" {
		t.Errorf("days: %+v", days)
	}
	all, err := s.Duties()
	must(t, err)
	if d := all["load"]; d.Done != 4 || d.Failed != 1 || d.IsDone || !d.DoneAt.Equal(noon.Add(time.Hour)) || !d.Begun.Equal(noon.Add(2*time.Hour)) {
		t.Errorf("%+v", d)
	}
}

// TestALevelIsTheLastOfItsDay, also when it is written again.
func TestALevelIsTheLastOfItsDay(t *testing.T) {
	s := open(t, newPath(t))
	for i, v := range []float64{1, 2, 3} {
		at := noon.Add(time.Duration(i) * 10 * time.Hour)
		y := store.Yield{Levels: []store.Level{{Name: "host h", Resource: "disk", At: at, Value: v * 1e12}}}
		must(t, s.PutDuty(duty("sizes", at, true), y, keepAll))
		must(t, s.PutDuty(duty("sizes", at, true), y, keepAll)) // killed before it could say so, and done again
	}
	levels, err := s.Levels()
	must(t, err)
	if len(levels) != 2 || levels[0].Value != 2e12 || levels[1].Value != 3e12 || levels[0].Name != "host h" || levels[0].Resource != "disk" {
		t.Errorf("%+v", levels)
	}
}

// TestWhatIsOldGoes by the hour before it goes by the day, and a clock that jumps ahead once takes nothing away.
func TestWhatIsOldGoes(t *testing.T) {
	s := open(t, newPath(t))
	count := func(byDay bool) int {
		rows, _, err := s.Loads(time.Unix(0, 0), byDay)
		must(t, err)
		return len(rows)
	}
	keep := store.Keep{Hours: 3 * 24 * time.Hour, Days: 6 * 24 * time.Hour}
	for day := range 10 {
		at := noon.Add(time.Duration(day) * 24 * time.Hour)
		must(t, s.PutDuty(duty("load", at, true), load(at, 1), keep))
	}
	if h, d := count(false), count(true); h != 5 || d != 8 { // reckoned from the attempt before
		t.Errorf("%d hours and %d days", h, d)
	}
	far := noon.Add(12 * 365 * 24 * time.Hour)
	must(t, s.PutDuty(duty("load", far, true), load(far, 1), keep))
	back := noon.Add(10 * 24 * time.Hour)
	must(t, s.PutDuty(duty("load", back, true), load(back, 1), keep))
	if h, d := count(false), count(true); h < 5 || d < 8 {
		t.Errorf("after the clock jumped: %d hours and %d days", h, d)
	}
}

// TestHoursOfASpan: the hour in which it ends is not in it, and rows are those that Loads has.
func TestHoursOfASpan(t *testing.T) {
	s := open(t, newPath(t))
	for hour := range 5 {
		at := noon.Add(time.Duration(hour) * time.Hour)
		must(t, s.PutDuty(duty("load", at, true), load(at, int64(hour)), keepAll))
	}
	all, seen, err := s.Loads(noon, false)
	must(t, err)
	var got []store.Load
	must(t, s.EachHour(noon.Add(time.Hour), noon.Add(3*time.Hour), func(l store.Load) { got = append(got, l) }))
	want := slices.DeleteFunc(all, func(l store.Load) bool {
		return l.At.Before(noon.Add(time.Hour)) || !l.At.Before(noon.Add(3*time.Hour))
	})
	if len(got) == 0 || !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	hours, err := s.SeenHours(noon)
	must(t, err)
	if !slices.Equal(hours, seen) {
		t.Errorf("seen %+v, want %+v", hours, seen)
	}
}

// TestNothingIsKeptOfWhatFails: the duty and what was found are one transaction.
func TestNothingIsKeptOfWhatFails(t *testing.T) {
	path := newPath(t)
	s, other := open(t, path), open(t, path)
	must(t, s.PutDuty(duty("load", noon, true), load(noon, 1), keepAll))
	bad := load(noon, 100)
	bad.Documents = []store.Document{{Kind: "x", Name: "x", Made: noon}} // no body: refused by the table
	if err := s.PutDuty(duty("load", noon.Add(time.Hour), true), bad, keepAll); err == nil {
		t.Fatal("a document without a body was kept")
	}
	rows, _, err := other.Loads(noon, false)
	must(t, err)
	all, err := other.Duties()
	must(t, err)
	if len(rows) != 1 || rows[0].Calls != 1 || !all["load"].DoneAt.Equal(noon) {
		t.Errorf("%+v, %+v", rows, all)
	}
}

// TestAStoreWithoutSeriesIsEmpty: who only looks at a store of an older program finds nothing, and no error.
func TestAStoreWithoutSeriesIsEmpty(t *testing.T) {
	s, err := store.OpenToRead(filepath.Join(t.TempDir(), "none.db"))
	must(t, err)
	defer s.Close()
	if all, err := s.Duties(); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}
