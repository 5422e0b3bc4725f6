package session

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"sync"
	"time"

	"stowage/agent"
	"stowage/engine"
	"stowage/farm"
	"stowage/workspace"
)

// Engine is where jobs and calls wait, and how to dial it.
type Engine struct {
	Address string
	engine.Options
	// Ours: no other program carries out jobs there.
	Ours bool
	// Gone is closed when ours is down for good; nil: it is not ours.
	Gone <-chan struct{}
}

// Dial connects to it.
func (e Engine) Dial(ctx context.Context) (*engine.Client, error) {
	c, err := engine.Dial(ctx, e.Address, e.Options)
	if err != nil {
		return nil, &farm.Error{Op: "reach engine", Subject: e.Address, Err: err}
	}
	return c, nil
}

// life is the engine of one session, from its start to its end. An act, which has the workspace, starts its own. For mere calls to
// agents that of an act in this workspace will do, for as long as it runs; without one the session takes the workspace and starts its
// own, so that no act begins on an engine that ends with us.
type life struct {
	options engine.Options

	mu     sync.Mutex
	locked bool // the workspace is ours
	opened bool
	server *engine.Server
}

// Engine is the cluster that was named, or our own, which is started when it is asked for first, and ends with the session.
func (s *Session) Engine(ctx context.Context) (Engine, error) {
	l := &s.engine
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.opts.Engine != "" {
		return Engine{Address: s.opts.Engine, Options: l.options}, nil
	}
	if !l.opened {
		if err := s.openEngine(ctx); err != nil {
			return Engine{}, err
		}
		l.opened = true
	}
	if l.server == nil {
		return Engine{Address: s.Farm.Agents.Engine, Options: l.options}, nil
	}
	e := Engine{Address: l.server.Address(), Options: l.options, Ours: true, Gone: l.server.Gone()}
	e.TLS = l.server.TLS()
	return e, nil
}

func (s *Session) openEngine(ctx context.Context) error {
	l := &s.engine
	if l.locked {
		return s.startEngine(ctx)
	}
	const patience = 10 * time.Second // whoever has the workspace may be about to start one
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		err := s.seeEngine(ctx)
		if err == nil {
			break
		}
		var held *workspace.Held
		if !errors.As(err, &held) || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
	}
	if l.server == nil {
		s.watchEngine(context.WithoutCancel(ctx))
	}
	return nil
}

// seeEngine starts an engine where none listens.
func (s *Session) seeEngine(ctx context.Context) error {
	if listens(s.Farm.Agents.Engine) {
		return nil
	}
	free, err := s.Workspace.Lock("calls to agents")
	if err != nil {
		return err
	}
	if err := s.startEngine(ctx); err != nil {
		free()
		return err
	}
	s.onClose(func() { _ = s.engine.server.Close(); free() })
	return nil
}

// startEngine starts ours. One that was killed is started again by itself, on the same address.
func (s *Session) startEngine(ctx context.Context) error {
	l := &s.engine
	server, err := engine.Start(ctx, l.options)
	switch {
	case errors.Is(err, engine.ErrNoBinary):
		return &farm.Error{Op: "start engine", Subject: l.options.Listen, Err: err, Hint: "make build puts stowage-engine beside stowage"}
	case err != nil && l.options.Listen != "":
		return &farm.Error{Op: "start engine", Subject: l.options.Listen, Err: err, Hint: "agents of farm.yaml names the address it listens on"}
	case err != nil: // one that is there and does not come up says why itself
		return &farm.Error{Op: "start engine", Err: err, Hint: "what it said is in .stowage/engine.log; on a machine that is very busy it may just need another attempt"}
	}
	l.server = server
	if l.locked {
		s.onClose(func() { _ = server.Close() })
	}
	return nil
}

// watchEngine takes over from an act that ends while we still need an engine.
func (s *Session) watchEngine(ctx context.Context) {
	ctx, quit := context.WithCancel(ctx)
	var gone sync.WaitGroup
	gone.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			s.engine.mu.Lock()
			_ = s.seeEngine(ctx) // calls wait; it is tried again
			started := s.engine.server != nil
			s.engine.mu.Unlock()
			if started {
				return
			}
		}
	})
	s.onClose(func() { quit(); gone.Wait() })
}

func listens(address string) bool {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	return c.Close() == nil
}

// Certificates is where those of agents and engine lie.
func (s *Session) Certificates() string { return s.Path(s.Farm.Agents.Dir()) }

func (s *Session) controller() (*agent.Identity, error) {
	return agent.ReadIdentity(filepath.Join(s.Certificates(), "controller"), time.Now())
}

// certify makes our engine listen where agents dial it, behind the farm's certificates.
func (s *Session) certify() error {
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	o := &s.engine.options
	if o.TLS != nil {
		return nil
	}
	id, err := s.controller()
	if err != nil {
		return err
	}
	if s.opts.Engine != "" {
		o.TLS, err = id.EngineTLS(s.opts.Engine)
		return err
	}
	its, err := agent.ReadIdentity(filepath.Join(s.Certificates(), "engine"), time.Now())
	if err != nil {
		return err
	}
	cert, key, ca := its.Files()
	o.Listen, o.TLS = s.Farm.Agents.Engine, id.Client(agent.EngineName)
	o.Certificates = engine.Certificates{Cert: cert, Key: key, CA: ca, Revoked: filepath.Join(s.Certificates(), "revoked")}
	return nil
}
