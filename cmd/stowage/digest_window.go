package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stowage/digest"
	"stowage/farm"
	"stowage/mysql/traffic"
)

// liveWindow reads performance_schema of one server from now on for a while, in two ways at once, each into a digest of its
// own: the differences of its sums, and single statements from its ring of those that have ended. Which digest is used
// is seen at the end: single statements tell more, but only if hardly any has left the ring before it was read. The sums
// say how many there should have been. Nothing is truncated and nothing is switched on.
type liveWindow struct {
	r    *traffic.Statements
	name string
	say  func(string, ...any)

	sums   *digest.Builder
	summed *digest.Live
	diff   digest.Window
	first  traffic.SummaryReading
	last   traffic.SummaryReading
	lost   uint64 // truncations
	every  time.Duration
	refuse error // what is asked for cannot be answered from sums: the ring or nothing

	ring     *traffic.History // nil: not used
	why      string           // not
	events   *digest.Builder
	single   *digest.Live
	from     uint64 // timer
	now      traffic.Tick
	counted  uint64 // statements from the ring that the sums hold too
	interval time.Duration
}

const (
	mostLoss      = 0.01 // share of statements that may be missing where single ones are used
	hopeless      = 0.10 // share above which the ring is not read any more
	shortestPoll  = 10 * time.Millisecond
	longestPoll   = time.Second
	skipOverrun   = "overwritten in the ring of statements before they were read"
	skipTruncated = "performance_schema's sums were truncated during the reading: the number of lost statements is not known"
	noteCut       = "cut off by the server (performance_schema_max_sql_text_length): classed by its beginning"
	noteNameless  = "its session had ended before its user was asked for"
)

func (a *app) readWindow(ctx context.Context, r *traffic.Statements, name string, lf liveFlags, o digest.Options) (*digest.Digest, error) {
	w := &liveWindow{r: r, name: name, say: a.say, sums: digest.New(o), events: digest.New(o), interval: 100 * time.Millisecond}
	if w.refuse = o.CheckSums(); w.refuse != nil {
		w.sums = digest.New(digest.Options{}) // only to know how many statements there were
	}
	w.summed = w.sums.Live(name, sumsKind, r.Dialect())
	w.every = w.summed.Every(lf.every)
	consumers, err := r.Schema(ctx)
	if err != nil {
		return nil, err
	}
	if w.ring, err = r.History(ctx, consumers); errors.Is(err, traffic.ErrNoHistory) {
		w.ring, w.why = nil, err.Error()
	} else if err != nil {
		return nil, err
	}
	if w.ring != nil {
		w.single = w.events.Live(name, "performance_schema."+w.ring.Table(), r.Dialect())
	}
	seconds := int64(w.every / time.Second)
	from := time.Unix((time.Now().Unix()/seconds+1)*seconds, 0)
	until := from.Add((lf.window + w.every - 1) / w.every * w.every)
	a.say("%s: reading performance_schema from %s to %s UTC, every %s", name, from.UTC().Format(time.TimeOnly), until.UTC().Format(time.TimeOnly), w.every)
	if err := w.run(ctx, from, until); err != nil {
		return nil, err
	}
	if w.ring == nil && w.refuse != nil {
		return nil, &farm.Error{Op: "read performance_schema", Subject: name, Err: fmt.Errorf("%w: %w, and there are only sums: %s", farm.ErrInput, w.refuse, w.why),
			Hint: "enable the consumers events_statements_current and events_statements_history_long, or ask for less"}
	}
	return w.choose(), nil
}

// run reads the sums at every border between two blocks of time, and the ring in between.
func (w *liveWindow) run(ctx context.Context, from, until time.Time) error {
	if err := wait(ctx, time.Until(from)); err != nil {
		return err
	}
	if err := w.tick(ctx, true); err != nil {
		return err
	}
	if err := w.reading(ctx, time.Time{}, time.Time{}); err != nil {
		return err
	}
	for since := from; since.Before(until); {
		border := since.Add(w.every)
		if err := w.poll(ctx, border); err != nil {
			return err
		}
		last := !border.Before(until)
		if err := w.tick(ctx, last); err != nil {
			return err
		}
		for now := time.Now(); border.Add(w.every).Before(now); { // a slow server: this reading is of several blocks
			border = border.Add(w.every)
		}
		if err := w.reading(ctx, since, border); err != nil {
			return err
		}
		w.giveUp()
		since = border
	}
	return w.end(ctx)
}

// reading takes the sums, and counts what was added to them since the reading before.
func (w *liveWindow) reading(ctx context.Context, from, to time.Time) error {
	now, err := w.r.Summary(ctx)
	if err != nil {
		return err
	}
	grown, truncated := w.diff.Next(now.Classes)
	for _, s := range grown {
		w.summed.Sum(s, from, to)
	}
	if truncated {
		w.lost++
	}
	if from.IsZero() {
		if err := w.r.Bins(ctx, &now); err != nil {
			return err
		}
		w.first = now
	}
	w.last = now
	return nil
}

