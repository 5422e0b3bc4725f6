package copier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/rows"
)

// NoWayBack: what was written on the target cannot be carried back to the
// source, and trying again will not change that: a definition was changed there
// (ErrDefinition), or the binary log behind the mark is gone. The target serves
// as before, and lacks nothing.
type NoWayBack struct {
	Why string
	err error
}

func (e *NoWayBack) Error() string { return "there is no way back: " + e.Why }

// Unwrap: it is refused, and why.
func (e *NoWayBack) Unwrap() []error { return []error{farm.ErrRefused, e.err} }

// lost says of an error of the feed back that it ends the way back, where it does.
func (c *Copy) lost(err error) error {
	var found *changedError
	var why, hint string
	switch {
	case errors.As(err, &found):
		why = fmt.Sprintf("%s (%s on %s)", found.what, found.at, c.To.Name())
		hint = "no change to the tables, here or there, brings it back: the binary log has the statement, and not what it did to the rows"
	case mysql.IsPurged(err):
		why = fmt.Sprintf("the binary log of %s does not go on where it was read to: %v", c.To.Name(), err)
		hint = fmt.Sprintf("if %s can have that part of its binary log again: stowage resume tries again", c.To.Name())
	default:
		return err
	}
	return &farm.Error{Op: "carry back", Subject: c.Schema, Err: &NoWayBack{why, err}, Hint: hint}
}

// Back carries what is written on the target into the source's tables, which
// are set aside, until ctx ends: then it returns nil. It goes on where its mark
// says. A change of definitions on the target ends it, and with it the way back:
// NoWayBack.
func (c *Copy) Back(ctx context.Context) error {
	r, err := c.openBack(ctx)
	if ctx.Err() != nil {
		if err == nil {
			r.close()
		}
		return nil
	}
	if err != nil {
		return c.lost(err)
	}
	defer r.close()
	for {
		goal, err := c.To.BinlogPosition(ctx)
		if err == nil {
			err = r.feed.reach(ctx, goal)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return c.lost(err)
		}
		c.tell(farm.StepProgress, 0, 0, "%s has what was written on %s up to %s", c.From.Name(), c.To.Name(), goal)
		if pause(ctx, time.Second) != nil {
			return nil
		}
	}
}

// BackNow is Back until the source has everything that is written on the target
// by now.
func (c *Copy) BackNow(ctx context.Context) error {
	at, err := c.To.BinlogPosition(ctx)
	if err != nil {
		return err
	}
	return c.BackTo(ctx, at)
}

// BackTo is Back until the source has everything up to p. Before a cutover
// there is nothing to carry.
func (c *Copy) BackTo(ctx context.Context, p mysql.Position) error {
	turned, err := c.hasTurned(ctx)
	if err != nil || !turned {
		return err
	}
	r, err := c.openBack(ctx)
	if err != nil {
		return c.lost(err)
	}
	defer r.close()
	return c.lost(r.feed.reach(ctx, p))
}

// openBack begins to feed back, into tables that nobody else writes and whose
// triggers are away.
func (c *Copy) openBack(ctx context.Context) (*run, error) {
	turned, err := c.hasTurned(ctx)
	if err != nil {
		return nil, err
	}
	if !turned {
		return nil, c.refuse("carry back", "finish the cutover first", "the cutover of this job is not done")
	}
	st, err := c.standing(ctx, c.From)
	if err != nil {
		return nil, err
	}
	if !st.isAside() {
		return nil, c.refuse("carry back", "", "the tables on %s are not set aside: clients may write to them", c.From.Name())
	}
	return c.open(ctx, true)
}

// FenceBack is Fence in the other direction, once clients were sent to the
// target: what they wrote there is carried to the source before it takes its
// names again. The caller flips the route behind Unlock. Until Rename it can
// find that there is no way back (NoWayBack).
func (c *Copy) FenceBack(ctx context.Context) (*Fence, error) {
	f, err := c.fence(ctx, true)
	return f, c.lost(err)
}

// CanServe reports whether clients may be where the cutover sends them: it is
// done, and the target's tables have their names.
func (c *Copy) CanServe(ctx context.Context) (bool, error) {
	turned, err := c.hasTurned(ctx)
	if err != nil || !turned {
		return false, err
	}
	there, err := c.standing(ctx, c.To)
	return err == nil && len(there.tables) > 0 && there.aside == 0, err
}

// Settle is the point of no return: the source's tables, which were set aside,
// and all marks are removed. It refuses unless the cutover is done.
func (c *Copy) Settle(ctx context.Context) error {
	if err := c.forgetLink(ctx); err != nil {
		return err
	}
	here, err := rows.SchemaOptionsOf(ctx, c.From, c.Schema)
	if err != nil {
		return err
	}
	there, err := rows.SchemaOptionsOf(ctx, c.To, c.Schema)
	if err != nil {
		return err
	}
	if here.Exists {
		if err := c.clearSource(ctx); err != nil {
			return err
		}
	}
	if there.Exists && there.IsOf(c.marks()) {
		if err := rows.SettleSchema(ctx, c.To, c.marks(), here.Comment); err != nil {
			return err
		}
	}
	return rows.DropMarks(ctx, c.To, c.marks())
}

func (c *Copy) clearSource(ctx context.Context) error {
	st, err := c.standing(ctx, c.From)
	if err != nil {
		return err
	}
	turned, err := c.hasTurned(ctx)
	if err != nil {
		return err
	}
	if !turned && len(st.tables) > 0 || st.aside < len(st.tables) {
		return c.refuse("settle", "the cutover comes first", "the tables on %s are not all set aside by this job", c.From.Name())
	}
	// One after the other, and their marks last: a kill in between is resumed here.
	if err := rows.DropTables(ctx, c.From, c.Schema, st.tables); err != nil {
		return err
	}
	return rows.DropEmptySchema(ctx, c.From, c.Schema)
}

// Discard removes from the target what this job made, and nothing else. It
// refuses once the source has set its tables aside: Unfence or FenceBack first.
func (c *Copy) Discard(ctx context.Context) error {
	var here standing
	var err error
	if c.Apart == nil { // else its source may be gone, and nobody needs it
		here, err = c.standing(ctx, c.From)
	}
	if err != nil {
		return err
	}
	if here.aside > 0 {
		return c.refuse("discard", "stowage resume gives the source its tables again, or finishes the move", "the target holds the only tables that clients can use")
	}
	if err := c.forgetLink(ctx); err != nil {
		return err
	}
	there, err := rows.SchemaOptionsOf(ctx, c.To, c.at(c.To))
	if err != nil || !there.Exists {
		return err
	}
	if !there.IsOf(c.marks()) {
		c.tell(farm.StepProgress, 0, 0, "%s on %s was not made by this job and stays", c.at(c.To), c.To.Name())
		return nil
	}
	// What a copier that was killed has sent fails from here on.
	has, err := rows.HasMarks(ctx, c.To, c.marks())
	if err != nil {
		return err
	}
	if has {
		if _, err := rows.TakeOver(ctx, c.To, c.marks()); err != nil {
			return err
		}
	}
	return rows.DropSchema(ctx, c.To, c.marks())
}
