package sides

import (
	"context"
	"errors"
	"slices"

	"stowage/act"
	"stowage/host"
	"stowage/mysql"
	"stowage/swing"
)

// What sides of pairs with one writer need besides: a primary whose writes a replica takes for a while, and replicas.

// starts are how the servers of a member start. A replica that takes the writes of its primary for a while says so in its option file: there it has read_only,
// as a rule, and would come back from a crash with it.
type starts struct {
	act.Starts
	m *Member
}

// standsIn reports whether this server takes another's writes for a while.
func (s starts) standsIn(server *mysql.Server) bool {
	_, steps := s.m.Dance.(*swing.Stepdown)
	return steps && server == s.m.Twin
}

// Opened implements swing.Lasting.
func (s starts) Opened(ctx context.Context, server *mysql.Server) error {
	if !s.standsIn(server) {
		return s.Starts.Opened(ctx, server)
	}
	return s.Edit(ctx, server, func(i host.Instance, text string) string { return host.ServeOptions(i, host.UnfenceOptions(i, text)) })
}

// Fenced implements swing.Lasting.
func (s starts) Fenced(ctx context.Context, server *mysql.Server) error {
	if !s.standsIn(server) {
		return s.Starts.Fenced(ctx, server)
	}
	return s.Edit(ctx, server, func(i host.Instance, text string) string { return host.FenceOptions(i, host.UnserveOptions(i, text)) })
}

// stepdown is how a primary leaves and returns.
func (m *Member) stepdown() *swing.Stepdown {
	as := m.base.Replication
	if as.Source == nil {
		as.Source = m.was.Link
	}
	return swing.NewStepdown(m.Swing, as, m.barred(), m.restore)
}

// barred are the accounts that read_only does not stop, on either of the two servers.
func (m *Member) barred() []mysql.Grantee {
	out := slices.Clone(m.was.Bar)
	for _, g := range m.was.TwinBar {
		if !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	return out
}

// restore puts back what the two cutovers have changed on the servers besides who serves. The primary serves by now, and the replica follows it.
func (m *Member) restore(ctx context.Context) error {
	s := starts{act.Starts{Editor: m.base.Editor, Of: m.place}, m}
	err := s.Edit(ctx, m.Twin, func(i host.Instance, text string) string { return host.UnfenceOptions(i, host.UnserveOptions(i, text)) })
	lockedOn := func(own []mysql.Grantee) (locked []mysql.Grantee) { // accounts that were locked there before
		return slices.DeleteFunc(m.barred(), func(g mysql.Grantee) bool { return slices.Contains(own, g) })
	}
	return errors.Join(err,
		m.Leaves.Bar(ctx, lockedOn(m.was.Bar), true),
		m.Twin.Bar(ctx, lockedOn(m.was.TwinBar), true),
		m.Twin.Bar(ctx, m.was.TwinBar, false),
		m.Twin.SetScheduler(ctx, m.was.TwinEvents))
}

func (m *Member) rememberPrimary(ctx context.Context, was *Before) error {
	for server, into := range map[*mysql.Server]*[]mysql.Grantee{m.Leaves: &was.Bar, m.Twin: &was.TwinBar} {
		p, err := server.Privileged(ctx, m.base.Replication.User)
		if err != nil {
			return err
		}
		*into = p.Bar
	}
	is, err := m.Twin.Variables(ctx, "event_scheduler")
	if err != nil {
		return err
	}
	was.TwinEvents = is["event_scheduler"] == "ON"
	was.Link, err = m.Twin.LinkTLS(ctx)
	return err
}

func (m *Member) rememberReplica(ctx context.Context, was *Before) error {
	t, err := m.Routing(ctx)
	if err != nil {
		return err
	}
	if p := t.Pairs[m.Pair]; p != nil {
		was.Named = slices.Index(p.Replicas, m.Leaves.Address())
	}
	closed, err := m.Leaves.IsReadOnly(ctx)
	if err != nil {
		return err
	}
	was.Open = !closed
	was.Strays, err = m.Leaves.Strays(ctx, m.Twin)
	return err
}
