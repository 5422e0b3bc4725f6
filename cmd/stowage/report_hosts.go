package main

import (
	"time"

	"stowage/move"
	"stowage/report"
	"stowage/session"
	"stowage/store"
)

// beforeMoves is for how long before the first move hosts are looked at: what was long ago was another farm.
const beforeMoves = 28 * 24 * time.Hour

// addHosts adds what stowage due has kept of hosts before the first move and since the last: by the hour where hours reach back
// to a day before the first, else by the day.
func addHosts(d *session.Session, facts *report.Facts) error {
	runs, err := d.Store.Runs(move.Name) // the newest first
	if err != nil || len(runs) == 0 {
		return err
	}
	f := &report.HostFacts{From: runs[len(runs)-1].Started, Until: runs[0].Ended}
	for _, r := range runs {
		if r.Ended.IsZero() {
			f.Until = time.Time{}
			break
		}
		if r.Ended.After(f.Until) {
			f.Until = r.Ended
		}
	}
	if isKept, err := addWindows(d, f); err != nil || isKept {
		facts.Hosts = f
		return err
	}
	since, hours := f.From.Add(-beforeMoves), time.Now().Add(-d.Farm.Due.Filled().KeepHours)
	f.Grain = time.Hour
	byDay := f.From.Before(hours.Add(24 * time.Hour))
	if byDay {
		f.Grain = 24 * time.Hour
	} else if since.Before(hours) {
		since = hours
	}
	gauges, err := d.Store.Gauges(since, byDay)
	if err != nil || len(gauges) == 0 {
		return err
	}
	for _, g := range gauges {
		f.Rows = append(f.Rows, report.HostRow{Host: g.Name, Measure: g.Measure, At: g.At, Mean: g.Mean, Most: g.Most})
	}
	loads, seen, err := d.Store.Loads(since, byDay)
	if err != nil {
		return err
	}
	f.Asked = askedBy(loads, seen)
	facts.Hosts = f
	return nil
}

// addWindows adds the windows that the demo has measured, where there are some before the moves and after them.
func addWindows(d *session.Session, f *report.HostFacts) (isKept bool, err error) {
	docs, err := d.Store.Documents(hostWindowKind)
	if err != nil || len(docs) == 0 || f.Until.IsZero() || docs[len(docs)-1].Made.Before(f.Until) || docs[0].Made.After(f.From) {
		return false, err
	}
	for _, doc := range docs {
		var w report.HostWindows
		if err := d.Store.DocumentByID(doc.ID, &w); err != nil {
			return false, err
		}
		f.Grain = max(f.Grain, time.Duration(w.Seconds*float64(time.Second)))
		f.Rows, f.Machines = append(f.Rows, w.Hosts...), append(f.Machines, w.Machines...)
		f.Done = append(f.Done, report.AskedRow{At: doc.Made, Rate: w.Done})
	}
	return true, nil
}

// askedBy adds up the rates of all servers, by the time at which they were looked at.
func askedBy(loads []store.Load, seen []store.Seen) []report.AskedRow {
	type look struct {
		server string
		at     int64
	}
	seconds, calls, rates := map[look]float64{}, map[look]int64{}, map[int64]float64{}
	for _, s := range seen {
		if s.Millis > 0 {
			seconds[look{s.Server, s.At.Unix()}] = float64(s.Millis) / 1000
			calls[look{s.Server, s.At.Unix()}] += s.Unseen
		}
	}
	for _, l := range loads {
		calls[look{l.Server, l.At.Unix()}] += l.Calls
	}
	for k, n := range calls {
		if s := seconds[k]; s > 0 {
			rates[k.at] += float64(n) / s
		}
	}
	var out []report.AskedRow
	for at, rate := range rates {
		out = append(out, report.AskedRow{At: time.Unix(at, 0).UTC(), Rate: rate})
	}
	return out
}
