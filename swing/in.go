package swing

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"stowage/farm"
	"stowage/mysql"
)

// In brings the side's clients back in the shares of the ramp and watches each.
// When the side does worse than it may, its clients are sent out again.
func (s *Swing) In(ctx context.Context) error {
	for i, percent := range s.Settings.Ramp {
		err := s.handOver(ctx, handover{
			step: "in", from: s.Twin, to: s.Returns, toSide: s.Side, percent: percent, open: true,
		})
		if err != nil {
			return err
		}
		if i == 0 {
			if err := s.restoreScheduler(ctx, s.Returns); err != nil {
				return err
			}
		}
		if err := s.Phase(ctx, "in", "watch", s.watch); err != nil {
			if errors.Is(err, ErrWorse) {
				back, cancel := cleanup(ctx)
				defer cancel()
				return errors.Join(err, s.UndoIn(back))
			}
			return err
		}
	}
	return nil
}

// UndoIn sends the side's clients to the twin again. The side stops taking
// writes, and the twin has everything it was ever acknowledged, before the
// gate opens.
func (s *Swing) UndoIn(ctx context.Context) error {
	t, err := s.Router.Read(ctx)
	if err != nil {
		return err
	}
	p, ok := t.Pairs[s.Pair]
	if ok && !p.GateIsClosed(s.Side) && p.Share(s.Side, s.Side) == 0 {
		return s.fence(ctx, s.Returns) // it never served, or serves no more
	}
	return s.handOver(ctx, handover{
		step: "undo in", from: s.Returns, to: s.Twin, toSide: s.Side.Twin(), percent: 100, fence: true,
	})
}

// ErrWorse: the side that came back does worse than its twin.
var ErrWorse = errors.New("the side does worse than its twin")

// watch looks at the side for the time of a soak: replication both ways, and
// the time of a small statement against that of the twin.
func (s *Swing) watch(ctx context.Context) error {
	deadline := time.Now().Add(s.Settings.Soak)
	for {
		for _, server := range []*mysql.Server{s.Returns, s.Twin} {
			r, err := server.Replication(ctx)
			if err != nil {
				return fmt.Errorf("%w: %w", ErrWorse, err)
			}
			if err := r.Broken(); err != nil {
				return &farm.Error{Op: "watch", Subject: string(server.Name()), Err: fmt.Errorf("%w: %w", ErrWorse, err)}
			}
		}
		if err := s.compareProbes(ctx); err != nil {
			return err
		}
		if !time.Now().Before(deadline) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(100*time.Millisecond, s.Settings.Soak/4+time.Millisecond)):
		}
	}
}

// A side is worse when the median of a few probes takes ten times as long as
// on the twin and a quarter of a second more: far outside of noise, well
// inside of what a user notices.
const (
	probes      = 5
	worseFactor = 10
	worseFloor  = 250 * time.Millisecond
)

func (s *Swing) compareProbes(ctx context.Context) error {
	here, err := medianProbe(ctx, s.Returns)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrWorse, err)
	}
	twin, err := medianProbe(ctx, s.Twin)
	if err != nil {
		return err
	}
	if here > twin*worseFactor+worseFloor {
		return &farm.Error{Op: "watch", Subject: string(s.Returns.Name()),
			Err: fmt.Errorf("%w: a probe takes %v, on the twin %v", ErrWorse, here, twin)}
	}
	return nil
}

func medianProbe(ctx context.Context, server *mysql.Server) (time.Duration, error) {
	var took []time.Duration
	for range probes {
		start := time.Now()
		if _, err := server.BinlogPosition(ctx); err != nil {
			return 0, err
		}
		took = append(took, time.Since(start))
	}
	sort.Slice(took, func(i, j int) bool { return took[i] < took[j] })
	return took[len(took)/2], nil
}
