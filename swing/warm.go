package swing

import (
	"context"
	"fmt"
	"time"

	"stowage/farm"
	"stowage/mysql"
)

// keepPool has a side that has left, and comes back in place, write down which pages
// its pool holds: all of them, now that no client is held up by it. A side
// that cannot do that returns all the same, colder.
func (s *Swing) keepPool(ctx context.Context) error {
	if !s.isInPlace() || s.Baseline == nil || len(s.Baseline.Pool) == 0 {
		return nil
	}
	err := s.Leaves.DumpPool(ctx, true, s.Settings.CatchUp)
	if err == nil {
		err = s.Leaves.KeepPoolFile(ctx)
	}
	if err != nil && ctx.Err() == nil {
		s.tell(farm.StepProgress, "", fmt.Sprintf("the list of the pages in its buffer pool was not written: %v", err), 0)
	}
	return ctx.Err()
}

// restorePool puts the settings of the pool back that keepPool has changed.
func (s *Swing) restorePool(ctx context.Context) error {
	if !s.isInPlace() || s.Baseline == nil || len(s.Baseline.Pool) == 0 {
		return nil
	}
	return s.Returns.RestorePool(ctx, s.Baseline.Pool)
}

// forgetPool is restorePool on the way back of a side that never came as far as Warm. A server that
// does not answer has lost these settings, or will say so elsewhere.
func (s *Swing) forgetPool(ctx context.Context) {
	if err := s.restorePool(ctx); err != nil {
		s.tell(farm.StepProgress, "", fmt.Sprintf("the settings of its buffer pool were not put back: %v", err), 0)
	}
}

// Warm fills the returning side's buffer pool, and then holds reads that the twin
// is asked just now against the twin's answers: it is warm when they take no longer. What is not
// warm in time is said, and returns.
func (s *Swing) Warm(ctx context.Context) error {
	if err := s.fill(ctx); err != nil {
		return err
	}
	return s.meetTwin(ctx)
}

// fill reads pages in: those that the side itself held before, where its files are the same; else those of
// the list that the act has put there; else, where that does not bring the pool near the twin's, the tables by name.
func (s *Swing) fill(ctx context.Context) error {
	if s.isInPlace() {
		if _, err := s.Returns.LoadPool(ctx, s.Settings.CatchUp); err != nil {
			return err
		}
		if err := s.restorePool(ctx); err != nil {
			return err
		}
	}
	p, err := s.pools(ctx)
	if err != nil || p.have >= p.want {
		return err
	}
	s.tell(farm.StepWaiting, "warm", fmt.Sprintf("the buffer pool holds %d pages, the twin's %d", p.have, p.twin), 0)
	if !s.isInPlace() {
		if _, err := s.Returns.LoadPool(ctx, s.Settings.CatchUp); err != nil {
			return err
		}
		if p, err = s.pools(ctx); err != nil || p.have >= p.want {
			return err
		}
	}
	return s.fillByName(ctx, p)
}

// mostTables are opened and read: those behind them have few pages.
const mostTables = 500

// fillByName reads the tables that are hot on the twin: their names hold where the numbers of pages do not.
// The twin lists as much of its pool as its own settings say, because it serves clients.
func (s *Swing) fillByName(ctx context.Context, p pools) error {
	if s.DataFile == nil {
		return nil
	}
	if err := s.Twin.DumpPool(ctx, false, time.Minute); err != nil {
		return err
	}
	list, err := s.DataFile(ctx, s.Twin, mysql.PoolFile)
	if err != nil {
		s.tell(farm.StepProgress, "warm", fmt.Sprintf("no table is read by name: the twin's list of pages cannot be read: %v", err), 0)
		return ctx.Err()
	}
	hot, err := s.Twin.HotTables(ctx, string(list))
	if err != nil {
		return err
	}
	n, err := s.Returns.ReadTables(ctx, hot[:min(len(hot), mostTables)], p.room-p.have)
	if err == nil && n > 0 {
		s.tell(farm.StepProgress, "warm", farm.Counted(n, "table")+" read whole, because the twin uses them most", 0)
	}
	return err
}

// pools are pages: those here, those of the twin, as many as there should be here, and as many as can be.
type pools struct{ have, twin, want, room int64 }

func (s *Swing) pools(ctx context.Context) (p pools, err error) {
	if p.twin, err = s.Twin.PoolPages(ctx); err != nil {
		return p, err
	}
	if p.have, err = s.Returns.PoolPages(ctx); err != nil {
		return p, err
	}
	p.room, err = s.Returns.PoolRoom(ctx)
	p.want = int64(s.Settings.WarmShare * float64(min(p.twin, p.room)))
	return p, err
}
