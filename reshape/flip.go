package reshape

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/latest"
)

// verify compares all rows of each tenant and says in the same transaction that it is migrated. One that is not right stays as it is, and is named; the others go on.
func (w *work) verify(ctx context.Context) error {
	return w.flip(ctx, "compared", func(s *latest.Session, server *mysql.Server, m Member) (latest.Verdict, error) {
		return w.act.verify(ctx, w.wave.Spec, s, server, m, map[string]bool{w.wave.Spec.Tenant.Migrated: true})
	})
}

// activate says that a tenant is active, in the transaction that has compared its rows once more.
func (w *work) activate(ctx context.Context) error {
	if !w.wave.Activate {
		return nil
	}
	return w.flip(ctx, "active", func(s *latest.Session, server *mysql.Server, m Member) (latest.Verdict, error) {
		return w.act.verify(ctx, w.wave.Spec, s, server, m, map[string]bool{w.wave.Spec.Tenant.Migrated: true, w.wave.Spec.Tenant.Active: true})
	})
}

// flip runs one comparison for each tenant whose rows were filled in.
func (w *work) flip(ctx context.Context, what string, compare func(*latest.Session, *mysql.Server, Member) (latest.Verdict, error)) error {
	told, wrong := time.Now(), 0
	for n, m := range w.members() {
		if left, err := w.isLeftOut(m); err != nil || left {
			if err != nil {
				return err
			}
			continue
		}
		ticking, done := context.WithCancel(ctx)
		go w.tick(ticking, fmt.Sprintf("tenant %s, %d of %d: comparing all rows", m, n+1, len(w.members())))
		var v latest.Verdict
		err := w.act.at(ctx, w.wave.Spec, w.pair.Name, m, w.waits(m), func(s *latest.Session, server *mysql.Server) (err error) {
			v, err = compare(s, server, m)
			return err
		})
		done()
		if errors.Is(err, latest.ErrMismatch) {
			wrong++
			w.Report(farm.Event{Kind: farm.StepProgress, Text: fmt.Sprintf("tenant %s stays as it is: %s", m, wrongText(v))})
		} else if errors.Is(err, latest.ErrNoTenant) { // deleted meanwhile
			continue
		} else if err != nil {
			return err
		}
		if err := w.act.note(w.wave.Spec.Name, m, v, w.Step == StepVerify); err != nil {
			return err
		}
		if time.Since(told) > tellEach {
			told = time.Now()
			w.say("%d of %s %s", n+1, farm.Counted(len(w.members()), "tenant"), what)
		}
	}
	w.look(ctx)
	if wrong == 0 {
		return nil
	}
	w.say("%s not right; stowage reshape status names the rows", farm.Counted(wrong, "tenant"))
	return nil
}

// wrongText is what a verdict says of rows that are not right.
func wrongText(v latest.Verdict) string {
	text := fmt.Sprintf("%d of its %d rows differ from their latest child", v.Mismatches, v.Rows)
	if len(v.Keys) > 0 {
		text += fmt.Sprintf("; the first is %s", keyText(v.Keys[0]))
	}
	return text
}

// keyText is a key for people.
func keyText(k latest.Key) string {
	text := ""
	for n, c := range k {
		if n > 0 {
			text += ", "
		}
		text += c
	}
	if len(k) > 1 {
		text = "(" + text + ")"
	}
	return text
}

// isLeftOut reports whether a tenant was found not to be right by the step before.
func (w *work) isLeftOut(m Member) (bool, error) {
	if w.Step == StepVerify {
		return false, nil
	}
	r, err := w.act.record(w.wave.Spec.Name, m)
	return r.Mismatches > 0 || r.Different > 0, err
}

// tick tells that a long statement still runs.
func (w *work) tick(ctx context.Context, text string) {
	for began := time.Now(); pause(ctx, 5*time.Second); {
		w.say("%s, %.0f s", text, time.Since(began).Seconds())
	}
}

func (w *work) verifyBack(ctx context.Context) error {
	return w.clear(ctx, map[string]bool{w.wave.Spec.Tenant.Migrated: false, w.wave.Spec.Tenant.Active: false})
}

func (w *work) activateBack(ctx context.Context) error {
	return w.clear(ctx, map[string]bool{w.wave.Spec.Tenant.Active: false})
}

// clear takes flags of the wave's tenants back.
func (w *work) clear(ctx context.Context, flags map[string]bool) error {
	for _, m := range w.members() {
		err := w.act.at(ctx, w.wave.Spec, w.pair.Name, m, w.waits(m), func(s *latest.Session, _ *mysql.Server) error { return s.Set(ctx, m.Shard, m.Tenant, flags) })
		if err != nil && !errors.Is(err, latest.ErrNoTenant) {
			return err
		}
	}
	w.look(ctx)
	return nil
}
