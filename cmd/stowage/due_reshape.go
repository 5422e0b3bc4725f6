package main

import (
	"context"
	"fmt"
	"time"

	"stowage/due"
	"stowage/farm"
	"stowage/reshape"
	"stowage/session"
)

// Every tenant that is migrated is compared once a week: each hour those that have waited longest, for some minutes.
const (
	reshapeEvery = time.Hour
	comparedOnce = 7 * 24 * time.Hour
	comparedFor  = 5 * time.Minute
)

// reshapeDuties are those of a workspace with specs.
func (a *app) reshapeDuties(d *session.Session) []duty {
	if len(d.ReshapeNames()) == 0 {
		return nil
	}
	return []duty{{due.Task{Name: "reshape", Every: reshapeEvery}, "compare the tenants that were compared longest ago, and send back those that are wrong", a.dueReshape}}
}

func (a *app) dueReshape(ctx context.Context, d *session.Session) (found, error) {
	bare, _, err := a.bareAct(d)
	if err != nil {
		return found{}, err
	}
	going := reshape.NewAct(bare)
	f, until, done, left := found{}, time.Now().Add(comparedFor), 0, 0
	for _, name := range d.ReshapeNames() {
		s, err := d.Reshape(name)
		if err != nil {
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
			if err != nil {
				return f, err
			}
			done++
			if v.Mismatches > 0 {
				f.findings = append(f.findings, farm.Finding{Check: "reshape-wrong", Severity: farm.Warning, Subject: t.Member().String(), Text: reshape.Wrong(v).Error(), Remedy: "find out who writes past what keeps the columns current, then: stowage reshape " + s.Name + " --tenant " + t.Member().String()})
			}
		}
	}
	f.said = fmt.Sprintf("%s compared, %d wrong, %d left", farm.Counted(done, "tenant"), len(f.findings), left)
	return f, nil
}
