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
	for i, percent := range s.ramp() {
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
	if err := s.mend(ctx); err != nil {
		return err
	}
	p, err := s.pair(ctx)
	if err != nil {
		return err
	}
	h := handover{step: "undo in", from: s.Returns, to: s.Twin, toSide: s.Side.Twin(), percent: 100, fence: true, undo: true}
	if p.GateIsClosed(s.Side) || p.Share(s.Side, s.Side) > 0 {
		return s.handOver(ctx, h)
	}
	// It serves nobody. It may have been opened all the same, and have taken
	// a write of a client that slept through the gate: the twin must get that
	// before it is pointed elsewhere.
	if s.neverOpened(ctx) {
		return nil
	}
	if err := s.Await(ctx, s.patience(h), s.Returns, s.Twin); err != nil {
		return err
	}
	if err := s.fence(ctx, s.Returns); err != nil {
		return err
	}
	return s.barrier(ctx, h)
}

// neverOpened reports whether the side has certainly not taken a write yet: it
// still starts with the options of an instance that nobody knows.
func (s *Swing) neverOpened(ctx context.Context) bool {
	if s.Lasting == nil {
		return false
	}
	never, err := s.Lasting.NeverOpened(ctx, s.Returns)
	return err == nil && never
}

// ErrWorse: the side that came back does worse than its twin.
var ErrWorse = errors.New("the side does worse than its twin")

// watch looks at the side for the time of a soak: replication both ways, and
// the time of a small statement against that of the twin. That the twin does
// not answer is no fault of the side.
func (s *Swing) watch(ctx context.Context) error {
	for deadline, answered := time.Now().Add(s.Settings.Soak), time.Now(); ; {
		err := s.look(ctx)
		switch {
		case err == nil:
			answered = time.Now()
		case errors.Is(err, ErrWorse):
			return err
		case time.Since(answered) > unanswered:
			return s.blame(ctx, err)
		}
		if err == nil && !time.Now().Before(deadline) {
			return nil
		}
		if err := pause(ctx, min(100*time.Millisecond, s.Settings.Soak/4+time.Millisecond)); err != nil {
			return err
		}
	}
}

// unanswered is how long a server that does not answer is asked again, while
// its clients are in the same position: a lost connection is not a dead server.
const unanswered = 2 * time.Second

// blame sorts the error of a server that does not answer: the side's is a
// reason to take its clients out again.
func (s *Swing) blame(ctx context.Context, err error) error {
	if s.Twin.Ping(ctx) == nil && s.Returns.Ping(ctx) != nil {
		return fmt.Errorf("%w: %w", ErrWorse, err)
	}
	return err
}

// look is one look of watch. An error that is not ErrWorse says that a server
// did not answer.
func (s *Swing) look(ctx context.Context) error {
	for _, server := range []*mysql.Server{s.Returns, s.Twin} {
		r, err := server.Replication(ctx)
		if err != nil {
			return err
		}
		if err := r.Broken(); err != nil {
			return &farm.Error{Op: "watch", Subject: string(server.Name()), Err: fmt.Errorf("%w: %w", ErrWorse, err)}
		}
	}
	return s.compareProbes(ctx)
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
		return err
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
