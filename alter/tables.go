package alter

import (
	"context"
	"fmt"
	"slices"
	"time"

	"stowage/alter/plan"
	"stowage/compare"
	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/rows"
)

// foreign is the error of a table that is neither what the plan begins with nor what it wants.
func foreign(s *mysql.Server, t plan.Table, table string) error {
	return &farm.Error{Op: "alter", Subject: subjectOf(s, t.Shard, table), Err: fmt.Errorf("%w: someone else changed it after the plan was made", farm.ErrRefused),
		Hint: "compare its SHOW CREATE TABLE with the plan's; give it the old or the new definition, then: stowage resume"}
}

// marks is how the marks of all statements of this run begin.
func (w *work) marks() string { return "alter " + w.order.Key }

// mark finds a statement of this run again, after its sender has died.
func (w *work) mark(t plan.Table) string {
	return fmt.Sprintf("%s %s %d", w.marks(), t.Shard, t.Form)
}

// toNew brings the tables of a server to their new definitions. A table that has it already is left alone.
func (w *work) toNew(ctx context.Context, s *mysql.Server, how mysql.Altering, statements func(plan.Form) []string) error {
	return w.bring(ctx, s, how, isBefore, statements)
}

// only is a form's one statement.
func only(statement func(plan.Form) string) func(plan.Form) []string {
	return func(f plan.Form) []string { return []string{statement(f)} }
}

// bring changes the tables that are in a state, one after the other, each by one or more statements. A statement of an earlier attempt, which was killed, may still run: it is waited for.
func (w *work) bring(ctx context.Context, s *mysql.Server, how mysql.Altering, from state, statements func(plan.Form) []string) error {
	tell := func(text string) { w.say("%s", text) }
	if err := s.AwaitAlter(ctx, w.marks(), tell); err != nil {
		return err
	}
	now, err := w.whole(ctx, s, how)
	if err != nil {
		return err
	}
	for n, t := range w.pair.Tables {
		form := w.plan.Forms[t.Form]
		is, _ := now(t)
		switch {
		case is == isOther, is == isBare, is == isHalf && from == isBefore:
			return foreign(s, t, form.Change.Table)
		case form.IsSame():
			if rebuilt, err := w.isRebuilt(s, t); err != nil || rebuilt || from != isBefore {
				if err != nil {
					return err
				}
				continue
			}
		case is != from:
			continue
		}
		began := time.Now()
		for _, statement := range statements(form) {
			if err := w.send(ctx, s, how, n, statement); err != nil {
				return err
			}
		}
		if form.IsSame() {
			if err := w.noteRebuilt(s, t); err != nil {
				return err
			}
		}
		w.say("%s.%s changed on %s in %.1f s", t.Shard, form.Change.Table, s.Name(), time.Since(began).Seconds())
	}
	return w.areMade(ctx, s, from)
}

// send carries out one statement about a table of the pair.
func (w *work) send(ctx context.Context, s *mysql.Server, how mysql.Altering, n int, statement string) error {
	t := w.pair.Tables[n]
	table := w.plan.Forms[t.Form].Change.Table
	how.Database, how.Statement, how.Mark = string(t.Shard), statement, w.mark(t)
	how.Tell = func(text string) { w.say("%s.%s, table %d of %d: %s", t.Shard, table, n+1, len(w.pair.Tables), text) }
	err := w.patiently(ctx, func() error { return s.Alter(ctx, how) }, subjectOf(s, t.Shard, table))
	if mysql.IsOtherAlgorithm(err) {
		return &farm.Error{Op: "alter", Subject: subjectOf(s, t.Shard, table), Err: err,
			Hint: "abort and plan again; if the plan has the same algorithm, write the table anew first: stowage alter with OPTIMIZE TABLE"}
	}
	return err
}

// whole is look, behind which no table lacks keys because somebody died or gave up between two statements about it: they are built.
func (w *work) whole(ctx context.Context, s *mysql.Server, how mysql.Altering) (now func(plan.Table) (state, string), err error) {
	if now, err = w.look(ctx, s); err != nil || !w.isAnyBare(now) {
		return now, err
	}
	for n, t := range w.pair.Tables {
		if is, _ := now(t); is != isBare {
			continue
		}
		apart, _ := w.plan.Forms[t.Form].Apart()
		if err := w.send(ctx, s, how, n, apart.Add); err != nil {
			return nil, err
		}
	}
	return w.look(ctx, s)
}

func (w *work) isAnyBare(now func(plan.Table) (state, string)) bool {
	return slices.ContainsFunc(w.pair.Tables, func(t plan.Table) bool { is, _ := now(t); return is == isBare })
}

