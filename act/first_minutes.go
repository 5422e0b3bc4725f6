package act

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"stowage/store"
	"stowage/swing"
)

// minutes keeps how clients fare on the sides of a run that came back. The steps are over by then: it counts for as long as the run goes on, and
// no run goes on for it.
type minutes struct {
	keep func(swing.FirstMinute)
	// goOn has something done beside the steps, until it is over or the run is.
	goOn func(do func(context.Context))
}

// minuteDocument has the first minute of each side that came back, under the run and PAIR/SIDE; the newest holds.
const minuteDocument = "first minute"

// keepMinutes begins that, until the function that comes back is called. It waits for those who count.
func (a *Act) keepMinutes(ctx context.Context, run string) (end func()) {
	ctx, stop := context.WithCancel(ctx)
	var counting sync.WaitGroup
	a.minutes = &minutes{
		keep: func(m swing.FirstMinute) {
			if err := a.Store.PutDocument(minuteDocument, run+" "+string(m.Pair)+"/"+string(m.Side), time.Now(), m); err != nil {
				a.Log.Warn("the first minute of a side that came back is not kept", "pair", m.Pair, "side", m.Side, "error", err)
			}
		},
		goOn: func(do func(context.Context)) { counting.Go(func() { do(ctx) }) },
	}
	return func() {
		stop()
		counting.Wait()
	}
}

// KeepFirstMinute is swing.Swing.First for a step: what is known now is kept at once, and the rest when it has been counted.
func (d *Task) KeepFirstMinute(now swing.FirstMinute, more func(context.Context) swing.FirstMinute) {
	keeper := d.Conductor.minutes
	if keeper == nil {
		return
	}
	keeper.keep(now)
	if more == nil {
		return
	}
	keeper.goOn(func(ctx context.Context) {
		m := more(ctx)
		keeper.keep(m)
		d.WriteDown("measured", string(m.Pair)+"/"+string(m.Side)+": "+m.String(), "")
	})
}

// FirstMinutes are those of the sides that came back in a run, in the order in which they did.
func FirstMinutes(s *store.Store, run string) ([]swing.FirstMinute, error) {
	docs, err := s.Documents(minuteDocument)
	if err != nil {
		return nil, err
	}
	newest := map[string]int64{}
	for _, d := range docs {
		if strings.HasPrefix(d.Name, run+" ") {
			newest[d.Name] = d.ID
		}
	}
	out := []swing.FirstMinute{}
	for _, id := range newest {
		var m swing.FirstMinute
		if err := s.DocumentByID(id, &m); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b swing.FirstMinute) int { return a.From.Compare(b.From) })
	return out, nil
}
