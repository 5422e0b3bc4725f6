package alter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stowage/farm"
	"stowage/sides"
)

// AlterPhases are the phases of a step that changes tables of a side that is out, in order.
var AlterPhases = []string{"lower", "change", "raise"}

// lowered is what is kept of a fence that was changed, from before it is until it is back and nobody has written meanwhile.
type lowered struct {
	Open bool   `json:"open"`
	Own  string `json:"own"` // what the server had written itself
}

const loweredDocument = "fence of alter"

// fenced does something on a side that is out that its fence would refuse: on MySQL another fence stands there meanwhile (mysql.Server.LowerFence). Whatever comes of it, the fence is put back.
func (w *work) fenced(ctx context.Context, s *side, step string, do func(context.Context) error) error {
	err := s.Phase(ctx, step, AlterPhases[0], func(ctx context.Context) error { return w.lower(ctx, s) })
	if err == nil {
		err = s.Phase(ctx, step, AlterPhases[1], do)
	}
	if err == nil {
		return s.Phase(ctx, step, AlterPhases[2], func(ctx context.Context) error { return w.raise(ctx, s) })
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(err, w.raise(last, s))
}

func (w *work) loweredKey(s *side) string { return w.key() + " " + string(s.Leaves.Name()) }

func (w *work) lower(ctx context.Context, s *side) error {
	var was lowered
	_, err := w.act.Store.LatestDocument(loweredDocument, w.loweredKey(s), &was)
	if err != nil && !isNone(err) {
		return err
	}
	if !was.Open { // else what an attempt before this one has noted counts
		own, err := s.Leaves.OwnWrites(ctx)
		if err != nil {
			return err
		}
		if err := w.keepLowered(s, lowered{true, own.String()}); err != nil {
			return err
		}
	}
	left, err := s.Leaves.LowerFence(ctx)
	if len(left) > 0 {
		w.say("%s: %s cannot be ended, because their accounts have SYSTEM_USER; what they write is noticed: %s", s.Leaves.Name(), farm.Counted(len(left), "session"), farm.Some(left))
	}
	return err
}

func (w *work) keepLowered(s *side, is lowered) error {
	return w.act.Store.PutDocument(loweredDocument, w.loweredKey(s), time.Now(), is)
}

// raise puts the fence back. What somebody wrote meanwhile is refused once: up to the switch the run is taken back, behind it a person looks and resumes.
func (w *work) raise(ctx context.Context, s *side) error {
	if err := s.Leaves.RaiseFence(ctx); err != nil {
		return err
	}
	var was lowered
	if _, err := w.act.Store.LatestDocument(loweredDocument, w.loweredKey(s), &was); err != nil {
		return err
	}
	own, err := s.Leaves.OwnWrites(ctx)
	if err != nil {
		return err
	}
	if err := w.keepLowered(s, lowered{false, own.String()}); err != nil || !was.Open || own.String() == was.Own {
		return err
	}
	w.say("%s had written %s itself before, and has %s now", s.Leaves.Name(), was.Own, own)
	return &farm.Error{Op: "alter", Subject: string(s.Leaves.Name()), Err: fmt.Errorf("%w: a client wrote on it while its tables were changed", farm.ErrRefused),
		Hint: "it serves nobody; stowage log has the GTIDs: find out who wrote them (an account with CONNECTION_ADMIN or SUPER)"}
}

// askFence: MySQL has another fence while tables are changed, and it stops whom it must.
func askFence(ctx context.Context, w *work) (found []farm.Finding, err error) {
	if w.order.servesMeanwhile() {
		return nil, nil
	}
	for _, s := range w.all() {
		why, err := s.Leaves.MayLowerFence(ctx)
		if err != nil {
			return nil, err
		}
		if why != "" {
			found = append(found, sides.Blocker(string(s.Leaves.Name()), why, "docs/guide/alter.md says what the fence needs on MySQL"))
		}
	}
	return found, nil
}
