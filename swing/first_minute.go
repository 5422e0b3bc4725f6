package swing

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/route"
)

// FirstMinute is how the clients of a side fared from when all of them were back, beside a steady state. That is the twin in the same seconds, where it
// does the same work: it has served all the time. A primary, a replica and a single instance have no such twin: they are compared with themselves, from
// the start of the server until they left. The minute ends early when the routing of the pair changes, for then the servers do not serve as before.
type FirstMinute struct {
	Pair   farm.PairName     `json:"pair"`
	Side   farm.SideName     `json:"side"`
	Server farm.InstanceName `json:"server"`
	Twin   farm.InstanceName `json:"twin,omitempty"` // "": steady is the side itself, before it left

	From    time.Time `json:"from"`    // all clients were back
	Seconds float64   `json:"seconds"` // that were counted
	// Source is what counted. Of QUERY_RESPONSE_TIME the times are the 95th percentile, of the others a mean; performance_schema has it kind by kind.
	Source     mysql.ServedSource `json:"source,omitempty"`
	Statements uint64             `json:"statements"`        // of the side, of kinds that the steady state has, too
	OfSteady   uint64             `json:"steady_statements"` // of those kinds
	Millis     float64            `json:"millis"`
	Steady     float64            `json:"steady_millis"`
	Ratio      float64            `json:"ratio"`  // Millis over Steady
	Failed     float64            `json:"failed"` // shares of the statements, 0 to 1; by performance_schema only
	SteadyFail float64            `json:"steady_failed"`

	CutShort    string `json:"cut_short,omitempty"`    // why it is not a whole minute
	NotMeasured string `json:"not_measured,omitempty"` // why there are no figures: they are 0 then
}

const (
	minuteTakes = time.Minute
	minuteLooks = time.Second // so often counters are read: so much is lost when the minute ends early
	// fewer statements than fewOfMinute, here or of the steady state, are too few for a figure.
	fewOfMinute = 20
)

// RunEnded is why a first minute is cut short that the run did not go on for.
const RunEnded = "the run ended"

// IsPercentile reports whether the times are the 95th percentile; else they are a mean.
func (m FirstMinute) IsPercentile() bool { return m.Source == mysql.ResponseTimes }

// String says it for people.
func (m FirstMinute) String() string {
	if m.NotMeasured != "" {
		return "first minute after return not measured: " + m.NotMeasured
	}
	what := "a statement took"
	if m.IsPercentile() {
		what = "the 95th percentile of statements was"
	}
	out := fmt.Sprintf("first %.0f s after return: %s %.3g ms, %s %.3g ms (%.2f times)", m.Seconds, what, m.Millis, m.beside(), m.Steady, m.Ratio)
	if m.CutShort != "" {
		out += "; then " + m.CutShort
	}
	return out
}

// beside is what the steady state is.
func (m FirstMinute) beside() string {
	if m.Twin == "" {
		return "before it left"
	}
	return "on " + string(m.Twin)
}

// minute is the counting of one.
type minute struct {
	FirstMinute
	here, twin *mysql.Server // twin is nil where the side is compared with itself
	soFar      span
	before     mysql.Served // of the side, until it left; where there is no twin
	routing    *route.Pair  // when it began
}

// beginFirstMinute starts counting. felt is what a watch has counted since all clients were back; nil where nobody watched, because the twin does other work.
func (s *Swing) beginFirstMinute(ctx context.Context, felt *feeling) {
	if s.First == nil {
		return
	}
	m := minute{FirstMinute: FirstMinute{Pair: s.Pair, Side: s.Side, Server: s.Returns.Name(), From: time.Now()}, here: s.Returns}
	err := m.begin(ctx, s, felt)
	if err == nil {
		m.routing, err = s.pair(ctx)
	}
	if err != nil {
		m.NotMeasured = err.Error()
		s.First(m.FirstMinute, nil)
		return
	}
	m.take()
	m.Seconds, m.CutShort = time.Since(m.From).Seconds(), RunEnded // unless somebody goes on
	s.First(m.FirstMinute, func(ctx context.Context) FirstMinute { return m.goOn(ctx, s) })
}

