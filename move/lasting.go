package move

import (
	"context"
	"fmt"
	"strings"

	"stowage/act"
	"stowage/farm"
	"stowage/fresh"
	"stowage/host"
	"stowage/mysql"
	"stowage/placement"
	"stowage/swing"
)

// lasting is how the three servers of a replacement start. The new instance
// gets rid of what it was to start with until it serves.
type lasting struct {
	act.Starts
	r *replacement
}

func newLasting(r *replacement) swing.Lasting {
	return lasting{act.Starts{Editor: r.mover.edited, Of: r.place}, r}
}

// place is where a server's option file lies.
func (r *replacement) place(server *mysql.Server) (host.Host, host.Instance, error) {
	switch server {
	case r.Leaves:
		return r.oldHost, r.old, nil
	case r.Returns:
		return r.freshHost, r.fresh, nil
	case r.Twin:
		return r.twinHost, r.twin, nil
	}
	return nil, host.Instance{}, fmt.Errorf("%w: %s is not part of this replacement", farm.ErrInput, server.Name())
}

// Opened implements swing.Lasting.
func (l lasting) Opened(ctx context.Context, server *mysql.Server) error {
	if server == l.r.Returns {
		return l.r.settleConfig(ctx)
	}
	return l.Starts.Opened(ctx, server)
}

// NeverOpened implements swing.Lasting: settleConfig takes the line out, and
// nothing puts it back.
func (l lasting) NeverOpened(ctx context.Context, server *mysql.Server) (bool, error) {
	if server != l.r.Returns {
		return false, nil
	}
	text, err := l.r.freshHost.ReadFile(ctx, l.r.fresh.Config)
	if err != nil {
		return false, err
	}
	return strings.Contains(string(text), fresh.Mark), nil
}

// EditOptions changes the option file of an instance of farm.yaml, where it
// lies.
func (m *Mover) EditOptions(ctx context.Context, name farm.InstanceName, place farm.Side, change func(host.Instance, string) string) error {
	h, err := m.Host(place.Host)
	if err != nil {
		return err
	}
	i := m.instance(name, placement.Place{Host: place.Host, Port: place.Port, Datadir: place.Datadir, Config: place.Config, GroupSuffix: place.GroupSuffix})
	return m.edited.Edit(ctx, h, i, func(text string) string { return change(i, text) })
}
