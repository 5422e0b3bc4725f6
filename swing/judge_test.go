package swing

import (
	"testing"
	"time"

	"stowage/mysql"
)

// ran is what a server counted in one span: n statements of a kind, each of ms milliseconds, of which some failed.
func ran(kind string, n, failed uint64, ms float64) mysql.Served {
	return mysql.Served{Source: mysql.StatementEvents, Kinds: map[string]mysql.ServedKind{
		kind: {Statements: n, Errors: failed, Time: time.Duration(float64(n) * ms * 1e6)}}}
}

func both(here, twin mysql.Served) span { return span{here: here, twin: twin} }

const selects, inserts = "statement/sql/select", "statement/sql/insert"

func TestJudge(t *testing.T) {
	l := Defaults().Limits
	healthy := both(ran(selects, 70, 0, 1), ran(selects, 700, 0, 1))
	slow := both(ran(selects, 70, 0, 30), ran(selects, 700, 0, 1))
	frozen := both(ran(selects, 6, 0, 900), ran(selects, 700, 0, 1))
	failing := both(ran(inserts, 70, 20, 1), ran(inserts, 700, 0, 1))
	dead := both(ran(inserts, 6, 6, 1), ran(inserts, 700, 0, 1))
	other := both(ran(selects, 70, 0, 30).Plus(ran(inserts, 5, 0, 1)), ran(inserts, 700, 0, 1))
	weak := slow
	weak.here.Source, weak.twin.Source = mysql.UserStatistics, mysql.UserStatistics
	late, away := healthy, healthy
	late.answers = answers{delays{5, 100 * time.Millisecond, time.Millisecond}, delays{5, 10 * time.Millisecond, time.Millisecond}}
	away.answers = answers{delays{5, 210 * time.Millisecond, 40 * time.Millisecond}, delays{5, 10 * time.Millisecond, time.Millisecond}}
	if v := l.judge([]span{late, healthy, late}); v.waiting || !v.doubt {
		t.Errorf("answers come late twice: %+v", v)
	}
	if v := l.judge([]span{late, late, late}); !v.waiting || v.waits != 19*time.Millisecond || v.waitsTwin != time.Millisecond {
		t.Errorf("answers come late three times: %+v", v)
	}
	if v := l.judge([]span{away, away, away}); v.waiting || v.doubt {
		t.Errorf("the side is 40 ms away: %+v", v)
	}
	for _, x := range []struct {
		name                           string
		spans                          []span
		latency, errors, enough, doubt bool
	}{
		{"nothing yet", nil, false, false, false, false},
		{"as on the twin", []span{healthy, healthy, healthy}, false, false, true, false},
		{"slow once: a lock, new connections", []span{slow, healthy, healthy}, false, false, true, false},
		{"slow twice and still slow", []span{healthy, slow, slow}, false, false, true, true},
		{"slow three times", []span{healthy, slow, slow, slow}, true, false, true, true},
		{"slow now and then", []span{slow, slow, healthy, slow, slow, healthy, slow, slow}, false, false, true, true},
		{"few, but far too slow", []span{frozen, frozen, frozen}, true, false, false, true},
		{"few, far too slow once", []span{frozen, healthy, healthy}, false, false, false, false},
		{"few, and slow", []span{both(ran(selects, 6, 0, 30), slow.twin), both(ran(selects, 6, 0, 30), slow.twin), both(ran(selects, 6, 0, 30), slow.twin)}, false, false, false, true},
		{"a quarter fails", []span{failing, failing, failing}, false, true, true, true},
		{"a quarter fails on the twin, too", []span{both(failing.here, ran(inserts, 700, 200, 1)), both(failing.here, ran(inserts, 700, 200, 1)), both(failing.here, ran(inserts, 700, 200, 1))}, false, false, true, false},
		{"one of 70 fails", []span{both(ran(inserts, 70, 1, 1), healthy.twin.Plus(ran(inserts, 70, 0, 1))), both(ran(inserts, 70, 1, 1), healthy.twin.Plus(ran(inserts, 70, 0, 1))), both(ran(inserts, 70, 1, 1), healthy.twin.Plus(ran(inserts, 70, 0, 1)))}, false, false, true, false},
		{"few, and all fail", []span{dead, dead, dead}, false, true, false, true},
		{"kinds that the twin has not had decide nothing", []span{other, other, other}, false, false, false, false},
		{"userstat cannot tell kinds: 30 times is not enough by less than a quarter of a second", []span{weak, weak, weak}, false, false, true, false},
		{"slower by less than the floor", []span{both(ran(selects, 70, 0, 4), healthy.twin), both(ran(selects, 70, 0, 4), healthy.twin), both(ran(selects, 70, 0, 4), healthy.twin)}, false, false, true, false},
	} {
		v := l.judge(x.spans)
		if v.latency != x.latency || v.errors != x.errors || v.enough != x.enough || v.doubt != x.doubt {
			t.Errorf("%s: %+v", x.name, v)
		}
	}
}

