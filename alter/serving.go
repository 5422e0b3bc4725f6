package alter

import (
	"context"
	"fmt"
	"time"

	"stowage/alter/plan"
	"stowage/farm"
	"stowage/mysql"
	"stowage/schema"
)

// change changes the tables while clients use them.
func (w *work) change(ctx context.Context) error {
	for _, s := range w.changed() {
		if err := s.Await(ctx, s.Settings.Answer, s.Leaves); err != nil {
			return err
		}
		flavor, err := s.Leaves.Flavor(ctx)
		if err != nil {
			return err
		}
		w.mariadb = flavor.HasGTIDDomains()
		how := mysql.Altering{LockWait: lockWait, Logged: w.order.Runbook == plan.Logged}
		if err := w.toNew(ctx, s.Leaves, how, only(w.quick)); err != nil {
			return err
		}
	}
	return w.awaitReplicas(ctx, isAfter)
}

// changeBack gives the tables their old definitions, where no value is lost by that.
func (w *work) changeBack(ctx context.Context) error {
	for _, s := range w.changed() {
		now, err := w.look(ctx, s.Leaves)
		if err != nil {
			return err
		}
		for _, t := range w.pair.Tables {
			form := w.plan.Forms[t.Form]
			if is, _ := now(t); is == isAfter && form.Undo == "" && !form.IsSame() {
				return &farm.Error{Op: "undo change", Subject: subjectOf(s.Leaves, t.Shard, form.Change.Table), Err: fmt.Errorf("%w: it would lose %s", farm.ErrRefused, form.Lost),
					Hint: "leave it as it is: stowage resume goes on"}
			}
		}
		how := mysql.Altering{LockWait: lockWait, Logged: w.order.Runbook == plan.Logged}
		if err := w.bring(ctx, s.Leaves, how, isAfter, only(func(f plan.Form) string { return f.Undo })); err != nil {
			return err
		}
	}
	return w.awaitReplicas(ctx, isBefore)
}

// changed are the sides on which a statement is sent.
func (w *work) changed() []*side {
	if w.order.Runbook == plan.Logged {
		return []*side{w.first}
	}
	return w.all()
}

// quick is the statement, with the algorithm that the throw-away server took: if this one wants another, it refuses, and clients wait for nothing.
func (w *work) quick(f plan.Form) string {
	lock := ""
	if f.Algorithm != schema.InstantAlgorithm && f.Online {
		lock = "NONE"
	}
	return f.Change.With(f.Algorithm, lock, -1, w.mariadb)
}

// awaitReplicas waits until the replicas of a pair with one writer have the tables, too.
func (w *work) awaitReplicas(ctx context.Context, want state) error {
	if w.order.Runbook != plan.Logged || w.second == nil {
		return nil
	}
	for _, s := range append([]*side{w.second}, w.others...) {
		if err := w.awaitReplica(ctx, s, want); err != nil {
			return err
		}
	}
	return nil
}

// toldEvery is how often a wait for a replica says what it waits for.
const toldEvery = 5 * time.Second

func (w *work) awaitReplica(ctx context.Context, s *side, want state) error {
	told := time.Now()
	for deadline := time.Now().Add(s.Settings.CatchUp); ; {
		now, err := w.look(ctx, s.Leaves)
		if err != nil {
			return err
		}
		lacks := 0
		for _, t := range w.pair.Tables {
			if is, _ := now(t); is != want {
				lacks++
			}
		}
		if lacks == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return &farm.Error{Op: "alter", Subject: string(s.Leaves.Name()), Err: fmt.Errorf("%w: it lacks the change of %s", mysql.ErrBehind, farm.Counted(lacks, "table")), Hint: "look at its replication; it will be tried again"}
		}
		if time.Since(told) > toldEvery {
			told = time.Now()
			w.Report(farm.Event{Kind: farm.StepWaiting, Text: fmt.Sprintf("%s lacks the change of %s: %s", s.Leaves.Name(), farm.Counted(lacks, "table"), w.whyBehind(ctx, s))})
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// whyBehind says why a replica does not have a statement of its primary yet.
func (w *work) whyBehind(ctx context.Context, s *side) string {
	r, err := s.Leaves.Replication(ctx)
	switch {
	case err != nil:
		return err.Error()
	case r.Broken() != nil:
		return r.Broken().Error()
	case r.Filters != "":
		return "it filters replication: " + r.Filters
	case r.BehindOK:
		return fmt.Sprintf("it is %v behind the primary", r.Behind)
	}
	return "it does not receive"
}