func (m *minute) begin(ctx context.Context, s *Swing, felt *feeling) error {
	if felt != nil {
		if felt.source == "" {
			return errors.New(felt.why)
		}
		m.Twin, m.twin, m.From, m.Source, m.soFar = s.Twin.Name(), s.Twin, felt.began, felt.source, felt.all()
		return nil
	}
	if s.Baseline == nil || s.Baseline.Served == nil {
		return fmt.Errorf("%s counted no statements before it left: no performance_schema, QUERY_RESPONSE_TIME or userstat that is on", m.Server)
	}
	m.before, m.Source = *s.Baseline.Served, s.Baseline.Served.Source
	return nil
}

// goOn is the rest of the minute. The step has closed its connections by then.
func (m minute) goOn(ctx context.Context, s *Swing) FirstMinute {
	m.here = m.here.Again()
	defer m.here.Close()
	if m.twin != nil {
		m.twin = m.twin.Again()
		defer m.twin.Close()
	}
	first, err := m.read(ctx)
	if err != nil {
		return m.cut(ctx, err)
	}
	soFar := m.soFar
	for odd := 0; ; {
		if err := pause(ctx, min(minuteLooks, time.Until(m.From.Add(minuteTakes)))); err != nil {
			return m.cut(ctx, err)
		}
		at := time.Now()
		now, err := m.read(ctx)
		if err != nil {
			return m.cut(ctx, err)
		}
		is, err := s.pair(ctx)
		if err != nil {
			return m.cut(ctx, err)
		}
		if !reflect.DeepEqual(is, m.routing) {
			return m.cut(ctx, errors.New("the routing of the pair changed"))
		}
		here, ok := now.here.Since(first.here)
		twin, too := now.twin.Since(first.twin)
		if !ok || !too {
			if odd++; odd >= isReset {
				return m.cut(ctx, errors.New("counters were reset"))
			}
			continue
		}
		odd, m.soFar = 0, soFar.plus(span{here: here, twin: twin})
		m.take()
		if m.Seconds = at.Sub(m.From).Seconds(); m.Seconds >= minuteTakes.Seconds() {
			m.CutShort = ""
			return m.FirstMinute
		}
	}
}

func (m *minute) read(ctx context.Context) (now span, err error) {
	if m.twin == nil {
		now.here, err = m.here.Served(ctx, m.Source)
		return now, err
	}
	f := feeling{swing: &Swing{Returns: m.here, Twin: m.twin}, source: m.Source}
	return f.read(ctx)
}

// cut ends a minute early.
func (m minute) cut(ctx context.Context, why error) FirstMinute {
	m.CutShort = RunEnded
	if ctx.Err() == nil {
		m.CutShort = why.Error()
	}
	return m.FirstMinute
}

// take reads the figures out of what was counted.
func (m *minute) take() {
	all := m.soFar
	if m.twin == nil {
		all.twin = m.before
	}
	x := all.measure(all.twin)
	m.Statements, m.OfSteady = x.statements, x.onTwin
	m.Millis, m.Steady, m.Ratio, m.Failed, m.SteadyFail, m.NotMeasured = 0, 0, 0, 0, 0, ""
	if min(x.statements, x.onTwin) < fewOfMinute || x.twin == 0 {
		m.NotMeasured = fmt.Sprintf("too few statements of the same kinds: %d, %s %d", x.statements, m.beside(), x.onTwin)
		return
	}
	m.Millis, m.Steady, m.Ratio = x.here.Seconds()*1000, x.twin.Seconds()*1000, float64(x.here)/float64(x.twin)
	m.Failed, m.SteadyFail = x.failed, x.failedTwin
}
