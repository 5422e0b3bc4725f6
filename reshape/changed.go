package reshape

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stowage/farm"
	"stowage/feed"
	"stowage/mysql"
	"stowage/mysql/latest"
	"stowage/reshape/spec"
	"stowage/snapshot"
	"stowage/store"
)

// What clients have written since the last look is compared, parent by parent: whoever writes past what keeps the columns current is found within an interval, and not within a week.

// watched is up to where the changes of a shard were compared.
type watched struct {
	At       string        `json:"at"`   // GTIDs
	Pair     farm.PairName `json:"pair"` // of whose log; "": kept before pairs were
	ServerID uint32        `json:"server_id"`
}

const watchedDocument = "changes compared by reshape"

// Changed is what a look at the changes of one shard has found.
type Changed struct {
	Shard   farm.ShardName
	Parents int               // compared
	Wrong   map[Member]string // tenants that were sent back, and why
	// Lost is why some changes could not be read: a definition changed, or the log is purged. Every migrated tenant of the shard was compared instead.
	Lost string
}

// keysAtOnce is how many parents are compared in one view; keysAtMost is after how many the rest waits for the next look.
const (
	keysAtOnce = 1000
	keysAtMost = 500_000
)

// CompareChanged compares the parents that were written in a shard, or whose children were, since it was last called. The first call only notes where the log ends.
func (a *Act) CompareChanged(ctx context.Context, sp spec.Spec, pair farm.Pair, shard farm.ShardName) (Changed, error) {
	out := Changed{Shard: shard, Wrong: map[Member]string{}}
	server, err := a.anyOf(ctx, pair)
	if err != nil {
		return out, err
	}
	defer server.Close()
	end, err := server.BinlogPosition(ctx)
	if err != nil {
		return out, err
	}
	key, was := sp.Name+" "+string(shard), watched{}
	_, err = a.Store.LatestDocument(watchedDocument, key, &was)
	from := was.Pair
	was.Pair = pair.Name
	switch {
	case errors.Is(err, store.ErrNone):
		if was.ServerID, err = feed.FreeServerID(ctx, server); err != nil {
			return out, err
		}
		return out, a.watchedTo(key, was, end)
	case err != nil:
		return out, err
	case from != "" && from != pair.Name:
		out.Lost = fmt.Sprintf("the shard was moved from %s to %s", from, pair.Name)
		if err := a.compareAll(ctx, sp, shard, &out); err != nil {
			return out, err
		}
		return out, a.watchedTo(key, was, end)
	}
	shape, err := snapshot.ShapeOf(ctx, server, sp, shard)
	if err != nil {
		return out, err
	}
	keys, to, err := a.changedKeys(ctx, shape, server, shard, was, end)
	var stopped *feed.Stopped
	var purged *feed.Purged
	switch {
	case errors.As(err, &stopped), errors.As(err, &purged), errors.Is(err, latest.ErrShape):
		out.Lost, to = err.Error(), end
		if err := a.compareAll(ctx, sp, shard, &out); err != nil {
			return out, err
		}
	case err != nil:
		return out, err
	default:
		if err := a.compareKeys(ctx, sp, shape, server, pair, shard, keys, &out); err != nil {
			return out, err
		}
	}
	return out, a.watchedTo(key, was, to)
}

func (a *Act) watchedTo(key string, w watched, at mysql.Position) error {
	w.At = at.String()
	return a.Store.ReplaceDocument(watchedDocument, key, time.Now(), w)
}

// changedKeys are the parents that were written between two positions, and up to where that was read.
func (a *Act) changedKeys(ctx context.Context, shape latest.Shape, server *mysql.Server, shard farm.ShardName, was watched, end mysql.Position) (*latest.Keys, mysql.Position, error) {
	from, err := mysql.ParsePosition(was.At)
	if err != nil {
		return nil, nil, err
	}
	keys, err := shape.Keys(ctx, server, shard)
	if err != nil || from.Reached(end) {
		return keys, end, err
	}
	r, err := feed.Open(ctx, feed.Source{Servers: func(context.Context) ([]*mysql.Server, error) { return []*mysql.Server{server}, nil }, ServerID: was.ServerID,
		Schema: string(shard), Tables: []string{shape.Parent.Table, shape.Child.Table}, Tries: 3}, from)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	for at := from; ; {
		p, ok, err := r.Next(ctx, time.Second)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			for _, c := range p.Changes {
				if err := keys.Take(ctx, c); err != nil {
					return nil, nil, err
				}
			}
			if p.Last {
				at = p.At
			}
		} else {
			at = r.At()
		}
		if at.Reached(end) || len(keys.Seen) >= keysAtMost && ok && p.Last {
			return keys, at, nil
		}
	}
}

func (a *Act) compareKeys(ctx context.Context, sp spec.Spec, shape latest.Shape, server *mysql.Server, pair farm.Pair, shard farm.ShardName, keys *latest.Keys, out *Changed) error {
	s, err := shape.Open(ctx, server, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	var applied func(context.Context) error
	if sp.Keep == spec.Applier {
		applied = a.applied(sp, shard, server)
	}
	all := make([]latest.Key, 0, len(keys.Seen))
	for _, k := range keys.Seen {
		all = append(all, k)
	}
	for some := range slices.Chunk(all, keysAtOnce) {
		wrong, err := verifyKeys(ctx, s, shard, some, applied)
		if err != nil {
			return err
		}
		out.Parents += len(some)
		for tenant := range wrong {
			t := Tenant{Shard: shard, Pair: pair.Name, Flags: latest.Flags{ID: tenant, Migrated: true, Active: true}}
			again, err := a.Verify(ctx, sp, t) // where it is served; this server may have been another
			if err != nil && !errors.Is(err, latest.ErrNoTenant) {
				return err
			}
			if again.Mismatches > 0 {
				out.Wrong[t.Member()] = wrongText(again)
			}
		}
	}
	return nil
}

// verifyKeys compares some parents; where an applier keeps them, once more when all that is committed is applied. nil: nobody is behind.
func verifyKeys(ctx context.Context, s *latest.Session, shard farm.ShardName, some []latest.Key, applied func(context.Context) error) (map[string]latest.Verdict, error) {
	wrong, err := s.VerifyKeys(ctx, shard, some)
	if err != nil || len(wrong) == 0 || applied == nil {
		return wrong, err
	}
	if err := applied(ctx); err != nil {
		return nil, err
	}
	return s.VerifyKeys(ctx, shard, some)
}

// compareAll compares every migrated tenant of a shard.
func (a *Act) compareAll(ctx context.Context, sp spec.Spec, shard farm.ShardName, out *Changed) error {
	all, err := a.tenantsOf(ctx, sp, func(s farm.ShardName) bool { return s == shard })
	if err != nil {
		return err
	}
	for _, t := range all {
		if !t.Migrated && !t.Active {
			continue
		}
		v, err := a.Verify(ctx, sp, t)
		if errors.Is(err, latest.ErrNoTenant) {
			continue
		}
		if err != nil {
			return err
		}
		out.Parents += int(v.Rows)
		if v.Mismatches > 0 {
			out.Wrong[t.Member()] = wrongText(v)
		}
	}
	return nil
}
