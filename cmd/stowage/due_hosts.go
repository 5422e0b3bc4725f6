package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"stowage/farm"
	"stowage/inventory/shardload"
	"stowage/session"
	"stowage/store"
	"stowage/survey"
)

// dueHosts reads what each host uses in a window, and keeps it: the report shows it before and after a move.
func (a *app) dueHosts(ctx context.Context, d *session.Session) (found, error) {
	groups := a.byHost(ctx, d, func(*survey.Target, string) bool { return true })
	uses, lacks := shardload.HostUses(survey.Hosts(ctx, groups, d.Farm.Due.Filled().Window))
	f := found{}
	for _, u := range uses {
		for measure, v := range u.Measures {
			f.yield.Gauges = append(f.yield.Gauges, store.Gauge{Name: string(u.Host), Measure: measure, At: u.At, Mean: v})
		}
	}
	f.said = fmt.Sprintf("%d of %s read", len(uses), farm.Counted(len(groups), "host"))
	if len(uses) == 0 && len(lacks) > 0 {
		f.said += ": only an agent can, or stowage on the host itself"
	}
	f.findings = notRead(groups, lacks)
	if len(uses) == 0 && len(f.findings) > 0 {
		return f, &farm.Error{Op: "read hosts", Err: errors.New(f.findings[0].Text), Hint: f.findings[0].Remedy}
	}
	return f, nil
}

// notRead names the hosts that ought to have been read. One that has no agent, in a farm without any, is nobody's fault: nothing more
// can be known of it, and the text says how many were read.
func notRead(groups []survey.Group, lacks map[farm.HostName]shardload.Lack) []farm.Finding {
	by := map[shardload.Lack][]string{}
	var order []shardload.Lack
	for _, g := range groups {
		lack, ok := lacks[g.Host]
		if !ok || g.Place == nil && !g.IsFar {
			continue
		}
		lack.Why = strings.ReplaceAll(lack.Why, string(g.Host), "the host")
		if by[lack] == nil {
			order = append(order, lack)
		}
		by[lack] = append(by[lack], string(g.Host))
	}
	var out []farm.Finding
	for _, lack := range order {
		names := by[lack]
		out = append(out, farm.Finding{Check: "host-not-measured", Severity: farm.Warning, Subject: names[0], Names: names,
			Text: "what it uses was not measured: " + lack.Why, Remedy: lack.Remedy})
	}
	return out
}
