package backup

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"stowage/act"
	"stowage/farm"
	"stowage/fresh"
	"stowage/host"
	"stowage/mysql"
	"stowage/workspace"
)

// attach makes the restored instance a replica of the twin, and waits until it has what the twin has: for as long as it comes nearer.
func (r *restoring) attach(ctx context.Context) error {
	if err := r.start(ctx); err != nil { // it, or its host, may have died since
		return err
	}
	if now, err := r.server.Replication(ctx); err != nil || !now.Follows(r.live.Address()) {
		if err := errors.Join(err, r.mayReach(ctx)); err != nil { // hours may have passed since it was asked
			return err
		}
	}
	if err := r.join(ctx); err != nil {
		return err
	}
	if err := r.catchUp(ctx); err != nil {
		return err
	}
	return r.quietEvents(ctx)
}

// catchUp waits for what the twin has now.
func (r *restoring) catchUp(ctx context.Context) error {
	goal, err := r.live.BinlogPosition(ctx)
	if err != nil {
		return err
	}
	var least uint64
	for nearer := time.Now(); ; {
		err := r.server.WaitFor(ctx, goal, time.Second)
		if err == nil || !errors.Is(err, mysql.ErrBehind) {
			return err
		}
		applied, failed := r.server.AppliedPosition(ctx)
		if failed != nil {
			return failed
		}
		if left := applied.Missing(goal); least == 0 || left < least {
			least, nearer = left, time.Now()
		}
		if time.Since(nearer) > r.act.Patience {
			return err
		}
		r.Report(farm.Event{Kind: farm.StepWaiting, Text: fmt.Sprintf("%s behind %s", farm.Counted(least, "transaction"), r.order.LiveName)})
	}
}

// quietEvents keeps the twin's scheduled events from firing on both sides: a copy of the twin has them enabled, as the twin has.
func (r *restoring) quietEvents(ctx context.Context) error {
	events, err := r.live.ScheduledEvents(ctx)
	if err != nil {
		return err
	}
	var quiet []mysql.ScheduledEvent
	for _, e := range events {
		if e.Status == "ENABLED" {
			e.Status = "SLAVESIDE_DISABLED"
			quiet = append(quiet, e)
		}
	}
	return r.server.SetEvents(ctx, quiet)
}

// rejoin makes the restored instance replicate again that was restarted: until it serves it starts with skip_slave_start. One whose replication has stopped
// for a reason stays as it is.
func (r *restoring) rejoin(ctx context.Context) error {
	now, err := r.server.Replication(ctx)
	if err != nil || !now.Follows(r.live.Address()) || !now.Idle() {
		return err
	}
	r.Report(farm.Event{Kind: farm.StepProgress, Text: "it was restarted and replicates again"})
	return r.join(ctx)
}

// compareSide proves the rows of the restored instance, and lets it follow again.
func (r *restoring) compareSide(ctx context.Context) error {
	if err := r.start(ctx); err != nil {
		return err
	}
	pid, err := r.host.Running(ctx, r.order.Instance)
	if err != nil {
		return err
	}
	if err := r.likeItsTwin(ctx); err != nil {
		return err
	}
	if err := r.compare(ctx); err != nil {
		return err
	}
	r.memory.Process = pid
	if err := r.join(ctx); err != nil {
		return err
	}
	return r.catchUp(ctx)
}

// comparedSinceItsStart compares rows where the instance has no client yet and its server was restarted since they were found equal: what a crash has left is
// another copy (docs/decisions/0124).
func (r *restoring) comparedSinceItsStart(ctx context.Context) error {
	if err := r.side.Await(ctx, r.side.Settings.Answer, r.server); err != nil {
		return err
	}
	never, err := r.side.Lasting.NeverOpened(ctx, r.server)
	if err != nil || !never {
		return err
	}
	pid, err := r.host.Running(ctx, r.order.Instance)
	if err != nil || pid == r.memory.Process {
		return err
	}
	const again = "the restored instance was restarted since its rows were compared; comparing them again"
	r.Report(farm.Event{Kind: farm.StepProgress, Text: again})
	r.WriteDown("measured", again, "")
	return r.compareSide(ctx)
}

