package session

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"

	"stowage/agent"
	"stowage/engine"
	"stowage/farm"
	"stowage/host"
	"stowage/route"
	"stowage/store"
	"stowage/workspace"
)

// Options are what a program says of all its sessions.
type Options struct {
	Dir    string // of the workspace
	Engine string // host:port of a Temporal cluster; "": an engine of our own
	Log    *slog.Logger
	Say    func(format string, args ...any) // tells a person who waits; nil: nobody
}

// Session is an open workspace, and what was opened in it. Host, Greet, Board and Engine are safe for several goroutines.
type Session struct {
	*workspace.Workspace
	Store *store.Store // nil: nothing is kept
	Farm  *farm.Farm   // as it was when the session was opened; Workspace.Farm reads it again
	Accounts
	Router route.Maker // after Prepare
	// Alarm is told of answers that a host has not given. Set it before the first host is asked.
	Alarm func(on farm.HostName, call string, err error)

	opts  Options
	local *host.Local // after Prepare; nil: every host has an agent

	engine  life
	opening sync.Mutex // guards board and hands
	board   *agent.Switchboard
	hands   *Handshakes

	mu     sync.Mutex
	closes []func()
	turn   func() // lets the next program begin; nil: we have none
}

// Open opens the workspace and its store, which is made where there is none.
func Open(o Options) (*Session, error) {
	return o.open(workspace.Open, (*workspace.Workspace).Farm, worked)
}

// OpenKept is Open by the farm.yaml that the last run has kept.
func OpenKept(o Options) (*Session, error) {
	return o.open(workspace.OpenKept, (*workspace.Workspace).KeptFarm, worked)
}

// Look is Open for who only reads: nothing is made, also where nothing is kept yet.
func Look(o Options) (*Session, error) {
	return o.open(workspace.Open, (*workspace.Workspace).Farm, looked)
}

// LookAt is Look with a workspace and a farm.yaml that were read already.
func LookAt(ws *workspace.Workspace, f *farm.Farm, o Options) (*Session, error) {
	db, err := looked(ws)
	if err != nil {
		return nil, err
	}
	return Of(ws, f, db, o), nil
}

func worked(ws *workspace.Workspace) (*store.Store, error) {
	return store.Open(filepath.Join(ws.State(), "stowage.db"))
}

func looked(ws *workspace.Workspace) (*store.Store, error) {
	return store.OpenToRead(ws.StatePath("stowage.db"))
}

func (o Options) open(find func(string) (*workspace.Workspace, error), read func(*workspace.Workspace) (*farm.Farm, error), keep func(*workspace.Workspace) (*store.Store, error)) (*Session, error) {
	ws, err := find(o.Dir)
	if err != nil {
		return nil, err
	}
	f, err := read(ws)
	if err != nil {
		return nil, err
	}
	db, err := keep(ws)
	if err != nil {
		return nil, err
	}
	return Of(ws, f, db, o), nil
}

// Of is a session of parts that are open already; db may be nil.
func Of(ws *workspace.Workspace, f *farm.Farm, db *store.Store, o Options) *Session {
	if o.Say == nil {
		o.Say = func(string, ...any) {}
	}
	s := &Session{Workspace: ws, Farm: f, Store: db, opts: o}
	s.engine.options = engine.Options{Dir: ws.StatePath(""), Log: o.Log}
	if db != nil {
		s.closes = append(s.closes, func() { _ = db.Close() })
	}
	return s
}

// Prepare opens what an act needs before its first question: accounts, router, machines. MariaDB has to be installed here only when
// a host has no agent.
func (s *Session) Prepare() (err error) {
	if err := s.Login(); err != nil {
		return err
	}
	if s.Router, err = s.Routing(); err != nil {
		return err
	}
	for _, h := range s.Farm.Hosts {
		if s.Farm.Agents.On(h.Name) {
			continue
		}
		if s.local, err = host.NewLocal(s.opts.Log); err != nil {
			return err
		}
		s.local.KeepNotes(s.StatePath("starts"))
		s.local.KeepSpool(s.StatePath("spool"))
		s.local.Dumps(Dumper(s.opts.Log))
		break
	}
	if s.Farm.Agents.Used() {
		return s.certify()
	}
	return nil
}

// Lock takes the workspace for what no run may be beside, until the session is closed: see workspace.Workspace.Lock.
func (s *Session) Lock(purpose string) error {
	free, err := s.Workspace.Lock(purpose)
	if err != nil {
		return err
	}
	s.onClose(free)
	return nil
}

// Share takes part in the workspace beside other runs, until the session is closed: see workspace.Workspace.Share.
func (s *Session) Share() error {
	free, err := s.Workspace.Share()
	if err != nil {
		return err
	}
	s.onClose(free)
	return nil
}

// Turn is Share for who begins a run: it waits until no other program does. EndTurn lets the next one, and so does Close.
func (s *Session) Turn(ctx context.Context, purpose string) error {
	s.mu.Lock()
	has := s.turn != nil
	s.mu.Unlock()
	if has {
		return nil
	}
	if err := s.Share(); err != nil {
		return err
	}
	free, err := s.Workspace.Turn(ctx, purpose, func(h *workspace.Held) { s.opts.Say("%v; waiting until it has begun", h) })
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.turn = sync.OnceFunc(free)
	s.mu.Unlock()
	s.onClose(s.EndTurn)
	return nil
}

// EndTurn lets the next program begin a run. It may be called without a turn.
func (s *Session) EndTurn() {
	s.mu.Lock()
	free := s.turn
	s.turn = nil
	s.mu.Unlock()
	if free != nil {
		free()
	}
}

// Claim takes a claim, which goes with the session: see workspace.Workspace.Take.
func (s *Session) Claim(c workspace.Claim) (*workspace.Taken, error) {
	t, err := s.Workspace.Take(c)
	if err == nil {
		s.onClose(t.Leave)
	}
	return t, err
}

func (s *Session) onClose(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closes = append(s.closes, f)
}

// Close lets go of what is open, the last opened first. It may be called twice.
func (s *Session) Close() {
	for {
		s.mu.Lock()
		n := len(s.closes)
		if n == 0 {
			s.mu.Unlock()
			return
		}
		last := s.closes[n-1]
		s.closes = s.closes[:n-1]
		s.mu.Unlock()
		last()
	}
}
