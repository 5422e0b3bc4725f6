package reshape

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/latest"
	"stowage/store"
)

// Chunks begin small, and grow or shrink until one takes chunkTime: for so long a client may wait for a row.
const (
	firstChunk = 200
	largeChunk = 4000
	chunkTime  = 100 * time.Millisecond
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

// fill fills in the tenants of the wave, one after the other.
func (w *work) fill(ctx context.Context) error {
	var hosts []farm.HostName
	for _, side := range w.pair.SideNames() {
		hosts = append(hosts, w.pair.Sides[side].Host)
	}
	pace, done := w.act.Throttle.Begin(ctx, w.servers, hosts...)
	defer done()
	f := &filling{work: w, rest: pace.Rest(), moved: pace.Moved, why: pace.Slowed, chunk: firstChunk}
	for n, m := range w.members() {
		at, err := w.filled(m)
		if err != nil {
			return err
		}
		if at.Whole {
			continue
		}
		f.label = fmt.Sprintf("tenant %s, %d of %d", m, n+1, len(w.members()))
		if err := w.act.at(ctx, w.wave.Spec, w.pair.Name, m, w.waits(m), func(s *latest.Session, _ *mysql.Server) error { return f.tenant(ctx, s, m) }); err != nil {
			return err
		}
	}
	return nil
}

// waits tells why a tenant has to wait, now and then.
func (w *work) waits(m Member) func(error) {
	told := time.Now()
	return func(err error) {
		if time.Since(told) > 5*time.Second {
			told = time.Now()
			w.Report(farm.Event{Kind: farm.StepWaiting, Text: fmt.Sprintf("tenant %s waits: %v", m, err)})
		}
	}
}

// filling is the state of one pair's filling in.
type filling struct {
	*work
	rest  func(context.Context) error
	moved func(int64)
	why   func() string
	label string
	chunk int   // parents
	bytes int64 // written, as an estimate
	told  time.Time
}

// rowBytes is what a row that is written is taken for where the throttle counts bytes: its two images in the log and its pages.
const rowBytes = 1 << 10

func (f *filling) tenant(ctx context.Context, s *latest.Session, m Member) error {
	at, err := f.filled(m)
	if err != nil {
		return err
	}
	kept := time.Now()
	for !at.Whole {
		if err := f.rest(ctx); err != nil {
			return err
		}
		began := time.Now()
		c, err := s.Fill(ctx, m.Shard, m.Tenant, at.Last, f.chunk)
		if errors.Is(err, latest.ErrBusy) {
			f.chunk = max(1, f.chunk/2)
		}
		if err != nil {
			if keepErr := f.keepFilled(m, at); keepErr != nil {
				return keepErr
			}
			return err
		}
		f.chunk = nextChunk(f.chunk, time.Since(began))
		f.bytes += c.Changed * rowBytes
		f.moved(f.bytes)
		at = filled{Last: c.Last, Parents: at.Parents + int64(c.Parents), Whole: c.Last == nil}
		if at.Whole || time.Since(kept) > keepEach {
			if err := f.keepFilled(m, at); err != nil {
				return err
			}
			kept = time.Now()
		}
		if time.Since(f.told) > tellEach {
			f.told = time.Now()
			f.say("%s: %s filled in%s", f.label, farm.Counted(at.Parents, "row"), f.why())
		}
	}
	return nil
}

func nextChunk(rows int, took time.Duration) int {
	factor := min(2, max(0.5, float64(chunkTime)/float64(max(took, time.Millisecond))))
	return max(10, min(largeChunk, int(float64(rows)*factor)))
}
