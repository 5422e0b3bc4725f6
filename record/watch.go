package record

import (
	"context"
	"fmt"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/traffic"
)

// guard looks at a server once a second and says, once, why a recording of it
// should stop. It returns when ctx ends, after a look that has begun.
type guard struct {
	l       *traffic.SlowLog
	o       Options
	journal *Journal // nil: the server's settings are not ours
	notes   []string

	busy, mute int // looks in a row that found it so
	lagIsShut  bool
}

// inARow is how many looks must agree: one look can meet a hiccup.
const inARow = 3

// pace is how often the server is asked.
const pace = time.Second

func (g *guard) run(ctx context.Context, why chan<- *ending) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// A look is never cut short: the driver would close the session, and the login of the next would be in the log that is recorded.
		if e := g.look(context.WithoutCancel(ctx)); e != nil && ctx.Err() == nil {
			why <- e
			return
		}
	}
}

// watch lets a window run until something ends it: its time, ctx, the guard (nil: there is none), the end of what it receives
// (nil: there is no such thing), or what see says. Only ctx is about the person who waits; the guard and see go on under
// steady.
func watch(ctx, steady context.Context, lasts time.Duration, g *guard, received <-chan error, see func(context.Context) *ending) *ending {
	tick := time.NewTicker(look)
	defer tick.Stop()
	over := time.NewTimer(lasts)
	defer over.Stop()
	guarding, stop := context.WithCancel(steady)
	why, gone := make(chan *ending, 1), make(chan struct{})
	go func() {
		defer close(gone)
		if g != nil {
			g.run(guarding, why)
		}
	}()
	defer func() { stop(); <-gone }()
	for {
		select {
		case <-ctx.Done():
			return &ending{stop: StopInterrupted}
		case <-over.C:
			return &ending{stop: StopTime}
		case e := <-why:
			return e
		case err := <-received:
			return &ending{stop: StopFailed, err: err}
		case <-tick.C:
			if e := see(steady); e != nil {
				return e
			}
		}
	}
}

func (g *guard) look(ctx context.Context) *ending {
	running, err := g.l.Running(ctx)
	var lag time.Duration
	if err == nil {
		lag, err = g.lag(ctx)
	}
	if err == nil && g.journal != nil {
		if e := g.settings(ctx); e != nil {
			return e
		}
	}
	if err != nil {
		if g.mute++; g.mute >= inARow {
			return endf(StopServer, "%v", err)
		}
		return nil
	}
	g.mute = 0
	e := g.beyond(running, lag)
	if e == nil {
		g.busy = 0
	} else if g.busy++; g.busy < inARow {
		e = nil
	}
	return e
}

// settings ends the window when somebody else has sent the log elsewhere or
// switched it off.
func (g *guard) settings(ctx context.Context) *ending {
	file, on, err := g.l.File(ctx)
	switch {
	case err != nil:
		return nil // the next look will count it
	case !g.journal.isOurs(traffic.SlowLogSetting{Name: fileSetting}, file):
		return endf(StopChanged, "slow_query_log_file is %s, which is not ours", file)
	case !on:
		return endf(StopChanged, "the slow log was switched off")
	}
	return nil
}

// beyond holds what a server is doing against the limits.
func (g *guard) beyond(running int, lag time.Duration) *ending {
	switch {
	case g.o.MaxRunning > 0 && running > g.o.MaxRunning:
		return endf(StopRunning, "Threads_running is %d, the limit is %d", running, g.o.MaxRunning)
	case g.o.MaxLag > 0 && lag > g.o.MaxLag:
		return endf(StopLag, "replication is %v behind, the limit is %v", lag, g.o.MaxLag)
	}
	return nil
}

// lag is 0 where the account may not see it, which is noted.
func (g *guard) lag(ctx context.Context) (time.Duration, error) {
	if g.o.MaxLag == 0 || g.lagIsShut {
		return 0, nil
	}
	lag, err := g.l.Lag(ctx)
	if mysql.IsDenied(err) {
		g.lagIsShut = true
		g.notes = append(g.notes, "replica lag was not watched: the account lacks REPLICA MONITOR (MySQL: REPLICATION CLIENT)")
		return 0, nil
	}
	return lag, err
}

// mayBegin refuses to add load to a server that is beyond the limits already.
func (g *guard) mayBegin(ctx context.Context, n farm.InstanceName) error {
	running, err := g.l.Running(ctx)
	if err != nil {
		return err
	}
	lag, err := g.lag(ctx)
	if err != nil {
		return err
	}
	if e := g.beyond(running, lag); e != nil {
		return &farm.Error{Op: "record", Subject: string(n), Err: fmt.Errorf("%w: %s", farm.ErrRefused, e.detail),
			Hint: "record when it is calmer, or raise --max-running or --max-lag"}
	}
	return nil
}
