package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"stowage/agent"
	"stowage/farm"
)

const (
	// AgentPatience is how long agents may take to be back when an engine has been started. Measured on two cores that others used
	// as well: 60 agents within 4 s, 150 within 26 s.
	AgentPatience = time.Minute
	// AgentAnswer is how long one may take that is asked later: it has found the engine by then.
	AgentAnswer = 20 * time.Second
	countSaid   = 5 * time.Second
)

// Handshakes asks agents whether they are there, all at once, and waits for their answers. Every verb that needs agents waits for them
// here first: what is asked of one later waits for it without end. Safe for several goroutines.
type Handshakes struct {
	ask      func(farm.HostName) (agent.Meeting, error)
	say      func(format string, args ...any)
	began    time.Time
	patience time.Duration
	quit     context.CancelFunc
	all      sync.WaitGroup

	mu      sync.Mutex
	asked   map[farm.HostName]*handshake
	waiting int // goroutines that wait for an answer
}

// handshake is what one agent says. It may be read when done is closed.
type handshake struct {
	done  chan struct{}
	until time.Time // then it is waited for no more
	agent.Meeting
	err error
}

// awayError: an agent has not answered in time. It may still.
type awayError struct {
	hosts []farm.HostName
	after time.Duration
}

func (e *awayError) Error() string {
	if len(e.hosts) == 1 {
		return fmt.Sprintf("the agent of %s has not answered within %v", e.hosts[0], e.after)
	}
	return fmt.Sprintf("%d agents have not answered within %v: %s", len(e.hosts), e.after, HostList(e.hosts))
}

func HostList(hosts []farm.HostName) string {
	var names []string
	for _, h := range hosts {
		names = append(names, string(h))
	}
	return strings.Join(names, ", ")
}

const awayHint = "does the agent run there, and can it reach the engine? stowage agent status"

// Handshakes begins with nobody asked, and ends with the session. Board comes first.
func (s *Session) Handshakes(ctx context.Context, patience time.Duration) *Handshakes {
	ctx, quit := context.WithCancel(ctx)
	ask := func(h farm.HostName) (agent.Meeting, error) { return s.board.Host(h).Meet(ctx) }
	m := newHandshakes(ctx, quit, ask, s.opts.Say, patience)
	s.onClose(m.end)
	return m
}

func newHandshakes(ctx context.Context, quit context.CancelFunc, ask func(farm.HostName) (agent.Meeting, error), say func(string, ...any), patience time.Duration) *Handshakes {
	m := &Handshakes{ask: ask, say: say, began: time.Now(), patience: patience, quit: quit, asked: map[farm.HostName]*handshake{}}
	m.all.Go(func() { m.tell(ctx) })
	return m
}

// end asks no more.
func (m *Handshakes) end() {
	m.quit()
	m.all.Wait()
}

// greet asks an agent that has not been asked yet.
func (m *Handshakes) greet(h farm.HostName) *handshake {
	m.mu.Lock()
	defer m.mu.Unlock()
	x := m.asked[h]
	if x == nil {
		until := m.began.Add(m.patience)
		if late := time.Now().Add(min(AgentAnswer, m.patience)); late.After(until) {
			until = late
		}
		x = &handshake{done: make(chan struct{}), until: until}
		m.asked[h] = x
		m.all.Go(func() {
			defer close(x.done)
			x.Meeting, x.err = m.ask(h)
		})
	}
	return x
}

// Wait waits until an agent has answered, or for too long.
func (m *Handshakes) Wait(ctx context.Context, h farm.HostName) (agent.Meeting, error) {
	x := m.greet(h)
	return m.WaitUntil(ctx, h, x.until)
}

func (m *Handshakes) WaitUntil(ctx context.Context, h farm.HostName, until time.Time) (agent.Meeting, error) {
	x := m.greet(h)
	m.count(1)
	defer m.count(-1)
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-x.done:
		return x.Meeting, x.err
	case <-ctx.Done():
		return agent.Meeting{}, &farm.Error{Op: "meet agent", Subject: string(h), Err: farm.ErrInterrupted}
	case <-timer.C:
	}
	select { // both may be true
	case <-x.done:
		return x.Meeting, x.err
	default:
	}
	return agent.Meeting{}, &farm.Error{Op: "meet agent", Hint: awayHint, Err: &awayError{[]farm.HostName{h}, time.Since(m.began).Round(time.Second)}}
}

// Gather waits for all of them, and returns those that have not answered.
func (m *Handshakes) Gather(ctx context.Context, hosts []farm.HostName) (away []farm.HostName) {
	for _, h := range hosts {
		m.greet(h)
	}
	for _, h := range hosts {
		if _, err := m.Wait(ctx, h); err != nil && isAway(err) {
			away = append(away, h)
		}
	}
	slices.Sort(away)
	return away
}

func (m *Handshakes) count(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting += n
}

// tell says how many have answered, for as long as somebody waits for one.
func (m *Handshakes) tell(ctx context.Context) {
	tick := time.NewTicker(countSaid)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if met, of, waited := m.met(now); waited {
				m.say("waiting for agents: %d of %d have answered", met, of)
			}
		}
	}
}

// met counts; waited says that somebody waits for one that may come in time.
func (m *Handshakes) met(now time.Time) (met, of int, waited bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.asked {
		select {
		case <-x.done:
			if x.err == nil {
				met++
			}
		default:
			waited = waited || m.waiting > 0 && now.Before(x.until)
		}
	}
	return met, len(m.asked), waited
}

func isAway(err error) bool {
	var away *awayError
	return errors.As(err, &away)
}

// Together is a list of errors with one for all agents that were away, at its
// end.
func Together(errs []error) []error {
	var out []error
	all := &awayError{}
	for _, err := range errs {
		var away *awayError
		if !errors.As(err, &away) {
			out = append(out, err)
			continue
		}
		all.after = max(all.after, away.after)
		for _, h := range away.hosts {
			if !slices.Contains(all.hosts, h) {
				all.hosts = append(all.hosts, h)
			}
		}
	}
	if len(all.hosts) > 0 {
		slices.Sort(all.hosts)
		out = append(out, &farm.Error{Op: "meet agents", Hint: awayHint, Err: all})
	}
	return out
}
