package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"stowage/agent"
	"stowage/farm"
	"stowage/host"
	"stowage/workspace"
)

// Host is a machine of the farm: this one, or one that is reached through its agent, which takes an engine. Prepare comes first.
func (s *Session) Host(name farm.HostName) (host.Host, error) {
	if !s.Farm.Agents.On(name) {
		return s.local, nil
	}
	board, err := s.Board(context.Background())
	if err != nil {
		return nil, err
	}
	return board.Host(name), nil
}

// Greet returns when a machine's agent has answered, or has not for too long: what is asked before the first step is asked of machines
// that are there.
func (s *Session) Greet(ctx context.Context, name farm.HostName) error {
	if !s.Farm.Agents.On(name) {
		return nil
	}
	if _, err := s.Board(context.Background()); err != nil {
		return err
	}
	_, err := s.hands.Wait(ctx, name)
	return err
}

// Board reaches agents through the engine. The first who asks opens it.
func (s *Session) Board(ctx context.Context) (*agent.Switchboard, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.board != nil {
		return s.board, nil
	}
	if err := s.certify(); err != nil {
		return nil, err
	}
	e, err := s.Engine(ctx)
	if err != nil {
		return nil, err
	}
	id, err := s.controller()
	if err != nil {
		return nil, err
	}
	term, err := nextTerm(s.Workspace, time.Now())
	if err != nil {
		return nil, err
	}
	c, err := e.Dial(ctx)
	if err != nil {
		return nil, err
	}
	s.onClose(c.Close)
	asker := c.Asker()
	s.onClose(asker.Close)
	board, err := agent.NewSwitchboard(asker, id, whoAsks(), term, s.opts.Log)
	if err != nil {
		return nil, err
	}
	board.Alarm = func(on farm.HostName, call string, err error) {
		if s.Alarm != nil {
			s.Alarm(on, call, err)
		}
	}
	s.board = board
	s.hands = s.Handshakes(context.WithoutCancel(ctx), AgentPatience)
	return board, nil
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
