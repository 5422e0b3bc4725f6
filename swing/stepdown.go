package swing

import (
	"context"
	"errors"

	"stowage/mysql"
)

// oneWay is a side that does nothing but follow while it is out: its twin does not follow it.
type oneWay struct {
	*Swing
	// Strays are transactions that the side alone had before it left, as mysql.Server.Strays names them.
	Strays string
}

// CatchUp waits until the side has what its twin had written when it began.
func (w oneWay) CatchUp(ctx context.Context) error {
	if err := w.await(ctx, w.Twin, w.Returns); err != nil {
		return err
	}
	if err := w.rejoin(ctx); err != nil {
		return err
	}
	goal, err := w.Twin.BinlogPosition(ctx)
	if err != nil {
		return err
	}
	return w.Returns.WaitFor(ctx, goal, w.Settings.CatchUp)
}

// Check reads back that the side is what it must be before a client sees it.
func (w oneWay) Check(ctx context.Context) error {
	if err := w.rejoin(ctx); err != nil {
		return err
	}
	if err := w.checkReplication(ctx, w.Returns, w.Twin); err != nil {
		return err
	}
	if err := w.CheckVariables(ctx); err != nil {
		return err
	}
	if err := w.strays(ctx, w.Strays); err != nil {
		return err
	}
	return w.checkTables(ctx)
}

// Stepdown is the primary of a pair with one writer, which leaves for a while
// and stays what it is: a replica takes its writes, and gives them back. Leaves
// and Returns are the primary, Twin is the replica. Either way is a Cutover.
type Stepdown struct {
	oneWay
	// Replication is what the two log in to each other with.
	Replication mysql.Account
	// Bar are the accounts that read_only does not stop, on either server.
	Bar []mysql.Grantee
	// Restore puts back what the cutovers have changed on the two servers besides
	// who serves: option files, locked accounts, the replica's event scheduler.
	Restore func(context.Context) error
	// Held: while the replica has the writes, the primary receives them and does not apply them, until somebody starts its applier.
	Held bool
}

// NewStepdown makes one of a swing in place.
func NewStepdown(s *Swing, as mysql.Account, bar []mysql.Grantee, restore func(context.Context) error) *Stepdown {
	return &Stepdown{oneWay: oneWay{Swing: s}, Replication: as, Bar: bar, Restore: restore}
}

// Phases of a Stepdown, in order.
var (
	StepdownOut = CutoverPhases
	StepdownIn  = append(append([]string{}, CutoverPhases...), "restore")
)

func (d *Stepdown) cutover(step string, from, to *mysql.Server) *Cutover {
	return &Cutover{Swing: d.Swing, Step: step, From: from, To: to, Replication: d.Replication, Bar: d.Bar}
}

func (d *Stepdown) toReplica() *Cutover {
	c := d.cutover("out", d.Leaves, d.Twin)
	c.Held = d.Held
	return c
}

func (d *Stepdown) toPrimary() *Cutover { return d.cutover("in", d.Twin, d.Returns) }

// Out lets the replica take the writes; the primary follows it from then on.
func (d *Stepdown) Out(ctx context.Context) error {
	c := d.toReplica()
	err := c.Run(ctx)
	if err == nil {
		return d.keepPool(ctx)
	}
	back, cancel := cleanup(ctx)
	defer cancel()
	if decided, unknown := c.decided(back); unknown == nil && !decided {
		err = errors.Join(err, d.restore(back, "undo out"))
	}
	return err
}

// UndoOut gives the writes back to the primary.
func (d *Stepdown) UndoOut(ctx context.Context) error {
	if err := d.toReplica().Undo(ctx); err != nil {
		return err
	}
	d.forgetPool(ctx)
	return d.restore(ctx, "undo out")
}

// In gives the writes back to the primary, which has everything by then.
func (d *Stepdown) In(ctx context.Context) error {
	if err := d.toPrimary().Run(ctx); err != nil {
		return err
	}
	if err := d.restore(ctx, "in"); err != nil {
		return err
	}
	d.beginFirstMinute(ctx, nil)
	return nil
}

// UndoIn lets the replica take the writes again.
func (d *Stepdown) UndoIn(ctx context.Context) error { return d.toPrimary().Undo(ctx) }

func (d *Stepdown) restore(ctx context.Context, step string) error {
	return d.Phase(ctx, step, "restore", func(ctx context.Context) error {
		if d.Restore == nil {
			return nil
		}
		return d.Restore(ctx)
	})
}
