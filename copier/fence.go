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

// Fence is the end of a copy: the tables are locked against writers, the rest
// is applied, the tables are renamed behind the lock, and everything is made
// ready for clients on the other side. Its phases are those of the model: lock
// and position (Fence), reach, rename, unlock; Unlock also does reach-again,
// open and save.
//
// Whoever gives up calls Unlock, whatever has been done, and then Unfence.
type Fence struct {
	c       *Copy
	back    bool // from the target to the source: the way back
	run     *run
	lock    *rows.TableLock
	at      mysql.Position
	rename  *rows.Renaming
	renamed bool // the tables of the side that is left have their other names
	ended   bool
}

// Fence locks the source's tables: readers go on, writers wait. It returns when
// no writer holds them any more, or fails after Settings.LockWait.
func (c *Copy) Fence(ctx context.Context) (*Fence, error) { return c.fence(ctx, false) }

func (c *Copy) fence(ctx context.Context, back bool) (f *Fence, err error) {
	if c.Apart != nil {
		return nil, c.refuse("fence", "", "this copy stands apart: clients stay where they are")
	}
	f = &Fence{c: c, back: back}
	from := f.left()
	// A RENAME of a copier that was killed may wait in the server still.
	if err := rows.EndRenames(ctx, from); err != nil {
		return nil, err
	}
	turned, err := c.hasTurned(ctx)
	if err != nil {
		return nil, err
	}
	st, err := c.standing(ctx, from)
	if err != nil {
		return nil, err
	}
	if f.ended, err = f.isDone(ctx, turned, st); err != nil || f.ended {
		return f, err
	}
	if f.run, err = f.follow(ctx, st); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.release())
		}
	}()
	if st.isAside() { // resumed behind the rename: nobody writes
		f.renamed = true
		f.at, err = from.BinlogPosition(ctx)
		return f, err
	}
	if st.isMixed() {
		return nil, c.refuse("fence", "stowage undo gives all tables their names back", "some tables on %s are renamed and set aside, others are not", from.Name())
	}
	if len(st.tables) == 0 {
		return nil, c.refuse("fence", "", "%s has no tables in this database", from.Name())
	}
	return f, f.take(ctx, st.tables)
}

// follow begins to apply what is left. When the tables have their other names
// already it is the copier's, whoever did it before: next to nothing is left.
func (f *Fence) follow(ctx context.Context, st standing) (*run, error) {
	if f.c.Native == nil || f.back {
		return f.c.open(ctx, f.back)
	}
	if st.isAside() {
		return f.c.openCopying(ctx, false)
	}
	if err := f.c.soundLink(ctx); err != nil {
		return nil, err
	}
	return f.c.open(ctx, false)
}

// isDone reports that a cutover in this direction has been through all its
// phases: it must not begin anew, for clients may write on the other side.
func (f *Fence) isDone(ctx context.Context, turned bool, st standing) (bool, error) {
	if !f.back {
		return turned, nil
	}
	if turned {
		return false, nil
	}
	if st.isAside() {
		return true, nil
	}
	return false, f.c.refuse("fence", "there is nothing to bring back", "the cutover of this job is not done")
}

// left is the side that clients leave, and entered the one they go to.
func (f *Fence) left() *mysql.Server {
	if f.back {
		return f.c.To
	}
	return f.c.From
}

func (f *Fence) entered() *mysql.Server {
	if f.back {
		return f.c.From
	}
	return f.c.To
}

// take waits until next to nothing is left to apply, then locks, then reads
// the position: a write that got in between would be missed.
func (f *Fence) take(ctx context.Context, tables []*rows.CopyTable) (err error) {
	if err := f.run.catchUp(ctx); err != nil {
		return err
	}
	if !f.back {
		if err := rows.MakeMarks(ctx, f.c.From, f.c.marks()); err != nil {
			return err
		}
		if _, err := rows.TakeOver(ctx, f.c.From, f.c.marks()); err != nil { // Unfence knows by it that there are marks, and triggers in them
			return err
		}
	}
	if f.lock, err = rows.LockTables(ctx, f.left(), tables, f.c.settings().LockWait); err != nil {
		return err
	}
	if f.at, err = f.lock.Position(ctx); err != nil {
		return err
	}
	if f.back {
		return nil
	}
	return f.c.keepTriggers(ctx)
}