// rewire makes the twin replicate from the restored instance. It comes before that one's first write, as in a move.
func (r *restoring) rewire(ctx context.Context) error {
	if err := r.side.Await(ctx, r.side.Settings.Answer, r.live, r.server); err != nil {
		return err
	}
	now, err := r.live.Replication(ctx)
	if err != nil || now.Follows(r.server.Address()) && now.Running() {
		return err
	}
	if err := r.rejoin(ctx); err != nil {
		return err
	}
	err = r.Phase(ctx, "wait", func(ctx context.Context) error {
		if err := r.lateWrites(ctx); err != nil {
			return err
		}
		return r.catchUp(ctx)
	})
	if err != nil {
		return err
	}
	return r.Phase(ctx, "repoint", func(ctx context.Context) error {
		as, err := r.act.Replication.LinkedAs(ctx, r.live, r.server)
		if err != nil {
			return err
		}
		if err := r.countOwn(ctx); err != nil {
			return err
		}
		return r.side.Repoint(ctx, r.server, as)
	})
}

// countOwn makes the twin ask for none of its own transactions, where the backup is younger than the loss. In a ring they come home, and its position as a
// replica says so; since the side was lost they do not, and the restored instance has none from before its backup. Nothing takes that back: a server in strict
// mode refuses a position as a replica that is behind its own binary log. A server of MySQL knows by GTID what it has written.
func (r *restoring) countOwn(ctx context.Context) error {
	begins, err := mysql.ParsePosition(r.order.last().GTID)
	if err != nil {
		return err
	}
	if err := r.live.StopReplicating(ctx); err != nil {
		return err
	}
	is, err := r.live.Facts(ctx)
	if err != nil || !is.Flavor.HasGTIDDomains() || is.Applied.Reached(begins.Only(is.Domain)) {
		return err
	}
	return r.live.SetApplied(ctx, is.Applied.WithLast(is.Binlog.Last(is.Domain)))
}

// lateWrites brings the twin what can still be had of the lost side: all that it has received, and, if that side has come back meanwhile, the rest.
func (r *restoring) lateWrites(ctx context.Context) error {
	back, err := r.isBack(ctx)
	if err != nil {
		return err
	}
	if back {
		if err := r.lost.SetReadOnly(ctx, true); err != nil {
			return err
		}
		r.Report(farm.Event{Kind: farm.StepProgress, Text: fmt.Sprintf("%s is back at %s: read_only is set there, and %s gets its last writes. Stop that server", r.lost.Name(), r.lost.Address(), r.live.Name())})
		last, err := r.lost.BinlogPosition(ctx)
		if err != nil {
			return err
		}
		if err := r.live.WaitFor(ctx, last, r.side.Settings.CatchUp); err != nil {
			return err
		}
	}
	return r.appliedReceived(ctx)
}

// isBack reports whether the lost server answers again. Another one that was given its address is none of ours.
func (r *restoring) isBack(ctx context.Context) (bool, error) {
	if !isThere(r.lost.Answers(ctx)) {
		return false, nil
	}
	vars, err := r.lost.Variables(ctx, "datadir", "gtid_domain_id", "server_uuid")
	if err != nil {
		return false, err
	}
	is := vars["gtid_domain_id"] == r.order.Side.Options["gtid_domain_id"]
	if isClone(r.order.last()) {
		now, err := r.live.Replication(ctx)
		if err != nil {
			return false, err
		}
		is = now.Follows(r.lost.Address()) && now.SourceUUID != "" && now.SourceUUID == vars["server_uuid"]
	}
	if is && filepath.Clean(vars["datadir"]) == filepath.Clean(r.act.instanceOf(r.order.Side).Datadir) {
		return true, nil
	}
	r.Report(farm.Event{Kind: farm.StepProgress, Text: fmt.Sprintf("another server answers at %s, with datadir %s; Stowage leaves it alone", r.lost.Address(), vars["datadir"])})
	return false, nil
}

