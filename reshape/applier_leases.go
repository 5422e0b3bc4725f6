package reshape

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/latest"
	"stowage/route"
)

// A program that has died cannot take a flag back. So the flag alone says nothing: the application reads carried columns while a lease of the server is good, and the applier renews it as it goes.

// lease is that of one server.
type lease struct {
	next    time.Time      // when it is to be renewed
	moment  *latest.Moment // that is to be vouched for; nil: none
	granted time.Time
	kept    time.Time // when it was noted how far the applier is
	told    time.Time // when it was said that it is over
}

// renewEach is how often leases are renewed.
func (x *applier) renewEach() time.Duration {
	return min(max(x.sp.MaxLag/4, 100*time.Millisecond), time.Second)
}

// grant renews the lease of each server that serves tenants, once everything is applied that was committed there before the moment it vouches for. What one server cannot do is told; the others go on.
func (x *applier) grant(ctx context.Context) error {
	now, isDue := time.Now(), false
	for _, l := range x.leases {
		isDue = isDue || !now.Before(l.next)
	}
	if !isDue && len(x.leases) > 0 {
		return nil
	}
	in, err := x.routing(ctx)
	if err != nil {
		return err
	}
	addresses := map[string]bool{}
	for _, at := range in.Sides {
		addresses[at.Address] = true
	}
	maps.DeleteFunc(x.leases, func(address string, _ *lease) bool { return !addresses[address] })
	for _, at := range in.Sides {
		l := x.leases[at.Address]
		if l == nil {
			l = &lease{granted: now}
			x.leases[at.Address] = l
		}
		if now.Before(l.next) || now.Before(x.downTill[at.Address]) || !servesAny(in, at.Address) {
			continue
		}
		switch err := x.renew(ctx, at.Address, l); {
		case ctx.Err() != nil:
			return ctx.Err()
		case mysql.CodeOf(err) == 1146, errors.Is(err, errMoved): // the reshape was taken back, or the shard is not served here
			return err
		case err != nil && !errors.Is(err, errElsewhere) && !errors.Is(err, latest.ErrBusy):
			x.lose(at.Address)
			x.tell("the lease at %s is not renewed: %v", at.Address, err)
		}
		x.tellOf(at.Address, l)
	}
	return nil
}

// renew begins to vouch for a moment, or does so.
func (x *applier) renew(ctx context.Context, address string, l *lease) error {
	s, err := x.session(ctx, address)
	if err != nil {
		return err
	}
	s.May = func(ctx context.Context) error { return x.stillServes(ctx, address) }
	if l.moment == nil {
		m, err := s.Moment(ctx)
		if err != nil {
			return err
		}
		l.moment = &m
	}
	if !x.applied().Reached(l.moment.Goal) {
		return x.keep(ctx, s, l)
	}
	if err := s.Grant(ctx, x.shard, x.place, *l.moment, x.sp.MaxLag, x.applied()); err != nil {
		return err
	}
	l.moment, l.granted, l.next = nil, time.Now(), time.Now().Add(x.renewEach())
	return nil
}

// keep notes now and then how far an applier is that does not catch up, so that the next one need not begin where the last lease was given.
func (x *applier) keep(ctx context.Context, s *latest.Session, l *lease) error {
	if time.Since(l.kept) < keepEach || time.Since(l.granted) < keepEach {
		return nil
	}
	l.kept = time.Now()
	return s.Keep(ctx, x.shard, x.place, x.applied())
}

// tellOf says that a lease is over, and that it is good again.
func (x *applier) tellOf(address string, l *lease) {
	behind := time.Since(l.granted)
	switch {
	case behind > x.sp.MaxLag && time.Since(l.told) > tellStale:
		l.told = time.Now()
		x.tell("more than %s behind at %s, with %s waiting: its tenants there are read from their children", x.sp.MaxLag, address, farm.Counted(len(x.pending), "row"))
	case behind <= x.sp.MaxLag && !l.told.IsZero():
		l.told = time.Time{}
		x.tell("caught up at %s", address)
	}
}

// servesAny reports whether clients are sent to an address, through an open gate.
func servesAny(in *route.Pair, address string) bool {
	for _, r := range in.Routes {
		if r.Gate == route.Open && in.Sides[r.Side].Address == address {
			return true
		}
	}
	return false
}

func (x *applier) stillServes(ctx context.Context, address string) error {
	in, err := x.serving(ctx)
	if err == nil && !servesAny(in, address) {
		err = errElsewhere
	}
	return err
}

// refill fills in all tenants that are migrated again, where it is not known which of their rows changed. No lease is renewed meanwhile: they are read from their children.
func (x *applier) refill(ctx context.Context) error {
	flags, err := x.act.look(ctx, x.sp, x.pair, x.shard)
	if err != nil {
		return err
	}
	servers, err := x.readable(ctx)
	if err != nil {
		return err
	}
	f, done := x.act.filler(ctx, &x.pair, servers)
	defer done()
	n, told := 0, time.Now()
	var rows int64
	for _, flag := range flags {
		if !flag.Migrated && !flag.Active {
			continue
		}
		if n++; n == 1 {
			x.tell("%s: all its migrated tenants are filled in again, and read from their children until then", x.anew)
		}
		var at filled
		err := f.tenant(ctx, x.sp, x.pair.Name, Member{x.shard, flag.ID}, &at, saying(Member{x.shard, flag.ID}, func(text string) { x.tell("%s", text) }), func() error {
			if time.Since(told) > tellStale {
				told = time.Now()
				x.tell("filling in again: %s so far%s", farm.Counted(rows+at.Parents, "row"), f.pace.Slowed())
			}
			return nil
		})
		if err != nil && !errors.Is(err, latest.ErrNoTenant) {
			return fmt.Errorf("fill in tenant %s again: %w", flag.ID, err)
		}
		rows += at.Parents
	}
	if n > 0 {
		x.tell("%s with %s filled in again", farm.Counted(n, "tenant"), farm.Counted(rows, "row"))
	}
	x.anew = ""
	return nil
}
