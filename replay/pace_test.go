package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"stowage/digest"
	"stowage/farm"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// play runs a replay in a bubble, where time is what the sleeps add up to.
func play(t *testing.T, s *stage, o Options, look func(*Outcome, error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.Candidate = s.door
		out, err := Run(t.Context(), o)
		if s.open != 0 {
			t.Errorf("%d connections are still open", s.open)
		}
		look(out, err)
	})
}

// threeSessions is ten seconds of three sessions that ask every second.
func threeSessions() string {
	var b strings.Builder
	for i := range 10 {
		for thread := 1; thread <= 3; thread++ {
			at := noon.Add(time.Duration(i)*time.Second + time.Duration(thread)*100*time.Millisecond)
			b.WriteString(event(at, thread, 10*time.Millisecond, fmt.Sprintf("SELECT %d, %d", thread, i)))
		}
	}
	return b.String()
}

func TestPace(t *testing.T) {
	for _, tt := range []struct {
		speed float64
		want  time.Duration // from the first to the last statement
	}{{1, 9200 * time.Millisecond}, {2, 4600 * time.Millisecond}, {0.5, 18400 * time.Millisecond}} {
		s := &stage{takes: func(string) time.Duration { return 3 * time.Millisecond }}
		play(t, s, Options{Inputs: []Input{text("slow.log", threeSessions())}, Speed: tt.speed}, func(out *Outcome, err error) {
			if err != nil || len(s.log) != 30 || out.Sent.Read != 30 || out.Sessions.Recorded != 3 || s.most != 4-1 {
				t.Fatalf("speed %v: %d sent, %d at once, %v, %+v", tt.speed, len(s.log), s.most, err, out.Sent)
			}
			got := s.log[29].began.Sub(s.log[0].began)
			if d := got - tt.want; d < -time.Millisecond || d > time.Millisecond {
				t.Errorf("speed %v took %v, want %v", tt.speed, got, tt.want)
			}
			if out.Late.Max > 0.001 || out.Ended != "complete" {
				t.Errorf("late %+v, ended %s", out.Late, out.Ended)
			}
		})
	}
}

func TestAsFastAsItGoes(t *testing.T) {
	s := &stage{takes: func(string) time.Duration { return 5 * time.Millisecond }}
	play(t, s, Options{Inputs: []Input{text("slow.log", threeSessions())}}, func(out *Outcome, err error) {
		if err != nil || len(s.log) != 30 {
			t.Fatal(len(s.log), err)
		}
		if took := s.log[29].end.Sub(s.log[0].began); took != 50*time.Millisecond {
			t.Errorf("ten statements of 5 ms in each of three sessions took %v", took)
		}
		inOrder(t, s)
	})
}

// inOrder: sessions keep to their connection and their order.
func inOrder(t *testing.T, s *stage) {
	t.Helper()
	last := map[int]performance{}
	for _, p := range s.log {
		var thread, n int
		if _, err := fmt.Sscanf(p.text, "SELECT %d, %d", &thread, &n); err != nil {
			continue
		}
		before, ok := last[thread]
		if ok && (before.conn != p.conn || p.began.Before(before.end)) {
			t.Errorf("session %d: %+v behind %+v", thread, p, before)
		}
		var was int
		if ok {
			fmt.Sscanf(before.text, "SELECT %d, %d", &thread, &was)
			if n != was+1 {
				t.Errorf("session %d: %d behind %d", thread, n, was)
			}
		}
		last[thread] = p
	}
}

// TestLatenessIsSeen: a candidate that takes longer than there is time gets the
// load all the same, and the report says how far behind it was.
func TestLatenessIsSeen(t *testing.T) {
	s := &stage{takes: func(text string) time.Duration {
		if text == "SELECT 2, 3" {
			return 3500 * time.Millisecond
		}
		return time.Millisecond
	}}
	play(t, s, Options{Inputs: []Input{text("slow.log", threeSessions())}, Speed: 1}, func(out *Outcome, err error) {
		if err != nil {
			t.Fatal(err)
		}
		inOrder(t, s)
		if out.Late.Max < 2.4 || out.Late.Max > 2.6 {
			t.Errorf("late %+v, want 2.5 s at most", out.Late)
		}
		if out.OwnLate.Max > 0.001 {
			t.Errorf("the delay is the candidate's, not ours: %+v", out.OwnLate)
		}
		if out.Replayed.Max < 3.4 || out.FromDue.P95 < 1 || out.FromDue.P95 <= out.Replayed.P50 {
			t.Errorf("replayed %+v, from due %+v", out.Replayed, out.FromDue)
		}
		// The others were not held up, and the session caught up.
		for _, p := range s.log {
			if strings.HasPrefix(p.text, "SELECT 1, 5") && p.began.Sub(s.log[0].began) > 5100*time.Millisecond {
				t.Errorf("session 1 waited for session 2: %v", p.began.Sub(s.log[0].began))
			}
		}
		if got := s.log[len(s.log)-1].began.Sub(s.log[0].began); got > 9300*time.Millisecond {
			t.Errorf("it did not catch up: %v", got)
		}
		if !slices.ContainsFunc(out.Notes, func(n string) bool { return strings.Contains(n, "pace was not reached") }) {
			t.Errorf("notes: %q", out.Notes)
		}
	})
}

