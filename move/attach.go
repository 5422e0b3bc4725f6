package move

import (
	"context"
	"fmt"
	"time"

	"stowage/farm"
	"stowage/fresh"
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
	as, err := r.replicationAs(ctx)
	if err != nil {
		return err
	}
	return r.Returns.Follow(ctx, r.Twin.Address(), as, 30*time.Second)
}

// mayAdopt makes sure, once more, that what is about to lose its history is the
// new instance and nobody's server: it is who it should be, takes no writes,
// and has no clients.
func (r *replacement) mayAdopt(ctx context.Context) error {
	if err := fresh.Check(ctx, r.Returns, r.fresh, r.order.Move.ServerID); err != nil {
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
			Err:  fmt.Errorf("%w: read_only is %v and %d clients are connected, on an instance that no client should know yet", farm.ErrRefused, closed, clients),
			Hint: "find who uses it: the move would reset its binary log"}
	}
	return nil
}

// rejoin makes the new instance replicate again that died and was started by
// whoever looks after servers: until it serves it starts with skip_slave_start.
// One whose replication has stopped for a reason stays as it is.
func (r *replacement) rejoin(ctx context.Context) error {
	now, err := r.Returns.Replication(ctx)
	if err != nil || !now.Follows(r.Twin.Address()) || !now.Idle() {
		return err
	}
	r.Report(farm.Event{Kind: farm.StepProgress, Text: "it was restarted and replicates again"})
	return r.Returns.Follow(ctx, r.Twin.Address(), r.mover.Replication, 30*time.Second)
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
	if err := r.rejoin(ctx); err != nil {
		return err
	}
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
		r.Report(farm.Event{Kind: farm.StepWaiting, Text: r.backlog(ctx, goal)})
	}
}

func (r *replacement) backlog(ctx context.Context, goal mysql.Position) string {
	applied, err := r.Returns.AppliedPosition(ctx)
	if err != nil {
		return "applying the backlog"
	}
	return fmt.Sprintf("%s behind %s", farm.Counted(applied.Missing(goal), "transaction"), r.order.TwinInstance)
}

// preload warms the new instance before it is needed, with the pages the twin
// holds: its data files are a physical copy, so page numbers mean the same.
func (r *replacement) preload(ctx context.Context) error {
	var err error // the side still serves all of its clients
	if r.memory.Apart, err = r.Twin.Moment(ctx); err != nil {
		return err
	}
	if err := r.Twin.DumpPool(ctx, false, time.Minute); err != nil {
		return err
	}
	pages, err := r.twinHost.ReadFile(ctx, poolFile(r.twin))
	if err != nil {
		return err
	}
	if err := r.freshHost.WriteFile(ctx, poolFile(r.fresh), pages); err != nil {
		return err
	}
	_, err = r.Returns.LoadPool(ctx, r.Settings.CatchUp)
	return err
}
