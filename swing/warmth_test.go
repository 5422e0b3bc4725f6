package swing

import (
	"testing"
	"time"
)

func TestWarmIsJudgedByTheTwin(t *testing.T) {
	s := Defaults()
	ms := func(n int, each, slowest time.Duration, slow int) (out []time.Duration) {
		for i := range n {
			took := each
			if i < slow {
				took = slowest
			}
			out = append(out, took)
		}
		return out
	}
	for _, tt := range []struct {
		name       string
		here, twin []time.Duration
		want       bool
	}{
		{"the same", ms(200, time.Millisecond, 0, 0), ms(200, time.Millisecond, 0, 0), true},
		{"a tenth more", ms(200, 11*time.Millisecond, 0, 0), ms(200, 10*time.Millisecond, 0, 0), true},
		{"a quarter more", ms(200, 12500*time.Microsecond, 0, 0), ms(200, 10*time.Millisecond, 0, 0), false},
		{"one in twenty from disk", ms(200, time.Millisecond, 10*time.Millisecond, 10), ms(200, time.Millisecond, 0, 0), true},
		{"one in ten from disk", ms(200, time.Millisecond, 10*time.Millisecond, 20), ms(200, time.Millisecond, 0, 0), false},
		{"one in ten from disk, on either", ms(200, time.Millisecond, 10*time.Millisecond, 20), ms(200, time.Millisecond, 10*time.Millisecond, 20), true},
		{"faster here", ms(200, time.Millisecond, 0, 0), ms(200, 10*time.Millisecond, 0, 0), true},
		{"less than anybody notices", ms(200, 250*time.Microsecond, 0, 0), ms(200, 80*time.Microsecond, 0, 0), true},
		{"too few", ms(99, time.Millisecond, 0, 0), ms(99, time.Millisecond, 0, 0), false},
		{"none", nil, nil, false},
	} {
		if w := (&warmth{here: tt.here, twin: tt.twin}); w.isWarm(s) != tt.want {
			t.Errorf("%s: warm is %v (%s), want %v", tt.name, w.isWarm(s), w, tt.want)
		}
	}
}

func TestFullPoolIsNotWaitedFor(t *testing.T) {
	s := Defaults()
	for misses, want := range map[int64]bool{0: true, 9: true, 10: false, 500: false} {
		if w := (&warmth{here: make([]time.Duration, 200), misses: misses}); w.isFull(s) != want {
			t.Errorf("200 reads, %d pages from disk: full is %v", misses, !want)
		}
	}
	if w := (&warmth{here: make([]time.Duration, 50)}); w.isFull(s) {
		t.Error("50 reads say that it is full")
	}
}
