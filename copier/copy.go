package copier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"stowage/farm"
	binlogfeed "stowage/feed"
	"stowage/mysql"
	"stowage/mysql/rows"
)

// Copy is one job: a database, where it is and where it goes.
type Copy struct {
	Job      string // names the job in the marks; the same after a restart
	From, To *mysql.Server
	Schema   string
	ServerID uint32 // the reader's, nobody else's in the farm
	Settings Settings
	Native   *Native // nil: the copier applies changes itself
	Apart    *Apart  // nil: the database goes over as it is, and clients with it
	// Tell hears what happens; done and total are rows, total 0 when unknown. May be nil.
	Tell func(kind farm.EventKind, text string, done, total int64)
}

// Settings are how hard the copier works. The zero value is Defaults.
type Settings struct {
	Streams        int           // tables, or parts of large ones, copied side by side: 4
	ChunkTime      time.Duration // how long reading and writing of one chunk should take: 500 ms
	LockWait       time.Duration // how long to wait for a lock on the source: 2 s. Writers of the source never wait longer for us
	BytesPerSecond int64         // of rows copied; 0: no limit
	// Throttle is asked before each chunk and each batch of changes; it waits as long as it must. May be nil.
	Throttle func(context.Context) error
}

// Defaults are the settings for a server that serves clients meanwhile.
func Defaults() Settings {
	return Settings{Streams: 4, ChunkTime: 500 * time.Millisecond, LockWait: 2 * time.Second}
}

func (c *Copy) settings() Settings {
	s, d := c.Settings, Defaults()
	if s.Streams < 1 {
		s.Streams = d.Streams
	}
	if s.ChunkTime <= 0 {
		s.ChunkTime = d.ChunkTime
	}
	if s.LockWait <= 0 {
		s.LockWait = d.LockWait
	}
	return s
}

// ErrDefinition: somebody changed a definition in the database, or wrote to it
// in a way the binary log does not show by rows, while it was being carried.
var ErrDefinition = errors.New("the database was changed in a way that cannot be carried")

func (c *Copy) marks() rows.Marks { return rows.Marks{Schema: c.at(c.To), Job: c.Job} }

// at is what the database is called on one of the two servers.
func (c *Copy) at(on *mysql.Server) string {
	if c.Apart != nil && on == c.To {
		return c.Apart.As
	}
	return c.Schema
}

func (c *Copy) tell(kind farm.EventKind, done, total int64, format string, args ...any) {
	if c.Tell != nil {
		c.Tell(kind, fmt.Sprintf(format, args...), done, total)
	}
}

func (c *Copy) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &farm.Error{Op: op, Subject: c.Schema, Err: err, Hint: farm.Hint(err)}
}

func (c *Copy) refuse(op, hint, format string, args ...any) error {
	return &farm.Error{Op: op, Subject: c.Schema, Hint: hint, Err: fmt.Errorf("%w: %w", farm.ErrRefused, fmt.Errorf(format, args...))}
}

// standing is which of a side's tables are set aside.
type standing struct {
	tables []*rows.CopyTable
	aside  int
}

func (s standing) isAside() bool { return len(s.tables) > 0 && s.aside == len(s.tables) }
func (s standing) isMixed() bool { return s.aside > 0 && s.aside < len(s.tables) }

// standing reads how things are on a server: the truth, whatever this job
// believes to have done.
func (c *Copy) standing(ctx context.Context, on *mysql.Server) (standing, error) {
	tables, err := rows.CopyTables(ctx, on, c.at(on))
	st := standing{tables: slices.DeleteFunc(tables, func(t *rows.CopyTable) bool { return !c.extract().Has(t.Name) })}
	for _, t := range st.tables {
		if t.IsAside {
			st.aside++
		}
	}
	return st, err
}

// hasTurned reports whether the feed back has its mark: the cutover is done as
// far as this job is concerned.
func (c *Copy) hasTurned(ctx context.Context) (bool, error) {
	if c.Apart != nil {
		return false, nil // nothing is written to its source
	}
	has, err := rows.HasMarks(ctx, c.From, c.marks())
	if err != nil || !has {
		return false, err
	}
	_, ok, err := rows.FeedMark(ctx, c.From, c.marks())
	return ok, err
}

// oneWay refuses to feed forward once the feed back has begun: an old row
// would come round and overwrite a newer one.
func (c *Copy) oneWay(ctx context.Context) error {
	turned, err := c.hasTurned(ctx)
	if err == nil && turned {
		return c.refuse("carry", "to send clients back to the source: stowage undo; to finish: stowage resume", "the cutover is done: changes now go from %s back to %s", c.To.Name(), c.From.Name())
	}
	return err
}

// run is one copier at work in one direction: a feed, and what writes beside it.
type run struct {
	c        *Copy
	from, to *mysql.Server
	epoch    int64
	tables   map[string]*rows.CopyTable // where rows go, by the name clients know
	hold     *hold
	feed     *feed
	native   *native // who applies, where the feed is only a guard
	stop     context.CancelFunc
	ended    sync.WaitGroup
	mu       sync.Mutex
	sizes    map[string]int  // rows of a chunk, by table
	spelled  map[string]bool // tables whose rows go as statements, because some could not be loaded
}

