package main

import (
	"cmp"
	"fmt"

	"stowage/act"
	"stowage/move"
	"stowage/placement"
	"stowage/session"
)

// kind is an act that this program carries out.
type kind struct {
	name string
	// of gives an act its steps, in a session that is prepared.
	of func(a *app, bare *act.Act, goals placement.Goals) *act.Act
}

// kinds are all of them. A new act is a line here, and its verb.
var kinds = []kind{
	{move.Name, func(a *app, bare *act.Act, goals placement.Goals) *act.Act {
		return move.NewAct(bare, goals.Soak, a.repair).Act
	}},
}

// actOf is the act that carries out runs of a kind; "": nothing has been begun, and any will do.
func (a *app) actOf(d *session.Session, name string) (*act.Act, error) {
	for _, k := range kinds {
		if k.name == cmp.Or(name, kinds[0].name) {
			bare, goals, err := a.bareAct(d)
			if err != nil {
				return nil, err
			}
			return k.of(a, bare, goals), nil
		}
	}
	return nil, act.Refused("go on", name, fmt.Errorf("it is a %s, which this program does not know", name), "go on with it by the Stowage that has begun it; stowage runs lists all")
}

// bareAct is what all acts need, without the steps of one.
func (a *app) bareAct(d *session.Session) (*act.Act, placement.Goals, error) {
	goals, err := act.Goals(d)
	if err == nil {
		err = d.Prepare()
	}
	return &act.Act{Session: d, Terms: a.terms, Parallel: goals.Parallel, Conductor: &act.Conductor{Log: a.log, Border: a.border},
		Elsewhere: func() error { return noDomainsOpen(d) }}, goals, err
}

// moving opens what carrying out a plan needs.
func (a *app) moving() (*session.Session, *move.Act, error) {
	d, err := a.open()
	if err != nil {
		return nil, nil, err
	}
	bare, goals, err := a.bareAct(d)
	if err != nil {
		d.Close()
		return nil, nil, err
	}
	return d, move.NewAct(bare, goals.Soak, a.repair), nil
}
