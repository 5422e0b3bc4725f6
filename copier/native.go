package copier

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/rows"
)

// Native has the target's own replication apply the source's changes, over a
// connection filtered to the database's tables (mysql.Link). It takes over when
// rows and indexes are there, at a position where the target has exactly what a
// view of the source shows; and it ends behind the fence. Everything else is
// the copier's, the way back too.
//
// The copier's reader stays, as a guard: it applies nothing, and ends the job
// at what the filters would pass over in silence, a definition changed by
// somebody with another default database, say. Whenever the connection is not
// to be trusted (it is gone, or stopped with an error) it is taken away, the
// copier goes on from the mark, which is never beyond what was applied, and
// hands over again.
type Native struct {
	Account mysql.Account // what the target logs in to the source with
	// LinkedAs, unless nil, gives it the TLS that links here have.
	LinkedAs func(context.Context, mysql.Account) (mysql.Account, error)
	Domains  []uint32 // the GTID domains that the source and its twin write
	// Last keeps lines in the target's option file, so that filters outlast its
	// restart; without lines it takes them out. Nil: nothing is kept, and the
	// target must have been started with skip_slave_start.
	Last func(ctx context.Context, lines []string) error
}

// native is the connection at work.
type native struct {
	c    *Copy
	link mysql.Link
	base mysql.Position // the target has it, whatever gtid_slave_pos says
}

func (c *Copy) link(tables map[string]*rows.CopyTable) mysql.Link {
	return mysql.Link{Name: mysql.LinkName(c.Job), Schema: c.Schema, Tables: slices.Sorted(maps.Keys(tables))}
}

// openNative is open, forward, for a target that follows by itself. It makes
// sure that the connection is there as it should be.
func (c *Copy) openNative(ctx context.Context) (*run, error) {
	r, at, err := c.ready(ctx, false)
	if err != nil {
		return nil, err
	}
	l := c.link(r.tables)
	is, err := c.To.LinkState(ctx, l)
	if err != nil {
		return nil, err
	}
	switch {
	case is.Exists && !is.IsFiltered && !is.IsStopped():
		return nil, errors.Join(c.refuse("follow", "see in the binary log of "+string(c.To.Name())+" what it has applied of other databases of the source; then undo the move",
			"connection %s of %s ran without its filters", l.Name, c.To.Name()), c.To.StopLink(ctx, l))
	case is.Exists && is.IsFiltered && is.Error == "" && is.Source == c.From.Address():
		if !is.Runs() {
			err = c.To.StartLink(ctx, l)
		}
	default:
		if is.Error != "" {
			c.tell(farm.StepWaiting, 0, 0, "the copier goes on where the replication of %s stopped: %s", c.To.Name(), is.Error)
			if err := c.Recheck(ctx); err != nil { // what it had been compared with counts no more
				return nil, err
			}
		}
		if err := c.handOver(ctx); err != nil {
			return nil, err
		}
		r, at, err = c.ready(ctx, false)
	}
	if err != nil {
		return nil, err
	}
	r.native = &native{c: c, link: l, base: at}
	return r, r.start(ctx, at)
}

// handOver has the copier apply what is left, up to a position that both ends
// stand at, and the connection begin there.
func (c *Copy) handOver(ctx context.Context) error {
	if err := c.partLink(ctx); err != nil {
		return err
	}
	r, err := c.openCopying(ctx, false)
	if err != nil {
		return err
	}
	defer r.close()
	if err := r.reachNow(ctx); err != nil {
		return err
	}
	for {
		view, lift, err := r.still(ctx)
		if err != nil {
			return err
		}
		if view == nil {
			if err := pause(ctx, 5*time.Millisecond); err != nil {
				return err
			}
			continue
		}
		err = r.beginLink(ctx, view)
		return errors.Join(err, lift(), view.Close())
	}
}

// beginLink: nothing is applied meanwhile, and everything up to the view is.
// The mark comes first: it is what the copier goes on from.
func (r *run) beginLink(ctx context.Context, view *rows.View) error {
	out, err := rows.OpenStream(ctx, r.to, r.c.settings().LockWait)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := r.write(ctx, out, r.c.marks().MoveMark(view.At), rows.Cargo{}); err != nil {
		return err
	}
	l := r.c.link(r.tables)
	if r.c.Native.Last != nil {
		if err := r.c.Native.Last(ctx, l.Lines()); err != nil {
			return err
		}
	}
	r.c.tell(farm.StepProgress, 0, 0, "%s follows by its own replication from %s on: connection %s", r.to.Name(), view.At, l.Name)
	as := r.c.Native.Account
	if r.c.Native.LinkedAs != nil {
		if as, err = r.c.Native.LinkedAs(ctx, as); err != nil {
			return err
		}
	}
	return r.to.OpenLink(ctx, l, r.from.Address(), as, view.File, view.Offset)
}

// partLink ends the connection, if there is one, and leaves the target's
// positions as if it had been a writer like any other.
func (c *Copy) partLink(ctx context.Context) error {
	if c.Native == nil {
		return nil
	}
	was, err := c.To.DropLink(ctx, c.link(nil))
	if err != nil {
		return err
	}
	if was { // triggers that somebody made on the source came with the rows; there are to be none before the fence
		triggers, err := rows.CopyTriggers(ctx, c.To, c.Schema)
		if err != nil {
			return err
		}
		if err := rows.DropTriggers(ctx, c.To, c.Schema, triggers); err != nil {
			return err
		}
	}
	has, err := rows.HasMarks(ctx, c.To, c.marks())
	if err != nil || !has {
		return err
	}
	return rows.CloseDomains(ctx, c.To, c.marks(), c.Native.Domains)
}

