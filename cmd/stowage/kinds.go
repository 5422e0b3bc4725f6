package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"stowage/act"
	"stowage/alter"
	"stowage/backup"
	"stowage/move"
	"stowage/placement"
	"stowage/reshape"
	"stowage/roll"
	"stowage/session"
	"stowage/store"
)

// kind is an act that this program carries out.
type kind struct {
	act.Kind // to be looked at
	// of gives an act its steps, in a session that is prepared.
	of func(a *app, bare *act.Act, goals placement.Goals) *act.Act
	// holdsBefore is a step that is approved by a verb of its own: the program ends where the run waits for that, and nobody has to carry it
	// out meanwhile. Empty: there is none.
	holdsBefore string
	// letsGoOn are the verbs for a run that is held, by its subject.
	letsGoOn func(run store.Run) []string
}

// kindOf is the kind of a run; the zero kind when this program does not know it.
func kindOf(run store.Run) kind {
	for _, k := range kinds() {
		if k.Name == run.Kind {
			return k
		}
	}
	return kind{}
}

// errHeld: a run waits for a verb of its own.
var errHeld = errors.New("held")

// isHeld reports whether a run waits for the verb of its kind, and for nothing else.
func isHeld(s *store.Store, run store.Run) bool {
	now, err := act.SteeringOf(s, run.ID)
	return err == nil && slices.ContainsFunc(now.Waiting(), func(w act.Approval) bool { return w.Step == kindOf(run).holdsBefore })
}

// kinds are all of them, made at the first call: a runbook holds the text of all its steps. A new act is a line here, and its verb.
var kinds = sync.OnceValue(func() []kind {
	return []kind{
		{Kind: move.Kind(nil), of: func(a *app, bare *act.Act, goals placement.Goals) *act.Act {
			return move.NewAct(bare, act.SwingSettings(goals), a.repair).Act
		}},
		{Kind: alter.Kind(nil), of: func(_ *app, bare *act.Act, goals placement.Goals) *act.Act {
			return alter.NewAct(bare, act.SwingSettings(goals)).Act
		}},
		{Kind: reshape.Kind(nil), of: func(_ *app, bare *act.Act, _ placement.Goals) *act.Act { return reshape.NewAct(bare).Act }},
		{Kind: backup.Kind(nil), of: func(_ *app, bare *act.Act, goals placement.Goals) *act.Act {
			return backup.NewAct(bare, act.SwingSettings(goals)).Act
		}},
		{Kind: backup.RestoreKind(nil), of: func(_ *app, bare *act.Act, goals placement.Goals) *act.Act {
			return backup.NewRestore(bare, act.SwingSettings(goals)).Act
		}},
		{Kind: roll.RollKind(nil), of: func(a *app, bare *act.Act, goals placement.Goals) *act.Act { return a.newRoller(bare, goals).Act }},
		{
			Kind: roll.Kind(nil), of: func(_ *app, bare *act.Act, goals placement.Goals) *act.Act { return newRoll(bare, goals).Act },
			holdsBefore: roll.StepReturn,
			letsGoOn: func(r store.Run) []string {
				return []string{"stowage side in " + r.Subject, "stowage undo --run " + r.ID}
			},
		},
	}
})

// actOf is the act that carries out runs of a kind; "": nothing has been begun, and any will do.
func (a *app) actOf(d *session.Session, name string) (*act.Act, error) {
	for _, k := range kinds() {
		if k.Name == cmp.Or(name, kinds()[0].Name) {
			bare, goals, err := a.bareAct(d)
			if err != nil {
				return nil, err
			}
			return k.of(a, bare, goals), nil
		}
	}
	return nil, act.Refused("go on", name, fmt.Errorf("it is a %s, which this program does not know", name), "use the version of Stowage that began it; stowage runs lists all")
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
	return d, move.NewAct(bare, act.SwingSettings(goals), a.repair), nil
}
