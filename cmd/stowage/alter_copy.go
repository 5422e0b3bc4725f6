package main

import (
	"context"
	"fmt"

	"stowage/alter"
	"stowage/alter/plan"
	"stowage/farm"
	"stowage/mysql"
	"stowage/session"
)

// timeOnCopy makes the changes on a copy that nobody uses, and gives the plan what they took.
func (a *app) timeOnCopy(ctx context.Context, d *session.Session, f alterFlags, p *plan.Plan) error {
	server := mysql.Open(farm.InstanceName(f.on), f.on, d.Admin, a.log)
	defer server.Close()
	if f.throwAway == "" {
		return &farm.Error{Op: "alter", Subject: f.on, Err: fmt.Errorf("%w: this server is not marked as one to throw away", farm.ErrRefused), Hint: "mark it as 'stowage replay --help' says, and give the name: --throw-away NAME"}
	}
	r := &ring{f: replayFlags{throwAway: f.throwAway}, workspace: d.Workspace, farm: d.Farm, account: d.Admin}
	g := r.guard(a, server)
	took, err := alter.TimeOnCopy(ctx, server, *p, d.Store, g.Check, func(text string) { a.say("%s", text) })
	for _, t := range took {
		a.say("%s.%s: %.2f s for %s on the copy", t.Shard, t.Table, t.Seconds, farm.RoundQuantity(float64(t.Bytes), farm.Disk.Kind()))
	}
	if err != nil {
		return err
	}
	return alter.Remembered(p, d.Store)
}
