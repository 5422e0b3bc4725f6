package farmtest

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"stowage/examples/egnyte-files/files"
	"stowage/route"
)

// StaleJudge finds tenants whose carried columns are older than the spec allows where an application would read them. It shares no statement with Stowage.
type StaleJudge struct {
	MaxLag  time.Duration
	Looks   int           // at one server each
	Leased  int           // those at which an application would have read carried columns
	Behind  int           // values that were behind at some look
	Longest time.Duration // for so long, at least, one was

	pools map[string]*sql.DB // by address
	seen  map[string]sight   // by address
}

// sight is what was behind at a server's newest look, and since when.
type sight map[files.Mismatch]time.Time

// Watch looks at each server that routing sends clients to, until ctx ends or until it finds one.
//
// A value that was not the latest version's at one look, and is not at another more than MaxLag later, while the latest version is the same, was staler than MaxLag at the second. The tenant may have gone to another server in between.
func (j *StaleJudge) Watch(ctx context.Context, f *FilesFarm) error {
	j.pools, j.seen = map[string]*sql.DB{}, map[string]sight{}
	defer func() {
		for _, db := range j.pools {
			_ = db.Close()
		}
	}()
	for ctx.Err() == nil {
		p, err := f.serving()
		if err != nil {
			return err
		}
		serve := serving(p)
		for _, address := range serve {
			err := j.look(context.WithoutCancel(ctx), f, p, address)
			if now, e := f.serving(); err != nil && e == nil && now != nil && slices.Contains(serving(now), address) {
				return err
			}
		}
		maps.DeleteFunc(j.seen, func(address string, _ sight) bool { return !slices.Contains(serve, address) })
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

// serving are the addresses of a pair that clients are sent to; none of a pair that is nil.
func serving(p *route.Pair) (out []string) {
	if p == nil {
		return nil
	}
	for _, r := range p.Routes {
		if address := p.Sides[r.Side].Address; r.Gate == route.Open && !slices.Contains(out, address) {
			out = append(out, address)
		}
	}
	return out
}

func (j *StaleJudge) look(ctx context.Context, f *FilesFarm, p *route.Pair, address string) error {
	if j.pools[address] == nil {
		db, err := sql.Open("mysql", f.dsn(address))
		if err != nil {
			return err
		}
		j.pools[address] = db
	}
	began := time.Now()
	c, err := files.Look(ctx, j.pools[address], FilesShard)
	if err != nil {
		return err
	}
	ended, now := time.Now(), sight{}
	j.Looks++
	if c.Leased {
		j.Leased++
	}
	for _, m := range c.Mismatches {
		if _, at := p.Locate(fmt.Sprint(m.Tenant)); at != address {
			continue // it is read elsewhere
		}
		has := m
		m.Has = ""
		first, ok := j.since(m)
		if now[m] = first; !ok {
			now[m] = ended
			j.Behind++
			continue
		}
		if !c.Leased {
			continue
		}
		if j.Longest = max(j.Longest, began.Sub(first)); began.Sub(first) > j.MaxLag {
			return fmt.Errorf("look %d, at %s: stale for %s or longer, and max_lag is %s: %v", j.Looks, address, began.Sub(first), j.MaxLag, has)
		}
	}
	j.seen[address] = now
	return nil
}

// since is when a value was first seen that is behind still.
func (j *StaleJudge) since(m files.Mismatch) (first time.Time, ok bool) {
	for _, seen := range j.seen {
		if at, there := seen[m]; there && (!ok || at.Before(first)) {
			first, ok = at, true
		}
	}
	return first, ok
}
