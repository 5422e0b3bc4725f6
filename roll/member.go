package roll

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
	"stowage/roll/agenda"
	"stowage/store"
	"stowage/swing"
)

// member is one side that is out, or about to be, and its server.
type member struct {
	*swing.Swing
	dance  swing.Member // how it leaves and returns: by its role in the pair
	base   *base
	order  order
	at     onHost // the side's own
	twin   onHost
	was    before
	report func(farm.Event)
}

type onHost struct {
	host.Host
	host.Instance
}

// before is what was known of a side before it left. It is kept in the store and not handed from step to step: the run that brings a side back may be
// another than the one that has taken it out.
type before struct {
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

// member opens a side for the steps of a task, which completes what is reported.
func (a *base) member(o order, of *act.Task, border func(string) error, mayDiffer []string) (*member, error) {
	report := of.Report
	m := &member{base: a, order: o, report: report, was: before{Named: -1}}
	open := func(p place, into *onHost) (*mysql.Server, error) {
		h, i, err := a.instance(p)
		if err != nil {
			return nil, err
		}
		*into = onHost{h, i}
		return mysql.Open(p.Name, i.Dial(), a.Admin, a.Log), nil
	}
	side, err := open(o.Leaves, &m.at)
	if err != nil {
		return nil, err
	}
	m.Swing = &swing.Swing{
		Pair: o.Pair, Side: o.Side, Router: a.Router, Leaves: side, Returns: side,
		Settings: a.settings, Border: border, Rejoin: m.rejoin, MayDiffer: mayDiffer, Lasting: starts{act.Starts{Editor: a.editor, Of: m.place}, m}, DataFile: m.dataFile,
		Note: func(text string) { of.WriteDown("measured", o.subject()+": "+text, "") },
		Tell: func(kind farm.EventKind, phase, text string, millis float64) {
			report(farm.Event{Kind: kind, Pair: o.Pair, Side: o.Side, Phase: phase, Text: text, Millis: millis})
		},
	}
	if o.Role != agenda.Single {
		if m.Twin, err = open(o.Twin, &m.twin); err != nil {
			return nil, err
		}
	}
	var was before
	_, err = a.Store.LatestDocument(beforeDocument, o.subject(), &was)
	switch {
	case errors.Is(err, store.ErrNone):
		m.dance, err = m.danceOf(), nil
	case err == nil:
		m.knew(was)
	}
	return m, err
}

// place is where a server's option file lies.
func (m *member) place(s *mysql.Server) (host.Host, host.Instance, error) {
	if s == m.Twin {
		return m.twin.Host, m.twin.Instance, nil
	}
	return m.at.Host, m.at.Instance, nil
}

func (m *member) dataFile(ctx context.Context, of *mysql.Server, name string) ([]byte, error) {
	h, i, err := m.place(of)
	if err != nil {
		return nil, err
	}
	return h.ReadFile(ctx, filepath.Join(i.Datadir, name))
}

func (m *member) knew(was before) {
	m.was = was
	m.Baseline, m.Scheduler, m.Apart, m.TablesMayDiffer = &m.was.Baseline, was.Baseline.Events, was.Apart, was.Differ
	m.dance = m.danceOf()
}

// danceOf is how a side of this role leaves and returns.
func (m *member) danceOf() swing.Member {
	switch m.order.Role {
	case agenda.Primary:
		return m.stepdown()
	case agenda.Replica:
		return swing.NewFollower(m.Swing, m.was.Named, m.was.Open, m.was.Strays)
	case agenda.Single:
		return swing.Alone{Swing: m.Swing}
	}
	return m.Swing
}

func (m *member) close() {
	_ = m.Leaves.Close() // nothing is lost with a connection
	if m.Twin != nil {
		_ = m.Twin.Close()
	}
}

// remember keeps what the side is before it leaves.
func (m *member) remember(ctx context.Context, in *store.Store) error {
	was := before{Named: -1}
	var err error
	if was.Baseline, err = swing.ReadBaseline(ctx, m.Leaves); err != nil {
		return err
	}
	if m.Twin != nil {
		if was.Apart, err = m.Twin.Moment(ctx); err != nil {
			return err
		}
		differ, err := mysql.CompareDefinitions(ctx, m.Twin, m.Leaves)
		if err != nil {
			return err
		}
		for _, d := range differ {
			was.Differ = append(was.Differ, d.Table)
		}
	}
	switch m.order.Role {
	case agenda.Primary:
		err = m.rememberPrimary(ctx, &was)
	case agenda.Replica:
		err = m.rememberReplica(ctx, &was)
	}
	if err != nil {
		return err
	}
	m.knew(was)
	return in.PutDocument(beforeDocument, m.order.subject(), time.Now(), was)
}

// comeBack waits for the side's server, for as long as it takes: a machine that
// boots, or a person who has not started it yet.
func (m *member) comeBack(ctx context.Context) error {
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
func (m *member) rejoin(ctx context.Context) error {
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