// appliedReceived waits until the twin has applied what it has received: the rest of its relay log is nowhere else, and pointing it to another source drops that.
func (r *restoring) appliedReceived(ctx context.Context) error {
	now, err := r.live.Replication(ctx)
	if err != nil || !now.Follows(r.lost.Address()) || now.Received == "" {
		return err
	}
	goal, err := mysql.ParsePosition(now.Received)
	if err != nil {
		return err
	}
	return r.live.WaitFor(ctx, goal, r.side.Settings.CatchUp)
}

// unwire leads the twin's link to the lost side again, which need not answer.
func (r *restoring) unwire(ctx context.Context) error {
	if err := r.side.Await(ctx, r.side.Settings.Patience, r.live); err != nil {
		return err
	}
	now, err := r.live.Replication(ctx)
	if err != nil || now.Follows(r.lost.Address()) && now.Broken() == nil {
		return err
	}
	as, err := r.act.Replication.LinkedAs(ctx, r.live)
	if err != nil {
		return err
	}
	failed := r.live.Follow(ctx, r.lost.Address(), as, time.Second)
	if now, err = r.live.Replication(ctx); err == nil && now.Follows(r.lost.Address()) {
		return nil // it waits for that server, as before
	}
	return errors.Join(failed, err)
}

// adopt says where the side lives from now on, and that its backup is one from which somebody has restored.
func (r *restoring) adopt(ctx context.Context) error {
	if err := r.mayAdopt(ctx); err != nil {
		return err
	}
	x := r.order.Side
	for _, p := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"settle", r.settle},
		{"record", func(ctx context.Context) error {
			return act.AwaitFarmFile(ctx, r.side.Settings.Patience, r.Report, func() error {
				return r.act.Workspace.EditFarm(func(e *workspace.Edit) error { e.SetSide(x.Pair, x.Side, x.Place); return nil })
			})
		}},
		{"proven", func(context.Context) error {
			r.Report(farm.Event{Kind: farm.StepProgress, Text: fmt.Sprintf("%s serves side %s at %s; %s equal to %s. Keep %s at %s stopped", r.order.Instance.Name, x.name(), r.server.Address(),
				farm.Counted(r.memory.Rows, "row"), r.order.LiveName, r.lost.Name(), x.LostAt)})
			return r.keepProof()
		}},
	} {
		if err := r.Phase(ctx, p.name, p.do); err != nil {
			return err
		}
	}
	return nil
}

// mayAdopt reads back, from routing and from the twin, that the restored instance is the side.
func (r *restoring) mayAdopt(ctx context.Context) error {
	t, err := r.side.Routing(ctx)
	if err != nil {
		return err
	}
	x := r.order.Side
	p, ok := t.Pairs[x.Pair]
	if x.Replica {
		return r.mayAdoptReplica(ctx, p)
	}
	if !ok || p.Share(x.Side, x.Side) < 100 || p.Sides[x.Side].Address != r.server.Address() {
		return &farm.Error{Op: "adopt", Subject: x.name(), Err: errors.New("routing does not send the whole side to the restored instance"), Hint: "correct the routing table if it was changed by hand, then: stowage resume"}
	}
	now, err := r.live.Replication(ctx)
	if err == nil && !now.Follows(r.server.Address()) {
		err = &farm.Error{Op: "adopt", Subject: x.name(), Err: fmt.Errorf("%s does not replicate from the restored instance", r.live.Name())}
	}
	return err
}

// settle gives the restored instance the options it shall start with from now on. It comes before the first client: a server that serves may die at any moment.
func (r *restoring) settle(ctx context.Context) error {
	model := r.order.last().Options
	if r.order.Side.Replica {
		model = host.RewriteOptions(model, host.ServerGroup(model), map[string]string{"read_only": "ON"}) // the backup may be the primary's
	}
	return r.act.edited.Edit(ctx, r.host, r.order.Instance, func(is string) string { return fresh.Settled(is, model) })
}
