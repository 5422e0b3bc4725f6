package move

import (
	"context"
	"fmt"

	"stowage/act"
	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
	"stowage/placement"
	"stowage/swing"
)

// newLasting is how the three servers of a replacement start.
func newLasting(r *replacement) swing.Lasting {
	return act.FreshStarts{Starts: act.Starts{Editor: r.mover.edited, Of: r.place}, Fresh: r.Returns, Settle: r.settleConfig}
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
