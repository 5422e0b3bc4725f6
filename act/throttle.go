package act

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/pace"
	"stowage/placement"
)

// Throttle shares out what copies may use: between a person's word, the budget
// of each host's disks, and what the servers beside them can bear. It is safe
// for several goroutines.
type Throttle struct {
	limits pace.Limits
	disk   int64 // what copies to one host may write; pace.NoLimit: none
	steer  *Steer
	sight  *sight

	mu     sync.Mutex
	copies map[*Pace]bool
}

// newThrottle keeps to the budgets of a plan.
func newThrottle(b placement.Budgets, steer *Steer, servers func(...farm.HostName) []*mysql.Server) *Throttle {
	t := &Throttle{limits: pace.Defaults(), disk: pace.NoLimit, steer: steer, copies: map[*Pace]bool{}, sight: newSight(servers)}
	if b.DiskWrite > 0 {
		t.disk = int64(b.DiskWrite)
		t.limits.Ceiling = t.disk
	}
	if b.Lag > 0 {
		t.limits.Lag = b.Lag
	}
	return t
}

// Pace is one copy under way. A nil Pace limits nothing.
type Pace struct {
	throttle *Throttle
	target   farm.HostName
	moved    atomic.Int64

	mu       sync.Mutex
	governor *pace.Governor
	alone    bool // nobody was there to be disturbed, when it was last looked
}

// Begin follows a copy until done is called: those servers, and all that are in
// rotation on these hosts, of which the first is where it writes.
func (t *Throttle) Begin(ctx context.Context, servers []*mysql.Server, hosts ...farm.HostName) (p *Pace, done func()) {
	if t == nil {
		return nil, func() {}
	}
	return t.begin(ctx, t.limits, false, servers, hosts)
}

// gentle is the rate at which a copy begins that nobody waits for: 32 MB/s; by 15 % a second it is at 100 within some eight seconds.
const gentle = 32 << 20

// gentleLoad makes statements of 1.25 times the usual time too much for a copy that nobody waits for, and 1.125 times the end of calm.
const gentleLoad = 2

// BeginGently is Begin for a copy that nobody waits for. It first learns for three seconds what is usual, begins slowly, rises while the servers are calm, and is
// slowed by what clients feel. Where nobody is there to be disturbed it begins at full speed.
func (t *Throttle) BeginGently(ctx context.Context, servers []*mysql.Server, hosts ...farm.HostName) (p *Pace, done func()) {
	if t == nil {
		return nil, func() {}
	}
	limits := t.limits
	limits.Begin, limits.Load = gentle, gentleLoad
	return t.begin(ctx, limits, true, servers, hosts)
}

// Rows that are written under clients, each a kilobyte (reshape): how fast they begin, and how fast they always go on, in bytes a second. A copy's floor is more than a server can write of them.
const (
	rowsBegin = 1 << 20
	rowsFloor = 128 << 10
	rowsLoad  = 1.6 // statements of 1.15 times the usual time are too much, and 1.075 times is the end of calm
)

// BeginRows is BeginGently for rows that are written while clients work. The caller reports the bytes of each piece to Moved.
func (t *Throttle) BeginRows(ctx context.Context, servers []*mysql.Server, hosts ...farm.HostName) (p *Pace, done func()) {
	if t == nil {
		return nil, func() {}
	}
	limits := t.limits
	limits.Begin, limits.Floor, limits.Load = rowsBegin, rowsFloor, rowsLoad
	return t.begin(ctx, limits, true, servers, hosts)
}

// begin follows a copy. gently: it first learns what is usual, and begins as its limits say where somebody may be disturbed.
func (t *Throttle) begin(ctx context.Context, limits pace.Limits, gently bool, servers []*mysql.Server, hosts []farm.HostName) (p *Pace, done func()) {
	watched := t.sight.watch(servers, hosts, gently)
	p = &Pace{throttle: t, target: hosts[0]}
	if !gently || len(watched.servers) == 0 {
		limits.Begin = 0
	} else if r := watched.settle(ctx); r.Lag > limits.Lag {
		limits.Begin = limits.Floor
	} else if p.alone = r.Quiet; p.alone {
		limits.Begin = 0
	}
	p.governor = pace.NewGovernor(limits)
	t.mu.Lock()
	t.copies[p] = true
	t.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.govern(ctx, watched)
	}()
	return p, func() {
		cancel()
		<-ended
		watched.close()
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.copies, p)
	}
}

