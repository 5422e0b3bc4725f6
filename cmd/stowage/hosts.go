package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"stowage/agent"
	"stowage/engine"
	"stowage/farm"
	"stowage/host"
	"stowage/move"
	"stowage/workspace"
)

// hosts are the machines of a farm as an act reaches them: this one, or through
// agents, which takes an engine that runs. It is started when the first of them
// is asked for, and stays for the act.
type hosts struct {
	a      *app
	d      *desk
	moving *move.Act
	local  *host.Local

	mu       sync.Mutex
	board    *agent.Switchboard
	meetings *meetings
	closes   []func()
}

// hosts gathers them. With agents on every host MariaDB need not be installed
// here.
func (a *app) hosts(d *desk, moving *move.Act) (*hosts, error) {
	h := &hosts{a: a, d: d, moving: moving}
	for _, x := range d.farm.Hosts {
		if d.farm.Agents.On(x.Name) {
			continue
		}
		var err error
		if h.local, err = host.NewLocal(a.log); err != nil {
			return nil, err
		}
		break
	}
	if !d.farm.Agents.Used() {
		return h, nil
	}
	return h, a.engineForAgents(d, moving.Address, &moving.Engine)
}

// engineForAgents makes our engine listen where agents dial it, behind the
// farm's certificates.
func (a *app) engineForAgents(d *desk, address string, o *engine.Options) error {
	id, err := agent.ReadIdentity(filepath.Join(certificatesOf(d), "controller"), time.Now())
	if err != nil {
		return err
	}
	if address != "" {
		o.TLS, err = id.EngineTLS(address)
		return err
	}
	its, err := agent.ReadIdentity(filepath.Join(certificatesOf(d), "engine"), time.Now())
	if err != nil {
		return err
	}
	cert, key, ca := its.Files()
	o.Listen, o.TLS = d.farm.Agents.Engine, id.Client(agent.EngineName)
	o.Certificates = engine.Certificates{Cert: cert, Key: key, CA: ca, Revoked: filepath.Join(certificatesOf(d), "revoked")}
	return nil
}

func certificatesOf(d *desk) string { return d.Path(d.farm.Agents.Dir()) }

// host is what a Mover asks.
func (h *hosts) host(name farm.HostName) (host.Host, error) {
	if !h.d.farm.Agents.On(name) {
		return h.local, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.board == nil {
		if err := h.open(context.Background()); err != nil {
			return nil, err
		}
	}
	return h.board.Host(name), nil
}

// open reaches the engine, and starts ours where none is there yet. One of ours
// that was killed is started again by itself: a second one would be in its way.
func (h *hosts) open(ctx context.Context) error {
	address := h.moving.Address
	if address == "" {
		address = h.d.farm.Agents.Engine
		if h.moving.Served == nil && !listens(address) {
			server, err := engine.Start(ctx, h.moving.Engine)
			if err != nil {
				return &farm.Error{Op: "start engine", Subject: address, Err: err, Hint: "agents of farm.yaml names the address it listens on"}
			}
			h.moving.Served = server
			h.closes = append(h.closes, func() { _ = server.Close() })
		}
	}
	board, done, err := h.a.switchboard(ctx, h.d, address, h.moving.Engine)
	if err != nil {
		return err
	}
	board.Alarm = h.moving.AnswerRefused
	h.board, h.meetings = board, h.a.meet(ctx, board, agentPatience)
	h.closes = append(h.closes, done, h.meetings.end)
	return nil
}

// greet is what a survey asks first of a machine: it returns when its agent has
// answered, or has not for too long.
func (h *hosts) greet(ctx context.Context, name farm.HostName) error {
	if !h.d.farm.Agents.On(name) {
		return nil
	}
	if _, err := h.host(name); err != nil {
		return err
	}
	_, err := h.meetings.wait(ctx, name)
	return err
}

func listens(address string) bool {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	return c.Close() == nil
}

// switchboard dials an engine and reaches agents through it.
func (a *app) switchboard(ctx context.Context, d *desk, address string, o engine.Options) (*agent.Switchboard, func(), error) {
	id, err := agent.ReadIdentity(filepath.Join(certificatesOf(d), "controller"), time.Now())
	if err != nil {
		return nil, nil, err
	}
	term, err := nextTerm(d.Workspace, time.Now())
	if err != nil {
		return nil, nil, err
	}
	c, err := engine.Dial(ctx, address, o)
	if err != nil {
		return nil, nil, &farm.Error{Op: "reach engine", Subject: address, Err: err}
	}
	asker, err := c.Asker()
	if err != nil {
		c.Close()
		return nil, nil, &farm.Error{Op: "reach engine", Subject: address, Err: err}
	}
	board, err := agent.NewSwitchboard(asker, id, whoAsks(), term, a.log)
	if err != nil {
		asker.Close()
		c.Close()
		return nil, nil, err
	}
	return board, func() { asker.Close(); c.Close() }, nil
}

// nextTerm is a number above that of every earlier program of this workspace,
// also when the clock has been put back.
func nextTerm(ws *workspace.Workspace, now time.Time) (int64, error) {
	path := filepath.Join(ws.State(), "agents-term")
	var last int64
	raw, err := os.ReadFile(path)
	if err == nil {
		last, err = strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, &farm.Error{Op: "read", Subject: path, Err: err, Hint: "remove the file when no move is under way"}
	}
	term := max(now.UnixNano(), last+1)
	if err := workspace.WriteFileAtomic(path, []byte(strconv.FormatInt(term, 10)+"\n"), 0o600); err != nil {
		return 0, &farm.Error{Op: "write", Subject: path, Err: err}
	}
	return term, nil
}

// whoAsks is for the agents' logs.
func whoAsks() string {
	name := "uid " + strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	machine, _ := os.Hostname()
	return fmt.Sprintf("%s@%s pid %d", name, machine, os.Getpid())
}

func (h *hosts) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := len(h.closes) - 1; i >= 0; i-- {
		h.closes[i]()
	}
	h.closes = nil
}
