package swing

import (
	"context"
	"time"

	"stowage/mysql"
)

// Alone is a single instance that leaves for a while: nobody else can serve, so
// its clients wait at the gate for as long as it is away. Leaves and Returns are
// the instance; there is no Twin.
type Alone struct{ *Swing }

// Phases of an Alone, in order.
var (
	AloneOut = []string{"ready", "close", "drain"}
	AloneIn  = []string{"flip"}
)

// Out closes the gate, and waits until the work behind it has ended.
func (a Alone) Out(ctx context.Context) error {
	if err := a.awaitTable(ctx, a.Settings.Answer); err != nil {
		return err
	}
	if err := a.mend(ctx); err != nil {
		return err
	}
	p, err := a.pair(ctx)
	if err != nil {
		return err
	}
	clients := Clients{On: []*mysql.Server{a.Leaves}, Subject: string(a.Leaves.Name())}
	waitsAlready := p.GateIsClosed(a.Side) // an attempt before this one has closed it
	return Handover{
		Within: func(ctx context.Context, name string, do func(context.Context) error) error {
			return a.Phase(ctx, "out", name, do)
		},
		Phases: []Phase{
			{Name: "ready", Skip: waitsAlready, Do: func(ctx context.Context) error { return clients.AwaitNoLongWork(ctx, a.Settings, a.waiting) }},
			{Name: "close", Skip: waitsAlready, Do: a.closeGate},
			{Name: "drain", Do: func(ctx context.Context) error {
				return a.drain(ctx, clients, max(a.Settings.Settle, a.Router.Guarantee().Settle))
			}},
		},
		Back: func(ctx context.Context, _ error) error {
			short, cancel := cleanup(ctx)
			defer cancel()
			return a.openGate(short)
		},
	}.Run(ctx)
}

// UndoOut opens the gate.
func (a Alone) UndoOut(ctx context.Context) error {
	if err := a.awaitTable(ctx, a.Settings.Patience); err != nil {
		return err
	}
	return a.openGate(ctx)
}

// CatchUp waits until the instance answers: there is nobody to catch up with.
func (a Alone) CatchUp(ctx context.Context) error { return a.await(ctx, a.Returns) }

// Check holds the instance to what it was.
func (a Alone) Check(ctx context.Context) error { return a.CheckVariables(ctx) }

// Warm does nothing: clients wait, and the server reads its pages in beside them.
func (a Alone) Warm(context.Context) error { return nil }

// In opens the gate.
func (a Alone) In(ctx context.Context) error {
	if err := a.awaitTable(ctx, a.Settings.Answer); err != nil {
		return err
	}
	if err := a.restoreScheduler(ctx, a.Returns); err != nil {
		return err
	}
	if err := a.Phase(ctx, "in", "flip", a.openGate); err != nil {
		return err
	}
	a.beginFirstMinute(ctx, nil)
	return nil
}

// UndoIn closes the gate again.
func (a Alone) UndoIn(ctx context.Context) error { return a.Out(ctx) }

func (a Alone) openGate(ctx context.Context) error {
	if a.closedAt.IsZero() {
		a.closedAt = time.Now() // by an attempt of before: how long it was is not known here
	}
	return a.Swing.openGate(ctx, "served by "+string(a.Returns.Name()))
}
