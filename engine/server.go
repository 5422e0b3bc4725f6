package engine

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	maxStarts   = 4 // of the first child
	maxRestarts = 10
	// steadyAfter is how long a child has to live for its predecessor's deaths to be forgotten.
	steadyAfter = 10 * time.Minute
)

// Server is the engine of one directory: a process that all programs which work there share, started anew on the same address when
// it dies. Safe for use from many goroutines.
type Server struct {
	opts    Options
	binary  string
	address string
	log     *slog.Logger

	ctx     context.Context // ends with Close; bounds the supervisor's own waits
	cancel  context.CancelFunc
	settled chan struct{} // closed when the supervisor has returned
	users   *os.File      // locked for as long as we need the engine

	mu    sync.Mutex
	pid   int
	child *child // nil: another program has started it
	err   error
}

// Start joins the engine of a directory, or starts stowage-engine where there is none, on a free loopback port, and waits until it serves.
// Dial it with its TLS. The engine ends when the last program that has joined it does, however that ends. ctx bounds the start only.
func Start(ctx context.Context, o Options) (*Server, error) {
	o = o.withDefaults()
	binary, err := o.findBinary()
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{o.Dir, filepath.Dir(o.DB)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make engine directory: %w", err)
		}
	}
	s := &Server{opts: o, binary: binary, log: o.Log, settled: make(chan struct{})}
	if err := o.inTurn(ctx, func() error { return s.join(ctx) }); err != nil {
		if s.users != nil {
			_ = s.users.Close() // a lock, nothing to lose
		}
		return nil, err
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	go s.supervise()
	return s, nil
}

// join takes part in the engine that is there, or starts one. It is our turn.
func (s *Server) join(ctx context.Context) error {
	users, alone, err := s.opts.users(ctx)
	if err != nil {
		return err
	}
	s.users = users
	there, err := s.opts.readAt()
	if err != nil && !alone {
		return err
	}
	if alone && !s.opts.isAlive(there.PID) { // what it says was of programs that are gone
		there = at{}
	}
	if there.Address == "" {
		return s.startFirst(ctx)
	}
	if err := s.follow(there); err != nil {
		return err
	}
	if s.opts.isAlive(there.PID) {
		s.pid = there.PID
		return nil
	}
	return s.startAgain(ctx)
}

// follow takes an engine's address and certificates from engine.at.
func (s *Server) follow(there at) (err error) {
	if (s.opts.Certificates == Certificates{}) != (there.Run != nil) {
		return fmt.Errorf("%w: other programs use the engine on %s, which goes by %s", ErrOther, there.Address, map[bool]string{true: "certificates of its own", false: "the farm's certificates"}[there.Run != nil])
	}
	s.address, s.opts.run = there.Address, there.Run
	if there.Run != nil {
		s.opts.TLS, err = there.Run.client()
	}
	return err
}

// ErrOther: the engine of the directory was started for a farm whose agents were not those of now.
var ErrOther = errors.New("the engine that runs here is of another kind")

// startFirst starts an engine where none was, with certificates of its own when the farm has none.
func (s *Server) startFirst(ctx context.Context) (err error) {
	o := &s.opts
	if o.Certificates == (Certificates{}) && o.run == nil {
		if o.run, err = newRunCertificates(time.Now()); err != nil {
			return err
		}
	}
	if o.run != nil {
		if o.TLS, err = o.run.client(); err != nil {
			return err
		}
	}
	first, err := spawnAnywhere(ctx, *o, s.binary)
	if err != nil {
		return err
	}
	s.address = first.address
	return s.started(first)
}

// startAgain starts an engine on the old address, after the last one died.
func (s *Server) startAgain(ctx context.Context) error {
	ch, err := spawn(ctx, s.opts, s.binary, s.address)
	if err != nil {
		return err
	}
	return s.started(ch)
}

// started says where a new child is, before anybody uses it.
func (s *Server) started(ch *child) error {
	if err := s.opts.writeAt(at{s.address, ch.cmd.Process.Pid, s.opts.run}); err != nil {
		ch.stop()
		return err
	}
	s.replace(ch, ch.cmd.Process.Pid, nil)
	return nil
}

// spawnAnywhere tries again when the child was killed before it served, as the supervisor does from then on, and when somebody
// else took one of the ports between the child's look and its listen.
func spawnAnywhere(ctx context.Context, o Options, binary string) (*child, error) {
	for try := 1; ; try++ {
		ch, err := spawn(ctx, o, binary, o.Listen)
		if err == nil || try == maxStarts || !errors.Is(err, errKilled) && !strings.Contains(err.Error(), "address already in use") {
			return ch, err
		}
		o.Log.Warn("engine does not start; starting it again", "error", err)
	}
}