// Reach waits until the other side has everything that was written before the lock.
func (f *Fence) Reach(ctx context.Context) error {
	if f.ended {
		return nil
	}
	if f.lock != nil {
		if err := f.lock.Held(ctx); err != nil {
			return err
		}
	}
	err := f.run.reach(ctx, f.at)
	if f.back {
		err = f.c.lost(err)
	}
	return err
}

// Rename queues the RENAME of all tables behind the lock, where it goes before
// every writer that waits. It is carried out by Unlock.
func (f *Fence) Rename(ctx context.Context) error {
	if f.ended || f.renamed || f.rename != nil {
		return nil
	}
	if err := f.lock.Held(ctx); err != nil {
		return err
	}
	st, err := f.c.standing(ctx, f.left())
	if err != nil {
		return err
	}
	// Longer than the lock will be held: it must not give up before we do.
	f.rename, err = rows.RenameAside(ctx, f.left(), st.tables, true, time.Minute)
	return err
}

// Unlock releases the lock. Behind a Rename it goes on until clients can be
// sent to the other side; without one it only ends the fence.
func (f *Fence) Unlock(ctx context.Context) (err error) {
	if f.ended {
		return nil
	}
	defer func() { err = errors.Join(err, f.release()) }()
	if f.lock != nil {
		err = f.lock.Release()
		f.lock = nil
		if err != nil && f.rename == nil {
			return err
		}
	}
	switch {
	case f.rename != nil:
		if err := f.rename.Wait(ctx); err != nil {
			return err
		}
	case !f.renamed:
		return nil
	}
	st, err := f.c.standing(ctx, f.left())
	if err != nil {
		return err
	}
	if !st.isAside() {
		return f.c.fail("unlock", fmt.Errorf("the tables on %s are not set aside", f.left().Name()))
	}
	f.renamed = true
	if err := f.reachAgain(ctx); err != nil {
		return err
	}
	if err := f.open(ctx); err != nil {
		return err
	}
	if err := f.save(ctx); err != nil {
		return err
	}
	f.ended = true
	return nil
}

// release ends everything this fence holds, in any state.
func (f *Fence) release() error {
	var err error
	if f.rename != nil && !f.renamed {
		f.rename.Cancel()
	}
	if f.lock != nil {
		err = f.lock.Release()
		f.lock = nil
	}
	if f.run != nil {
		f.run.close()
		f.run = nil
	}
	return err
}

// reachAgain applies what got in if the session that locked was lost unnoticed.
// From here on nobody writes, and nothing comes from the source any more.
func (f *Fence) reachAgain(ctx context.Context) error {
	if err := f.run.reachNow(ctx); err != nil || f.back {
		return err
	}
	return f.c.partLink(ctx)
}

// open gives the side that clients go to its tables, counters and triggers; until now
// triggers would have acted on rows that hold their effect already.
func (f *Fence) open(ctx context.Context) error {
	c := f.c
	if err := c.namesBack(ctx, f.entered()); err != nil {
		return err
	}
	if err := c.raiseCounters(ctx, f.left(), f.entered()); err != nil {
		return err
	}
	kept, err := rows.KeptTriggers(ctx, c.From, c.marks())
	if err != nil {
		return err
	}
	if err := rows.DropTriggers(ctx, f.left(), c.Schema, kept); err != nil {
		return err
	}
	return rows.CreateObjects(ctx, f.entered(), c.Schema, kept)
}

// save marks where the feed back begins, before the first write of a client.
// A mark that is there stays: later ones would skip what clients wrote. On the
// way back the mark goes, and the source is as it was.
func (f *Fence) save(ctx context.Context) error {
	c := f.c
	if f.back {
		return rows.DropMarks(ctx, c.From, c.marks())
	}
	if _, err := rows.TakeOver(ctx, c.From, c.marks()); err != nil {
		return err
	}
	at, err := c.To.BinlogPosition(ctx)
	if err != nil {
		return err
	}
	return rows.SaveFeedMark(ctx, c.From, c.marks(), at)
}