// rebuiltDocument has the tables that were written anew and are defined as before: that alone says nothing. One that was killed before it could be noted is written anew again.
const rebuiltDocument = "rebuilt by alter"

func (w *work) rebuiltKey(s *mysql.Server, t plan.Table) string {
	return fmt.Sprintf("%s %s %s %d", w.key(), s.Name(), t.Shard, t.Form)
}

func (w *work) isRebuilt(s *mysql.Server, t plan.Table) (bool, error) {
	var at time.Time
	_, err := w.act.Store.LatestDocument(rebuiltDocument, w.rebuiltKey(s, t), &at)
	if isNone(err) {
		return false, nil
	}
	return err == nil, err
}

func (w *work) noteRebuilt(s *mysql.Server, t plan.Table) error {
	return w.act.Store.PutDocument(rebuiltDocument, w.rebuiltKey(s, t), time.Now(), time.Now().UTC())
}

// sideWait is how long a statement waits for its table on a side that serves nobody.
const sideWait = 10 * time.Second

// How a statement that cannot get its table is tried again: everybody who comes behind it waits as long as it does.
const (
	lockWait  = time.Second
	lockTries = 60
	lockPause = 500 * time.Millisecond
)

// patiently runs a statement until it gets its table.
func (w *work) patiently(ctx context.Context, do func() error, subject string) error {
	for try := 1; ; try++ {
		err := do()
		if !mysql.IsLockTimeout(err) {
			return err
		}
		if try == lockTries {
			return &farm.Error{Op: "alter", Subject: subject, Err: fmt.Errorf("%d times another session held the table for longer than %v: %w", lockTries, lockWait, err),
				Hint: "find the long transaction or dump that uses it and let it end; it will be tried again"}
		}
		if try == 1 {
			w.Report(farm.Event{Kind: farm.StepWaiting, Text: subject + " is in use by a long statement or transaction; trying again"})
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPause):
		}
	}
}

// alter changes the tables of a side that serves nobody. Its applier stands still meanwhile, and its receiver goes on.
func (w *work) alter(ctx context.Context, s *side) error {
	if err := s.Await(ctx, s.Settings.Answer, s.Leaves); err != nil {
		return err
	}
	if err := s.Leaves.HoldApplier(ctx); err != nil {
		return err
	}
	if err := w.receive(ctx, s); err != nil {
		return err
	}
	err := w.fenced(ctx, s, StepAlter, func(ctx context.Context) error {
		return w.toNew(ctx, s.Leaves, mysql.Altering{LockWait: sideWait}, plan.Form.Statements)
	})
	if err != nil {
		return err
	}
	if s == w.second && w.order.isHeld() {
		return nil // it applies when it is released
	}
	if w.order.isHeld() && w.needsConversions() {
		if err := setConversions(ctx, s); err != nil {
			return err
		}
	}
	return s.Leaves.StartReplicating(ctx, 30*time.Second)
}

// receive has a held side that was restarted receive again. Only while its twin is up: what it has received before is thrown away by that, and fetched again.
func (w *work) receive(ctx context.Context, s *side) error {
	if s != w.second || !w.order.isHeld() || s.Twin.Answers(ctx) != nil {
		return nil
	}
	return s.Leaves.AwaitReceiving(ctx, 30*time.Second)
}

// alterBack gives the tables of a side that serves nobody their old definitions, and the values that the change has dropped.
func (w *work) alterBack(ctx context.Context, s *side) error {
	if err := s.Await(ctx, s.Settings.Patience, s.Leaves, s.Twin); err != nil {
		return err
	}
	if err := s.Leaves.HoldApplier(ctx); err != nil {
		return err
	}
	if err := s.Leaves.AwaitAlter(ctx, w.marks(), func(text string) { w.say("%s", text) }); err != nil {
		return err
	}
	now, err := w.look(ctx, s.Leaves)
	if err == nil && w.isAnyBare(now) {
		err = w.fenced(ctx, s, "undo "+StepAlter, func(ctx context.Context) (err error) {
			now, err = w.whole(ctx, s.Leaves, mysql.Altering{LockWait: sideWait})
			return err
		})
	}
	if err != nil {
		return err
	}
	lossy := false
	for _, t := range w.pair.Tables {
		form := w.plan.Forms[t.Form]
		if is, _ := now(t); is == isAfter && form.Back() == "" && !form.IsSame() {
			return w.noReverse(s, t, form)
		}
		lossy = lossy || form.Undo == "" && !form.IsSame()
	}
	how := mysql.Altering{LockWait: sideWait, Lenient: lossy}
	err = w.fenced(ctx, s, "undo "+StepAlter, func(ctx context.Context) error {
		return w.bring(ctx, s.Leaves, how, isAfter, only(func(f plan.Form) string { first, _, _ := inTwo(f); return first }))
	})
	if err != nil {
		return err
	}
	if lossy {
		if err := w.copyBack(ctx, s); err != nil {
			return err
		}
		err = w.fenced(ctx, s, "undo "+StepAlter, func(ctx context.Context) error {
			return w.bring(ctx, s.Leaves, how, isHalf, only(func(f plan.Form) string { _, then, _ := inTwo(f); return then }))
		})
		if err != nil {
			return err
		}
	}
	if err := s.Leaves.StartReplicating(ctx, 30*time.Second); err != nil {
		return err
	}
	return w.resetConversions(ctx, s)
}

