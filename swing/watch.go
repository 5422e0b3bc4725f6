package swing

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"stowage/farm"
	"stowage/mysql"
)

// ErrWorse: the side that came back does worse than its twin.
var ErrWorse = errors.New("the side does worse than its twin")

// watch looks at the side for the time of a soak: replication both ways, the time of a small statement against that of the twin, and how
// the statements of clients fare on both, for a while longer where they are few. That the twin does not answer is no fault of the side.
func (s *Swing) watch(ctx context.Context, felt *feeling) error {
	for began, answered := time.Now(), time.Now(); ; {
		took, err := s.look(ctx)
		if err == nil {
			err = felt.look(ctx, took)
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
			s.measured("watch", fmt.Sprintf("%g %% of its clients watched: %s", felt.percent, felt))
			return nil
		}
		// At odd times: what stalls a server ten times a second is met neither always nor never.
		every := min(100*time.Millisecond, s.Settings.Soak/4+time.Millisecond)
		if err := pause(ctx, every/2+rand.N(every)); err != nil {
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
func (s *Swing) look(ctx context.Context) (a answers, err error) {
	for server, took := range map[*mysql.Server]*delays{s.Returns: &a.here, s.Twin: &a.twin} {
		began := time.Now()
		r, err := server.Replication(ctx)
		if err != nil {
			return a, err
		}
		*took = delays{1, time.Since(began), time.Since(began)}
		if err := r.Broken(); err != nil {
			return a, &farm.Error{Op: "watch", Subject: string(server.Name()), Err: fmt.Errorf("%w: %w", ErrWorse, err)}
		}
	}
	return a, s.compareProbes(ctx)
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
	slices.Sort(took)
	return took[len(took)/2], nil
}

// answers are how long both servers took to answer us.
type answers struct{ here, twin delays }

// delays are how long one took, question by question.
type delays struct {
	count      int
	sum, least time.Duration
}

func (d delays) plus(e delays) delays {
	switch {
	case d.count == 0:
		return e
	case e.count == 0:
		return d
	}
	return delays{d.count + e.count, d.sum + e.sum, min(d.least, e.least)}
}

// beyond is how much longer than the quickest the mean answer took: what we waited, without the way there.
func (d delays) beyond(quickest time.Duration) time.Duration {
	if d.count == 0 {
		return 0
	}
	return d.sum/time.Duration(d.count) - quickest
}