// forgetLink is partLink for good.
func (c *Copy) forgetLink(ctx context.Context) error {
	if err := c.partLink(ctx); err != nil || c.Native == nil || c.Native.Last == nil {
		return err
	}
	return c.Native.Last(ctx, nil)
}

// soundLink refuses to go into a cutover with a connection that has stopped
// with an error: the comparison was made before it.
func (c *Copy) soundLink(ctx context.Context) error {
	st, err := c.standing(ctx, c.To)
	if err != nil {
		return err
	}
	is, err := c.To.LinkState(ctx, c.link(byName(st.tables)))
	if err == nil && is.Error != "" {
		err = c.refuse("fence", "it is undone, and can be begun again; --how copier does without", "the replication of %s has stopped: %s", c.To.Name(), is.Error)
	}
	return err
}

// applied is what the target has of the source: the mark, and what was noted
// since of the domains that the source writes. Of others its gtid_slave_pos may
// know more, from elsewhere.
func (n *native) applied(ctx context.Context) (mysql.Position, error) {
	noted, err := n.c.To.AppliedPosition(ctx)
	out := maps.Clone(n.base)
	for _, d := range n.c.Native.Domains {
		if g := noted.Last(d); g.Seq > out.Last(d).Seq {
			out = out.WithLast(g)
		}
	}
	return out, err
}

// reach waits until everything up to goal is applied. The connection is looked
// at in between: a wait says nothing of one that has died.
func (n *native) reach(ctx context.Context, goal mysql.Position) error {
	for {
		has, err := n.applied(ctx)
		if err != nil || has.Reached(goal) {
			return err
		}
		if err := n.err(ctx); err != nil {
			return err
		}
		for _, d := range n.c.Native.Domains {
			if want := goal.Last(d); want.Seq > has.Last(d).Seq {
				if err := n.c.To.AwaitApplied(ctx, want, 200*time.Millisecond); err != nil {
					return err
				}
				break
			}
		}
		if ctx.Err() != nil {
			return n.c.fail("apply changes up to "+goal.String(), fmt.Errorf("%w: at %s", ctx.Err(), has))
		}
	}
}

// err is why the connection will not go on by itself, or nil.
func (n *native) err(ctx context.Context) error {
	is, err := n.c.To.LinkState(ctx, n.link)
	switch {
	case err != nil:
		return err
	case !is.Exists || !is.IsFiltered:
		return n.c.fail("follow", fmt.Errorf("connection %s of %s is gone, or its filters are", n.link.Name, n.c.To.Name()))
	case is.Error != "":
		return n.c.fail("follow", fmt.Errorf("the replication of %s has stopped: %s", n.c.To.Name(), is.Error))
	case is.SQL == "No":
		return n.c.fail("follow", fmt.Errorf("another client stopped connection %s of %s", n.link.Name, n.c.To.Name()))
	}
	return nil
}

// still opens a view of the source and stops the connection exactly there; the
// view is nil when the target is beyond it already. lift lets it go on.
func (n *native) still(ctx context.Context) (view *rows.View, lift func() error, err error) {
	lift = func() error {
		always, done := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer done()
		return n.c.To.StartLink(always, n.link)
	}
	undo := func(err error) (*rows.View, func() error, error) {
		if view != nil {
			view.Close()
		}
		return nil, nil, errors.Join(err, lift())
	}
	if err := n.c.To.HoldLink(ctx, n.link); err != nil {
		return undo(err)
	}
	if view, err = rows.Snapshot(ctx, n.c.From); err != nil {
		return undo(err)
	}
	has, err := n.applied(ctx)
	if err != nil || !view.At.Reached(has) {
		return undo(err)
	}
	if !has.Reached(view.At) {
		if err := n.c.To.RunLinkTo(ctx, n.link, view.File, view.Offset); err != nil {
			return undo(err)
		}
		for !has.Reached(view.At) {
			is, err := n.c.To.LinkState(ctx, n.link)
			if err == nil && is.Error != "" {
				err = n.err(ctx)
			}
			if err = errors.Join(err, pause(ctx, 2*time.Millisecond)); err != nil {
				return undo(err)
			}
			if has, err = n.applied(ctx); err != nil {
				return undo(err)
			}
		}
		if err := n.c.To.HoldLink(ctx, n.link); err != nil { // it stops when the next event comes, and there may be none
			return undo(err)
		}
		if has, err = n.applied(ctx); err != nil || !view.At.Reached(has) {
			return undo(errors.Join(err, n.c.fail("follow", fmt.Errorf("%s went beyond %s, to %s", n.c.To.Name(), view.At, has))))
		}
	}
	return view, lift, nil
}

// safe is a mark that is beyond neither what the guard has seen nor what is
// applied.
func (n *native) safe(ctx context.Context, seen mysql.Position) (mysql.Position, error) {
	has, err := n.applied(ctx)
	out := maps.Clone(n.base)
	for _, d := range n.c.Native.Domains {
		g := seen.Last(d)
		if has.Last(d).Seq < g.Seq {
			g = has.Last(d)
		}
		if g.Seq > out.Last(d).Seq {
			out = out.WithLast(g)
		}
	}
	return out, err
}