// tick reads the ring up to now; at the two ends of the window this moment is the border for single statements, as the
// reading of the sums behind it is for the sums.
func (w *liveWindow) tick(ctx context.Context, isEnd bool) error {
	if w.ring == nil {
		return nil
	}
	now, err := w.ring.Tick(ctx)
	if errors.Is(err, traffic.ErrNoHistory) {
		w.ring, w.why = nil, err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	if w.from == 0 {
		w.from = now.Timer
		return nil
	}
	w.now = now
	return w.take(ctx, now, isEnd)
}

func (w *liveWindow) take(ctx context.Context, now traffic.Tick, isEnd bool) error {
	to := uint64(0)
	if isEnd {
		to = now.Timer
	}
	fill, err := w.ring.Poll(ctx, now, w.from, to, func(s *digest.Statement, digested bool) error {
		w.single.Statement(s)
		if digested {
			w.counted++
		}
		return nil
	})
	switch {
	case fill > 0.3:
		w.interval = max(w.interval/2, shortestPoll)
	case fill < 0.1:
		w.interval = min(w.interval*3/2, longestPoll)
	}
	return err
}

// poll reads the ring until the border.
func (w *liveWindow) poll(ctx context.Context, border time.Time) error {
	for w.ring != nil && time.Until(border) > w.interval {
		if err := wait(ctx, w.interval); err != nil {
			return err
		}
		if err := w.tick(ctx, false); err != nil {
			return err
		}
	}
	return wait(ctx, time.Until(border))
}

// end reads the ring a last time: what ended right before the border may have come into it right behind. Where the server
// keeps histograms, the sums get theirs.
func (w *liveWindow) end(ctx context.Context) error {
	if w.ring != nil {
		if err := w.take(ctx, w.now, true); err != nil {
			return err
		}
	}
	if err := w.r.Bins(ctx, &w.last); err != nil {
		return err
	}
	missing, of := w.missing()
	switch {
	case w.ring == nil:
	case w.lost > 0:
		w.leave("the sums were truncated during the window: the number of missing statements is not known")
	case float64(missing) > mostLoss*float64(of):
		w.leave(fmt.Sprintf("%s missed %d of %d statements", w.ring.Table(), missing, of))
	}
	return nil
}

// leave uses the sums, where they can answer.
func (w *liveWindow) leave(why string) {
	if w.refuse == nil {
		w.ring, w.why = nil, why
	}
}

// spread gives the statements of the sums the times of the server's histograms, all at once: between single readings they
// are not asked for, as each asking goes through 450 rows a class.
func (w *liveWindow) spread() {
	var all digest.Window
	all.Next(w.first.Classes)
	grown, _ := all.Next(w.last.Classes)
	for _, s := range grown {
		if len(s.Bins) > 0 {
			w.summed.Spread(s)
		}
	}
}

// missing is how many statements the sums know of that were not in the ring.
func (w *liveWindow) missing() (n, of uint64) {
	of = w.last.Total() - w.first.Total()
	if w.last.Total() < w.first.Total() || w.counted >= of {
		return 0, of
	}
	return of - w.counted, of
}

// giveUp leaves a ring alone that is too small for this server.
func (w *liveWindow) giveUp() {
	if n, of := w.missing(); w.ring != nil && w.lost == 0 && float64(n) > hopeless*float64(of) && n > 100 {
		w.leave(fmt.Sprintf("%s is too small for this pace (%s): it missed %d of %d statements", w.ring.Table(), farm.Counted(w.ring.Size(), "row"), n, of))
	}
}

// choose ends both inputs and takes the digest that tells more.
func (w *liveWindow) choose() *digest.Digest {
	prepared := w.last.Prepared - min(w.last.Prepared, w.first.Prepared)
	if w.ring != nil {
		if _, of := w.missing(); of+prepared > w.single.Events() {
			prepared = min(prepared, of+prepared-w.single.Events())
			w.single.Skip(skipPrepared, prepared)
			sayPrepared(w.say, w.name, prepared, w.single.Events())
		}
		missing, of := w.missing()
		w.single.Skip(skipOverrun, missing)
		w.single.Note(noteCut, w.ring.Cut)
		w.single.Note(noteNameless, w.ring.Nameless)
		w.single.Note(noteOwn, w.r.Own)
		w.single.Close()
		w.say("%s: %d single statements from %s, which missed %d of %d", w.name, w.single.Events(), w.ring.Table(), missing, of)
		return w.events.Digest()
	}
	w.summed.Skip(skipNoRoom, w.last.Lost-min(w.last.Lost, w.first.Lost))
	w.summed.Skip(skipTruncated, w.lost)
	w.summed.Skip(skipPrepared, prepared)
	sayPrepared(w.say, w.name, prepared, w.summed.Events())
	w.summed.Note(noteOwn, w.last.Own-min(w.last.Own, w.first.Own))
	w.spread()
	w.summed.Close()
	w.say("%s: sums of %d statements, no quantiles: %s", w.name, w.summed.Events(), w.why)
	return w.sums.Digest()
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