// TestThinkTime: with Think, the time between two statements stays, and what
// the candidate is slower by adds up.
func TestThinkTime(t *testing.T) {
	s := &stage{takes: func(string) time.Duration { return 510 * time.Millisecond }}
	play(t, s, Options{Inputs: []Input{text("slow.log", threeSessions())}, Speed: 1, Think: true}, func(out *Outcome, err error) {
		if err != nil {
			t.Fatal(err)
		}
		inOrder(t, s)
		last := map[int]time.Time{}
		for _, p := range s.log {
			if before, ok := last[p.conn]; ok {
				if gap := p.began.Sub(before); gap < 989*time.Millisecond || gap > 991*time.Millisecond {
					t.Errorf("%s came %v after the answer before, want 990 ms", p.text, gap)
				}
			}
			last[p.conn] = p.end
		}
		if out.Late.Max < 4.4 || out.Late.Max > 4.6 { // nine times half a second
			t.Errorf("late %+v", out.Late)
		}
	})
}

func TestConnectionsAreBounded(t *testing.T) {
	var log strings.Builder
	for i := range 400 {
		log.WriteString(event(noon.Add(time.Duration(i)*10*time.Millisecond), i%40, time.Millisecond, fmt.Sprintf("SELECT %d, %d", i%40, i/40)))
	}
	s := &stage{takes: func(string) time.Duration { return 2 * time.Millisecond }}
	play(t, s, Options{Inputs: []Input{text("slow.log", log.String())}, Speed: 1, Sessions: 5}, func(out *Outcome, err error) {
		if err != nil || len(s.log) != 400 || s.most > 5 || out.Sessions.Most != 5 || out.Sessions.Evicted == 0 {
			t.Errorf("%d sent over %d connections at once, %v, %+v", len(s.log), s.most, err, out.Sessions)
		}
	})
}

// TestTransactionsKeepTheirConnection, unless nothing else is left.
func TestTransactionsKeepTheirConnection(t *testing.T) {
	var log strings.Builder
	at := noon
	add := func(thread int, text string) {
		at = at.Add(10 * time.Millisecond)
		log.WriteString(event(at, thread, 0, text))
	}
	add(1, "BEGIN")
	for i := range 20 {
		add(2+i, "SELECT 1")
	}
	add(1, "COMMIT")
	s := &stage{}
	play(t, s, Options{Inputs: []Input{text("slow.log", log.String())}, Speed: 1, Sessions: 2}, func(out *Outcome, err error) {
		first, last := s.log[0], s.log[len(s.log)-1]
		if err != nil || first.text != "BEGIN" || last.text != "COMMIT" || first.conn != last.conn || out.Sessions.Cut != 0 || s.most != 2 {
			t.Errorf("%+v .. %+v, %v, %+v", first, last, err, out.Sessions)
		}
	})
	// Three transactions, long ones, and one connection: some must go, or all
	// would wait for each other.
	log.Reset()
	for thread := range 3 {
		add(thread, "BEGIN")
	}
	at = at.Add(20 * time.Second)
	for thread := range 3 {
		add(thread, "COMMIT")
	}
	s = &stage{}
	play(t, s, Options{Inputs: []Input{text("slow.log", log.String())}, Speed: 1, Sessions: 1}, func(out *Outcome, err error) {
		if err != nil || len(s.log) != 6 || out.Sessions.Cut == 0 {
			t.Errorf("%q, %v, %+v", s.texts(), err, out.Sessions)
		}
	})
}

// TestSetIsSaidAgain: what a session has set is there again on its next
// connection.
func TestSetIsSaidAgain(t *testing.T) {
	log := event(noon, 1, 0, "SET SESSION sort_buffer_size = 5") + event(noon.Add(time.Second), 2, 0, "SELECT 2") + event(noon.Add(2*time.Second), 1, 0, "SELECT 1")
	s := &stage{}
	play(t, s, Options{Inputs: []Input{text("slow.log", log)}, Speed: 1, Sessions: 1}, func(_ *Outcome, err error) {
		want := []string{"SET SESSION sort_buffer_size = 5", "SELECT 2", "SET SESSION sort_buffer_size = 5", "SELECT 1"}
		if err != nil || !slices.Equal(s.texts(), want) {
			t.Errorf("%q, %v", s.texts(), err)
		}
	})
}