// noReverse: nothing of ours makes the old definition of the new.
func (w *work) noReverse(s *side, t plan.Table, form plan.Form) error {
	return &farm.Error{Op: "undo alter", Subject: subjectOf(s.Leaves, t.Shard, form.Change.Table), Err: fmt.Errorf("%w: no ALTER leads from its new definition back to the old one", farm.ErrRefused),
		Hint: "its twin serves all; give the table its old definition with SET sql_log_bin = 0, then: stowage resume"}
}

// copyBack makes the rows of the side equal to its twin's, which has never lost a value.
func (w *work) copyBack(ctx context.Context, s *side) error {
	verdict, err := w.verification(s, true).Run(ctx)
	if err != nil {
		return err
	}
	if len(verdict.Mismatches) > 0 {
		return &farm.Error{Op: "undo alter", Subject: string(s.Leaves.Name()), Err: fmt.Errorf("%w: %s", farm.ErrRefused, compare.Differences(s.Twin, verdict.Mismatches)),
			Hint: "its twin serves all clients, and has every value; correct the rows, then: stowage resume"}
	}
	return nil
}

// compare proves that both sides hold the same rows, in all changed shards, while the second serves nobody.
func (w *work) compare(ctx context.Context) error { return w.compareTo(ctx, w.second) }

// compareTo compares a side that serves nobody with its twin.
func (w *work) compareTo(ctx context.Context, s *side) error {
	if err := s.Await(ctx, s.Settings.Answer, s.Leaves, s.Twin); err != nil {
		return err
	}
	verdict, err := w.verification(s, false).Run(ctx)
	if again := s.Leaves.Follow(context.WithoutCancel(ctx), s.Twin.Address(), w.act.Replication, 30*time.Second); err == nil {
		err = again
	}
	if err != nil || len(verdict.Mismatches) == 0 {
		return err
	}
	return &farm.Error{Op: "compare", Subject: string(s.Leaves.Name()), Err: fmt.Errorf("%w: %s", farm.ErrRefused, compare.Differences(s.Twin, verdict.Mismatches)),
		Hint: "it stays out and its twin serves all clients; find out which side is right, correct the rows of the other, then: stowage resume"}
}

// waiting are the keys and constraints that wait until rows have their values back, as package rows names them.
func (w *work) waiting() (out []string) {
	for _, t := range w.pair.Tables {
		form := w.plan.Forms[t.Form]
		_, _, waits := inTwo(form)
		for _, d := range waits {
			of := string(t.Shard) + "." + form.Change.Table + "." + d.Name
			out = append(out, "index "+of, "check "+of, "foreign key "+string(t.Shard)+"."+d.Name)
		}
	}
	return out
}

const comparedDocument = "compared after alter"

func (w *work) verification(s *side, repair bool) compare.Verification {
	var begin rows.Progress
	key := w.key() + " " + string(s.Leaves.Name())
	var leftOut []string
	if repair {
		leftOut = w.waiting()
	}
	if !repair {
		if _, err := w.act.Store.LatestDocument(comparedDocument, key, &begin); err != nil {
			begin = rows.Progress{} // from the beginning
		}
	}
	return compare.Verification{
		Source: s.Twin, Copied: s.Leaves, Patience: s.Settings.CatchUp, Databases: w.shards(), Begin: begin, Repair: repair, Connected: true, LeftOut: leftOut,
		Keep: func(_ context.Context, p rows.Progress) error {
			if repair {
				return nil
			}
			return w.act.Store.PutDocument(comparedDocument, key, time.Now(), p)
		},
		Around: func(ctx context.Context, do func(context.Context) error) error {
			return w.fenced(ctx, s, "undo copy", do)
		},
		Tell:   func(text string) { w.say("%s", text) },
		Mended: func(text string) { w.say("%s", text) },
	}
}