// govern looks at the servers each second.
func (p *Pace) govern(ctx context.Context, watched *watched) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var before int64
	at := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		reading := watched.read(ctx)
		if ctx.Err() != nil {
			return
		}
		now, moved := time.Now(), p.moved.Load()
		flow := int64(float64(moved-before) / now.Sub(at).Seconds())
		before, at = moved, now
		p.mu.Lock()
		p.governor.Step(max(0, flow), reading)
		p.alone = reading.Quiet
		inVain := p.governor.SlowedInVain()
		p.mu.Unlock()
		if inVain {
			watched.relearn()
		}
	}
}

// Alone reports whether nobody was there to be disturbed, when it was last looked.
func (p *Pace) Alone() bool {
	if p == nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.alone
}

// Moved is told how many bytes have gone in all.
func (p *Pace) Moved(n int64) {
	if p != nil {
		p.moved.Store(n)
	}
}

// Rate is how fast the copy may go now, in bytes a second: host.Copy.Rate.
func (p *Pace) Rate() int64 {
	if p == nil {
		return pace.NoLimit
	}
	rate, _ := p.limit()
	return rate
}

// Why is the reason it is not faster, for people; empty without one.
func (p *Pace) Why() string {
	if p == nil {
		return ""
	}
	_, why := p.limit()
	return why
}

// Slowed is the end of a sentence about a copy: why it is slow. It is empty when nothing slows it.
func (p *Pace) Slowed() string {
	if why := p.Why(); why != "" {
		return " at " + why + ";"
	}
	return ""
}

// limit is the lowest of all limits, and whose it is.
func (p *Pace) limit() (int64, string) {
	t := p.throttle
	p.mu.Lock()
	rate, why := p.governor.Rate(), p.governor.Reason()
	p.mu.Unlock()
	lower := func(to int64, because string) {
		if rate < 0 || to < rate {
			rate, why = to, because
		}
	}
	all, here := t.count(p.target)
	if t.disk >= 0 && here > 1 {
		lower(t.disk/int64(here), fmt.Sprintf("%.1f MB/s: %d copies share %s's disks", float64(t.disk)/1e6/float64(here), here, p.target))
	}
	now, _ := t.steer.Now()
	if now.Throttle != nil {
		lower(*now.Throttle/int64(max(1, all)), fmt.Sprintf("%.1f MB/s for %d copies, %s", float64(*now.Throttle)/1e6, all, now.ThrottleBy))
	}
	if now.Paused != nil && now.HoldCopies {
		lower(0, fmt.Sprintf("paused %s", now.Paused))
	}
	return rate, why
}

// count is how many copies run, and how many of them to one host.
func (t *Throttle) count(target farm.HostName) (all, here int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p := range t.copies {
		if p.target == target {
			here++
		}
	}
	return len(t.copies), here
}

// longestRest bounds the rest between two pieces of a copy that is not counted
// in bytes: something always moves.
const longestRest = 5 * time.Second

// Rest is for copies in pieces, of rows: called before each piece, it rests for
// so long that the bytes of the last piece keep to the rate; of a piece whose
// bytes Moved is not told, for so long that the share of the time at work is the
// share of the rate that is left. A person's 0 holds it for as long as it is said. The streams of one
// copy rest one after the other, each since the last rest.
func (p *Pace) Rest() func(context.Context) error {
	var mu sync.Mutex
	began, before := time.Time{}, int64(0)
	return func(ctx context.Context) error {
		if p == nil {
			return ctx.Err()
		}
		mu.Lock()
		defer mu.Unlock()
		moved := p.moved.Load()
		rest := p.restAfter(began, moved-before)
		before = moved
		for p.Rate() == 0 {
			if !pause(ctx, look) {
				return context.Cause(ctx)
			}
		}
		if rest > 0 && !pause(ctx, rest) {
			return context.Cause(ctx)
		}
		began = time.Now()
		return ctx.Err()
	}
}

func (p *Pace) restAfter(began time.Time, bytes int64) time.Duration {
	rate, full := p.Rate(), p.throttle.full()
	switch {
	case began.IsZero() || rate <= 0:
		return 0
	case bytes > 0:
		return min(longestRest, max(0, time.Duration(float64(bytes)/float64(rate)*float64(time.Second))-time.Since(began)))
	case rate >= full:
		return 0
	}
	return min(longestRest, time.Duration(float64(time.Since(began))*(float64(full)/float64(rate)-1)))
}

// full is what a copy of rows is taken to do when nothing limits it and no
// budget says more: some 100 MB/s.
func (t *Throttle) full() int64 {
	if t.limits.Ceiling > 0 {
		return t.limits.Ceiling
	}
	return 100e6
}

// errUnread is a server that did not answer: no news is no reason to hurry.
var errUnread = errors.New("not read")
