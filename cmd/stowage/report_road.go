package main

import (
	"errors"
	"slices"

	"stowage/act"
	"stowage/farm"
	"stowage/inventory"
	"stowage/move"
	"stowage/report"
	"stowage/session"
	"stowage/store"
)

// addRoad adds all moves since the first inventory, where there was more than one.
func addRoad(d *session.Session, facts *report.Facts) error {
	runs, err := d.Store.Runs(move.Name)
	if err != nil || len(runs) < 2 {
		return err
	}
	slices.Reverse(runs) // oldest first
	road := &report.Road{From: runs[0].Started, HostsNow: hostsWith(d.Farm)}
	for _, run := range runs {
		leg, err := legOf(d, run)
		if err != nil {
			return err
		}
		road.Legs = append(road.Legs, leg)
		if p, err := d.Plan(run.Subject); err == nil && road.First == nil {
			road.First = &p
			road.HostsBefore = p.HostsBefore
		}
	}
	var inv inventory.Inventory
	doc, err := d.Store.FirstDocument("inventory", &inv)
	switch {
	case errors.Is(err, store.ErrNone):
	case err != nil:
		return err
	case doc.Made.Before(road.From):
		on := map[farm.HostName]bool{}
		for _, i := range inv.Instances {
			on[i.Host] = true
		}
		road.From, road.HostsBefore = doc.Made, len(on)
	}
	if road.HostsBefore == 0 {
		road.HostsBefore = road.HostsNow // nothing says more
	}
	facts.Road = road
	return nil
}

func legOf(d *session.Session, run store.Run) (report.Leg, error) {
	events, _, err := d.Store.Events(run.ID, 0)
	if err != nil {
		return report.Leg{}, err
	}
	board := act.NewBoard()
	for _, e := range events {
		board.Apply(e)
	}
	leg := report.Leg{Run: run.ID, Subject: run.Subject, End: string(run.State), Started: run.Started, Moved: board.Done(), Begun: len(board.Sides), Gates: board.Pauses}
	if all, done := board.Shards(); all > 0 {
		leg.Begun, leg.Moved = all, done
	}
	if !run.Ended.IsZero() {
		leg.Seconds = run.Ended.Sub(run.Started).Seconds()
	}
	return leg, nil
}

// hostsWith is how many hosts carry an instance.
func hostsWith(f *farm.Farm) int {
	on := map[farm.HostName]bool{}
	for _, p := range f.Pairs {
		for _, s := range p.Sides {
			on[s.Host] = true
		}
	}
	return len(on)
}
