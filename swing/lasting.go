package swing

import (
	"context"
	"fmt"
	"time"

	"stowage/farm"
	"stowage/mysql"
)

// Lasting is how the servers of a swing start: their option files, each on its
// own host. What SET GLOBAL did is gone after a restart; this is not.
type Lasting interface {
	// Fenced makes a server start without taking writes and without events.
	Fenced(context.Context, *mysql.Server) error
	// Opened makes it start as one that serves.
	Opened(context.Context, *mysql.Server) error
	// NeverOpened reports whether the server has not been Opened since it was
	// made for this swing.
	NeverOpened(context.Context, *mysql.Server) (bool, error)
	// IsDown reports whether the server certainly has no process, so that only
	// its option file says what it will do next.
	IsDown(context.Context, *mysql.Server) (bool, error)
}

// fence stops events and writes, first for a start that may come, then now.
// Nothing is in flight any more: the fence is for a client that slept through
// the gate. Without the option file it would end with the server's process: one
// that dies while it is out comes back, takes the write of that client, and
// nobody reads it there any more.
func (s *Swing) fence(ctx context.Context, server *mysql.Server) error {
	if s.Lasting != nil {
		if err := s.Lasting.Fenced(ctx, server); err != nil {
			return err
		}
	}
	if err := server.SetScheduler(ctx, false); err != nil {
		return err
	}
	return server.SetReadOnly(ctx, true)
}

// open lets the server take writes, first from a start that may come on, then
// now: a server that is in rotation and starts read-only fails its clients.
func (s *Swing) open(ctx context.Context, server *mysql.Server) error {
	if s.Lasting != nil {
		if err := s.Lasting.Opened(ctx, server); err != nil {
			return err
		}
	}
	return server.SetReadOnly(ctx, false)
}

// reopen opens the server that clients are about to be sent back to. It does
// not take one failure for an answer: while it tries the gate stays closed, and
// an error here would leave it so. A server that has no process is open when
// its option file says so.
func (s *Swing) reopen(ctx context.Context, server *mysql.Server) error {
	trying, cancel := s.persist(ctx)
	defer cancel()
	for told := (time.Time{}); ; {
		err := s.open(trying, server)
		if err == nil {
			return s.restoreScheduler(trying, server)
		}
		if s.willStartOpen(trying, server) {
			s.tell(farm.StepProgress, "back out", fmt.Sprintf("%s is down; it will take writes when it starts", server.Name()), 0)
			return nil
		}
		if time.Since(told) > 2*time.Second {
			told = time.Now()
			s.tell(farm.StepWaiting, "back out", fmt.Sprintf(
				"the gate stays closed: %s may be fenced and cannot be opened again (%v). Its clients wait until it answers", server.Name(), err), 0)
		}
		if pause(trying, 100*time.Millisecond) != nil {
			return &farm.Error{Op: "open again", Subject: string(server.Name()), Err: err,
				Hint: "the gate of side " + string(s.Side) + " is still closed; bring the server back, then: stowage resume"}
		}
	}
}

// willStartOpen reports whether the server has no process and an option file
// with which it takes writes.
func (s *Swing) willStartOpen(ctx context.Context, server *mysql.Server) bool {
	if s.Lasting == nil {
		return false
	}
	down, err := s.Lasting.IsDown(ctx, server)
	if err != nil || !down || s.Lasting.Opened(ctx, server) != nil {
		return false
	}
	// It may have been started between the two, with the option file of before.
	down, err = s.Lasting.IsDown(ctx, server)
	return err == nil && down
}

// persist bounds how long to try to put things right: as long as a step may
// take to wait, while it is wanted; a moment longer when it is not any more.
func (s *Swing) persist(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Settings.Patience)
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(lastTry, cancel) })
	return out, func() { stop(); cancel() }
}

// lastTry is how long a step that was told to stop goes on putting things
// right. The engine waits for it somewhat longer.
const lastTry = 4 * time.Second

// await waits, before anything is touched, until all servers of a handover
// answer, and says at once which does not. A server that starts again is back
// within seconds, and failing meanwhile would use up the attempts of the step.
func (s *Swing) await(ctx context.Context, servers ...*mysql.Server) error {
	return s.Await(ctx, s.Settings.Answer, servers...)
}

// Await is await for a time of the caller's. An undo has a long one: when it
// gives up, a person has to finish it; while it waits, the program can be
// stopped and resumed.
func (s *Swing) Await(ctx context.Context, patience time.Duration, servers ...*mysql.Server) error {
	deadline := time.Now().Add(patience)
	for _, server := range servers {
		for told := (time.Time{}); ; {
			err := server.Ping(ctx)
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				return &farm.Error{Op: "reach", Subject: s.role(server), Err: err,
					Hint: s.without(server)}
			}
			if time.Since(told) > 2*time.Second {
				told = time.Now()
				s.tell(farm.StepWaiting, "ready", fmt.Sprintf("%s does not answer: %v. %s", s.role(server), err, s.without(server)), 0)
			}
			if err := pause(ctx, 100*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}

// role names a server by what it is to this swing.
func (s *Swing) role(server *mysql.Server) string {
	what := "server"
	switch server {
	case s.Twin:
		what = "twin"
	case s.Leaves:
		what = "side"
	case s.Returns:
		what = "new instance"
	}
	return fmt.Sprintf("%s %s at %s", what, server.Name(), server.Address())
}

// without says what it means that a server does not answer.
func (s *Swing) without(server *mysql.Server) string {
	switch server {
	case s.Twin:
		return "clients of the pair that it serves get errors; nothing is switched without it; start it again"
	case s.Returns:
		return "it may hold writes that its twin does not have yet; start it again"
	}
	return "its clients get errors while they are routed to it; start it again"
}

// pause sleeps, not beyond the end of ctx; its error is ctx's.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
