package reshape

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"stowage/act"
	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/latest"
	"stowage/reshape/spec"
	"stowage/store"
)

// Chunks begin small, and grow or shrink until one takes so long as a client may wait for one of its rows, or for a processor; longer where there are
// no clients. Beside clients as much time passes between two chunks: what waits for one does not wait for the next, too.
const (
	firstChunk = 50
	smallChunk = 5
	largeChunk = 4000
	besideTime = time.Millisecond
	aloneTime  = 100 * time.Millisecond
	busyPause  = 50 * time.Millisecond
	keepEach   = time.Second // how often a tenant's place is kept
	tellEach   = time.Second
)

// filled is where filling in a tenant stands.
type filled struct {
	Last    latest.Key `json:"last"` // nil: not begun
	Parents int64      `json:"parents"`
	Whole   bool       `json:"whole"`
}

const filledDocument = "filled by reshape"

func (w *work) filledKey(m Member) string { return w.key() + "/" + m.String() }

func (w *work) filled(m Member) (f filled, err error) {
	_, err = w.act.Store.LatestDocument(filledDocument, w.filledKey(m), &f)
	if errors.Is(err, store.ErrNone) {
		err = nil
	}
	return f, err
}

func (w *work) keepFilled(m Member, f filled) error {
	return w.act.Store.ReplaceDocument(filledDocument, w.filledKey(m), time.Now(), f)
}

// speed is how fast the last wave that was filled in went, with all its waits: what a plan says of time rests on it.
type speed struct {
	Parents int64   `json:"parents"`
	Seconds float64 `json:"seconds"`
}

const speedDocument = "speed of reshape"

func speedKey(sp spec.Spec, pair farm.PairName) string { return sp.Name + "/" + string(pair) }

// fewForSpeed is how many rows say something about speed.
const fewForSpeed = 1000

func (w *work) keepSpeed(f *filler, began time.Time) {
	if f.rows >= fewForSpeed {
		s := speed{f.rows, time.Since(began).Seconds()}
		_ = w.act.Store.ReplaceDocument(speedDocument, speedKey(w.wave.Spec, w.pair.Name), time.Now(), s) // the next plan knows no time
	}
}

// fill fills in the tenants of the wave, one after the other.
func (w *work) fill(ctx context.Context) error {
	f, done := w.act.filler(ctx, w.pair, w.servers)
	defer done()
	defer w.keepSpeed(f, time.Now())
	told := time.Now()
	for n, m := range w.members() {
		at, err := w.filled(m)
		if err != nil {
			return err
		}
		if at.Whole {
			continue
		}
		kept := time.Now()
		err = f.tenant(ctx, w.wave.Spec, w.pair.Name, m, &at, w.waits(m), func() error {
			if time.Since(told) > tellEach {
				told = time.Now()
				w.say("tenant %s, %d of %d: %s filled in%s", m, n+1, len(w.members()), farm.Counted(at.Parents, "row"), f.pace.Slowed())
			}
			if !at.Whole && time.Since(kept) < keepEach {
				return nil
			}
			kept = time.Now()
			return w.keepFilled(m, at)
		})
		if err != nil {
			return errors.Join(err, w.keepFilled(m, at))
		}
	}
	return nil
}

// waits tells why a tenant has to wait, now and then.
func (w *work) waits(m Member) func(error) {
	return saying(m, func(text string) { w.Report(farm.Event{Kind: farm.StepWaiting, Text: text}) })
}

// waits is the same outside of a run.
func (a *Act) waits(m Member) func(error) {
	return saying(m, func(text string) {
		if a.Tell != nil {
			a.Tell(text)
		}
	})
}

func saying(m Member, say func(string)) func(error) {
	told := time.Now()
	return func(err error) {
		if time.Since(told) > 5*time.Second {
			told = time.Now()
			say(fmt.Sprintf("tenant %s waits: %s", m, strings.ReplaceAll(err.Error(), "\n", ": ")))
		}
	}
}

// filler fills in tenants of one pair, as fast as the throttle lets it.
type filler struct {
	act   *Act
	pace  *act.Pace
	rest  func(context.Context) error
	rooms *rooms
	chunk int   // parents
	bytes int64 // written, as an estimate
	rows  int64 // parents that were filled in, or were right already
}

// filler begins to look at a pair: at these servers, and at all in rotation on their hosts. done ends that.
func (a *Act) filler(ctx context.Context, pair *farm.Pair, servers []*mysql.Server) (f *filler, done func()) {
	var hosts []farm.HostName
	for _, side := range pair.SideNames() {
		hosts = append(hosts, pair.Sides[side].Host)
	}
	pace, done := a.Throttle.BeginRows(ctx, servers, hosts...)
	return &filler{act: a, pace: pace, rest: pace.Rest(), rooms: a.rooms(pair, servers), chunk: firstChunk}, done
}

// rowBytes is what a row that is written is taken for where the throttle counts bytes: its two images in the log and its pages.
const rowBytes = 1 << 10

// lookBytes is what a row is taken for that is read and right already.
const lookBytes = 1 << 7

// tenant fills in what is left of a tenant, where it is served. more hears of each chunk; its error ends the work.
func (f *filler) tenant(ctx context.Context, sp spec.Spec, pair farm.PairName, m Member, at *filled, waits func(error), more func() error) error {
	return f.act.at(ctx, sp, pair, m, waits, func(s *latest.Session, _ *mysql.Server) error {
		for !at.Whole {
			if err := errors.Join(f.rest(ctx), f.rooms.look(ctx)); err != nil {
				return err
			}
			if err := f.next(ctx, s, m, at); err != nil {
				return err
			}
			if err := more(); err != nil {
				return err
			}
		}
		return nil
	})
}

// next fills in one chunk.
func (f *filler) next(ctx context.Context, s *latest.Session, m Member, at *filled) error {
	began := time.Now()
	c, err := s.Fill(ctx, m.Shard, m.Tenant, at.Last, f.chunk)
	if errors.Is(err, latest.ErrBusy) {
		f.chunk = max(1, f.chunk/2)
	}
	if err != nil {
		return err
	}
	took, goal := time.Since(began), aloneTime
	if !f.pace.Alone() {
		goal = besideTime
	}
	f.chunk = nextChunk(f.chunk, took, goal)
	f.rows += int64(c.Parents)
	f.bytes += c.Changed*rowBytes + int64(c.Parents)*lookBytes
	f.pace.Moved(f.bytes)
	*at = filled{Last: c.Last, Parents: at.Parents + int64(c.Parents), Whole: c.Last == nil}
	if goal == besideTime && !at.Whole && !pause(ctx, min(took, busyPause)) {
		return context.Cause(ctx)
	}
	return nil
}

func nextChunk(rows int, took, goal time.Duration) int {
	factor := min(2, max(0.5, float64(goal)/float64(max(took, time.Microsecond))))
	return max(smallChunk, min(largeChunk, int(float64(rows)*factor)))
}
