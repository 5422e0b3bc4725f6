package replay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"stowage/bench/stat"
	"stowage/digest"
	"stowage/farm"
	"stowage/mysql/traffic"
)

// Conn is one connection, as *traffic.Client is. It is used by one goroutine at
// a time, but for Close.
type Conn interface {
	Query(ctx context.Context, text string, sum bool) (traffic.Answer, error)
	Execute(ctx context.Context, text string, values []any, sum bool) (traffic.Answer, error)
	Use(ctx context.Context, database string) (traffic.Answer, error)
	Mode(ctx context.Context) (string, error)
	RoundTrip(ctx context.Context) (time.Duration, error)
	Close() error
}

// Door opens connections to one server.
type Door func(ctx context.Context, database string) (Conn, error)

// Options say what is sent, where to, and how fast.
type Options struct {
	Inputs []Input
	Digest digest.Options // Since, Until, Filter and Rules count

	Candidate Door
	Original  Door // a second server that is asked the same reads; nil: none
	Allow     Allowance

	// Speed divides the times of the recording: 2 is twice as fast; 0 is as fast
	// as the sessions go.
	Speed float64
	// Think keeps the time between the statements of a session rather than their
	// time of day: a session that had to wait for an answer goes on later.
	Think    bool
	Sessions int           // connections at once; default 100
	For      time.Duration // no statement is sent after so long; 0: no limit
	Limit    uint64        // no more statements of the recording than these; 0: all
	// Timeout is how long a statement may take beyond ten times what it took
	// when it was recorded; default a minute. Then its connection is closed.
	Timeout time.Duration

	// Guard is asked before the first statement and then again and again; an
	// error stops everything at once and is returned. Nil: nothing to guard.
	Guard func(context.Context) error
	// Progress is told now and then how far it is. Nil: nobody asks.
	Progress func(Progress)
}

// Progress is how far a replay is.
type Progress struct {
	Sent, Errors, Different uint64
	Late                    time.Duration // the last statement
	Elapsed                 time.Duration
}

func (o Options) withDefaults() Options {
	if o.Sessions <= 0 {
		o.Sessions = 100
	}
	if o.Timeout <= 0 {
		o.Timeout = time.Minute
	}
	return o
}

const (
	ahead      = 2 * time.Second // how long before its time a statement is given to its session
	lead       = 200 * time.Millisecond
	guardEvery = 250 * time.Millisecond
	tellEvery  = time.Second
)

// ErrLostCandidate says that no connection can be made any more.
var ErrLostCandidate = errors.New("no connections any more")

// Run replays. The Outcome is what was seen, also beside an error: one of
// Guard (wraps farm.ErrRefused), ErrLostCandidate, unusable input, or ctx's
// end (wraps farm.ErrInterrupted).
func Run(ctx context.Context, o Options) (*Outcome, error) {
	o = o.withDefaults()
	tripTime, err := o.before(ctx)
	if ctx.Err() != nil {
		return nil, interrupted()
	}
	if err != nil {
		return nil, err
	}
	p := newPlayer(ctx, o)
	defer p.cancel(nil)
	p.tally.roundTrip = tripTime
	var watchers sync.WaitGroup
	stop := make(chan struct{})
	watchers.Add(1)
	go func() {
		defer watchers.Done()
		p.watch(stop)
	}()
	reading, err := Recordings(p.ctx, o.Inputs, o.Digest, p.dispatch)
	p.workers.Wait()
	close(stop)
	watchers.Wait()
	p.closeAll()
	out := p.outcome(reading)
	return out, p.verdict(ctx, err, out)
}

// verdict is why the run ended, or nil when it came to its end.
func (p *player) verdict(ctx context.Context, err error, out *Outcome) error {
	cause := context.Cause(p.ctx)
	switch {
	case ctx.Err() != nil:
		out.Ended = "interrupted"
		return interrupted()
	case cause != nil:
		out.Ended = cause.Error()
		return cause
	case stopped(err) || p.enough:
		out.Ended = "as asked"
		return nil
	case err != nil:
		out.Ended = err.Error()
		return err
	}
	out.Ended = "complete"
	return nil
}

func interrupted() error { return &farm.Error{Op: "replay", Err: farm.ErrInterrupted} }

// before asks what must be known before the first statement is sent.
func (o Options) before(ctx context.Context) (time.Duration, error) {
	if o.Guard != nil {
		if err := o.Guard(ctx); err != nil {
			return 0, err
		}
	}
	return roundTrip(ctx, o.Candidate)
}

