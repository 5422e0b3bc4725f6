package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"stowage/agent"
	"stowage/engine"
	"stowage/farm"
)

// Engine is where jobs and calls wait, and how to dial it.
type Engine struct {
	Address string
	engine.Options
	// Ours: only programs of this workspace carry out jobs there.
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

// life is the engine of one session, from its start to its end. All programs of a workspace share one.
type life struct {
	options engine.Options

	mu     sync.Mutex
	server *engine.Server
}

// Engine is the cluster that was named, or that of the workspace, which is joined or started when it is asked for first, and left with
// the session.
func (s *Session) Engine(ctx context.Context) (Engine, error) {
	l := &s.engine
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.opts.Engine != "" {
		return Engine{Address: s.opts.Engine, Options: l.options}, nil
	}
	if l.server == nil {
		if err := s.startEngine(ctx); err != nil {
			return Engine{}, err
		}
	}
	e := Engine{Address: l.server.Address(), Options: l.options, Ours: true, Gone: l.server.Gone()}
	e.TLS = l.server.TLS()
	return e, nil
}

// startEngine joins ours, or starts it. One that was killed is started again by itself, on the same address.
func (s *Session) startEngine(ctx context.Context) error {
	l := &s.engine
	server, err := engine.Start(ctx, l.options)
	switch {
	case errors.Is(err, engine.ErrNoBinary):
		return &farm.Error{Op: "start engine", Subject: l.options.Listen, Err: err, Hint: "make build puts stowage-engine beside stowage"}
	case errors.Is(err, engine.ErrOther):
		return &farm.Error{Op: "start engine", Err: fmt.Errorf("%w: %w", farm.ErrRefused, err), Hint: "agents in farm.yaml has changed since; wait until no run is under way: stowage status"}
	case err != nil && l.options.Listen != "":
		return &farm.Error{Op: "start engine", Subject: l.options.Listen, Err: err, Hint: "agents of farm.yaml names the address it listens on"}
	case err != nil: // one that is there and does not come up says why itself
		return &farm.Error{Op: "start engine", Err: err, Hint: "what it said is in .stowage/engine.log; on a machine that is very busy it may just need another attempt"}
	}
	l.server = server
	s.onClose(func() { _ = server.Close() })
	return nil
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
