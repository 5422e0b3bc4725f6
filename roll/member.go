package roll

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stowage/act"
	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
	"stowage/store"
	"stowage/swing"
)

// member is one side that is out, or about to be, and its server.
type member struct {
	*swing.Swing
	order  order
	at     onHost // the side's own
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
}

// beforeDocument has one before a side, under PAIR/SIDE.
const beforeDocument = "before side"

// member opens a side for the steps of a task. What is reported is completed by report.
func (a *base) member(o order, border func(string) error, report func(farm.Event), mayDiffer []string) (*member, error) {
	m := &member{order: o, report: report}
	of := map[farm.InstanceName]onHost{}
	for _, p := range []place{o.Leaves, o.Twin} {
		h, i, err := a.instance(p)
		if err != nil {
			return nil, err
		}
		of[p.Name] = onHost{h, i}
	}
	m.at = of[o.Leaves.Name]
	open := func(p place) *mysql.Server { return mysql.Open(p.Name, of[p.Name].Dial(), a.Admin, a.Log) }
	side := open(o.Leaves)
	m.Swing = &swing.Swing{
		Pair: o.Pair, Side: o.Side, Router: a.Router, Leaves: side, Returns: side, Twin: open(o.Twin),
		Settings: a.settings, Border: border, Rejoin: m.rejoin, MayDiffer: mayDiffer,
		Lasting: act.Starts{Editor: a.editor, Of: func(s *mysql.Server) (host.Host, host.Instance, error) {
			x := of[s.Name()]
			return x.Host, x.Instance, nil
		}},
		Tell: func(kind farm.EventKind, phase, text string, millis float64) {
			report(farm.Event{Kind: kind, Pair: o.Pair, Side: o.Side, Phase: phase, Text: text, Millis: millis})
		},
	}
	var was before
	_, err := a.Store.LatestDocument(beforeDocument, o.subject(), &was)
	if err == nil {
		m.knew(was)
	} else if errors.Is(err, store.ErrNone) {
		err = nil
	}
	return m, err
}

func (m *member) knew(was before) {
	m.Baseline, m.Scheduler, m.Apart = &was.Baseline, was.Baseline.Events, was.Apart
}

func (m *member) close() {
	for _, s := range []*mysql.Server{m.Leaves, m.Twin} {
		_ = s.Close() // nothing is lost with a connection
	}
}

// remember keeps what the side is before it leaves. The server writes down which pages are in its buffer pool: after a restart it reads them again.
func (m *member) remember(ctx context.Context, in *store.Store) error {
	var was before
	var err error
	if was.Baseline, err = swing.ReadBaseline(ctx, m.Leaves); err != nil {
		return err
	}
	if was.Apart, err = m.Twin.Moment(ctx); err != nil {
		return err
	}
	if err := m.Leaves.DumpPool(ctx, time.Minute); err != nil {
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
	now, err := m.Returns.Replication(ctx)
	if err != nil || !now.Follows(m.Twin.Address()) || !now.Idle() {
		return err
	}
	m.Tell(farm.StepProgress, "", fmt.Sprintf("%s was restarted without replication; starting that", m.Returns.Name()), 0)
	return m.Returns.StartReplicating(ctx, 30*time.Second)
}