// roundTrip is the median time of a statement that does nothing. It also shows
// whether the candidate takes a login at all.
func roundTrip(ctx context.Context, door Door) (time.Duration, error) {
	c, err := door(ctx, "")
	if err != nil {
		return 0, err
	}
	defer c.Close()
	var h stat.Times
	for range 50 {
		took, err := c.RoundTrip(ctx)
		if err != nil {
			return 0, err
		}
		h.Add(took)
	}
	return h.Quantile(0.5), nil
}

// player is one run.
type player struct {
	o      Options
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	changed  *sync.Cond // queued, connected or state of a session
	sessions map[SessionID]*session
	room     room
	queued   int // statements
	bytes    int
	enough   bool // no further statement is begun

	begun   time.Time // wall clock of first
	first   time.Time // of the recording
	taken   uint64
	workers sync.WaitGroup
	tally   *tally
}

const (
	maxQueued      = 20_000
	maxQueuedBytes = 64 << 20
	maxSessions    = 20_000 // remembered at once
)

func newPlayer(ctx context.Context, o Options) *player {
	p := &player{o: o, sessions: map[SessionID]*session{}, tally: newTally(o)}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	p.changed = sync.NewCond(&p.mu)
	p.room = room{limit: o.Sessions, holders: map[*session]bool{}}
	context.AfterFunc(p.ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.changed.Broadcast()
	})
	return p
}

// dispatch gives a statement to its session, shortly before it is due.
func (p *player) dispatch(s *Statement) error {
	if p.begun.IsZero() {
		p.begun, p.first = time.Now().Add(lead), s.Start
		p.tally.begin(p.begun, s.Start)
	}
	p.tally.read(s)
	if p.o.Limit > 0 && s.Command == Say {
		if p.taken++; p.taken > p.o.Limit {
			return errStop
		}
	}
	if p.o.Speed > 0 && !p.o.Think {
		if !sleepUntil(p.ctx, p.due(s).Add(-ahead)) {
			return errStop
		}
	}
	return p.enqueue(s)
}

// due is when a statement should be sent by the recording's clock.
func (p *player) due(s *Statement) time.Time {
	if p.o.Speed <= 0 {
		return p.begun
	}
	return p.begun.Add(time.Duration(float64(s.Start.Sub(p.first)) / p.o.Speed))
}

// enqueue waits until there is room for one more statement.
func (p *player) enqueue(st *Statement) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	isFull := func() bool { return p.queued > 0 && (p.queued >= maxQueued || p.bytes >= maxQueuedBytes) }
	if isFull() {
		p.tally.crowded()
	}
	for p.ctx.Err() == nil && !p.enough && isFull() {
		p.changed.Wait()
	}
	if p.ctx.Err() != nil || p.enough {
		return errStop
	}
	s := p.session(st.Session)
	s.queue = append(s.queue, st)
	p.queued++
	p.bytes += st.size()
	if !s.isAwake {
		s.isAwake = true
		p.workers.Add(1)
		go p.work(s)
	}
	return nil
}

// watch asks the guard, tells progress and looks at the clock until the end.
func (p *player) watch(stop <-chan struct{}) {
	guard, tell := time.NewTicker(guardEvery), time.NewTicker(tellEvery)
	defer guard.Stop()
	defer tell.Stop()
	var over <-chan time.Time
	if p.o.For > 0 {
		t := time.NewTimer(p.o.For)
		defer t.Stop()
		over = t.C
	}
	for {
		select {
		case <-stop:
			return
		case <-p.ctx.Done():
			return
		case <-over:
			p.stopBeginning()
		case <-tell.C:
			if p.o.Progress != nil {
				p.o.Progress(p.tally.progress())
			}
		case <-guard.C:
			if p.o.Guard == nil {
				continue
			}
			if err := p.o.Guard(p.ctx); err != nil && p.ctx.Err() == nil {
				p.cancel(err)
				return
			}
		}
	}
}

// stopBeginning lets what runs end and begins nothing new.
func (p *player) stopBeginning() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.enough = true
	p.changed.Broadcast()
}

// sleepUntil waits for a moment; false when ctx ended.
func sleepUntil(ctx context.Context, at time.Time) bool {
	d := time.Until(at)
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// refused dresses a reason not to go on.
func refused(subject, hint, format string, args ...any) error {
	return &farm.Error{Op: "replay", Subject: subject, Hint: hint, Err: fmt.Errorf("%w: %s", farm.ErrRefused, fmt.Sprintf(format, args...))}
}
