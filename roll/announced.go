package roll

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/act"
	"stowage/farm"
	"stowage/sides"
	"stowage/store"
	"stowage/swing"
)

// announced is the document that names the variables of a side that a person
// has changed while it was out.
const announced = "announced"

// Announced are the variables that a run may bring back changed.
func Announced(s *store.Store, run string) ([]string, error) {
	var names []string
	_, err := s.LatestDocument(announced, run, &names)
	if errors.Is(err, store.ErrNone) {
		return nil, nil
	}
	return names, err
}

// Newest is the newest run that has taken a side out, whether it has ended or
// not; store.ErrNone when there is none.
func Newest(s *store.Store, pair farm.PairName, side farm.SideName) (store.Run, error) {
	runs, err := s.Runs(Side)
	if err != nil {
		return store.Run{}, err
	}
	subject := sides.Order{Pair: pair, Side: side}.Subject()
	n := slices.IndexFunc(runs, func(r store.Run) bool { return r.Subject == subject })
	if n < 0 {
		return store.Run{}, store.ErrNone
	}
	return runs[n], nil
}

// isCompared refuses a variable that no return compares: a slip of the keyboard would be found only when the return fails.
func isCompared(subject, name string) error {
	known := swing.CheckedInPlace()
	if slices.Contains(known, name) {
		return nil
	}
	return &farm.Error{Op: "bring back", Subject: subject, Err: fmt.Errorf("%w: %q is none of the variables that are compared", farm.ErrInput, name),
		Hint: "these are: " + strings.Join(known, ", ")}
}

// LetBackIn approves the return of a side, and notes which variables a person
// has changed meanwhile.
func (a *Act) LetBackIn(run store.Run, changed []string, why string) error {
	for _, name := range changed {
		if err := isCompared(run.Subject, name); err != nil {
			return err
		}
	}
	if len(changed) > 0 {
		if err := a.Store.PutDocument(announced, run.ID, time.Now(), changed); err != nil {
			return err
		}
	}
	now, err := act.SteeringOf(a.Store, run.ID)
	if err != nil || !slices.Contains(now.ApproveBefore, StepReturn) { // it goes on behind that step
		return err
	}
	_, _, err = act.Approve(a.Store, run.ID, StepReturn, "", true, why)
	return err
}

// Compared are the variables that must be what they were on a side that returns, unless somebody announces them.
func Compared() []string { return swing.CheckedInPlace() }
