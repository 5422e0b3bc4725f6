package report

import (
	"fmt"
	"time"

	"stowage/farm"
	"stowage/placement"
)

// Road is everything from the first inventory to now, where more than one move
// was needed.
type Road struct {
	HostsBefore int             // with instances, in the first inventory, or before the first plan
	HostsNow    int             // the same by farm.yaml
	From        time.Time       // the first inventory, or the first move
	First       *placement.Plan // of the first move whose plan is there
	Legs        []Leg           // the moves, oldest first
}

// Leg is one move of the road.
type Leg struct {
	Run, Subject string
	End          string // done, failed, running
	Started      time.Time
	Seconds      float64 // 0: it has not ended
	Moved, Begun int     // sides, or shards
	Gates        []float64
}

// road is the section.
type road struct {
	From, To, Words string
	Rows            []legRow
}

type legRow struct {
	Run, Subject, Started, Took, Moved, End string
	Gates, Longest                          string
	IsBad                                   bool
}

func newRoad(f Facts, zone clock) *road {
	r := f.Road
	if r == nil {
		return nil
	}
	moved := 0
	out := &road{From: zone.stamp(r.From), To: zone.stamp(f.Made)}
	for _, l := range r.Legs {
		row := legRow{Run: l.Run, Subject: l.Subject, Started: zone.stamp(l.Started), End: l.End, IsBad: l.End != "done",
			Moved: fmt.Sprintf("%d of %d", l.Moved, l.Begun), Gates: whole(float64(len(l.Gates)))}
		if l.Seconds > 0 {
			row.Took = span(seconds(l.Seconds))
		}
		if len(l.Gates) > 0 {
			row.Longest = millis(quantile(l.Gates, 1))
		}
		moved += l.Moved
		out.Rows = append(out.Rows, row)
	}
	out.Words = fmt.Sprintf("%s before, %d now; sides or shards moved: %d, in %s.", count(r.HostsBefore, "host"), r.HostsNow, moved, count(len(r.Legs), "move"))
	return out
}

// gates are how long gates were closed, on the whole road.
func (f Facts) gates() []float64 {
	var out []float64
	if f.Road != nil {
		for _, l := range f.Road.Legs {
			out = append(out, l.Gates...)
		}
		return out
	}
	for _, e := range f.Events {
		if e.Kind == farm.GateOpened {
			out = append(out, e.Millis)
		}
	}
	return out
}

// before is the plan that found the farm as it was.
func (f Facts) before() *placement.Plan {
	if f.Road != nil && f.Road.First != nil {
		return f.Road.First
	}
	return f.Plan
}

// hosts are how many there were, and are, or will be when the newest plan is done.
func (f Facts) hosts() (before, after int) {
	if f.Plan != nil {
		before, after = f.Plan.HostsBefore, f.Plan.HostsUsed
	}
	if f.Road != nil {
		before = f.Road.HostsBefore
		if lanes := readLanes(f.Events); f.Plan == nil || len(lanes) >= len(f.Plan.Moves) && allDone(lanes) {
			after = f.Road.HostsNow
		}
	}
	return before, after
}

// split takes what was accepted out of the findings.
func split(found []farm.Finding, accepted []farm.Accepted) (open []farm.Finding, settled []acceptedRow) {
	for _, f := range found {
		by := -1
		for i, a := range accepted {
			if a.Covers(f) {
				by = i
			}
		}
		if by < 0 {
			open = append(open, f)
			continue
		}
		a := accepted[by]
		settled = append(settled, acceptedRow{Finding: f, Why: a.Why, By: a.By, Date: a.Date})
	}
	return open, settled
}

// acceptedRow is a finding that people live with, and why.
type acceptedRow struct {
	farm.Finding
	Why, By, Date string
}

// ledgerRows are the figures of the owners' own ledger: those that they gave.
func ledgerRows(l *farm.Ledger) []proofRow {
	if l == nil {
		return nil
	}
	rows := []proofRow{{Name: "acknowledged writes", Figure: whole(float64(l.Acknowledged)), Means: "by " + l.By, Again: l.Again}}
	zero := func(name string, n *int64, means string) {
		if n == nil {
			return
		}
		r := proofRow{Name: name, Figure: whole(float64(*n)), Means: means, Again: l.Again, IsBad: *n > 0}
		if r.IsBad {
			r.Verdict = "must be 0"
		}
		rows = append(rows, r)
	}
	zero("lost", &l.Lost, "in the ledger and not in the databases")
	zero("duplicated", &l.Duplicated, "in the databases more than once")
	zero("failed queries", l.Failed, "errors that the routing rules do not tell a client to try again")
	zero("stale reads", l.Stale, "a client did not see a write of its own that had been acknowledged")
	if l.Retried != nil {
		rows = append(rows, proofRow{Name: "tried again", Figure: whole(float64(*l.Retried)), Means: "attempts that a switch turned away", Again: l.Again})
	}
	if l.LongestPause != nil {
		rows = append(rows, proofRow{Name: "longest pause", Figure: millis(float64(*l.LongestPause) / 1e6), Means: "the longest that any query waited", Again: l.Again})
	}
	return rows
}
