package act

import (
	"context"
	"errors"
	"os"
	"os/user"
	"sort"
	"strconv"
	"sync"
	"time"

	"stowage/engine"
	"stowage/store"
)

// look is how often a run looks for new orders.
const look = 200 * time.Millisecond

// Steer is how a run that is under way hears what people say: `stowage move
// pause` in another terminal adds an order to the store, and every step asks
// here before it begins. It is safe for several goroutines.
type Steer struct {
	store *store.Store
	run   string
	log   func(error)

	mu      sync.Mutex
	now     Steering
	last    int64
	changed chan struct{} // closed, and replaced, with every change
	// later names a lane of the same job that began after this one and has not ended.
	later func(job, lane string) string
}

// Who is the person at the keyboard, for orders and the trail.
func Who() string {
	if name := os.Getenv("SUDO_USER"); name != "" {
		return name + " as root"
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

// newSteer reads the orders of a run.
func newSteer(s *store.Store, run string, log func(error)) (*Steer, error) {
	st := &Steer{store: s, run: run, log: log, now: steeringOf(nil), changed: make(chan struct{})}
	return st, st.refresh()
}

// refresh takes what was ordered since.
func (s *Steer) refresh() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	orders, err := s.store.Orders(s.run, s.last)
	if err != nil || len(orders) == 0 {
		return err
	}
	for _, o := range orders {
		s.now.take(o)
		s.last = o.ID
	}
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

// watch looks for orders until ctx ends.
func (s *Steer) watch(ctx context.Context) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.refresh(); err != nil {
			s.log(err) // what was said before still holds
		}
	}
}

// Now is what holds, and a channel that is closed when that changes.
func (s *Steer) Now() (Steering, <-chan struct{}) {
	if s == nil { // of a program that is no run: nobody steers it
		return Steering{}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now, s.changed
}

func (s *Steer) note(verb, part, what string) error { return s.noteWhy(verb, part, what, "") }

func (s *Steer) noteWhy(verb, part, what, why string) error {
	return s.store.PutOrder(store.Order{Run: s.run, At: time.Now(), Who: "stowage", PID: os.Getpid(), Verb: verb, Part: part, What: what, Why: why})
}

// Found notes that the way back of a part is open again, or has been gone.
func (s *Steer) Found(part string) error {
	if err := s.note(orderFound, part, ""); err != nil {
		return err
	}
	return s.refresh()
}

// ask says whether a step, or its undo, may begin, and writes down what follows
// from that.
func (s *Steer) ask(c engine.Call, step Step, behind []string) (verdict, error) {
	err := s.refresh()
	if c.Undo { // what was said before holds
		now, _ := s.Now()
		return now.judgeUndo(c.Subject), nil
	}
	if err != nil {
		return verdict{}, err
	}
	later := s.laterLane(c)
	s.mu.Lock()
	v := s.now.judge(c.Subject, step, c.Attempt, time.Now(), later, behind...)
	s.mu.Unlock()
	if v.note == "" {
		return v, nil
	}
	if err := s.note(v.note, c.Subject, step.Name); err != nil {
		return v, err
	}
	return v, s.refresh()
}

func (s *Steer) laterLane(c engine.Call) string {
	s.mu.Lock()
	asked, later := s.now.Undo, s.later
	s.mu.Unlock()
	if !asked || later == nil {
		return ""
	}
	return later(c.Job, c.Lane)
}

// hold returns when it is worth asking again. tell is told why it waits, once
// for each reason.
func (s *Steer) hold(ctx context.Context, c engine.Call, step Step, behind []string, tell func(string)) error {
	said := ""
	for {
		_, changed := s.Now()
		v, err := s.ask(c, step, behind)
		if err != nil || v.may != mustWait {
			return err
		}
		if v.text != said {
			tell(v.text)
			said = v.text
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		case <-time.After(time.Second): // a soak ends, a lane is undone
		}
	}
}

// errEnding is why a step is broken off.
var errEnding = errors.New("the run is to end")

// attend gives a step a context that ends when the run is to end and the step
// can be broken off: at once, or, where it may hold a gate closed, after the
// time it is given when we are told to stop. A part behind its point of no
// return is left alone.
func (s *Steer) attend(ctx context.Context, c engine.Call, step Step) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for {
			now, changed := s.Now()
			if ctx.Err() != nil {
				return
			}
			if s.isEnding(now, c, step) && pause(ctx, patienceOf(step)) {
				cancel(errEnding)
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

func (s *Steer) isEnding(now Steering, c engine.Call, step Step) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Ending != nil && !now.sealed[c.Subject] && !step.NoReturn
}

func patienceOf(step Step) time.Duration {
	if len(step.Phases) > 0 {
		return grace
	}
	return 0
}

// pause waits; false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func sortApprovals(all []Approval) {
	sort.Slice(all, func(i, j int) bool {
		if !all[i].Since.Equal(all[j].Since) {
			return all[i].Since.Before(all[j].Since)
		}
		return all[i].Part < all[j].Part
	})
}
