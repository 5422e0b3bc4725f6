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
	going := reshape.NewAct(bare)
	f, until, done, left, changed := found{}, time.Now().Add(comparedFor), 0, 0, 0
	for _, name := range d.ReshapeNames() {
		s, err := d.Reshape(name)
		if err != nil {
			return f, err
		}
		if away, err := applierAway(ctx, going, s); err != nil || len(away) > 0 {
			if err != nil {
				return f, err
			}
			f.findings = append(f.findings, away...)
			continue // rows that are behind say nothing
		}
		if err := compareChanged(ctx, going, s, &f, &changed); err != nil {
			return f, err
		}
		all, err := going.Tenants(ctx, s)
		if err != nil {
			return f, err
		}
		for _, t := range reshape.Overdue(all, time.Now(), comparedOnce) {
			if time.Now().After(until) {
				left++
				continue
			}
			v, err := going.Verify(ctx, s, t)
			if errors.Is(err, latest.ErrNoTenant) { // deleted meanwhile
				continue
			}
			if err != nil {
				return f, err
			}
			done++
			if v.Mismatches > 0 {
				f.findings = append(f.findings, wrongTenant(s, t.Member(), reshape.Wrong(v).Error()))
			}
		}
		if len(f.findings) > 0 { // pages show flags as they were last read
			if err := going.Look(ctx, s, all); err != nil {
				return f, err
			}
		}
	}
	f.said = fmt.Sprintf("%s that had changed compared, and %s completely; %d left", farm.Counted(changed, "row"), farm.Counted(done, "tenant"), left)
	return f, nil
}

func wrongTenant(s spec.Spec, m reshape.Member, text string) farm.Finding {
	return farm.Finding{Check: "reshape-wrong", Severity: farm.Warning, Subject: m.String(), Text: text, Remedy: "find the writer that bypasses what keeps the columns current, then: stowage reshape " + s.Name + " --tenant " + m.String()}
}

// applierAway finds appliers that do not run, or are too far behind: the tenants of their shards are read from their children.
func applierAway(ctx context.Context, going *reshape.Act, s spec.Spec) (out []farm.Finding, err error) {
	lags, err := going.Lags(ctx, s)
	for _, l := range lags {
		if !l.IsGood {
			out = append(out, farm.Finding{Check: "reshape-applier", Severity: farm.Warning, Subject: string(l.Shard), Text: l.String() + "; rows were not compared", Remedy: "stowage reshape apply " + s.Name + " must run all the time"})
		}
	}
	return out, err
}

// compareChanged compares what was written in each shard since the last time.
func compareChanged(ctx context.Context, going *reshape.Act, s spec.Spec, f *found, rows *int) error {
	shards, err := going.Shards(ctx, s)
	if err != nil {
		return err
	}
	for _, x := range shards {
		c, err := going.CompareChanged(ctx, s, x.Pair, x.Shard)
		if err != nil {
			return err
		}
		*rows += c.Parents
		if c.Lost != "" {
			f.findings = append(f.findings, farm.Finding{Check: "reshape-unread", Severity: farm.Note, Subject: string(x.Shard), Text: "its changes could not all be read, so all its tenants were compared: " + c.Lost})
		}
		for _, m := range slices.SortedFunc(maps.Keys(c.Wrong), func(a, b reshape.Member) int { return strings.Compare(a.String(), b.String()) }) {
			f.findings = append(f.findings, wrongTenant(s, m, c.Wrong[m]+"; it is read from its children"))
		}
	}
	return nil
}
