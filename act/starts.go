package act

import (
	"context"
	"strings"

	"stowage/fresh"
	"stowage/host"
	"stowage/mysql"
	"stowage/swing"
)

// Starts is how the servers of a swing start, by their option files: a fence is
// a block in the file, and taking it away leaves the file as it was, byte for
// byte.
type Starts struct {
	Editor *host.Editor
	// Of is where a server's option file lies.
	Of func(*mysql.Server) (host.Host, host.Instance, error)
}

var _ swing.Lasting = Starts{}

// Edit changes the option file of a server.
func (s Starts) Edit(ctx context.Context, server *mysql.Server, change func(host.Instance, string) string) error {
	h, i, err := s.Of(server)
	if err != nil {
		return err
	}
	return s.Editor.Edit(ctx, h, i, func(text string) string { return change(i, text) })
}

// Fenced implements swing.Lasting.
func (s Starts) Fenced(ctx context.Context, server *mysql.Server) error {
	return s.Edit(ctx, server, host.FenceOptions)
}

// Opened implements swing.Lasting.
func (s Starts) Opened(ctx context.Context, server *mysql.Server) error {
	return s.Edit(ctx, server, host.UnfenceOptions)
}

// NeverOpened implements swing.Lasting: these servers served before.
func (Starts) NeverOpened(context.Context, *mysql.Server) (bool, error) { return false, nil }

// IsDown implements swing.Lasting.
func (s Starts) IsDown(ctx context.Context, server *mysql.Server) (bool, error) {
	h, i, err := s.Of(server)
	if err != nil {
		return false, err
	}
	pid, err := h.Running(ctx, i)
	return err == nil && pid == 0, err
}

// FreshStarts are Starts of which one server is new: it gets rid of what it was
// to start with until it serves.
type FreshStarts struct {
	Starts
	Fresh *mysql.Server
	// Settle gives it the option file of a server that serves.
	Settle func(context.Context) error
}

var _ swing.Lasting = FreshStarts{}

// Opened implements swing.Lasting.
func (s FreshStarts) Opened(ctx context.Context, server *mysql.Server) error {
	if server == s.Fresh {
		return s.Settle(ctx)
	}
	return s.Starts.Opened(ctx, server)
}

// NeverOpened implements swing.Lasting: Settle takes the line out, and nothing
// puts it back.
func (s FreshStarts) NeverOpened(ctx context.Context, server *mysql.Server) (bool, error) {
	if server != s.Fresh {
		return false, nil
	}
	h, i, err := s.Of(server)
	if err != nil {
		return false, err
	}
	text, err := h.ReadFile(ctx, i.Config)
	return err == nil && strings.Contains(string(text), fresh.Mark), err
}
