package felt

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/route"
	"stowage/swing"
)

// back is the first minute of a side that came back: what is known when the step ends, and the rest.
type back struct {
	now  swing.FirstMinute
	more func(context.Context) swing.FirstMinute
}

// returns takes the side out and brings it back by a short ramp.
func (x *felt) returns() (b back) {
	x.T.Helper()
	x.Swing.Settings.Ramp, x.Swing.Settings.Limits.Longest = []float64{100}, time.Second
	told := 0
	x.Swing.First = func(now swing.FirstMinute, more func(context.Context) swing.FirstMinute) {
		told, b = told+1, back{now, more}
	}
	if err := x.away(func() {}); err != nil {
		x.T.Fatal(err)
	}
	if told != 1 {
		x.T.Fatalf("told of %d first minutes", told)
	}
	return b
}

// A side that was well when the ramp ended can become slow after it, and a whole minute of a healthy one is as on its twin.
func TestFirstMinuteAfterReturn(t *testing.T) {
	x := newFelt(t, countsEvents)
	b := x.returns()
	m := b.more(t.Context())
	t.Log(m)
	if m.Seconds < 60 || m.CutShort != "" || m.NotMeasured != "" || m.Statements <= b.now.Statements || m.Ratio > x.Swing.Settings.Limits.Latency {
		t.Errorf("a healthy side: %+v, when the step ended %+v", m, b.now)
	}
}

func TestSlowFirstMinuteIsSeen(t *testing.T) {
	for source, options := range map[mysql.ServedSource][]string{mysql.StatementEvents: countsEvents, mysql.ResponseTimes: countsTimes} {
		t.Run(string(source), func(t *testing.T) {
			x := newFelt(t, options)
			b := x.returns()
			dropIndex(t, x.A)
			ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
			defer cancel()
			m := b.more(ctx)
			t.Log(m)
			if m.CutShort != swing.RunEnded || m.Source != source || m.Ratio < 2 || m.Seconds >= 60 {
				t.Errorf("%+v", m)
			}
		})
	}
}

// The twin leaves, and then serves nobody beside whom the side could be measured: what was counted until then stands.
func TestFirstMinuteEndsWithTheTwin(t *testing.T) {
	x := newFelt(t, countsEvents)
	b := x.returns()
	go func() {
		time.Sleep(3 * time.Second)
		_ = x.Router.Change(context.WithoutCancel(t.Context()), x.Swing.Pair, func(p *route.Pair) error {
			p.Serve(farm.B, farm.A, x.A.Address, 100)
			return nil
		})
	}()
	m := b.more(t.Context())
	t.Log(m)
	if !strings.Contains(m.CutShort, "routing") || m.Seconds >= 60 || m.NotMeasured != "" || m.Ratio == 0 {
		t.Errorf("%+v", m)
	}
}

// Nobody does the same work as a single instance: it is compared with itself, until it left.
func TestFirstMinuteOfASideWithoutATwin(t *testing.T) {
	x := newFelt(t, countsEvents)
	was, err := swing.ReadBaseline(t.Context(), x.Swing.Leaves)
	if err != nil || was.Served == nil || was.Served.Statements() == 0 {
		t.Fatalf("%+v, %v", was.Served, err)
	}
	x.Swing.Baseline = &was
	var b back
	x.Swing.First = func(now swing.FirstMinute, more func(context.Context) swing.FirstMinute) { b = back{now, more} }
	alone := swing.Alone{Swing: x.Swing}
	if err := errors.Join(alone.Out(t.Context()), alone.In(t.Context())); err != nil {
		t.Fatal(err)
	}
	dropIndex(t, x.A)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
	defer cancel()
	m := b.more(ctx)
	t.Log(m)
	if m.Twin != "" || !strings.Contains(m.String(), "before it left") || m.Ratio < 2 || b.now.NotMeasured == "" {
		t.Errorf("%+v, when the step ended %+v", m, b.now)
	}
}

// Servers that count nothing are said to, and nobody counts on.
func TestFirstMinuteOfServersThatCountNothing(t *testing.T) {
	b := newFelt(t, nil).returns()
	if b.more != nil || !strings.Contains(b.now.NotMeasured, "a, b: no performance_schema") {
		t.Errorf("%+v", b.now)
	}
}
