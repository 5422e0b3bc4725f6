package due

import (
	"math/rand/v2"
	"testing"
	"time"
)

func at(text string) time.Time {
	t, err := time.Parse(time.DateTime, text)
	if err != nil {
		panic(err)
	}
	return t
}

func TestOnceAnInterval(t *testing.T) {
	hour := Task{"load", time.Hour}
	for _, x := range []struct {
		done, now string
		why       Why
		next      string
	}{
		{"2026-01-01 10:00:03", "2026-01-01 10:59:59", Not, "2026-01-01 11:00:00"},
		{"2026-01-01 10:00:03", "2026-01-01 11:00:00", Due, "2026-01-01 11:00:00"}, // a timer that is earlier than the last time
		{"2026-01-01 10:59:59", "2026-01-01 11:00:01", Due, "2026-01-01 11:00:01"},
		{"2026-01-01 10:00:03", "2026-01-01 12:00:00", Late, "2026-01-01 12:00:00"},
		{"2026-01-01 12:00:00", "2026-01-01 10:30:00", Back, "2026-01-01 10:30:00"},
	} {
		got := hour.Of(at(x.done), at(x.now))
		if got.Why != x.why || !got.Next.Equal(at(x.next)) || got.IsDue() != (x.why != Not) {
			t.Errorf("done %s, now %s: %+v", x.done, x.now, got)
		}
	}
	if got := hour.Of(time.Time{}, at("2026-01-01 10:30:00")); got.Why != Due {
		t.Errorf("never done: %+v", got)
	}
	if got := (Task{"load", -1}).Of(time.Time{}, at("2026-01-01 10:30:00")); got.IsDue() || got.Why != Off {
		t.Errorf("off: %+v", got)
	}
}

// TestATaskIsDoneOnceAnInterval: called at any times, each interval in which it is called at all has it once.
func TestATaskIsDoneOnceAnInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		task := Task{"x", time.Duration(60+r.IntN(7200)) * time.Second}
		now, done := at("2026-01-01 00:00:00"), time.Time{}
		each := map[int64]int{}
		called := map[int64]bool{}
		for range 300 {
			now = now.Add(time.Duration(1+r.IntN(4000)) * time.Second)
			called[task.begin(now).Unix()] = true
			turn := task.Of(done, now)
			if turn.IsDue() {
				each[task.begin(now).Unix()]++
				done = now
			} else if !turn.Next.After(now) || turn.Next.Sub(now) > task.Every {
				t.Fatalf("%v at %s: next %s", task.Every, now, turn.Next)
			}
		}
		for begin := range called {
			if each[begin] != 1 {
				t.Fatalf("%v: %d times in the interval from %d", task.Every, each[begin], begin)
			}
		}
	}
}