// namesBack gives a side's tables their names.
func (c *Copy) namesBack(ctx context.Context, on *mysql.Server) error {
	st, err := c.standing(ctx, on)
	if err != nil || st.aside == 0 {
		return err
	}
	rename, err := rows.RenameAside(ctx, on, st.tables, false, c.settings().LockWait+10*time.Second)
	if err != nil {
		return err
	}
	return rename.Wait(ctx)
}

func (c *Copy) keepTriggers(ctx context.Context) error {
	triggers, err := rows.CopyTriggers(ctx, c.From, c.Schema)
	if err != nil {
		return err
	}
	if err := rows.ForgetObjects(ctx, c.From, c.marks()); err != nil {
		return err
	}
	return rows.KeepObjects(ctx, c.From, c.marks(), triggers)
}

func (c *Copy) raiseCounters(ctx context.Context, from, to *mysql.Server) error {
	was, err := rows.Counters(ctx, from, c.at(from))
	if err != nil {
		return err
	}
	is, err := rows.Counters(ctx, to, c.at(to))
	if err != nil {
		return err
	}
	st, err := c.standing(ctx, to)
	if err != nil {
		return err
	}
	for _, t := range st.tables {
		if n := was[t.Name]; n > is[t.Name] {
			if err := rows.RaiseCounter(ctx, to, t, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// Fenced reports whether the source's tables are set aside, all or some.
func (c *Copy) Fenced(ctx context.Context) (bool, error) {
	st, err := c.standing(ctx, c.From)
	return st.aside > 0, err
}

// Unfence makes the source as it was before Fence, from any state: no RENAME
// waits, all tables have their names and triggers, nothing is locked. It
// belongs before the route is flipped; behind the flip FenceBack does, for only
// that keeps clients from writing on the target meanwhile. What was written
// there until now is carried back first, if the target can be reached.
func (c *Copy) Unfence(ctx context.Context) error {
	if err := rows.EndRenames(ctx, c.From); err != nil {
		return err
	}
	has, err := rows.HasMarks(ctx, c.From, c.marks())
	if err != nil {
		return err
	}
	if has && c.To.Ping(ctx) == nil { // what is made anew on the source must not come to the target
		if err := c.partLink(ctx); err != nil {
			return err
		}
	}
	if !has {
		if err := rows.DropUnusedMarks(ctx, c.From, c.marks()); err != nil {
			return err
		}
		return c.namesBack(ctx, c.From)
	}
	kept, err := rows.KeptTriggers(ctx, c.From, c.marks())
	if err != nil {
		return err
	}
	turned, err := c.hasTurned(ctx)
	if err != nil {
		return err
	}
	if c.To.Ping(ctx) == nil {
		if err := c.quitTarget(ctx, turned, kept); err != nil {
			return err
		}
	} else if turned {
		c.tell(farm.StepWaiting, 0, 0, "%s does not answer; what may have been written there is not carried back", c.To.Name())
	}
	if err := c.namesBack(ctx, c.From); err != nil {
		return err
	}
	if err := rows.CreateObjects(ctx, c.From, c.Schema, kept); err != nil {
		return err
	}
	return rows.DropMarks(ctx, c.From, c.marks())
}

func (c *Copy) quitTarget(ctx context.Context, turned bool, kept []rows.CopyObject) error {
	if turned {
		at, err := c.To.BinlogPosition(ctx)
		if err != nil {
			return err
		}
		if err := c.BackTo(ctx, at); err != nil {
			return err
		}
	}
	// Rows that come later would set off its triggers.
	there, err := rows.SchemaOptionsOf(ctx, c.To, c.Schema)
	if err != nil || !there.Exists {
		return err
	}
	return rows.DropTriggers(ctx, c.To, c.Schema, kept)
}
