package move

import (
	"context"
	"errors"
	"time"

	"stowage/act"

	"stowage/copier"
	"stowage/farm"
)

// soak lets the new place serve for as long as was asked, while everything
// written there goes back to the old one, so that the way back stays open. When
// it is lost the part waits for a person, for however long; the time that was
// asked for does not decide, because it was asked for with a way back.
func (s *shardMove) soak(ctx context.Context) error {
	if s.order.Soak <= 0 || s.isForward() {
		return nil
	}
	ctx, stop := s.untilForward(ctx)
	defer stop()
	err := s.follow(ctx)
	if errors.Is(context.Cause(ctx), errForward) {
		return nil
	}
	return s.orLost(ctx, err)
}

// follow is the soak's own work.
func (s *shardMove) follow(ctx context.Context) error {
	if s.isLost() { // it is tried again
		if err := s.persist(ctx, s.carrier.backNow); err != nil {
			return err
		}
		if err := s.found(); err != nil {
			return err
		}
	}
	timed, cancel := context.WithTimeout(ctx, s.order.Soak)
	defer cancel()
	s.Report(farm.Event{Kind: farm.StepWaiting, Text: "the new place serves; the old one follows, for " + s.order.Soak.String()})
	err := s.persist(timed, s.carrier.back)
	if timed.Err() != nil && ctx.Err() == nil {
		return nil // the time is over
	}
	return err
}

// persist tries a few times before it believes that there is no way back for a
// cause that could be a server's passing one.
func (s *shardMove) persist(ctx context.Context, feed func(context.Context) error) error {
	for try := 1; ; try++ {
		err := feed(ctx)
		if try == 3 || !isNoWayBack(err) || errors.Is(err, copier.ErrDefinition) {
			return err
		}
		if pauseFor(ctx, time.Second) != nil {
			return err
		}
	}
}

// orLost tells the end of the way back from all other errors, once the shard is
// seen to serve at its new place: only there it can wait for a person.
func (s *shardMove) orLost(ctx context.Context, err error) error {
	var lost *copier.NoWayBack
	if !errors.As(err, &lost) {
		return err
	}
	if where, readErr := s.serving(context.WithoutCancel(ctx)); readErr != nil || where != atTo {
		return errors.Join(err, readErr)
	}
	return act.Lost(lost.Why, err)
}

// stay lets clients go on at the new place whom an undo holds that had begun to
// hold them in another life, where it cannot bring them home and the new place can
// serve. Half of them are on its twin.
func (s *shardMove) stay(ctx context.Context) error {
	can, err := s.carrier.canServe(ctx)
	if err != nil || !can {
		return err
	}
	if err := s.endHolds(ctx, s.to); err != nil {
		return err
	}
	if err := s.arrive(ctx, s.to); err != nil {
		return err
	}
	return s.flipTo(ctx, s.order.To.Pair, "there is no way back")
}

func isNoWayBack(err error) bool {
	var lost *copier.NoWayBack
	return errors.As(err, &lost)
}

// way is what is known of the shard's way back, nil when it is open.
func (s *shardMove) way() *act.LostWay {
	if s.mover.Steer == nil {
		return nil
	}
	now, _ := s.mover.Steer.Now()
	return now.LostWay(s.Part)
}

func (s *shardMove) isLost() bool { return s.way() != nil }

func (s *shardMove) isForward() bool {
	w := s.way()
	return w != nil && w.Forward != nil
}

// found notes that the way back is open again, or has been gone.
func (s *shardMove) found() error {
	if !s.isLost() {
		return nil
	}
	return s.mover.Steer.Found(s.Part)
}

// errForward is why a soak ends early.
var errForward = errors.New("it goes on without a way back")

// untilForward is a context that ends when somebody decides so.
func (s *shardMove) untilForward(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if s.mover.Steer == nil {
		return ctx, func() { cancel(nil) }
	}
	go func() {
		for {
			_, changed := s.mover.Steer.Now()
			if s.isForward() {
				cancel(errForward)
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}
