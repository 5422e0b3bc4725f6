package reshape

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/latest"
	"stowage/reshape/spec"
)

// What is done with flags outside of runs. Each takes a moment, and whoever is in doubt may say it again.

// Chosen are the tenants of these names, TENANT or SHARD/TENANT, in the order of farm.yaml; no names: those for which also is true. Those that were found come with the error of a pair that cannot be read:
// a tenant can be sent back while another pair is down.
func (a *Act) Chosen(ctx context.Context, sp spec.Spec, names []string, also func(Tenant) bool) ([]Tenant, error) {
	all, unread := a.tenantsOf(ctx, sp, a.namedBy(sp, names))
	var out []Tenant
	for _, t := range all {
		if slices.Contains(names, t.ID) || slices.Contains(names, t.Member().String()) || len(names) == 0 && also(t) {
			out = append(out, t)
		}
	}
	for _, name := range names {
		if unread == nil && !slices.ContainsFunc(out, func(t Tenant) bool { return name == t.ID || name == t.Member().String() }) {
			return nil, &farm.Error{Op: Name, Subject: sp.Name, Err: fmt.Errorf("%w: no shard of the spec has a tenant %s", farm.ErrInput, name), Hint: "stowage reshape status lists them"}
		}
	}
	return out, unread
}

// namedBy says which shards can have tenants of these names: where each is SHARD/TENANT, only those shards.
func (a *Act) namedBy(sp spec.Spec, names []string) func(farm.ShardName) bool {
	in := map[farm.ShardName]bool{}
	for _, p := range a.Farm.Pairs {
		for _, s := range p.Shards {
			in[s.Name] = sp.Takes(s.Name) && slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, string(s.Name)+"/") })
		}
	}
	all := len(names) == 0 || slices.ContainsFunc(names, func(name string) bool {
		shard, _, _ := strings.Cut(name, "/")
		return !in[farm.ShardName(shard)]
	})
	return func(s farm.ShardName) bool { return all || in[s] }
}

// Off sends a tenant back to its children, at once.
func (a *Act) Off(ctx context.Context, sp spec.Spec, t Tenant) error {
	return a.at(ctx, sp, t.Pair, t.Member(), a.waits(t.Member()), func(s *latest.Session, _ *mysql.Server) error {
		return s.Set(ctx, t.Shard, t.ID, map[string]bool{sp.Tenant.Active: false})
	})
}

// On activates a tenant that is migrated, in the transaction that compares all its rows. One that is not right stays as it is: ErrMismatch, and the record says which rows.
func (a *Act) On(ctx context.Context, sp spec.Spec, t Tenant) (latest.Verdict, error) {
	if !t.Migrated {
		return latest.Verdict{}, &farm.Error{Op: "activate", Subject: t.Member().String(), Err: fmt.Errorf("%w: it is not migrated", farm.ErrRefused), Hint: "stowage reshape " + sp.Name + " --tenant " + t.ID}
	}
	if t.Different > 0 {
		return latest.Verdict{}, &farm.Error{Op: "activate", Subject: t.Member().String(), Err: fmt.Errorf("%w: %s", farm.ErrRefused, t.Wrong()), Hint: "find out why, then: stowage reshape " + sp.Name + " --tenant " + t.ID}
	}
	return a.compare(ctx, sp, t, map[string]bool{sp.Tenant.Active: true})
}

// Verify compares all rows of a tenant. One that is active and not right is sent back to its children, and migrated no longer.
func (a *Act) Verify(ctx context.Context, sp spec.Spec, t Tenant) (latest.Verdict, error) {
	v, err := a.compare(ctx, sp, t, nil)
	if err != nil || v.Mismatches == 0 || !t.Active && !t.Migrated {
		return v, err
	}
	return v, a.at(ctx, sp, t.Pair, t.Member(), a.waits(t.Member()), func(s *latest.Session, _ *mysql.Server) error {
		return s.Set(ctx, t.Shard, t.ID, map[string]bool{sp.Tenant.Active: false, sp.Tenant.Migrated: false})
	})
}

func (a *Act) compare(ctx context.Context, sp spec.Spec, t Tenant, set map[string]bool) (v latest.Verdict, err error) {
	err = a.at(ctx, sp, t.Pair, t.Member(), a.waits(t.Member()), func(s *latest.Session, server *mysql.Server) (err error) {
		v, err = a.verify(ctx, sp, s, server, t.Member(), set)
		return err
	})
	if err == nil || errors.Is(err, latest.ErrMismatch) {
		err = errors.Join(err, a.note(sp.Name, t.Member(), v, false))
	}
	return v, err
}

// Overdue are the tenants that are migrated and were not compared for so long, those that waited longest first.
func Overdue(all []Tenant, now time.Time, every time.Duration) []Tenant {
	var out []Tenant
	for _, t := range all {
		if (t.Migrated || t.Active) && (t.VerifiedAt == nil || now.Sub(*t.VerifiedAt) >= every) {
			out = append(out, t)
		}
	}
	at := func(t Tenant) time.Time { // never comes first
		if t.VerifiedAt == nil {
			return time.Time{}
		}
		return *t.VerifiedAt
	}
	slices.SortStableFunc(out, func(a, b Tenant) int { return at(a).Compare(at(b)) })
	return out
}
