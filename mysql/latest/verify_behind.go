package latest

import (
	"context"
	"errors"
	"slices"
	"time"

	"stowage/farm"
	"stowage/mysql"
)

// An applier writes behind the clients: of a tenant that is written all the time, some rows are always behind. A row that is behind is not wrong.

const (
	// settleAtMost is how many rows that differ are looked at one by one. Where more differ all rows are compared again, looksAtAll times.
	settleAtMost = 5000
	looksAtAll   = 3
	// looksAtSome is how often rows that differ are compared again before their children are locked.
	looksAtSome = 4
	// lockedAtOnce is the parents whose children are locked at the same time: clients that write them wait until the applier has said where it is.
	lockedAtOnce = 20
	busyFor      = 10 * time.Second
	busyPause    = 20 * time.Millisecond
)

// VerifyBehind is Verify where an applier keeps the columns. applied waits until all that was committed on this server before the call is applied; its error ends the comparison. It is asked only where rows differ.
//
// A row that differs counts when it differs while nobody can change its children, and all changes of them are applied. Flags are set in the view that found no row that differs, or right behind the last row that was looked at:
// what was right once is kept by the applier.
func (s *Session) VerifyBehind(ctx context.Context, shard farm.ShardName, tenant string, set map[string]bool, applied func(context.Context) error) (v Verdict, err error) {
	for look := 1; ; look++ {
		err = s.within(ctx, true, func() error {
			if v, err = s.compare(ctx, shard, tenant, "", settleAtMost); err != nil || v.Mismatches > 0 || len(set) == 0 {
				return err
			}
			return s.set(ctx, shard, tenant, set)
		})
		if err != nil || v.Mismatches == 0 {
			return v, err
		}
		if v.Mismatches <= settleAtMost || look == looksAtAll {
			break
		}
		if err := applied(ctx); err != nil {
			return v, err
		}
	}
	if v.Mismatches <= settleAtMost {
		v.Keys, err = s.settle(ctx, shard, tenant, v.Keys, applied)
		if err != nil {
			return v, err
		}
		v.Mismatches = int64(len(v.Keys))
	}
	v.Keys = v.Keys[:min(len(v.Keys), shownKeys)]
	switch {
	case len(set) == 0:
		return v, nil
	case v.Mismatches > 0:
		return v, ErrMismatch
	}
	return v, s.Set(ctx, shard, tenant, set)
}

// settle are those of some parents that are wrong, and not only behind.
func (s *Session) settle(ctx context.Context, shard farm.ShardName, tenant string, keys []Key, applied func(context.Context) error) ([]Key, error) {
	for range looksAtSome {
		if len(keys) == 0 {
			return nil, nil
		}
		if err := applied(ctx); err != nil {
			return nil, err
		}
		var wrong []Key
		for some := range slices.Chunk(keys, settleAtMost/10) {
			v, err := s.some(ctx, shard, tenant, some, nil)
			if err != nil {
				return nil, err
			}
			wrong = append(wrong, v.Keys...)
		}
		keys = wrong
	}
	var wrong []Key
	for some := range slices.Chunk(keys, lockedAtOnce) {
		if len(wrong) > shownKeys { // enough: the tenant is wrong
			wrong = append(wrong, some...)
			continue
		}
		v, err := s.some(ctx, shard, tenant, some, applied)
		if err != nil {
			return nil, err
		}
		wrong = append(wrong, v.Keys...)
	}
	return wrong, nil
}

// some compares some parents of a tenant. With applied their children are locked first, and are not released until all changes of them are applied. Rows that clients hold are waited for.
func (s *Session) some(ctx context.Context, shard farm.ShardName, tenant string, keys []Key, applied func(context.Context) error) (v Verdict, err error) {
	for began := time.Now(); ; {
		err = s.within(ctx, applied == nil, func() error {
			if applied != nil {
				if err := s.lockChildren(ctx, shard, keys); err != nil {
					return err
				}
				if err := applied(ctx); err != nil {
					return err
				}
			}
			v, err = s.compare(ctx, shard, tenant, " AND "+anyOf("p", s.Parent.Key, keys), len(keys)) // the view begins here: what came before took locks only
			return err
		})
		if !errors.Is(err, ErrBusy) || time.Since(began) > busyFor {
			return v, err
		}
		select {
		case <-ctx.Done():
			return v, ctx.Err()
		case <-time.After(busyPause):
		}
	}
}

// lockChildren lets nobody add, change or remove children of some parents. It locks no parent.
func (s *Session) lockChildren(ctx context.Context, shard farm.ShardName, keys []Key) error {
	lock := " LOCK IN SHARE MODE"
	if s.waits {
		lock = " FOR SHARE NOWAIT"
	}
	rows, err := s.conn.QueryContext(ctx, "SELECT x."+mysql.Ident(s.Child.Key)+" FROM "+at(shard, s.Child.Table)+" x WHERE "+anyOf("x", s.Child.Parent, keys)+lock)
	if err != nil {
		return s.server.Fail("lock children", err)
	}
	defer rows.Close()
	for rows.Next() { // they are locked as they are read
	}
	return s.server.Fail("lock children", rows.Err())
}
