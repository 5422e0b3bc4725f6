package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stowage/mysql/traffic"
	"stowage/replay/effect"
)

// say sends one statement, unless it may not be sent, and compares.
func (p *player) say(s *session, st *Statement, idleSince time.Time) {
	own := ownLateness(idleSince, p.due(st), time.Now())
	if p.o.Think {
		own = -1 // it did not wait for that time
	}
	j, ok, reason := s.memory.judge(st, p.o.Allow)
	if !ok {
		p.tally.skip(st, j.Kind, reason)
		return
	}
	if err := p.take(s); err != nil {
		if p.ctx.Err() == nil {
			p.tally.notSent(st, err)
		}
		return
	}
	defer p.give(s)
	// The mode is only known once connected, and decides how text is read.
	if j, ok, reason = s.memory.judge(st, p.o.Allow); !ok {
		p.tally.skip(st, j.Kind, reason)
		return
	}
	if len(j.Parts) == 0 {
		p.sayOne(s, st, &j, own)
		return
	}
	// Connections take one statement at a time; what was recorded of the whole
	// says nothing about a part.
	for _, text := range j.Parts {
		part := *st
		part.Query, part.Tells, part.Timed = text, Tells{}, false
		jp := effect.Judge(text, s.memory.mode)
		if ok, reason := p.o.Allow.permits(&jp); !ok {
			p.tally.skip(&part, jp.Kind, reason)
			return
		}
		p.sayOne(s, &part, &jp, -1)
		if s.link.candidate == nil {
			return
		}
	}
}

// ownLateness is how late a session woke that had nothing else to do: that is
// this machine's doing. -1 where it had.
func ownLateness(idleSince, due, woke time.Time) time.Duration {
	if !idleSince.IsZero() && idleSince.After(due) {
		return -1
	}
	return max(0, woke.Sub(due))
}

func (p *player) sayOne(s *session, st *Statement, j *effect.Judgement, own time.Duration) {
	ctx, cancel := context.WithTimeout(p.ctx, p.o.Timeout+10*st.Time)
	defer cancel()
	if err := p.enterDatabase(ctx, s); err != nil {
		p.lost(s, st, err)
		return
	}
	due, began := p.due(st), time.Now()
	e := exchange{st: st, j: j, began: began, own: own}
	if p.o.Speed > 0 {
		e.late = max(0, began.Sub(due))
	}
	var err error
	e.is, e.was, err = p.ask(ctx, s, st, j)
	if err != nil {
		if errors.Is(err, traffic.ErrValues) {
			p.tally.skip(st, j.Kind, "the values of its parameters are not in the recording")
			return
		}
		p.lost(s, st, err)
		return
	}
	e.total = e.late + e.is.Took
	p.tally.said(&e)
	p.after(ctx, s, st, j, e.is.Code)
}

// enterDatabase changes to the database that the recording is in.
func (p *player) enterDatabase(ctx context.Context, s *session) error {
	if s.database == "" || s.database == s.link.database {
		return nil
	}
	a, err := s.link.both(func(c Conn) (traffic.Answer, error) { return c.Use(ctx, s.database) })
	if err == nil {
		s.link.database = s.database
		if a.Code != 0 {
			p.tally.noDatabase(s.database, a.Text)
		}
	}
	return err
}

// ask sends the statement to the candidate, and what changes no rows to the
// original at the same time.
func (p *player) ask(ctx context.Context, s *session, st *Statement, j *effect.Judgement) (is traffic.Answer, was *traffic.Answer, err error) {
	if s.link.original == nil || j.Kind > effect.Function {
		is, err = utter(ctx, s.link.candidate, st, false)
		return is, nil, err
	}
	type reply struct {
		a   traffic.Answer
		err error
	}
	there := make(chan reply, 1)
	go func() {
		a, err := utter(ctx, s.link.original, st, true)
		there <- reply{a, err}
	}()
	is, err = utter(ctx, s.link.candidate, st, true)
	r := <-there
	if err == nil && r.err != nil {
		return is, nil, fmt.Errorf("%w: %w", errOriginal, r.err)
	}
	return is, &r.a, err
}

func utter(ctx context.Context, c Conn, st *Statement, sum bool) (traffic.Answer, error) {
	if st.IsBound {
		return c.Execute(ctx, string(st.Query), st.Values, sum)
	}
	return c.Query(ctx, string(st.Query), sum)
}

// errOriginal says that it was not the candidate's connection that broke.
var errOriginal = errors.New("the original did not answer")

// lost notes that a connection broke under a statement.
func (p *player) lost(s *session, st *Statement, err error) {
	switch {
	case p.ctx.Err() != nil:
	case errors.Is(err, errOriginal):
		p.tally.originalLost(err)
	default:
		p.tally.lost(st, err)
	}
	p.hangUp(s)
}

// after keeps what the statement has changed in its session.
func (p *player) after(ctx context.Context, s *session, st *Statement, j *effect.Judgement, code uint16) {
	if code != 0 {
		return
	}
	p.mu.Lock() // others look whether there is a transaction
	s.memory.sent(j)
	p.mu.Unlock()
	if j.Kind != effect.Session {
		return
	}
	switch {
	case j.Database != "":
		s.database, s.link.database = j.Database, j.Database
	case len(st.Query) < 4096 && len(s.setup) < maxSetup && effect.IsSet(st.Query):
		s.setup = append(s.setup, string(st.Query))
	}
	if j.SetsMode {
		mode, err := s.link.candidate.Mode(ctx)
		if err != nil {
			p.hangUp(s)
			return
		}
		s.memory.mode = modeOf(mode)
	}
}
