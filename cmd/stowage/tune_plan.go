package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"stowage/farm"
	"stowage/inventory"
	"stowage/placement"
	"stowage/session"
	"stowage/tune"
	"stowage/tune/probe"
)

// tunePlan looks at the hosts of a plan as it leaves them. It asks the servers
// that will come together there, wherever they are; one that does not answer
// is read from its option file.
func (a *app) tunePlan(ctx context.Context, t *tuneFlags, severity farm.Severity) error {
	d, err := a.open()
	if err != nil {
		return err
	}
	defer d.Close()
	plan, err := d.Plan(t.plan)
	if err != nil {
		return err
	}
	known, unread, err := a.plannedInstances(ctx, t, d, plan)
	if err != nil {
		return err
	}
	var hosts []tune.Planned
	for _, h := range plan.Hosts {
		x := tune.Planned{Host: string(h.Name)}
		if shape, ok := d.Farm.HostType(h.Type); ok {
			x.Memory = int64(shape.Capacity[farm.Memory])
		}
		for _, name := range h.Instances {
			i, ok := known[name]
			if !ok {
				i = tune.Instance{Name: string(name)}
			}
			x.Instances = append(x.Instances, i)
		}
		hosts = append(hosts, x)
	}
	report := tune.AuditPlan(plan.Name, hosts)
	report.Unread = append(report.Unread, unread...)
	next := append(a.afterTune(report, severity, false), a.cmd("move %s --dry-run", plan.Name))
	err = a.emit(report, func(w io.Writer) error { return writePlanned(w, report, len(hosts), len(known)) }, next...)
	if err == nil && report.AtLeast(severity) {
		return farm.ErrFindings
	}
	return err
}

// plannedInstances are the settings of all instances that the plan's hosts
// carry, eight servers at once, or those of a recorded tree.
func (a *app) plannedInstances(ctx context.Context, t *tuneFlags, d *session.Session, plan placement.Plan) (map[farm.InstanceName]tune.Instance, []tune.Unread, error) {
	wanted := map[farm.InstanceName]bool{}
	for _, h := range plan.Hosts {
		for _, name := range h.Instances {
			wanted[name] = true
		}
	}
	out := map[farm.InstanceName]tune.Instance{}
	if t.root != "" {
		if err := isTree(t.root); err != nil {
			return nil, nil, err
		}
		for _, i := range probe.Read(ctx, probe.Recorded(t.root), nil, nil).Instances {
			if name := farm.InstanceName(i.Name); wanted[name] {
				out[name] = i
			}
		}
		return out, nil, nil
	}
	if err := d.Login(); err != nil {
		return nil, nil, err
	}
	var turn sync.WaitGroup
	var together sync.Mutex
	var unread []tune.Unread
	room := make(chan struct{}, 8)
	for _, p := range d.Farm.Pairs {
		for _, side := range p.SideNames() {
			name, place := p.Instance(side), p.Sides[side]
			if !wanted[name] {
				continue
			}
			turn.Go(func() {
				room <- struct{}{}
				defer func() { <-room }()
				s := d.Server(name, d.Farm.Address(place))
				defer s.Close()
				variables, status, err := s.Settings(ctx)
				i := tune.Instance{Name: string(name), Variables: variables, Status: status, Version: tune.ParseVersion(variables["version"])}
				if err != nil {
					i.Options = probe.OptionFile(d.Path(place.Config), place.GroupSuffix)
				}
				together.Lock()
				defer together.Unlock()
				if out[name] = i; err != nil {
					unread = append(unread, tune.Unread{What: string(name), Why: fmt.Sprintf("%v; its option file had to do (%s)", err, farm.Counted(len(i.Options), "line"))})
				}
			})
		}
	}
	turn.Wait()
	slices.SortFunc(unread, func(a, b tune.Unread) int { return strings.Compare(a.What, b.What) })
	return out, unread, ctx.Err()
}

func writePlanned(w io.Writer, r tune.Report, hosts, instances int) error {
	fmt.Fprintf(w, "plan %s: %s, %s known; nothing was changed\n", r.Host, farm.Counted(hosts, "host"), farm.Counted(instances, "instance"))
	var list []farm.Finding
	for _, f := range r.Findings {
		list = append(list, farm.Finding{Check: f.ID, Severity: f.Severity, Subject: f.Subject, Text: f.Verdict + " (" + f.Read + ")", Remedy: f.Fix})
	}
	if err := inventory.WriteFindings(w, list); err != nil {
		return err
	}
	for _, n := range r.NotApplicable {
		fmt.Fprintf(w, "%s does not apply: %s\n", n.ID, n.Why)
	}
	tuneView{Report: r}.writeUnread(w)
	return nil
}