// A side with a tenth of its clients has other statements than its twin: kinds are compared, not their mixture.
func TestOtherMixtureIsNotSlower(t *testing.T) {
	l := Defaults().Limits
	here := ran(inserts, 60, 0, 40).Plus(ran(selects, 10, 0, 1))
	twin := ran(inserts, 50, 0, 40).Plus(ran(selects, 5000, 0, 1))
	s := both(here, twin)
	if v := l.judge([]span{s, s, s}); v.latency || !v.enough {
		t.Errorf("inserts take 40 ms on both: %+v", v)
	}
	worse := both(ran(inserts, 60, 0, 200).Plus(ran(selects, 10, 0, 1)), twin)
	if v := l.judge([]span{worse, worse, worse}); !v.latency || v.worst != inserts {
		t.Errorf("inserts take 200 ms here: %+v", v)
	}
}

// timesOf is a histogram as the plugin has it, of statements that took so many milliseconds each.
func timesOf(all map[float64]uint64) mysql.Served {
	out := mysql.Served{Source: mysql.ResponseTimes}
	for upper := time.Microsecond; upper < 100*time.Second; upper *= 10 {
		x := mysql.ServedTimes{Upper: upper}
		for ms, n := range all {
			if took := time.Duration(ms * 1e6); took <= upper && took > upper/10 {
				x.Statements, x.Time = x.Statements+n, x.Time+time.Duration(n)*took
			}
		}
		out.Times = append(out.Times, x)
	}
	return out
}

// Where a twentieth of the statements is slow, the 95th percentile is on either side of a border by chance.
func TestPercentileDoesNotJumpAtABorder(t *testing.T) {
	l := Defaults().Limits
	s := both(timesOf(map[float64]uint64{0.9: 940, 90: 60}), timesOf(map[float64]uint64{0.9: 960, 90: 40}))
	if v := l.judge([]span{s, s, s}); v.latency {
		t.Errorf("4 %% and 6 %% of slow statements: %+v", v)
	}
	s = both(timesOf(map[float64]uint64{1.1: 100}), timesOf(map[float64]uint64{0.9: 1000}))
	if v := l.judge([]span{s, s, s}); v.latency || v.here < time.Millisecond || v.here > 2*time.Millisecond {
		t.Errorf("0.9 and 1.1 ms: %+v", v)
	}
	s = both(timesOf(map[float64]uint64{1: 80, 60: 20}), timesOf(map[float64]uint64{1: 1000}))
	if v := l.judge([]span{s, s, s}); !v.latency {
		t.Errorf("every fifth takes 60 ms: %+v", v)
	}
	s = both(timesOf(map[float64]uint64{1: 99, 9000: 1}), timesOf(map[float64]uint64{1: 1000}))
	if v := l.judge([]span{s, s, s}); v.latency {
		t.Errorf("one of 100 took 9 s: %+v", v)
	}
}
