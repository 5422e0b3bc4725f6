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
	"time"
)

const (
	maxStarts   = 4 // of the first child
	maxRestarts = 10
	// steadyAfter is how long a child has to live for its predecessor's deaths to be forgotten.
	steadyAfter = 10 * time.Minute
)

// Server is the embedded engine: a child process, started anew on the same address when it dies. Safe for use from many goroutines.
type Server struct {
	opts    Options
	binary  string
	address string
	log     *slog.Logger

	ctx     context.Context // ends with Close; bounds the supervisor's own waits
	cancel  context.CancelFunc
	settled chan struct{} // closed when the supervisor has returned

	mu    sync.Mutex
	child *child
	err   error
}

// Start starts stowage-engine as a child on a free loopback port and waits until it serves. Dial it with its TLS. The child ends when this process
// does, however it ends. ctx bounds the start only.
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
	if o.Certificates == (Certificates{}) && o.run == nil {
		if o.run, err = newRunCertificates(time.Now()); err != nil {
			return nil, err
		}
	}
	if o.run != nil {
		if o.TLS, err = o.run.client(); err != nil {
			return nil, err
		}
	}
	first, err := spawnAnywhere(ctx, o, binary)
	if err != nil {
		return nil, err
	}
	s := &Server{opts: o, binary: binary, address: first.address, log: o.Log, child: first, settled: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	go s.supervise()
	return s, nil
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

// PID is the child's process ID, 0 while it is being restarted.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child == nil {
		return 0
	}
	return s.child.cmd.Process.Pid
}

// Gone is closed when the engine is down for good: after Close, or when it died too often. Err then says why.
func (s *Server) Gone() <-chan struct{} { return s.settled }

// Err is nil unless the supervisor has given up.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close stops the child and waits for it. Jobs that run stay in the file and go on with the next Start. Safe to call twice.
func (s *Server) Close() error {
	s.cancel()
	<-s.settled
	return s.Err()
}

// supervise owns the child until Close.
func (s *Server) supervise() {
	defer close(s.settled)
	deaths := 0
	for {
		ch := s.current()
		born := time.Now()
		select {
		case <-s.ctx.Done():
			ch.stop()
			return
		case <-ch.exited:
		}
		if time.Since(born) > steadyAfter {
			deaths = 0
		}
		s.log.Warn("engine died; starting it again", "address", s.address, "state", ch.cmd.ProcessState.String())
		if !s.restart(&deaths) {
			return
		}
	}
}

// restart brings a new child up on the old address, with more and more patience. It returns false when Close was called or the
// restarts are used up.
func (s *Server) restart(deaths *int) bool {
	s.replace(nil, nil)
	for {
		*deaths++
		if *deaths > maxRestarts {
			s.replace(nil, fmt.Errorf("engine on %s died %d times; see %s", s.address, *deaths, filepath.Join(s.opts.Dir, "engine.log")))
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
		ch, err := spawn(s.ctx, s.opts, s.binary, s.address)
		if err == nil {
			s.replace(ch, nil)
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

func (s *Server) replace(ch *child, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.child, s.err = ch, err
}
