package roll

import (
	"context"
	"encoding/json"

	"stowage/act"
	"stowage/engine"
	"stowage/farm"
	"stowage/sides"
	"stowage/swing"
)

// visit is one side that is out, or about to be: what the steps of kind Side act on.
type visit struct {
	*sides.Member
	act.Task
	act *Act
}

func (a *Act) visit(c engine.Call, step act.Step, beat func(string)) (*visit, error) {
	v := &visit{act: a}
	var o sides.Order
	var err error
	if v.Task, err = a.Conductor.Task(c, step, beat, &o, nil); err != nil {
		return nil, err
	}
	v.About = farm.Event{Pair: o.Pair, Side: o.Side}
	mayDiffer, err := Announced(a.Store, c.Job)
	if err != nil {
		return nil, err
	}
	v.Member, err = a.Member(o, &v.Task, v.AtBorder, mayDiffer)
	return v, err
}

// TheSwing lets the steps of package swing work on a visit.
func (v *visit) TheSwing() swing.Dance { return v.Dance }

// Remember implements act.Work.
func (*visit) Remember() json.RawMessage { return nil }

// Close implements act.Work.
func (v *visit) Close() { v.Member.Close() }

// preflight asks everything once more, and keeps what the side is before it leaves.
func (v *visit) preflight(ctx context.Context) error {
	if err := act.MayGoOn(ctx, v); err != nil {
		return err
	}
	return v.KeepBefore(ctx, v.act.Store)
}

func (v *visit) comeBack(ctx context.Context) error { return v.Member.ComeBack(ctx) }
