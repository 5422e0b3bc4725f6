package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"stowage/capacity"
	"stowage/farm"
	"stowage/inventory/claims"
	"stowage/inventory/sources"
	"stowage/session"
)

const (
	asksAlways = "always" // and fails where one does not answer
	asksNever  = "never"
)

// unaskedWait is how long all Prometheus servers may take together that nobody asked for by --prometheus: a forecast of what was kept must not hang
// with a server.
const unaskedWait = 10 * time.Second

// prometheusSeries asks every Prometheus of inventory.yaml. Unless somebody insists, one that does not answer is said and left out.
func (a *app) prometheusSeries(ctx context.Context, d *session.Session, asks string) (all []capacity.Series, err error) {
	if asks == asksNever {
		return nil, nil
	}
	declared, err := d.Inventory()
	if err != nil && asks == asksAlways {
		return nil, err
	}
	if err != nil {
		a.say("capacity: no Prometheus is asked: %v", err)
		return nil, nil
	}
	asked, until := 0, ctx
	if asks != asksAlways {
		var stop context.CancelFunc
		until, stop = context.WithTimeout(ctx, unaskedWait)
		defer stop()
	}
	for _, spec := range declared.Specs {
		if spec.Kind != "prometheus" {
			continue
		}
		asked++
		more, err := a.seriesOf(until, d, spec)
		switch {
		case ctx.Err() != nil:
			return nil, &farm.Error{Op: "read series", Subject: spec.Name, Err: fmt.Errorf("%w: %w", farm.ErrInterrupted, ctx.Err())}
		case err != nil && asks == asksAlways:
			return nil, &farm.Error{Op: "read series", Subject: spec.Name, Err: err, Hint: "see its url in inventory.yaml; without --prometheus the other sources count"}
		case err != nil:
			a.say("%s: not used: %v", spec.Name, err)
		}
		all = append(all, more...)
	}
	if asked == 0 && asks == asksAlways {
		return nil, &farm.Error{Op: "read series", Err: fmt.Errorf("%w: inventory.yaml has no source of kind prometheus", farm.ErrInput), Hint: "add one: sources: {prom: {kind: prometheus, url: http://prometheus:9090}}"}
	}
	return all, nil
}

// seriesOf are those of one Prometheus, which says what it has that farm.yaml does not.
func (a *app) seriesOf(ctx context.Context, d *session.Session, spec claims.Spec) ([]capacity.Series, error) {
	more, unknown, err := sources.Series(ctx, d.Farm, spec, time.Now())
	if err != nil {
		return nil, err
	}
	if n := len(unknown); n > 0 {
		a.say("%s: %s not in farm.yaml: %s", spec.Name, farm.Counted(n, "name"), strings.Join(unknown[:min(n, 5)], ", "))
	}
	if len(more) == 0 {
		a.say("%s: no series of any host of farm.yaml", spec.Name)
	}
	return more, nil
}
