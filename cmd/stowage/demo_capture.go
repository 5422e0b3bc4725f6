package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"stowage/farm"
	"stowage/inventory/shardload"
	"stowage/report"
	"stowage/survey"
)

// hostWindowKind is of the documents with what hosts used in the windows of a demo; stowage due keeps hours and days, and a demo is over in minutes.
const hostWindowKind = "host-window"

// hostWindow is how long the demo reads its hosts at a time: four windows fit into the time in which it captures traffic.
const hostWindow = 5 * time.Second

// capture lets traffic flow until t and shows that it does. Meanwhile it reads what the hosts use.
func (w *walk) capture(ctx context.Context, t time.Time) error {
	watched := make(chan error, 1)
	go func() { watched <- w.watchHosts(ctx, t) }()
	err := w.showTraffic(ctx, t)
	return errors.Join(err, <-watched)
}

func (w *walk) showTraffic(ctx context.Context, t time.Time) error {
	tick := time.NewTicker(4 * time.Second)
	defer tick.Stop()
	end := time.After(time.Until(t))
	for {
		select {
		case <-ctx.Done():
			return interruptedDemo()
		case <-end:
			return nil
		case <-tick.C:
			s := w.load.Now()
			w.stage("  %s acknowledged, %s, %d failed", farm.Counted(s.Acknowledged, "write"), farm.Counted(s.Reads, "read"), s.Failed)
		}
	}
}

// watchHosts reads what hosts use, window by window, until the last that ends before a time; what it keeps is compared by the report.
func (w *walk) watchHosts(ctx context.Context, until time.Time) error {
	d, err := w.a.open()
	if err != nil {
		return err
	}
	defer d.Close()
	groups := w.a.byHost(ctx, d, func(*survey.Target, string) bool { return true })
	for time.Until(until) > hostWindow+time.Second && ctx.Err() == nil {
		at, was := time.Now(), w.load.Now()
		windows := survey.Hosts(ctx, groups, hostWindow)
		took, is := time.Since(at).Seconds(), w.load.Now()
		if ctx.Err() != nil {
			return nil // interrupted: half a window is none
		}
		uses, _ := shardload.HostUses(windows)
		kept := report.HostWindows{Seconds: hostWindow.Seconds(), Hosts: hostRows(uses, at), Machines: hostRows(shardload.MachineUses(windows), at),
			Done: float64(is.Acknowledged+is.Reads-was.Acknowledged-was.Reads) / took}
		if len(kept.Hosts) == 0 {
			continue
		}
		if err := d.Store.PutDocument(hostWindowKind, w.f.Dir, at, kept); err != nil {
			return err
		}
	}
	return nil
}

// hostRows are what hosts used in a window that begins at a time, the same for all.
func hostRows(uses []shardload.HostUse, at time.Time) (rows []report.HostRow) {
	for _, u := range uses {
		for _, measure := range slices.Sorted(maps.Keys(u.Measures)) {
			v := u.Measures[measure]
			rows = append(rows, report.HostRow{Host: string(u.Host), Measure: measure, At: at.UTC(), Mean: v, Most: v})
		}
	}
	return rows
}
