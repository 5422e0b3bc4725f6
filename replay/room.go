package replay

import "time"

// room bounds the connections. A session that needs one when all are taken
// gets that of the session which has not used its own for longest: recordings
// seldom tell when a session ended, and those that did not would otherwise
// pile up. A session inside a transaction keeps its connection as long as
// anybody else has one to give, and for patience.
type room struct {
	limit   int
	holders map[*session]bool
	most    int
	evicted uint64 // connections taken from sessions
	cut     uint64 // of those, inside a transaction
}

// patience is how long a session waits before it takes the connection of one
// that is inside a transaction: otherwise those that wait for each other's
// statements would wait for ever.
const patience = 2 * time.Second

// enter waits for a place. The player's lock is held, and released while
// waiting. The link returned is another session's and must be closed.
func (r *room) enter(p *player, s *session) (evicted link, ok bool) {
	waiting := time.Now()
	for p.ctx.Err() == nil {
		if len(r.holders) < r.limit {
			r.holders[s] = true
			r.most = max(r.most, len(r.holders))
			return link{}, true
		}
		mayCut := time.Since(waiting) >= patience
		if idle := r.idlest(mayCut); idle != nil {
			l := idle.link
			idle.link = link{}
			delete(r.holders, idle)
			r.evicted++
			if idle.memory.begun {
				r.cut++
			}
			r.holders[s] = true
			return l, true
		}
		if !mayCut { // nobody may tell us when patience ends
			wake := time.AfterFunc(patience-time.Since(waiting), func() {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.changed.Broadcast()
			})
			p.changed.Wait()
			wake.Stop()
			continue
		}
		p.changed.Wait()
	}
	return link{}, false
}

// idlest is the session to take a connection from, or nil.
func (r *room) idlest(mayCut bool) *session {
	var best *session
	for s := range r.holders {
		if s.isBusy || s.link.candidate == nil || s.memory.begun && !mayCut {
			continue
		}
		if best == nil || s.used.Before(best.used) {
			best = s
		}
	}
	return best
}

// leave gives a place back.
func (r *room) leave(s *session) { delete(r.holders, s) }
