package alter

import (
	"context"
	"errors"
	"strings"
	"time"

	"stowage/act"
	"stowage/alter/plan"
	"stowage/farm"
	"stowage/host"
)

// hold has the second side apply nothing of what the first will be told, not even after a restart. Of a pair with one writer the second takes the writes now and applies nothing anyway.
func (w *work) hold(ctx context.Context) error {
	s := w.second
	if err := s.Await(ctx, s.Settings.Answer, s.Leaves); err != nil {
		return err
	}
	if err := s.EditOptions(ctx, host.HoldOptions); err != nil {
		return err
	}
	if w.hasRoles() {
		return nil
	}
	if err := s.Leaves.HoldApplier(ctx); err != nil {
		return err
	}
	// What it receives is on its disk at once: while it is held, nobody else may have it.
	return s.Leaves.SetSetting(ctx, syncRelay, "1")
}

// hasRoles reports whether the sides are a primary and its replica.
func (w *work) hasRoles() bool {
	return w.order.isHeld() && strings.HasSuffix(string(w.order.Runbook), plan.OneWriter)
}

// letGo is the way back from hold.
func (w *work) letGo(ctx context.Context) error {
	s := w.second
	if err := s.EditOptions(ctx, host.UnholdOptions); err != nil {
		return err
	}
	if w.hasRoles() {
		return nil
	}
	if err := s.Await(ctx, s.Settings.Patience, s.Leaves); err != nil {
		return err
	}
	if err := s.Leaves.SetSetting(ctx, syncRelay, w.before.SyncRelay); err != nil {
		return err
	}
	return s.Leaves.StartReplicating(ctx, 30*time.Second)
}

// switchOver sends all clients of the pair to the altered side.
func (w *work) switchOver(ctx context.Context) error {
	if w.hasRoles() {
		return w.second.Dance.Out(ctx)
	}
	// A restart since the step before would have started the applier, had its option file not said otherwise; somebody may have started it by hand.
	if err := w.second.Leaves.HoldApplier(ctx); err != nil {
		return err
	}
	// What clients are acknowledged from now on is on the twin's disk, too.
	if err := w.second.Leaves.AwaitReceiving(ctx, 30*time.Second); err != nil {
		return err
	}
	return w.first.Exchange(ctx, StepSwitch)
}

// switchBack is the way back from a switch that did not come about. Behind one that did there is none.
func (w *work) switchBack(ctx context.Context) error {
	served, err := w.isSwitched(ctx)
	if err != nil {
		return err
	}
	if served {
		return act.Lost("clients write rows of the new shape", &farm.Error{Op: "undo switch", Subject: string(w.order.Pair),
			Err:  errors.New("clients are served by " + string(w.first.Leaves.Name()) + ", and what they wrote in its new tables does not fit the old ones"),
			Hint: "stowage approve --without-way-back; then change the tables back by another alter"})
	}
	if w.hasRoles() {
		return w.second.Dance.UndoOut(ctx)
	}
	return w.first.UndoExchange(ctx, StepSwitch)
}

// isSwitched reports whether the altered side serves the clients.
func (w *work) isSwitched(ctx context.Context) (bool, error) {
	if !w.hasRoles() {
		return w.first.IsExchanged(ctx)
	}
	t, err := w.first.Routing(ctx)
	if err != nil {
		return false, err
	}
	p := t.Pairs[w.order.Pair]
	return p != nil && p.Sides[w.second.Side].Address == w.first.Leaves.Address(), nil
}

// release lets the second side apply what it has received, now that its tables are those of the first.
func (w *work) release(ctx context.Context) error {
	s := w.second
	if err := s.Await(ctx, s.Settings.Answer, s.Leaves, s.Twin); err != nil {
		return err
	}
	if err := s.EditOptions(ctx, host.UnholdOptions); err != nil {
		return err
	}
	if err := s.Leaves.SetSetting(ctx, syncRelay, w.before.SyncRelay); err != nil {
		return err
	}
	if err := w.resetConversions(ctx, w.first); err != nil {
		return err
	}
	return s.Leaves.StartReplicating(ctx, 30*time.Second)
}
