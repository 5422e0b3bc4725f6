package roll

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"stowage/act"
	"stowage/engine"
	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
	"stowage/store"
	"stowage/swing"
)

// visit is one side that is out, or about to be: what its steps act on.
type visit struct {
	*swing.Swing
	act.Task
	act   *Act
	order order
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

func (a *Act) visit(c engine.Call, step act.Step, beat func(string)) (*visit, error) {
	v := &visit{act: a}
	var err error
	if v.Task, err = a.Conductor.Task(c, step, beat, &v.order, nil); err != nil {
		return nil, err
	}
	v.About = farm.Event{Pair: v.order.Pair, Side: v.order.Side}
	of := map[farm.InstanceName]onHost{}
	for _, p := range []place{v.order.Leaves, v.order.Twin} {
		h, i, err := a.instance(p)
		if err != nil {
			return nil, err
		}
		of[p.Name] = onHost{h, i}
	}
	open := func(p place) *mysql.Server { return mysql.Open(p.Name, of[p.Name].Dial(), a.Admin, a.Log) }
	side := open(v.order.Leaves)
	v.Swing = &swing.Swing{
		Pair: v.order.Pair, Side: v.order.Side, Router: a.Router, Leaves: side, Returns: side, Twin: open(v.order.Twin),
		Settings: a.settings, Border: v.AtBorder, Rejoin: v.rejoin,
		Lasting: act.Starts{Editor: a.editor, Of: func(s *mysql.Server) (host.Host, host.Instance, error) {
			x := of[s.Name()]
			return x.Host, x.Instance, nil
		}},
		Tell: func(kind farm.EventKind, phase, text string, millis float64) {
			v.Report(farm.Event{Kind: kind, Phase: phase, Text: text, Millis: millis})
		},
	}
	var was before
	switch _, err := a.Store.LatestDocument(beforeDocument, v.order.subject(), &was); {
	case err == nil:
		v.knew(was)
	case !errors.Is(err, store.ErrNone):
		return nil, err
	}
	v.MayDiffer, err = Announced(a.Store, c.Job)
	return v, err
}

func (v *visit) knew(was before) {
	v.Baseline, v.Scheduler, v.Apart = &was.Baseline, was.Baseline.Events, was.Apart
}

type onHost struct {
	host.Host
	host.Instance
}

// TheSwing lets the steps of package swing work on a visit.
func (v *visit) TheSwing() swing.Dance { return v.Swing }

// Remember implements act.Work.
func (*visit) Remember() json.RawMessage { return nil }

// Close implements act.Work.
func (v *visit) Close() {
	for _, s := range []*mysql.Server{v.Leaves, v.Twin} {
		_ = s.Close() // nothing is lost with a connection
	}
}

// preflight asks everything once more, and keeps what the side is before it leaves. The server writes down which pages are in its buffer pool: after a restart
// it reads them again.
func (v *visit) preflight(ctx context.Context) error {
	if err := act.MayGoOn(ctx, v); err != nil {
		return err
	}
	var was before
	var err error
	if was.Baseline, err = swing.ReadBaseline(ctx, v.Leaves); err != nil {
		return err
	}
	if was.Apart, err = v.Twin.Moment(ctx); err != nil {
		return err
	}
	if err := v.Leaves.DumpPool(ctx, time.Minute); err != nil {
		return err
	}
	v.knew(was)
	return v.act.Store.PutDocument(beforeDocument, v.order.subject(), time.Now(), was)
}

// comeBack waits for the side's server, for as long as it takes: a machine that
// boots, or a person who has not started it yet.
func (v *visit) comeBack(ctx context.Context) error {
	told := false
	for {
		err := v.Leaves.Ping(ctx)
		if err == nil {
			return v.rejoin(ctx)
		}
		if !told {
			v.Report(farm.Event{Kind: farm.StepWaiting, Text: fmt.Sprintf("%s does not answer (%v): start it", v.Leaves.Name(), err)})
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
func (v *visit) rejoin(ctx context.Context) error {
	now, err := v.Returns.Replication(ctx)
	if err != nil || !now.Follows(v.Twin.Address()) || !now.Idle() {
		return err
	}
	v.Report(farm.Event{Kind: farm.StepProgress, Text: "it was restarted without replication; starting that"})
	return v.Returns.StartReplicating(ctx, 30*time.Second)
}
