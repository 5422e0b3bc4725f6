package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"stowage/capacity"
	"stowage/farm"
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

// forPages is how long pages keep what a Prometheus has said.
const forPages = 10 * time.Minute

// askedProm is one Prometheus of inventory.yaml.
type askedProm struct {
	Name    string   `json:"name"`
	Series  int      `json:"series"`  // that it has of this farm
	Used    int      `json:"used"`    // of these, because the own history is shorter or there is none
	Unknown []string `json:"unknown"` // names that farm.yaml does not have
	Fault   string   `json:"fault"`   // why it was not used; empty: it answered
}

// said is what people are to know of it; empty: nothing.
func (p askedProm) said() string {
	n := len(p.Unknown)
	names := fmt.Sprintf("%s not in farm.yaml: %s", farm.Counted(n, "name"), strings.Join(p.Unknown[:min(n, 5)], ", "))
	switch {
	case p.Fault != "":
		return p.Name + ": not used: " + p.Fault
	case p.Series == 0 && n > 0:
		return p.Name + ": no series of any host of farm.yaml; " + names
	case p.Series == 0:
		return p.Name + ": no series of any host of farm.yaml"
	case n > 0:
		return p.Name + ": " + names
	}
	return ""
}

// promAnswer is what all of them say.
type promAnswer struct {
	asked  []askedProm
	series []capacity.Series
}

// prometheus asks every Prometheus of inventory.yaml. Unless somebody insists, one that does not answer has a fault, and is left out. Pages
// ask again after a while only: a look at one must not be a query of a year.
func (a *app) prometheus(ctx context.Context, d *session.Session, asks string) (promAnswer, error) {
	if a.heard == nil {
		return askPrometheus(ctx, d, asks)
	}
	return a.heard.of(func() (promAnswer, error) { return askPrometheus(ctx, d, asks) }, d.Path("inventory.yaml"), d.Path("farm.yaml"))
}

func askPrometheus(ctx context.Context, d *session.Session, asks string) (out promAnswer, err error) {
	if asks == asksNever {
		return out, nil
	}
	declared, err := d.Inventory()
	switch {
	case err != nil && asks == asksAlways:
		return out, err
	case err != nil:
		return promAnswer{asked: []askedProm{{Name: "inventory.yaml", Unknown: []string{}, Fault: err.Error()}}}, nil
	}
	until := ctx
	if asks != asksAlways {
		var stop context.CancelFunc
		until, stop = context.WithTimeout(ctx, unaskedWait)
		defer stop()
	}
	for _, spec := range declared.Specs {
		if spec.Kind != "prometheus" {
			continue
		}
		more, unknown, err := sources.Series(until, d.Farm, spec, time.Now())
		one := askedProm{Name: spec.Name, Series: len(more), Unknown: append([]string{}, unknown...)}
		switch {
		case ctx.Err() != nil:
			return out, &farm.Error{Op: "read series", Subject: spec.Name, Err: fmt.Errorf("%w: %w", farm.ErrInterrupted, ctx.Err())}
		case err != nil && asks == asksAlways:
			return out, &farm.Error{Op: "read series", Subject: spec.Name, Err: err, Hint: "see its url in inventory.yaml; without --prometheus the other sources count"}
		case err != nil:
			one.Fault = err.Error()
		}
		out.asked, out.series = append(out.asked, one), append(out.series, more...)
	}
	if len(out.asked) == 0 && asks == asksAlways {
		return out, &farm.Error{Op: "read series", Err: fmt.Errorf("%w: inventory.yaml has no source of kind prometheus", farm.ErrInput), Hint: "add one: sources: {prom: {kind: prometheus, url: http://prometheus:9090}}"}
	}
	return out, nil
}
