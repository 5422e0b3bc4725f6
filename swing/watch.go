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

// ErrWorse: the side that came back does worse than its twin.
var ErrWorse = errors.New("the side does worse than its twin")

// watch looks at the side for the time of a soak: replication both ways, the time of a small statement against that of the twin, and how
// the statements of clients fare on both, for a while longer where they are few. That the twin does not answer is no fault of the side.
func (s *Swing) watch(ctx context.Context, percent float64) error {
	felt := &feeling{swing: s, percent: percent}
	for began, answered := time.Now(), time.Now(); ; {
		err := s.look(ctx)
		if err == nil {
			err = felt.look(ctx)
		}
		switch {
		case err == nil:
			answered = time.Now()
		case errors.Is(err, ErrWorse):
			return err
		case time.Since(answered) > unanswered:
			return s.blame(ctx, err)
		}
		if err == nil && felt.isDone(time.Since(began)) {
			s.tell(farm.StepProgress, "watch", fmt.Sprintf("%g %% of its clients watched: %s", percent, felt), 0)
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

// probes are asked of each server; the side is worse when their median is beyond worseFactor and worseFloor.
const probes = 5

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