// open takes the job over and begins to follow; close ends it. back is the
// direction from target to source.
func (c *Copy) open(ctx context.Context, back bool) (*run, error) {
	if c.Native == nil || back {
		return c.openCopying(ctx, back)
	}
	return c.openNative(ctx)
}

// openCopying is open with the copier applying the changes, as it always does
// while there are rows to copy.
func (c *Copy) openCopying(ctx context.Context, back bool) (*run, error) {
	if !back {
		if err := c.partLink(ctx); err != nil {
			return nil, err
		}
	}
	r, at, err := c.ready(ctx, back)
	if err != nil {
		return nil, err
	}
	return r, r.start(ctx, at)
}

// ready is a run that has taken the job over and does nothing yet, and its mark.
func (c *Copy) ready(ctx context.Context, back bool) (*run, mysql.Position, error) {
	r := &run{c: c, from: c.From, to: c.To, hold: newHold(), sizes: map[string]int{}, spelled: map[string]bool{}}
	if back {
		r.from, r.to = c.To, c.From
	} else if err := c.oneWay(ctx); err != nil {
		return nil, nil, err
	}
	has, err := rows.HasMarks(ctx, r.to, c.marks())
	if err != nil {
		return nil, nil, err
	}
	if !has {
		return nil, nil, c.refuse("carry", "undo, and begin again: the copy was not prepared, or was removed", "%s has no marks of job %s", r.to.Name(), c.Job)
	}
	if r.epoch, err = rows.TakeOver(ctx, r.to, c.marks()); err != nil {
		return nil, nil, err
	}
	at, ok, err := rows.FeedMark(ctx, r.to, c.marks())
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		return nil, nil, c.refuse("carry", "undo, and begin again: the copy was not prepared, or was removed", "%s has no position of job %s", r.to.Name(), c.Job)
	}
	st, err := c.standing(ctx, r.to)
	if err != nil {
		return r, at, err
	}
	here, err := c.standing(ctx, r.from)
	rows.AsEventsOf(here.tables, st.tables)
	r.tables = byName(st.tables)
	return r, at, err
}

func byName(tables []*rows.CopyTable) map[string]*rows.CopyTable {
	out := map[string]*rows.CopyTable{}
	for _, t := range tables {
		out[t.Name] = t
	}
	return out
}

func (r *run) start(ctx context.Context, at mysql.Position) error {
	s := r.c.settings()
	out, err := rows.OpenStream(ctx, r.to, s.LockWait)
	if err != nil {
		return err
	}
	reader, err := binlogfeed.Open(ctx, binlogfeed.Source{
		Servers:  func(context.Context) ([]*mysql.Server, error) { return []*mysql.Server{r.from}, nil },
		ServerID: r.c.ServerID, Schema: r.c.Schema,
		Tell: func(text string) { r.c.tell(farm.StepWaiting, 0, 0, "%s", text) },
	}, at)
	if err != nil {
		out.Close()
		return err
	}
	r.feed = newFeed(r, reader, out, at)
	running, stop := context.WithCancel(ctx)
	r.stop = stop
	r.ended.Add(1)
	go func() {
		defer r.ended.Done()
		r.feed.loop(running)
	}()
	return nil
}

// close ends the feed and waits for it.
func (r *run) close() {
	r.stop()
	r.ended.Wait()
	r.feed.reader.Close()
	r.feed.out.Close()
}

// reachNow applies everything up to the source's position now.
func (r *run) reachNow(ctx context.Context) error {
	goal, err := r.from.BinlogPosition(ctx)
	if err != nil {
		return err
	}
	return r.reach(ctx, goal)
}

// reach waits until everything up to goal is applied, and, beside a target that
// follows by itself, seen.
func (r *run) reach(ctx context.Context, goal mysql.Position) error {
	if err := r.feed.reach(ctx, goal); err != nil || r.native == nil {
		return err
	}
	return r.native.reach(ctx, goal)
}

// still has both ends stand at one position: nothing is applied until lift, and
// everything that the view shows is. The view is nil when more than it shows
// had been applied already.
func (r *run) still(ctx context.Context) (view *rows.View, lift func() error, err error) {
	if r.native != nil {
		return r.native.still(ctx)
	}
	id, begun := r.hold.place(mysql.Position{})
	lift = func() error { r.hold.lift(id); return nil }
	view, err = rows.Snapshot(ctx, r.from)
	if err != nil {
		return nil, nil, errors.Join(err, lift())
	}
	// The feed may have, from the binary log, what the source did not show to readers yet.
	if !view.At.Reached(begun) {
		return nil, nil, errors.Join(lift(), view.Close())
	}
	r.hold.change(id, view.At)
	if err := r.feed.reach(ctx, view.At); err != nil {
		return nil, nil, errors.Join(err, lift(), view.Close())
	}
	return view, lift, nil
}