// TestCandidateThatDies: broken connections are made again and counted; a
// candidate that is gone ends the run after a while.
func TestCandidateThatDies(t *testing.T) {
	s := &stage{dies: func(n int) bool { return n%5 == 0 }}
	play(t, s, Options{Inputs: []Input{text("slow.log", threeSessions())}, Speed: 1}, func(out *Outcome, err error) {
		if err != nil || out.Errors.Lost != 6 || out.Sent.Read != 24 || !out.HasFindings() {
			t.Errorf("%v, %+v, %+v", err, out.Errors, out.Sent)
		}
	})
	s = &stage{}
	s.dies = func(int) bool { s.shut = true; return true }
	var log strings.Builder
	for i := range 3600 {
		log.WriteString(event(noon.Add(time.Duration(i)*time.Second), 1, 0, fmt.Sprintf("SELECT 1, %d", i)))
	}
	play(t, s, Options{Inputs: []Input{text("slow.log", log.String())}, Speed: 1}, func(out *Outcome, err error) {
		if !errors.Is(err, ErrLostCandidate) || out == nil || out.Errors.Lost != 1 || out.Errors.NotSent == 0 || out.Pace.Seconds > 60 {
			t.Errorf("%v, %+v, %+v", err, out.Errors, out.Pace)
		}
	})
}

// TestOriginalThatDies is not compared with the candidate.
func TestOriginalThatDies(t *testing.T) {
	s := &stage{}
	original := &stage{dies: func(n int) bool { return n%10 == 0 }}
	play(t, s, Options{Inputs: []Input{text("slow.log", threeSessions())}, Speed: 1, Original: original.door}, func(out *Outcome, err error) {
		if err != nil || out.Errors.LostOriginal != 3 || out.Errors.Lost != 0 || out.Compared.Equal != 27 || !out.HasFindings() || original.open != 0 {
			t.Errorf("%v, %+v, %+v", err, out.Errors, out.Compared)
		}
	})
}

func TestStatementsAreNotWaitedForForEver(t *testing.T) {
	s := &stage{takes: func(text string) time.Duration {
		if strings.HasSuffix(text, "1, 2") {
			return 24 * time.Hour
		}
		return 0
	}}
	play(t, s, Options{Inputs: []Input{text("slow.log", threeSessions())}, Speed: 1, Timeout: 5 * time.Second}, func(out *Outcome, err error) {
		if err != nil || out.Errors.Timeouts != 1 || out.Sent.Read != 29 {
			t.Errorf("%v, %+v, %+v", err, out.Errors, out.Sent)
		}
	})
}

func TestEnds(t *testing.T) {
	s := &stage{}
	play(t, s, Options{Inputs: []Input{text("slow.log", threeSessions())}, Speed: 1, For: 4500 * time.Millisecond}, func(out *Outcome, err error) {
		if err != nil || out.Ended != "as asked" || out.Sent.Read < 12 || out.Sent.Read > 15 {
			t.Errorf("%v, %+v, %s", err, out.Sent, out.Ended)
		}
	})
	s = &stage{}
	play(t, s, Options{Inputs: []Input{text("slow.log", threeSessions())}, Speed: 1, Limit: 7}, func(out *Outcome, err error) {
		if err != nil || out.Ended != "as asked" || out.Sent.Read != 7 {
			t.Errorf("%v, %+v, %s", err, out.Sent, out.Ended)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		s := &stage{takes: func(string) time.Duration { return 900 * time.Millisecond }}
		out, err := Run(ctx, Options{Inputs: []Input{text("slow.log", threeSessions())}, Speed: 1, Candidate: s.door})
		if !errors.Is(err, farm.ErrInterrupted) || out == nil || out.Ended != "interrupted" || out.Sent.Read == 0 || out.Errors.All != 0 || s.open != 0 {
			t.Errorf("%v, %+v, %d open", err, out, s.open)
		}
	})
}

// TestGuardStopsTheRun: what the guard finds in the middle ends it at once.
func TestGuardStopsTheRun(t *testing.T) {
	s := &stage{}
	asked := 0
	guard := func(context.Context) error {
		if asked++; asked > 10 {
			return refused("x", "", "it is in rotation now")
		}
		return nil
	}
	play(t, s, Options{Inputs: []Input{text("slow.log", threeSessions())}, Speed: 1, Guard: guard, Allow: Allowance{Writes: true}}, func(out *Outcome, err error) {
		if !errors.Is(err, farm.ErrRefused) || out.Sent.All == 0 || out.Sent.All > 15 || !strings.Contains(out.Ended, "in rotation now") {
			t.Errorf("%v, %+v", err, out)
		}
	})
	asked = 100
	play(t, s, Options{Inputs: []Input{text("slow.log", threeSessions())}, Guard: guard}, func(out *Outcome, err error) {
		if !errors.Is(err, farm.ErrRefused) || out != nil {
			t.Errorf("%v, %+v", err, out)
		}
	})
}

// TestFilter: what is left out is counted, and sessions begin with what is left.
func TestFilter(t *testing.T) {
	f, err := digest.ParseFilter("thread = 2")
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{}
	o := Options{Inputs: []Input{text("slow.log", threeSessions())}, Digest: digest.Options{Filter: f, Since: noon.Add(2 * time.Second), Until: noon.Add(5 * time.Second)}}
	play(t, s, o, func(out *Outcome, err error) {
		if err != nil || !slices.Equal(s.texts(), []string{"SELECT 2, 2", "SELECT 2, 3", "SELECT 2, 4"}) || out.Reading.Inputs[0].Left != 27 {
			t.Errorf("%q, %v, %+v", s.texts(), err, out.Reading)
		}
	})
}
