package replay

import (
	"context"
	"fmt"
	"time"

	"stowage/mysql"
	"stowage/mysql/traffic"
	"stowage/replay/effect"
)

// session is one client of the recording. Its queue, state and connection are
// guarded by the player's lock; the rest is its worker's.
type session struct {
	id      SessionID
	queue   []*Statement
	isAwake bool // it has a worker
	isBusy  bool // the worker uses the connection
	link    link
	used    time.Time // when it last used it

	memory   memory
	database string   // that the recording is in
	setup    []string // SET statements, to be said again over a new connection
	told     time.Time
	ended    time.Time // of the last statement, in the recording
}

// link is a session's connections.
type link struct {
	candidate, original Conn
	database            string
}

func (l *link) close() {
	if l.candidate != nil {
		_ = l.candidate.Close()
	}
	if l.original != nil {
		_ = l.original.Close()
	}
	*l = link{}
}

// maxSetup is how many SET statements of a session are remembered.
const maxSetup = 64

// session finds a session or makes it. The lock is held.
func (p *player) session(id SessionID) *session {
	s := p.sessions[id]
	if s != nil {
		return s
	}
	if len(p.sessions) >= maxSessions {
		p.forget()
	}
	s = &session{id: id}
	p.sessions[id] = s
	p.tally.sessions++
	return s
}

// forget drops the half of the sleeping sessions that has slept for longer.
func (p *player) forget() {
	var sum time.Duration
	var sleeping []*session
	now := time.Now()
	for _, s := range p.sessions {
		if !s.isAwake {
			sleeping = append(sleeping, s)
			sum += now.Sub(s.used)
		}
	}
	for _, s := range sleeping {
		if now.Sub(s.used) >= sum/time.Duration(len(sleeping)) {
			p.room.leave(s)
			s.link.close()
			delete(p.sessions, s.id)
		}
	}
}

// work does what is in a session's queue and ends with it.
func (p *player) work(s *session) {
	defer p.workers.Done()
	for {
		p.mu.Lock()
		if len(s.queue) == 0 || p.ctx.Err() != nil || p.enough {
			p.drop(s)
			s.isAwake = false
			p.mu.Unlock()
			return
		}
		st := s.queue[0]
		s.queue[0] = nil
		s.queue = s.queue[1:]
		p.mu.Unlock()
		if p.await(s, st) {
			p.act(s, st)
		}
		p.mu.Lock()
		p.queued--
		p.bytes -= st.size()
		p.changed.Broadcast()
		p.mu.Unlock()
	}
}

// drop throws away what a session will not say any more. The lock is held.
func (p *player) drop(s *session) {
	for _, st := range s.queue {
		p.queued--
		p.bytes -= st.size()
	}
	s.queue = nil
	p.changed.Broadcast()
}

// await waits until a statement is due; false when it shall not be sent.
func (p *player) await(s *session, st *Statement) bool {
	if p.o.Speed > 0 {
		at := p.due(st)
		if p.o.Think && !s.told.IsZero() && !s.ended.IsZero() {
			at = s.told.Add(time.Duration(float64(max(0, st.Start.Sub(s.ended))) / p.o.Speed))
		}
		if !sleepUntil(p.ctx, at) {
			return false
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ctx.Err() == nil && !p.enough
}

// act does one thing that the client did.
func (p *player) act(s *session, st *Statement) {
	idleSince := s.told
	if st.DB != "" {
		s.database = st.DB
	}
	switch st.Command {
	case Say:
		p.say(s, st, idleSince)
	case Login:
		if p.take(s) == nil {
			p.give(s)
		}
	case Renew:
		p.hangUp(s)
		s.setup, s.memory = nil, memory{}
	case Quit:
		p.hangUp(s)
		p.mu.Lock()
		delete(p.sessions, s.id)
		p.mu.Unlock()
	case Use:
	case Other:
		p.tally.skip(st, effect.Unknown, "no statement: "+st.Reason)
	}
	s.told, s.ended = time.Now(), st.end()
}

// hangUp ends a session's connections.
func (p *player) hangUp(s *session) {
	p.mu.Lock()
	l := s.link
	s.link = link{}
	p.room.leave(s)
	p.changed.Broadcast()
	p.mu.Unlock()
	l.close()
	s.memory.begun = false
}

func (p *player) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.sessions {
		s.link.close()
	}
}

// take makes sure that the session has a connection, and keeps others from
// taking it away until give.
func (p *player) take(s *session) error {
	p.mu.Lock()
	s.isBusy = true
	if s.link.candidate != nil {
		p.mu.Unlock()
		return nil
	}
	evicted, ok := p.room.enter(p, s)
	p.mu.Unlock()
	evicted.close()
	if !ok {
		p.give(s)
		return errStop
	}
	l, err := p.connect(s)
	p.mu.Lock()
	if err == nil {
		s.link = l
		p.mu.Unlock()
		return nil
	}
	p.room.leave(s)
	s.isBusy = false
	p.changed.Broadcast()
	again := isTooMany(err) && len(p.room.holders) > 0 && len(p.room.holders) >= p.room.limit
	p.mu.Unlock()
	if again { // it waits for the connection of another
		return p.take(s)
	}
	return err
}

// give lets others have the session's connection if they need it.
func (p *player) give(s *session) {
	p.mu.Lock()
	s.isBusy = false
	s.used = time.Now()
	p.changed.Broadcast()
	p.mu.Unlock()
}

// tries are the pauses between attempts to connect.
var tries = [...]time.Duration{0, 50 * time.Millisecond, 500 * time.Millisecond}

// connect opens a session's connections and says again what was set in them.
func (p *player) connect(s *session) (l link, err error) {
	for _, pause := range tries {
		if !sleepUntil(p.ctx, time.Now().Add(pause)) {
			return link{}, p.ctx.Err()
		}
		if l, err = p.connectOnce(s); err == nil {
			p.tally.connected(true)
			return l, nil
		}
		if p.ctx.Err() != nil {
			return link{}, p.ctx.Err()
		}
	}
	if isTooMany(err) {
		p.narrow()
		return link{}, err
	}
	if p.tally.connected(false) {
		p.cancel(fmt.Errorf("replay: %w: %w", ErrLostCandidate, err))
	}
	return link{}, err
}

// narrow makes do with the connections that the server gives.
func (p *player) narrow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.room.holders) - 1; n >= 1 && n < p.room.limit {
		p.room.limit = n
		p.tally.narrowed(n)
	}
}

func (p *player) connectOnce(s *session) (l link, err error) {
	ctx, cancel := context.WithTimeout(p.ctx, mysql.StatementTimeout)
	defer cancel()
	if l.candidate, err = p.o.Candidate(ctx, ""); err != nil {
		return link{}, err
	}
	if p.o.Original != nil {
		if l.original, err = p.o.Original(ctx, ""); err != nil {
			l.close()
			return link{}, err
		}
	}
	for _, text := range s.setup {
		if _, err = l.both(func(c Conn) (traffic.Answer, error) { return c.Query(ctx, text, false) }); err != nil {
			l.close()
			return link{}, err
		}
	}
	mode, err := l.candidate.Mode(ctx)
	if err != nil {
		l.close()
		return link{}, err
	}
	s.memory.mode, s.memory.begun = modeOf(mode), false
	return l, nil
}

// both does something over both connections and gives the candidate's answer.
func (l *link) both(do func(Conn) (traffic.Answer, error)) (traffic.Answer, error) {
	a, err := do(l.candidate)
	if err == nil && l.original != nil {
		_, err = do(l.original)
	}
	return a, err
}
