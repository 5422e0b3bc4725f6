package backup

import (
	"context"
	"fmt"
	"time"

	"stowage/copier"
	"stowage/farm"
	"stowage/mysql/rows"
)

// copier carries the database out of the throw-away server.
func (r *restoring) copier() *copier.Copy {
	x := r.order.Extract
	return &copier.Copy{
		Job: r.Run, From: r.server, To: r.ends[0], Schema: x.Schema, ServerID: x.Reader, Apart: &copier.Apart{As: x.As, Tables: x.Tables},
		Tell: func(kind farm.EventKind, text string, done, total int64) {
			if done > 0 {
				text = fmt.Sprintf("%s: %d of about %s", text, done, farm.Counted(total, "row"))
			}
			r.Report(farm.Event{Kind: kind, Text: text})
		},
	}
}

// copyOut makes the database in the pair, with all its rows, and waits until all sides have them.
func (r *restoring) copyOut(ctx context.Context) error {
	if err := r.start(ctx); err != nil { // it, or its host, may have died since
		return err
	}
	c := r.copier()
	if err := r.mayCopy(ctx, c); err != nil {
		return err
	}
	var hosts []farm.HostName // nobody else waits for the throw-away server, whatever it looks like
	for _, e := range r.order.Extract.Ends {
		hosts = append(hosts, e.On)
	}
	pace, done := r.act.Throttle.Begin(ctx, r.ends, append(hosts, r.order.On)...)
	defer done()
	c.Settings.Throttle = pace.Rest()
	if err := c.Prepare(ctx); err != nil {
		return err
	}
	if err := c.Carry(ctx); err != nil {
		return err
	}
	var err error
	if r.memory.Left, err = c.FinishApart(ctx); err != nil {
		return err
	}
	for _, text := range r.memory.Left {
		r.Report(farm.Event{Kind: farm.StepProgress, Text: "left out: " + text})
	}
	return r.allHaveIt(ctx)
}

// mayCopy asks what could not be asked before the server ran: whether the database was there at that moment, can be carried, and has room.
func (r *restoring) mayCopy(ctx context.Context, c *copier.Copy) error {
	found, err := c.Refusals(ctx)
	if err != nil {
		return err
	}
	if !farm.Blocks(found) {
		bytes, err := r.size(ctx)
		if err != nil {
			return err
		}
		more, err := r.lackOfRoom(ctx, bytes)
		if err != nil {
			return err
		}
		found = append(found, more...)
	}
	for _, f := range found {
		if f.Severity == farm.Blocker {
			return &farm.Error{Op: "copy " + r.order.Extract.Schema, Subject: string(r.ends[0].Name()), Err: fmt.Errorf("%w: %s (%s)", farm.ErrRefused, f.Text, f.Check), Hint: f.Remedy}
		}
		r.Report(farm.Event{Kind: farm.StepProgress, Text: f.Text})
	}
	return nil
}

// size is what the database takes on the throw-away server, as that estimates it.
func (r *restoring) size(ctx context.Context) (bytes int64, err error) {
	x := r.order.Extract
	of := rows.Extract{Tables: x.Tables}
	sizes, err := r.server.TableSizes(ctx, []string{x.Schema})
	for name, s := range sizes[x.Schema] {
		if of.Has(name) {
			bytes += s.Bytes
		}
	}
	return bytes, err
}

// allHaveIt waits until the other sides of the pair have applied what was written.
func (r *restoring) allHaveIt(ctx context.Context) error {
	if len(r.ends) == 1 {
		return nil
	}
	goal, err := r.ends[0].BinlogPosition(ctx)
	if err != nil {
		return err
	}
	for _, other := range r.ends[1:] {
		if err := other.WaitFor(ctx, goal, r.act.Patience); err != nil {
			return err
		}
	}
	return nil
}

// compareCopy compares every row of the copy with the throw-away server.
func (r *restoring) compareCopy(ctx context.Context) error {
	if err := r.start(ctx); err != nil {
		return err
	}
	c := r.copier()
	differ, err := c.Compare(ctx)
	if err != nil {
		return err
	}
	if r.memory.Rows, err = c.ComparedRows(ctx); err != nil {
		return err
	}
	if r.memory.Differ = len(differ); len(differ) == 0 {
		return nil
	}
	if err := keepRestored(r); err != nil {
		return err
	}
	return r.refuse("compare", fmt.Errorf("%s differ between the restored server and %s on %s, the first: %s", farm.Counted(len(differ), "place"), r.order.Extract.As, r.ends[0].Name(), differ[0]),
		"find the client that writes to that database, stop it, and restore again")
}

// keep hands the database over to its owner, and takes the throw-away server away.
func (r *restoring) keep(ctx context.Context) error {
	x := r.order.Extract
	err := r.Phase(ctx, "keep", func(ctx context.Context) error {
		comment := fmt.Sprintf("restored by stowage: %s as of %s", x.name(), r.memory.At.Local().Format(time.DateTime))
		if err := r.copier().Keep(ctx, comment); err != nil {
			return err
		}
		r.Report(farm.Event{Kind: farm.StepProgress, Text: fmt.Sprintf("%s is there as database %s of %s, %s compared", x.name(), x.As, x.Pair, farm.Counted(r.memory.Rows, "row"))})
		return keepRestored(r)
	})
	if err != nil {
		return err
	}
	return r.takenAway(ctx)
}

func (r *restoring) discard(ctx context.Context) error { return r.copier().Discard(ctx) }
