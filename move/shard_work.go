package move

import (
	"context"
	"fmt"
	"time"

	"stowage/farm"
	"stowage/mysql"
)

func (s *shardMove) prepare(ctx context.Context) error { return s.carrier.prepare(ctx) }

// discard removes from the target what this move made. It is the last of an
// undo: the shard serves from its old place, or it would be refused.
func (s *shardMove) discard(ctx context.Context) error {
	where, err := s.serving(ctx)
	if err != nil {
		return err
	}
	if where != atFrom {
		return &farm.Error{Op: "discard copy", Subject: string(s.order.Shard),
			Err:  fmt.Errorf("%w: %s does not serve it", farm.ErrRefused, s.order.From.Pair),
			Hint: "the copy may be all there is of what was written last; bring the shard home first: docs/guide/move-shard.md"}
	}
	return s.carrier.discard(ctx)
}

// copy carries rows and changes, and waits for the target's twin, so that the
// cutover has only the last moments to wait for.
func (s *shardMove) copy(ctx context.Context) error {
	servers := append(s.from.all(), s.to.all()...)
	pace, done := s.mover.Throttle.Begin(ctx, servers, s.hosts()...)
	defer done()
	if err := s.carrier.carry(ctx, pace.Rest()); err != nil {
		return err
	}
	if s.to.twin == nil {
		return nil
	}
	return s.bringUp(ctx, s.to.main, s.to.twin, s.settings.CatchUp)
}

// hosts are those of the target, the one that is written to first, and of the
// source.
func (s *shardMove) hosts() []farm.HostName {
	var out []farm.HostName
	for _, e := range []shardEnd{s.order.To, s.order.From} {
		for _, side := range []farm.SideName{e.Side, e.Side.Twin()} {
			if place, there := e.Hosts[side]; there {
				out = append(out, place.Host)
			}
		}
	}
	return out
}

// finish also notes the shard's scheduled events: what a step returns is kept,
// and nothing has turned them off yet.
func (s *shardMove) finish(ctx context.Context) error {
	if err := s.noteEvents(ctx); err != nil {
		return err
	}
	return s.carrier.finish(ctx)
}

func (s *shardMove) compare(ctx context.Context) error {
	differ, err := s.carrier.compare(ctx)
	if err != nil || len(differ) == 0 {
		return err
	}
	for _, d := range differ[:min(len(differ), 10)] {
		s.Report(farm.Event{Kind: farm.StepProgress, Text: "differs: " + d})
	}
	return &farm.Error{Op: "compare", Subject: string(s.order.Shard),
		Err:  fmt.Errorf("%w: %d places differ between source and copy, the first: %s", farm.ErrRefused, len(differ), differ[0]),
		Hint: "find the client that writes with sql_log_bin=0, or on the target, before you copy again"}
}

// noteEvents keeps the status of the shard's scheduled events, before anything
// turns them off.
func (s *shardMove) noteEvents(ctx context.Context) error {
	all, err := s.from.main.ScheduledEvents(ctx)
	if err != nil {
		return err
	}
	s.memory.Events = []mysql.ScheduledEvent{}
	for _, e := range all {
		if e.Schema == s.schema() {
			s.memory.Events = append(s.memory.Events, e)
		}
	}
	return nil
}

// afterFlip is what remains when the new pair serves: the shard's scheduled
// events run there, on the side that was copied to, and no longer at the old
// place, where their tables have other names.
func (s *shardMove) afterFlip(ctx context.Context) error {
	if err := s.endHolds(ctx, s.from); err != nil {
		return err
	}
	if err := s.setEvents(ctx, s.from.main, "DISABLED"); err != nil {
		return err
	}
	return s.setEvents(ctx, s.to.main, "")
}

// eventsBack is afterFlip the other way round.
func (s *shardMove) eventsBack(ctx context.Context) error {
	if err := s.setEvents(ctx, s.to.main, "DISABLED"); err != nil {
		return err
	}
	return s.setEvents(ctx, s.from.main, "")
}

// setEvents gives the shard's events on a server the status they had at first,
// or another. It is not written to the binary log: the twin has its own view.
func (s *shardMove) setEvents(ctx context.Context, on *mysql.Server, status string) error {
	if len(s.memory.Events) == 0 {
		return nil
	}
	has, err := on.ScheduledEvents(ctx)
	if err != nil {
		return err
	}
	was := map[string]string{}
	for _, e := range s.memory.Events {
		was[e.Name] = e.Status
	}
	var want []mysql.ScheduledEvent
	for _, e := range has {
		if old, ours := was[e.Name]; ours && e.Schema == s.schema() {
			if e.Status = status; status == "" {
				e.Status = old
			}
			want = append(want, e)
		}
	}
	return on.SetEvents(ctx, want)
}

// settle ends the way back: farm.yaml names the new pair, and what is left at
// the old one is removed.
func (s *shardMove) settle(ctx context.Context) error {
	where, err := s.serving(ctx)
	if err != nil {
		return err
	}
	if where != atTo {
		return &farm.Error{Op: "settle", Subject: string(s.order.Shard),
			Err: fmt.Errorf("%w: routing does not show %s serving it", farm.ErrRefused, s.order.To.Pair), Hint: "find out who changed routing during the move"}
	}
	if w := s.way(); w != nil && w.Forward != nil {
		s.Report(farm.Event{Kind: farm.StepProgress, Text: "settles " + w.String()})
	}
	if err := s.Phase(ctx, "record", func(context.Context) error {
		return s.mover.awaitFarm(ctx, s.Report, func() error { return s.mover.recordShard(s.order.Shard, s.order.To.Pair) })
	}); err != nil {
		return err
	}
	return s.Phase(ctx, "remove", s.carrier.settle)
}

// lagAllowed is how far a twin may be behind when a shard's move begins.
const lagAllowed = time.Minute
