package sides

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"stowage/act"
	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
	"stowage/mysql/rows"
	"stowage/roll/agenda"
	"stowage/store"
	"stowage/swing"
)

// Member is one side that is out, or about to be, and its server.
type Member struct {
	*swing.Swing
	Dance  swing.Member // how it leaves and returns: by its role in the pair
	base   Opener
	Order  Order
	At     OnHost // the side's own
	TwinAt OnHost
	was    Before
	report func(farm.Event)
}

// OnHost is an instance, and the machine that it runs on.
type OnHost struct {
	host.Host
	host.Instance
}

// Before is what was known of a side before it left. It is kept in the store and not handed from step to step: the run that brings a side back may be
// another than the one that has taken it out.
type Before struct {
	Baseline swing.Baseline `json:"baseline"`
	// Apart is a moment before any client of the side was sent to the twin.
	Apart mysql.Moment `json:"apart,omitzero"`
	// Differ are the tables whose definitions differed from the twin's already.
	Differ []string `json:"tables_differ,omitempty"`

	// Of a replica: its place in routing's list, -1 where it has none; whether it took writes; what it alone had.
	Named  int    `json:"named"`
	Open   bool   `json:"open,omitempty"`
	Strays string `json:"strays,omitempty"`

	// Of a primary: the accounts that read_only does not stop, on it and on the replica that takes its writes; what the link of that replica speaks; and
	// whether the replica fires events.
	Bar        []mysql.Grantee  `json:"bar,omitempty"`
	TwinBar    []mysql.Grantee  `json:"twin_bar,omitempty"`
	Link       *mysql.SourceTLS `json:"link,omitempty"`
	TwinEvents bool             `json:"twin_events,omitempty"`
}

// beforeDocument has one before a side, under PAIR/SIDE.
const beforeDocument = "before side"

// Member opens a side for the steps of a task, which completes what is reported.
func (a Opener) Member(o Order, of *act.Task, border func(string) error, mayDiffer []string) (*Member, error) {
	report := of.Report
	m := &Member{base: a, Order: o, report: report, was: Before{Named: -1}}
	open := func(p Place, into *OnHost) (*mysql.Server, error) {
		h, i, err := a.Instance(p)
		if err != nil {
			return nil, err
		}
		*into = OnHost{h, i}
		return mysql.Open(p.Name, i.Dial(), a.Admin, a.Log), nil
	}
	side, err := open(o.Leaves, &m.At)
	if err != nil {
		return nil, err
	}
	m.Swing = &swing.Swing{
		Pair: o.Pair, Side: o.Side, Router: a.Router, Leaves: side, Returns: side,
		Settings: a.Settings, Border: border, Rejoin: m.rejoin, MayDiffer: mayDiffer, Lasting: starts{act.Starts{Editor: a.Editor, Of: m.place}, m}, DataFile: m.dataFile,
		Note: func(text string) { of.WriteDown("measured", o.Subject()+": "+text, "") },
		Tell: func(kind farm.EventKind, phase, text string, millis float64) {
			report(farm.Event{Kind: kind, Pair: o.Pair, Side: o.Side, Phase: phase, Text: text, Millis: millis})
		},
	}
	m.First = of.KeepFirstMinute
	if o.Role != agenda.Single {
		if m.Twin, err = open(o.Twin, &m.TwinAt); err != nil {
			return nil, err
		}
	}
	var was Before
	_, err = a.Store.LatestDocument(beforeDocument, o.Subject(), &was)
	switch {
	case errors.Is(err, store.ErrNone):
		m.Dance, err = m.danceOf(), nil
	case err == nil:
		m.knew(was)
	}
	return m, err
}

// place is where a server's option file lies.
func (m *Member) place(s *mysql.Server) (host.Host, host.Instance, error) {
	if s == m.Twin {
		return m.TwinAt.Host, m.TwinAt.Instance, nil
	}
	return m.At.Host, m.At.Instance, nil
}

func (m *Member) dataFile(ctx context.Context, of *mysql.Server, name string) ([]byte, error) {
	h, i, err := m.place(of)
	if err != nil {
		return nil, err
	}
	return h.ReadFile(ctx, filepath.Join(i.Datadir, name))
}

func (m *Member) knew(was Before) {
	m.was = was
	m.Baseline, m.Scheduler, m.Apart, m.TablesMayDiffer = &m.was.Baseline, was.Baseline.Events, was.Apart, was.Differ
	m.Dance = m.danceOf()
}

// danceOf is how a side of this role leaves and returns.
func (m *Member) danceOf() swing.Member {
	switch m.Order.Role {
	case agenda.Primary:
		return m.stepdown()
	case agenda.Replica:
		return swing.NewFollower(m.Swing, m.was.Named, m.was.Open, m.was.Strays)
	case agenda.Single:
		return swing.Alone{Swing: m.Swing}
	}
	return m.Swing
}

// Close lets go of its servers.
func (m *Member) Close() {
	_ = m.Leaves.Close() // nothing is lost with a connection
	if m.Twin != nil {
		_ = m.Twin.Close()
	}
}

// KeepBefore keeps what the side is before it leaves.
func (m *Member) KeepBefore(ctx context.Context, in *store.Store) error {
	was := Before{Named: -1}
	var err error
	if was.Baseline, err = swing.ReadBaseline(ctx, m.Leaves); err != nil {
		return err
	}
	if m.Twin != nil {
		if was.Apart, err = m.Twin.Moment(ctx); err != nil {
			return err
		}
		differ, err := rows.CompareDefinitions(ctx, m.Twin, m.Leaves)
		if err != nil {
			return err
		}
		for _, d := range differ {
			was.Differ = append(was.Differ, d.Table)
		}
	}
	switch m.Order.Role {
	case agenda.Primary:
		err = m.rememberPrimary(ctx, &was)
	case agenda.Replica:
		err = m.rememberReplica(ctx, &was)
	}
	if err != nil {
		return err
	}
	m.knew(was)
	return in.PutDocument(beforeDocument, m.Order.Subject(), time.Now(), was)
}

// ComeBack waits for the side's server, for as long as it takes: a machine that
// boots, or a person who has not started it yet.
func (m *Member) ComeBack(ctx context.Context) error {
	told := false
	for {
		err := m.Leaves.Ping(ctx)
		if err == nil {
			return m.rejoin(ctx)
		}
		if !told {
			m.Tell(farm.StepWaiting, "", fmt.Sprintf("%s does not answer (%v): start it", m.Leaves.Name(), err), 0)
			told = true
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// rejoin makes the side replicate again when its server was started and not told
// to. Replication that has stopped for a reason stays as it is.
func (m *Member) rejoin(ctx context.Context) error {
	if m.Twin == nil {
		return nil
	}
	now, err := m.Returns.Replication(ctx)
	if err != nil || !now.Follows(m.Twin.Address()) || !now.Idle() {
		return err
	}
	m.Tell(farm.StepProgress, "", fmt.Sprintf("%s was restarted without replication; starting that", m.Returns.Name()), 0)
	return m.Returns.StartReplicating(ctx, 30*time.Second)
}

// EditOptions changes the option file of the side's server: it holds from its next start on.
func (m *Member) EditOptions(ctx context.Context, change func(host.Instance, string) string) error {
	return act.Starts{Editor: m.base.Editor, Of: m.place}.Edit(ctx, m.Leaves, change)
}
