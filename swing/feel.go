package swing

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"stowage/farm"
	"stowage/mysql"
)

// feeling is how the clients of one share fare, here and on the twin, from when the share came back.
type feeling struct {
	swing   *Swing
	percent float64

	asked  bool               // which sources there are
	source mysql.ServedSource // that both servers offer; "": none
	why    string             // there is none

	began time.Time // when counters were first read; again after a reset
	last  span      // counters when the last span ended
	since time.Time // and when that was
	spans []span
	open  span // what was counted since
	heard answers
	odd   int  // readings in a row with a counter that is lower than before
	reset bool // somebody reset counters
}

// leastSpan keeps a busy server's spans from being over before a hiccup is.
const leastSpan = 250 * time.Millisecond

// isReset: a counter that is lower so many times in a row is no session that ended while it was read.
const isReset = 3

// look reads the counters. An error that is not ErrWorse says that a server did not answer.
func (f *feeling) look(ctx context.Context, took answers) error {
	if !f.asked {
		if err := f.ask(ctx); err != nil {
			return err
		}
	}
	if f.source == "" {
		return nil
	}
	now, err := f.read(ctx)
	if mysql.CodeOf(err) != 0 { // the server refuses what it has answered before: a plugin was unloaded, a grant taken
		f.source, f.why = "", err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	now.answers = took
	if err := f.add(now, time.Now()); err != nil {
		return err
	}
	return f.lookForStuck(ctx)
}

// lookForStuck is ErrWorse when the clients of a share are hardly answered any more: what has not ended is in no counter.
func (f *feeling) lookForStuck(ctx context.Context) error {
	took, ended := time.Since(f.since), f.open.here.Statements()
	if took < f.swing.Settings.Limits.Longest/5 || ended >= leastOfSpan {
		return nil
	}
	here, err := f.swing.Returns.Stuck(ctx)
	if err != nil || here < leastOfSpan {
		return err
	}
	twin, err := f.swing.Twin.Stuck(ctx)
	if err != nil || here < twin*inARow {
		return err
	}
	return &farm.Error{Op: "watch", Subject: string(f.swing.Returns.Name()), Err: fmt.Errorf("%w: at %g %% of its clients %s have run for a second or longer, on %s %d; %d ended in the last %v",
		ErrWorse, f.percent, farm.Counted(here, "statement"), f.swing.Twin.Name(), twin, ended, rounded(took)), Hint: f.compareHint()}
}

func (f *feeling) compareHint() string {
	return fmt.Sprintf("compare %s with %s: what is in the buffer pool, what its disks and CPUs do, SHOW FULL PROCESSLIST, indexes", f.swing.Returns.Name(), f.swing.Twin.Name())
}

// add takes one reading, made at a time. It is ErrWorse when clients are served worse.
func (f *feeling) add(now span, at time.Time) error {
	if f.since.IsZero() {
		f.began = at
		f.begin(now, at)
		return nil
	}
	f.heard = span{answers: f.heard}.plus(span{answers: now.answers}).answers
	here, ok := now.here.Since(f.last.here)
	twin, too := now.twin.Since(f.last.twin)
	if !ok || !too {
		if f.odd++; f.odd >= isReset {
			f.spans, f.reset, f.began = nil, true, at
			f.begin(now, at)
		}
		return nil
	}
	f.odd, f.open = 0, span{here, twin, f.heard}
	if !f.isSpan(at.Sub(f.since)) {
		return nil
	}
	f.spans = append(f.spans, f.open)
	f.begin(now, at)
	return f.judge()
}

func (f *feeling) begin(now span, at time.Time) {
	f.last, f.open, f.heard, f.since, f.odd = now, span{}, answers{}, at, 0
}

// ask finds the best source that both servers offer.
func (f *feeling) ask(ctx context.Context) error {
	here, err := f.swing.Returns.ServedSources(ctx)
	if err != nil {
		return err
	}
	twin, err := f.swing.Twin.ServedSources(ctx)
	if err != nil {
		return err
	}
	f.asked = true
	for _, s := range here {
		if slices.Contains(twin, s) {
			f.source = s
			return nil
		}
	}
	var without []string
	for server, has := range map[*mysql.Server][]mysql.ServedSource{f.swing.Returns: here, f.swing.Twin: twin} {
		if len(has) == 0 {
			without = append(without, string(server.Name()))
		}
	}
	slices.Sort(without)
	f.why = fmt.Sprintf("%s counts statements otherwise than %s", f.swing.Returns.Name(), f.swing.Twin.Name())
	if len(without) > 0 {
		f.why = fmt.Sprintf("%s: no performance_schema, QUERY_RESPONSE_TIME or userstat that is on", strings.Join(without, ", "))
	}
	return nil
}

// read reads both servers at once, so that they are counted in the same seconds.
func (f *feeling) read(ctx context.Context) (now span, err error) {
	var wg sync.WaitGroup
	var failed error
	wg.Go(func() { now.twin, failed = f.swing.Twin.Served(ctx, f.source) })
	now.here, err = f.swing.Returns.Served(ctx, f.source)
	wg.Wait()
	if err == nil {
		err = failed
	}
	return now, err
}

// isSpan reports whether what was counted since the last span is one: enough statements for a third of a verdict, or its time is up.
func (f *feeling) isSpan(took time.Duration) bool {
	m, l := f.open.measure(f.all().twin), f.swing.Settings.Limits
	m.statements, m.onTwin = m.statements*inARow, m.onTwin*inARow
	return took >= leastSpan && l.isEnough(m) || took >= l.Longest/5 && min(m.statements, m.onTwin) >= leastOfSpan*inARow
}

func (f *feeling) all() span {
	all := f.open
	for _, s := range f.spans {
		all = all.plus(s)
	}
	return all
}

// judge is ErrWorse when the spans say so.
func (f *feeling) judge() error {
	l := f.swing.Settings.Limits
	v := l.judge(f.spans)
	here, twin := string(f.swing.Returns.Name()), f.swing.Twin.Name()
	switch {
	case v.errors:
		return &farm.Error{Op: "watch", Subject: here, Err: fmt.Errorf("%w: at %g %% of clients %s of %[7]s failed, on %[4]s %[5]s (limit: %[6]s more), most in %[8]s",
			ErrWorse, f.percent, share(v.failed), twin, share(v.failedTwin), share(l.Errors), farm.Counted(v.statements, "statement"), kind(v.failing)),
			Hint: "look at its read_only, disks and error log; limit: ramp.errors"}
	case v.latency:
		most := ""
		if v.worst != "" {
			most = ", most of the difference in " + kind(v.worst)
		}
		return &farm.Error{Op: "watch", Subject: here, Err: fmt.Errorf("%w: at %g %% of clients %s %v, on %s %v (limit: %g times and %v more); %s%s",
			ErrWorse, f.percent, f.took(), rounded(v.here), twin, rounded(v.twin), l.Latency, l.Floor, farm.Counted(v.statements, "statement"), most),
			Hint: f.compareHint() + "; limits: ramp.latency, ramp.floor in goals.yaml"}
	case v.waiting:
		return &farm.Error{Op: "watch", Subject: here, Err: fmt.Errorf("%w: at %g %% of clients it answered %v late, %s %v (limit: %g times and %v more)",
			ErrWorse, f.percent, rounded(v.waits), twin, rounded(v.waitsTwin), l.Latency, waitFloor),
			Hint: "look at load and network of its host; limit: ramp.latency in goals.yaml"}
	}
	return nil
}

// isDone reports whether the share has been watched for long enough.
func (f *feeling) isDone(watched time.Duration) bool {
	l, soak := f.swing.Settings.Limits, f.swing.Settings.Soak
	switch {
	case watched < soak:
		return false
	case f.source == "" || watched >= l.Longest:
		return true
	}
	if v := l.judge(f.spans); v.enough || v.doubt {
		return !v.doubt
	}
	// Where not even a few are to be expected nothing is gained by waiting.
	all := f.all()
	few := float64(all.here.Statements()) + float64(all.twin.Statements())*f.percent/100
	return watched >= l.Longest/5 && few*l.Longest.Seconds() < watched.Seconds()*leastOfSpan*inARow
}

// String says what was felt, for people.
func (f *feeling) String() string {
	if f.source == "" {
		return fmt.Sprintf("replication and probe only (%s)", f.why)
	}
	all, l := f.all(), f.swing.Settings.Limits
	m := all.measure(all.twin)
	twin, again := f.swing.Twin.Name(), ""
	if f.reset {
		again = "; counters were reset meanwhile, counted since then"
	}
	if !l.isEnough(m) {
		return fmt.Sprintf("replication and probe, and too few statements to judge by: %d, on %s %d (%s; a verdict needs %d)%s", all.here.Statements(), twin, all.twin.Statements(), f.source, l.Statements, again)
	}
	if v := l.judge(f.spans); v.doubt {
		again += "; over a limit now and then, not for long enough to decide"
	}
	failed := ""
	if f.source == mysql.StatementEvents {
		failed = fmt.Sprintf("; %s failed, on %s %s", share(m.failed), twin, share(m.failedTwin))
	}
	return fmt.Sprintf("%s %v, on %s %v%s (%s, %s)%s", f.took(), rounded(m.here), twin, rounded(m.twin), failed, f.source, farm.Counted(m.statements, "statement"), again)
}

func (f *feeling) took() string {
	if f.source == mysql.ResponseTimes {
		return "the 95th percentile of statements was"
	}
	return "a statement took"
}

// kind is the name of an event as people know it.
func kind(event string) string {
	if event == "statement/com/Execute" {
		return "prepared statements"
	}
	return strings.TrimPrefix(event, "statement/sql/")
}

func share(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

// rounded leaves three digits of a time.
func rounded(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}
