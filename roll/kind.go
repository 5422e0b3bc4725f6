package roll

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"stowage/act"
	"stowage/engine"
	"stowage/farm"
	"stowage/host"
	"stowage/roll/agenda"
	"stowage/sides"
	"stowage/store"
	"stowage/swing"
)

// Side is the name of the kind: one side is taken out and brought back.
const Side = "side"

// StepReturn is the step before which a side is held out.
const StepReturn = "return"

// Act is the carrying out of runs of kind Side in a session.
type Act struct{ sides.Opener }

// NewAct makes holding a side out what an act carries out, in a session that is
// prepared.
func NewAct(bare *act.Act, settings swing.Settings) *Act {
	a := &Act{sides.Opener{Act: bare, Settings: settings, Editor: &host.Editor{}}}
	a.Kind = Kind(a)
	return a
}

// Kind is taking sides out. That of an Act that is nil can be looked at and not carried out.
func Kind(a *Act) act.Kind {
	open := func(c engine.Call, s act.Step, beat func(string)) (*visit, error) { return a.visit(c, s, beat) }
	return act.Kind{Name: Side, Runbooks: []act.Runbook{
		act.NewRunbook("hold", steps(swing.OutPhases, swing.InPhases), open),
		act.NewRunbook("hold-primary", steps(swing.StepdownOut, swing.StepdownIn), open),
		act.NewRunbook("hold-replica", steps(swing.FollowerOut, swing.FollowerIn), open),
	}}
}

// holding is the runbook of a side that is held out.
func holding(role agenda.Role) string {
	if role == agenda.Serves {
		return "hold"
	}
	return "hold-" + string(role)
}

// Begin takes one side of one pair out, after everything was asked. It is held
// before StepReturn until a person approves that: see Approve.
func (a *Act) Begin(ctx context.Context, pair farm.PairName, side farm.SideName) (store.Run, []farm.Finding, error) {
	o, err := a.Order(pair, side)
	if err != nil {
		return store.Run{}, nil, err
	}
	if o.Role == agenda.Single {
		return store.Run{}, nil, act.Refused("take out", o.Subject(), errors.New("it is a single instance: no other server can serve its clients"),
			"stowage roll --allow-downtime lets them wait at the gate; stowage move instance takes it to another host")
	}
	book, _ := a.Kind.Runbook(holding(o.Role))
	o.Runbook = book.Name
	args, err := json.Marshal(o)
	if err != nil {
		return store.Run{}, nil, err
	}
	return a.Act.Begin(ctx, act.Proposal{
		Name: fmt.Sprintf("%s-%s", pair, side), Subject: o.Subject(), ApproveBefore: []string{StepReturn},
		Job: func(run string) (engine.Job, uint32, error) {
			part := engine.Part{Subject: o.Subject(), Args: args, Steps: book.EngineSteps()}
			return engine.Job{ID: run, Kind: Side, Budgets: map[string]int{act.WholeFarm: 1},
				Lanes: []engine.Lane{{Name: string(pair), Holds: []string{act.WholeFarm}, Parts: []engine.Part{part}}}}, 0, nil
		},
		Survey: a.SurveyJob,
		Remedy: "remedy them; nothing was changed",
	})
}
