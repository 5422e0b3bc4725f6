package act

import (
	"context"
	"slices"
	"sync"

	"stowage/engine"
	"stowage/internal/nested"
	"stowage/store"
)

// ledger keeps in the store which lanes of a run have begun and how they ended. It implements engine.Memory.
type ledger struct {
	store *store.Store
	order map[[2]string]int // place of a lane in the run, by job and lane

	mu      sync.Mutex
	running map[[2]string]bool
}

var _ engine.Memory = (*ledger)(nil)

// openLedger reads what is kept of a job's stages.
func openLedger(s *store.Store, job engine.Job) (*ledger, error) {
	l := &ledger{store: s, order: map[[2]string]int{}, running: map[[2]string]bool{}}
	for _, stage := range Stages(job) {
		for _, lane := range stage.Lanes {
			l.order[[2]string{stage.ID, lane.Name}] = len(l.order)
		}
		known, err := l.Lanes(stage.ID)
		if err != nil {
			return nil, err
		}
		for _, r := range known {
			if r.End == "" {
				l.running[[2]string{stage.ID, r.Name}] = true
			}
		}
	}
	return l, nil
}

// Lanes implements engine.Memory.
func (l *ledger) Lanes(job string) ([]engine.LaneResult, error) {
	kept, err := l.store.Lanes(job)
	if err != nil {
		return nil, err
	}
	out := make([]engine.LaneResult, len(kept))
	for i, k := range kept {
		out[i].Name = k.Name
		if k.Result == "" {
			continue
		}
		if err := nested.Unmarshal([]byte(k.Result), &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Begins implements engine.Memory.
func (l *ledger) Begins(job, lane string) error {
	l.mu.Lock()
	l.running[[2]string{job, lane}] = true
	l.mu.Unlock()
	return l.store.BeginLane(job, lane)
}

// Ended implements engine.Memory.
func (l *ledger) Ended(job string, r engine.LaneResult) error {
	if err := l.store.EndLane(job, r.Name, r); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.running, [2]string{job, r.Name})
	return nil
}

// unended are the lanes of a job that have begun and not ended, in the order of the job.
func (l *ledger) unended(job string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for k := range l.running {
		if k[0] == job {
			out = append(out, k[1])
		}
	}
	slices.SortFunc(out, func(a, b string) int { return l.order[[2]string{job, a}] - l.order[[2]string{job, b}] })
	return out
}

// later is the last lane of a job that stands after this one and has begun and not ended; "" for none.
func (l *ledger) later(job, lane string) string {
	all := l.unended(job)
	if len(all) == 0 || l.order[[2]string{job, all[len(all)-1]}] <= l.order[[2]string{job, lane}] {
		return ""
	}
	return all[len(all)-1]
}

// takeOver ends what a program had begun that was killed: the engine is ours,
// and whoever carries a run out holds its claim, whose lock ends with its
// process. Where this fails the engine finds out by itself.
func (l *ledger) takeOver(ctx context.Context, client *engine.Client, job engine.Job) (ended int, err error) {
	for _, stage := range Stages(job) {
		n, bad := client.TakeOver(ctx, stage.ID, l.unended(stage.ID))
		ended += n
		if bad != nil {
			err = bad
		}
	}
	return ended, err
}
