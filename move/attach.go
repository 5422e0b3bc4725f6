package move

import (
	"context"
	"fmt"
	"time"

	"stowage/farm"
	"stowage/mysql"
)

// attach makes the new instance a replica of the twin, at the seed's position.
func (r *replacement) attach(ctx context.Context) error {
	p, err := mysql.ParsePosition(r.memory.Position)
	if err != nil {
		return err
	}
	now, err := r.Returns.Replication(ctx)
	if err != nil {
		return err
	}
	if now.Follows(r.Twin.Address()) && now.Running() {
		return nil
	}
	if err := r.mayAdopt(ctx); err != nil {
		return err
	}
	if err := r.Returns.Adopt(ctx, p); err != nil {
		return err
	}
	// The copy carries the twin's view of the events: its own enabled, this
	// side's disabled. Turn it into this side's view before the scheduler is
	// ever switched on.
	events, err := r.Leaves.ScheduledEvents(ctx)
	if err != nil {
		return err
	}
	if err := r.Returns.SetEvents(ctx, events); err != nil {
		return err
	}
	return r.Returns.Follow(ctx, r.Twin.Address(), r.mover.Replication, 30*time.Second)
}

// mayAdopt makes sure, once more, that what is about to lose its history is the
// new instance and nobody's server: it is who it should be, takes no writes,
// and has no clients.
func (r *replacement) mayAdopt(ctx context.Context) error {
	if err := r.checkIdentity(ctx); err != nil {
		return err
	}
	closed, err := r.Returns.IsReadOnly(ctx)
	if err != nil {
		return err
	}
	clients, err := r.Returns.Clients(ctx)
	if err != nil {
		return err
	}
	if !closed || clients > 0 {
		return &farm.Error{Op: "attach", Subject: string(r.fresh.Name),
			Err:  fmt.Errorf("%w: read_only is %v and %d clients are connected, on an instance that nobody should know yet", farm.ErrRefused, closed, clients),
			Hint: "who uses it? its binary log would be reset"}
	}
	return nil
}

func (r *replacement) detach(ctx context.Context) error {
	pid, err := r.freshHost.Running(ctx, r.fresh)
	if err != nil || pid == 0 {
		return err
	}
	return r.Returns.ForgetSource(ctx)
}

// follow waits for the new instance to apply its backlog and says how long it is.
func (r *replacement) follow(ctx context.Context) error {
	goal, err := r.Twin.BinlogPosition(ctx)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(r.Settings.CatchUp)
	for {
		err := r.Returns.WaitFor(ctx, goal, time.Second)
		if err == nil || time.Now().After(deadline) || !isBehind(err) {
			return err
		}
		r.tell(farm.Event{Kind: farm.StepWaiting, Text: r.backlog(ctx, goal)})
	}
}

func (r *replacement) backlog(ctx context.Context, goal mysql.Position) string {
	applied, err := r.Returns.AppliedPosition(ctx)
	if err != nil {
		return "applying the backlog"
	}
	var left uint64
	for d, g := range goal {
		if has := applied[d].Seq; has < g.Seq {
			left += g.Seq - has
		}
	}
	return fmt.Sprintf("%d transactions behind %s", left, r.order.TwinInstance)
}

// compare proves that the new instance holds what the pair holds. It stops at
// exactly the position of a snapshot, and every row is summed on both ends:
// first against the twin it was copied from, then against the side it will
// replace, whose own clients must find everything again. (Rows that only that
// side ever had, because a write bypassed the binary log, would otherwise
// vanish without a word.)
func (r *replacement) compare(ctx context.Context) error {
	err := r.CheckVariables(ctx)
	if err != nil {
		return err
	}
	for _, source := range []*mysql.Server{r.Twin, r.Leaves} {
		if err = r.compareAtBarrier(ctx, source); err != nil {
			break
		}
	}
	// Whatever was found, replication goes on.
	if again := r.Returns.Follow(ctx, r.Twin.Address(), r.mover.Replication, 30*time.Second); err == nil {
		err = again
	}
	if err != nil {
		return err
	}
	return r.follow(ctx)
}

func (r *replacement) compareAtBarrier(ctx context.Context, source *mysql.Server) error {
	if err := r.Returns.StopReplicating(ctx); err != nil {
		return err
	}
	// The snapshot must not lie before where the new instance stands.
	stands, err := r.Returns.AppliedPosition(ctx)
	if err != nil {
		return err
	}
	if err := source.WaitFor(ctx, stands, r.Settings.CatchUp); err != nil {
		return err
	}
	snap, err := source.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer snap.Close()
	if err := r.Returns.StopAt(ctx, snap.At, r.Settings.CatchUp); err != nil {
		return err
	}
	differ, err := mysql.CompareTables(ctx, snap, r.Returns, func(done, total int) {
		if done%8 == 0 {
			r.tell(farm.Event{Kind: farm.StepProgress, Text: fmt.Sprintf("comparing rows with %s, table %d of %d", source.Name(), done+1, total)})
		}
	})
	if err != nil {
		return err
	}
	if len(differ) == 0 {
		return nil
	}
	return &farm.Error{Op: "compare", Subject: string(r.fresh.Name),
		Err: fmt.Errorf("%w: %d chunks of rows differ from %s at %s, the first: %s",
			farm.ErrRefused, len(differ), source.Name(), snap.At, differ[0]),
		Hint: "the two old sides have drifted apart (a write with sql_log_bin=0, a skipped event); repair the pair before moving it"}
}

// preload warms the new instance before it is needed, with the pages the twin
// holds: its data files are a physical copy, so page numbers mean the same.
func (r *replacement) preload(ctx context.Context) error {
	r.memory.Apart = time.Now() // the side still serves all of its clients
	if err := r.Twin.DumpPool(ctx, time.Minute); err != nil {
		return err
	}
	pages, err := r.twinHost.ReadFile(ctx, poolFile(r.twin))
	if err != nil {
		return err
	}
	if err := r.freshHost.WriteFile(ctx, poolFile(r.fresh), pages); err != nil {
		return err
	}
	return r.Returns.LoadPool(ctx, r.Settings.CatchUp)
}
