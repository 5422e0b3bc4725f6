package move

import (
	"context"
	"fmt"
	"strings"

	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
	"stowage/placement"
	"stowage/swing"
)

// lasting is how the three servers of a replacement start: see swing.Lasting.
type lasting struct{ r *replacement }

var _ swing.Lasting = lasting{}

// place is where a server's option file lies.
func (l lasting) place(server *mysql.Server) (host.Host, host.Instance, error) {
	switch server {
	case l.r.Leaves:
		return l.r.oldHost, l.r.old, nil
	case l.r.Returns:
		return l.r.freshHost, l.r.fresh, nil
	case l.r.Twin:
		return l.r.twinHost, l.r.twin, nil
	}
	return nil, host.Instance{}, fmt.Errorf("%w: %s is not part of this replacement", farm.ErrInput, server.Name())
}

// Fenced implements swing.Lasting.
func (l lasting) Fenced(ctx context.Context, server *mysql.Server) error {
	h, i, err := l.place(server)
	if err != nil {
		return err
	}
	return l.r.mover.editOptions(ctx, h, i, func(text string) string { return host.FenceOptions(i, text) })
}

// Opened implements swing.Lasting. The new instance gets rid of what it was to
// start with until it serves.
func (l lasting) Opened(ctx context.Context, server *mysql.Server) error {
	h, i, err := l.place(server)
	if err != nil {
		return err
	}
	if server == l.r.Returns {
		return l.r.settleConfig(ctx)
	}
	return l.r.mover.editOptions(ctx, h, i, func(text string) string { return host.UnfenceOptions(i, text) })
}

// NeverOpened implements swing.Lasting: settleConfig takes the line out, and
// nothing puts it back.
func (l lasting) NeverOpened(ctx context.Context, server *mysql.Server) (bool, error) {
	h, i, err := l.place(server)
	if err != nil || server != l.r.Returns {
		return false, err
	}
	text, err := h.ReadFile(ctx, i.Config)
	if err != nil {
		return false, err
	}
	return strings.Contains(string(text), unused), nil
}

// IsDown implements swing.Lasting.
func (l lasting) IsDown(ctx context.Context, server *mysql.Server) (bool, error) {
	h, i, err := l.place(server)
	if err != nil {
		return false, err
	}
	pid, err := h.Running(ctx, i)
	return err == nil && pid == 0, err
}

// EditOptions changes the option file of an instance of farm.yaml, where it
// lies.
func (m *Mover) EditOptions(ctx context.Context, name farm.InstanceName, place farm.Side, change func(host.Instance, string) string) error {
	h, err := m.Host(place.Host)
	if err != nil {
		return err
	}
	i := m.instance(name, placement.Place{Host: place.Host, Port: place.Port, Datadir: place.Datadir, Config: place.Config, GroupSuffix: place.GroupSuffix})
	return m.editOptions(ctx, h, i, func(text string) string { return change(i, text) })
}
