package reshape

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/latest"
	"stowage/reshape/spec"
	"stowage/snapshot"
)

// shadowed is of how many tenants of a wave both queries are asked: half of them the largest.
const shadowed = 20

// shadow asks both queries for a sample of the wave's tenants before anybody reads by the new one, and keeps how long each took. A tenant of which they differ is left out.
func (w *work) shadow(ctx context.Context) error {
	if !w.wave.Activate {
		return nil
	}
	sample, err := w.sample()
	if err != nil {
		return err
	}
	for n, m := range sample {
		ticking, done := context.WithCancel(ctx)
		go w.tick(ticking, fmt.Sprintf("tenant %s, %d of %d: asking both queries", m, n+1, len(sample)))
		var c snapshot.Comparison
		err := w.act.at(ctx, w.wave.Spec, w.pair.Name, m, w.waits(m), func(s *latest.Session, server *mysql.Server) (err error) {
			c, err = w.bothQueries(ctx, s, server, m)
			return err
		})
		done()
		if err != nil {
			return err
		}
		r, err := w.act.record(w.wave.Spec.Name, m)
		if err != nil {
			return err
		}
		r.Different, r.Normalised, r.Denormalised = c.Different, millis(c.Normalised), millis(c.Denormalised)
		if err := w.act.Store.ReplaceDocument(recordDocument, recordKey(w.wave.Spec.Name, m), time.Now(), r); err != nil {
			return err
		}
		if c.Different > 0 {
			w.say("tenant %s stays as it is: the two queries differ in %s, the first: %s", m, farm.Counted(c.Different, "row"), c.Differences[0])
			continue
		}
		w.say("tenant %s: both queries give %s, %s and %s", m, farm.Counted(c.Rows, "row"), farm.Millis(r.Normalised), farm.Millis(r.Denormalised))
	}
	return nil
}

// looksAtBoth is how often both queries are asked of a tenant whose rows an applier keeps, until they give the same.
const looksAtBoth = 3

// bothQueries asks both queries in one view. Where an applier keeps the rows, a tenant that is written all the time is always behind in some: those that differ every time are compared as all its rows are.
func (w *work) bothQueries(ctx context.Context, s *latest.Session, server *mysql.Server, m Member) (c snapshot.Comparison, err error) {
	c, err = snapshot.Compare(ctx, server, s.Shape, m.Shard, m.Tenant)
	if w.wave.Spec.Keep != spec.Applier {
		return c, err
	}
	applied := w.act.applied(w.wave.Spec, m.Shard, server)
	for look := 1; err == nil && c.Different > 0 && look < looksAtBoth; look++ {
		if err = applied(ctx); err == nil {
			c, err = snapshot.Compare(ctx, server, s.Shape, m.Shard, m.Tenant)
		}
	}
	if err != nil || c.Different == 0 {
		return c, err
	}
	v, err := w.act.verify(ctx, w.wave.Spec, s, server, m, nil)
	if err == nil && v.Mismatches == 0 {
		w.say("tenant %s: the two queries differ in %s; the applier has not applied those changes yet", m, farm.Counted(c.Different, "row"))
		c.Different = 0
	}
	return c, err
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// sample are the largest tenants of the wave that are right, and some of the others, evenly.
func (w *work) sample() ([]Member, error) {
	type sized struct {
		Member
		rows int64
	}
	var all []sized
	for _, m := range w.members() {
		r, err := w.act.record(w.wave.Spec.Name, m)
		if err != nil {
			return nil, err
		}
		if r.VerifiedAt != nil && r.Mismatches == 0 {
			all = append(all, sized{m, r.Rows})
		}
	}
	slices.SortStableFunc(all, func(a, b sized) int { return cmp.Compare(b.rows, a.rows) })
	var out []Member
	for n, s := range all {
		rest := max(1, (len(all)-shadowed/2)/(shadowed/2))
		if n < shadowed/2 || (n-shadowed/2)%rest == 0 && len(out) < shadowed {
			out = append(out, s.Member)
		}
	}
	return out, nil
}
