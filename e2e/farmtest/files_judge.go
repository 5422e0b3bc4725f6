package farmtest

import (
	"cmp"
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
	Pause   time.Duration // between looks; 0: 100 ms
	Looks   int           // at one server each
	Leased  int           // those at which an application would have read carried columns
	Behind  int           // values that were behind at some look
	Longest time.Duration // for so long, at least, one was
	Gap     time.Duration // the longest between two looks at one server
	Far     int           // values that were behind at two looks more than MaxLag apart, of which nobody looked in between

	pools map[string]*sql.DB // by address
	seen  map[string]sight   // by address
}

// sight is what was behind at a server's newest look, and since when.
type sight struct {
	ended  time.Time
	behind map[files.Mismatch]behind
}

// behind is a value that was not the latest version's at each of so many looks.
type behind struct {
	since time.Time
	looks int
}

// Watch looks at each server that routing sends clients to, until ctx ends or until it finds one.
//
// A value that was not the latest version's at one look, and is not at another more than MaxLag later, while neither it nor the latest version has changed, was staler than MaxLag at the second. The tenant may have gone to another server in between.
// Between two looks a value may have been right: clients add a version and delete it, and the one before it is the latest again. So a value that was written in between is another one, and only looks that follow each other within half of MaxLag count.
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
		case <-time.After(cmp.Or(j.Pause, 100*time.Millisecond)):
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
	if seen, ok := j.seen[address]; ok {
		j.Gap = max(j.Gap, began.Sub(seen.ended))
	}
	c, err := files.Look(ctx, j.pools[address], FilesShard)
	if err != nil {
		return err
	}
	ended := time.Now()
	now := sight{ended, map[files.Mismatch]behind{}}
	j.Looks++
	if c.Leased {
		j.Leased++
	}
	for _, m := range c.Mismatches {
		if _, at := p.Locate(fmt.Sprint(m.Tenant)); at != address {
			continue // it is read elsewhere
		}
		b, ok := j.since(m, began)
		if !ok {
			if c.Leased && !b.since.IsZero() && began.Sub(b.since) > j.MaxLag {
				j.Far++
			}
			now.behind[m] = behind{ended, 1}
			j.Behind++
			continue
		}
		b.looks++
		if now.behind[m] = b; !c.Leased {
			continue
		}
		if j.Longest = max(j.Longest, began.Sub(b.since)); began.Sub(b.since) > j.MaxLag {
			return fmt.Errorf("look %d, at %s: stale for %s or longer, at %d looks, and max_lag is %s: %v", j.Looks, address, began.Sub(b.since), b.looks, j.MaxLag, m)
		}
	}
	j.seen[address] = now
	return nil
}

// since is when a value was first seen that is behind still, at a look that began now. ok is false where it was not, or where nobody has looked for too long in between.
func (j *StaleJudge) since(m files.Mismatch, began time.Time) (first behind, ok bool) {
	for _, seen := range j.seen {
		b, there := seen.behind[m]
		switch isClose := began.Sub(seen.ended) < j.MaxLag/2; {
		case there && isClose && (!ok || b.since.Before(first.since)):
			first, ok = b, true
		case there && !isClose && !ok:
			first = b
		}
	}
	return first, ok
}
