package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"stowage/farm"
	"stowage/route"
	"stowage/swing"
)

// replicaDance is how a replica of a pair with one writer comes back whose server is lost. Who writes notices nothing.
type replicaDance struct {
	*swing.Follower
	r *restoring
}

// Out takes the lost replica off routing's list. There is nobody to drain.
func (d replicaDance) Out(ctx context.Context) error {
	r := d.r
	if err := r.mustBeLost(ctx); err != nil {
		return err
	}
	if err := d.Await(ctx, d.Settings.Answer, d.Twin); err != nil {
		return err
	}
	return d.Phase(ctx, "out", "flip", func(ctx context.Context) error {
		err := d.Router.Change(ctx, d.Pair, func(p *route.Pair) error {
			p.Replicas = slices.DeleteFunc(p.Replicas, func(address string) bool { return address == r.order.Side.LostAt })
			return nil
		})
		if err == nil {
			r.Report(farm.Event{Kind: farm.StepProgress, Phase: "flip", Text: fmt.Sprintf("routing no longer names %s", r.order.Side.LostAt)})
		}
		return err
	})
}

// UndoOut leaves routing without the server that is lost.
func (d replicaDance) UndoOut(context.Context) error {
	d.r.Report(farm.Event{Kind: farm.StepProgress, Text: fmt.Sprintf("routing stays without %s: that server is lost", d.r.order.Side.LostAt)})
	return nil
}

// Check is that of a follower, of rows that were compared since the server was started.
func (d replicaDance) Check(ctx context.Context) error {
	if err := d.r.comparedSinceItsStart(ctx); err != nil {
		return err
	}
	if err := d.r.wantsOfSide(ctx); err != nil {
		return err
	}
	return d.Follower.Check(ctx)
}

// In names it in routing. It has its lasting options before the first reader comes.
func (d replicaDance) In(ctx context.Context) error {
	if err := d.r.comparedSinceItsStart(ctx); err != nil {
		return err
	}
	if err := d.r.settle(ctx); err != nil {
		return err
	}
	return d.Follower.In(ctx)
}

// mayAdoptReplica reads back that routing names it, where it named the lost one, and that it follows the primary.
func (r *restoring) mayAdoptReplica(ctx context.Context, p *route.Pair) error {
	x := r.order.Side
	wrong := func(text, hint string) error {
		return &farm.Error{Op: "adopt", Subject: x.name(), Err: errors.New(text), Hint: hint}
	}
	if p == nil || x.Named >= 0 && !slices.Contains(p.Replicas, r.server.Address()) {
		return wrong("routing does not name the restored replica", "correct the routing table if it was changed by hand, then: stowage resume")
	}
	now, err := r.server.Replication(ctx)
	if err == nil && !(now.Follows(r.live.Address()) && now.Running()) {
		err = wrong(fmt.Sprintf("it does not replicate from %s", r.order.LiveName), "SHOW SLAVE STATUS on it says why; then: stowage resume")
	}
	return err
}
