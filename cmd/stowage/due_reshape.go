package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"stowage/due"
	"stowage/farm"
	"stowage/mysql/latest"
	"stowage/reshape"
	"stowage/reshape/spec"
	"stowage/session"
)

// Each hour the parents that were written since the last time are compared; and every tenant that is migrated once a week, those first that have waited longest, for some minutes each hour.
const (
	comparedOnce = 7 * 24 * time.Hour
	comparedFor  = 5 * time.Minute
)

// reshapeDuties are those of a workspace with specs.
func (a *app) reshapeDuties(d *session.Session) []duty {
	if len(d.ReshapeNames()) == 0 {
		return nil
	}
	return []duty{{due.Task{Name: "reshape", Every: d.Farm.Due.Filled().Reshape}, "compare tenants that were written to, and those compared longest ago; send wrong ones back", a.dueReshape}}
}

func (a *app) dueReshape(ctx context.Context, d *session.Session) (found, error) {
	bare, _, err := a.bareAct(d)
	if err != nil {
		return found{}, err
	}
	x := &comparing{Act: reshape.NewAct(bare), until: time.Now().Add(comparedFor)}
	var failed error
	for _, name := range d.ReshapeNames() {
		s, err := d.Reshape(name)
		if err == nil {
			err = x.spec(ctx, s)
		}
		if failed = errors.Join(failed, err); ctx.Err() != nil {
			break
		}
	}
	x.said = fmt.Sprintf("%s that had changed compared, and %s completely; %d left", farm.Counted(x.changed, "row"), farm.Counted(x.done, "tenant"), x.left)
	return x.found, failed
}

// comparing is one call of the task. A shard that cannot be read does not stop the others.
type comparing struct {
	*reshape.Act
	found
	until               time.Time
	changed, done, left int
}

func (x *comparing) spec(ctx context.Context, s spec.Spec) error {
	shards, err := x.Shards(ctx, s)
	if err != nil {
		return err
	}
	away, err := x.applierAway(ctx, s)
	if err != nil {
		return err
	}
	var failed error
	var all []reshape.Tenant
	for _, in := range shards {
		if away[in.Shard] { // rows that are behind say nothing
			continue
		}
		err := x.compareChanged(ctx, s, in)
		if err == nil {
			var some []reshape.Tenant
			some, err = x.TenantsIn(ctx, s, in)
			all = append(all, some...)
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("tenants of %s were not compared: %w", in.Shard, err))
		}
	}
	failed = errors.Join(failed, x.compareOverdue(ctx, s, all))
	if len(x.findings) > 0 { // pages show flags as they were last read
		failed = errors.Join(failed, x.Look(ctx, s, all))
	}
	return failed
}

// compareOverdue compares tenants completely that were not for a week, for as long as there is time.
func (x *comparing) compareOverdue(ctx context.Context, s spec.Spec, all []reshape.Tenant) (failed error) {
	lost := map[farm.ShardName]bool{}
	for _, t := range reshape.Overdue(all, time.Now(), comparedOnce) {
		if time.Now().After(x.until) || lost[t.Shard] {
			x.left++
			continue
		}
		v, err := x.Verify(ctx, s, t)
		if errors.Is(err, latest.ErrNoTenant) { // deleted meanwhile
			continue
		}
		if err != nil {
			lost[t.Shard] = true
			failed = errors.Join(failed, fmt.Errorf("tenant %s was not compared: %w", t.Member(), err))
			continue
		}
		x.done++
		if v.Mismatches > 0 {
			x.findings = append(x.findings, wrongTenant(s, t.Member(), reshape.Wrong(v).Error()))
		}
	}
	return failed
}

func wrongTenant(s spec.Spec, m reshape.Member, text string) farm.Finding {
	return farm.Finding{Check: "reshape-wrong", Severity: farm.Warning, Subject: m.String(), Text: text, Remedy: "find the writer that bypasses what keeps the columns current, then: stowage reshape " + s.Name + " --tenant " + m.String()}
}

// applierAway finds the shards whose applier does not run, or is too far behind: their tenants are read from their children.
func (x *comparing) applierAway(ctx context.Context, s spec.Spec) (map[farm.ShardName]bool, error) {
	away := map[farm.ShardName]bool{}
	lags, err := x.Lags(ctx, s)
	for _, l := range lags {
		if !l.IsGood {
			away[l.Shard] = true
			x.findings = append(x.findings, farm.Finding{Check: "reshape-applier", Severity: farm.Warning, Subject: string(l.Shard), Text: l.String() + "; its rows were not compared", Remedy: "stowage reshape apply " + s.Name + " must run all the time"})
		}
	}
	return away, err
}

// compareChanged compares what was written in a shard since the last time.
func (x *comparing) compareChanged(ctx context.Context, s spec.Spec, in reshape.Served) error {
	c, err := x.CompareChanged(ctx, s, in.Pair, in.Shard)
	x.changed += c.Parents
	if c.Lost != "" {
		x.findings = append(x.findings, farm.Finding{Check: "reshape-unread", Severity: farm.Note, Subject: string(in.Shard), Text: "its changes could not all be read, so all its tenants were compared: " + c.Lost})
	}
	for _, m := range slices.SortedFunc(maps.Keys(c.Wrong), func(a, b reshape.Member) int { return strings.Compare(a.String(), b.String()) }) {
		x.findings = append(x.findings, wrongTenant(s, m, c.Wrong[m]+"; it is read from its children"))
	}
	return err
}