// Address is where the engine listens, "127.0.0.1:21034". It stays the same across restarts of the child.
func (s *Server) Address() string { return s.address }

// TLS is how to dial it: by the certificates of this run, or as Options.TLS said when there were Certificates.
func (s *Server) TLS() *tls.Config { return s.opts.TLS }

// PID is the engine's process ID, 0 while it is being restarted.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pid
}

// Gone is closed when the engine is down for good: after Close, or when it died too often. Err then says why.
func (s *Server) Gone() <-chan struct{} { return s.settled }

// Err is nil unless the supervisor has given up.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close leaves the engine, and stops it when nobody else needs it. Jobs that run stay in the file and continue with the next Start. Safe to call twice.
func (s *Server) Close() error {
	s.cancel()
	<-s.settled
	return s.Err()
}

// supervise looks after the engine until Close.
func (s *Server) supervise() {
	defer close(s.settled)
	defer s.leave()
	deaths := 0
	for {
		born := time.Now()
		if !s.awaitDeath() {
			return
		}
		if time.Since(born) > steadyAfter {
			deaths = 0
		}
		s.log.Warn("engine died; starting it again", "address", s.address)
		if !s.restart(&deaths) {
			return
		}
	}
}

// awaitDeath returns false when Close was called first.
func (s *Server) awaitDeath() bool {
	if ch := s.current(); ch != nil {
		select {
		case <-s.ctx.Done():
			return false
		case <-ch.exited:
			return true
		}
	}
	tick := time.NewTicker(5 * joinLook)
	defer tick.Stop()
	for s.opts.isAlive(s.PID()) {
		select {
		case <-s.ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}

// leave lets the engine go. The last one who needs it stops it.
func (s *Server) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), joinWait)
	defer cancel()
	err := s.opts.inTurn(ctx, func() error {
		last, err := s.isLast()
		_ = s.users.Close() // a lock, nothing to lose
		if !last || err != nil {
			return err
		}
		return errors.Join(s.opts.forgetAt(), s.stop())
	})
	if err != nil {
		s.log.Warn("leave the engine", "error", err)
	}
}

// isLast reports whether no other program needs the engine. It gives our own part in it up.
func (s *Server) isLast() (bool, error) {
	if alone, err := tryLock(s.users, syscall.LOCK_EX); alone || err != nil {
		return alone, err
	}
	return isLocked(s.opts.file(usersName), syscall.LOCK_SH) // then it is the engine that has it, and stops
}

// stop waits until the engine has ended that nobody needs any more.
func (s *Server) stop() error {
	if ch := s.current(); ch != nil {
		ch.stop()
		return nil
	}
	for end := time.Now().Add(2 * termWait); s.opts.isAlive(s.PID()); time.Sleep(joinLook) {
		if time.Now().After(end) {
			return fmt.Errorf("engine %d still runs", s.PID())
		}
	}
	return nil
}

// restart brings the engine up on the old address, with more and more patience, or finds that another program has. It returns false
// when Close was called or the restarts are used up.
func (s *Server) restart(deaths *int) bool {
	s.replace(nil, 0, nil)
	for {
		*deaths++
		if *deaths > maxRestarts {
			s.replace(nil, 0, fmt.Errorf("engine on %s died %d times; see %s", s.address, *deaths, filepath.Join(s.opts.Dir, "engine.log")))
			s.log.Error("engine given up", "error", s.Err())
			return false
		}
		if *deaths > 1 {
			select {
			case <-s.ctx.Done():
				return false
			case <-time.After(min(100*time.Millisecond<<*deaths, 5*time.Second)):
			}
		}
		err := s.opts.inTurn(s.ctx, func() error {
			if there, err := s.opts.readAt(); err == nil && there.Address == s.address && s.opts.isAlive(there.PID) {
				s.replace(nil, there.PID, nil)
				return nil
			}
			return s.startAgain(s.ctx)
		})
		if err == nil {
			return true
		}
		if errors.Is(err, context.Canceled) {
			return false
		}
		s.log.Warn("engine does not start", "error", err)
	}
}

func (s *Server) current() *child {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.child
}

func (s *Server) replace(ch *child, pid int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.child, s.pid, s.err = ch, pid, err
}
