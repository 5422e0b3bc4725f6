package copier

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"stowage/farm"
	"stowage/mysql/rows"
)

// Chunks begin small and grow or shrink until one takes Settings.ChunkTime.
const (
	firstChunk  = 500
	largeChunk  = 50000
	chunkBytes  = 8 << 20
	partRows    = 50000 // a larger table is copied in parts of at least so many
	partsStream = 4     // and at most so many for each stream, so that none waits long for the last
)

// Prepare makes the database, its tables and the marks on the target. The
// reader's position is marked before a row is read or a definition copied: what
// happens later is in the binary log behind it.
func (c *Copy) Prepare(ctx context.Context) error {
	if err := c.oneWay(ctx); err != nil {
		return err
	}
	there, err := rows.SchemaOptionsOf(ctx, c.To, c.at(c.To))
	if err != nil {
		return err
	}
	if there.Exists && !there.IsOf(c.marks()) {
		return c.refuse("prepare", "drop or rename it on "+string(c.To.Name()), "%s has a database %s that this job has not made", c.To.Name(), c.at(c.To))
	}
	if !there.Exists {
		here, err := rows.SchemaOptionsOf(ctx, c.From, c.Schema)
		if err != nil {
			return err
		}
		if !here.Exists {
			return c.refuse("prepare", "", "%s has no such database", c.From.Name())
		}
		if err := rows.MakeSchema(ctx, c.To, c.marks(), here); err != nil {
			return err
		}
	}
	if err := rows.MakeMarks(ctx, c.To, c.marks()); err != nil {
		return err
	}
	if _, err := rows.TakeOver(ctx, c.To, c.marks()); err != nil {
		return err
	}
	if err := c.readerFirst(ctx); err != nil {
		return err
	}
	return c.makeTables(ctx)
}

func (c *Copy) readerFirst(ctx context.Context) error {
	_, ok, err := rows.FeedMark(ctx, c.To, c.marks())
	if err != nil || ok {
		return err
	}
	at, err := c.From.BinlogPosition(ctx)
	if err != nil {
		return err
	}
	return rows.SaveFeedMark(ctx, c.To, c.marks(), at)
}

func (c *Copy) makeTables(ctx context.Context) error {
	here, err := c.standing(ctx, c.From)
	if err != nil {
		return err
	}
	if here.aside > 0 {
		return c.refuse("prepare", "stowage undo gives them their names back", "tables on %s are renamed and set aside", c.From.Name())
	}
	var texts []string
	for _, t := range here.tables {
		if t.KeyName == "" {
			return c.refuse("prepare", "give it a primary key", "table %s has no key by which rows can be distinguished", t.Name)
		}
		text, err := rows.CreateText(ctx, c.From, t)
		if err != nil {
			return err
		}
		text, _ = c.untied(text, here.tables)
		plain, _ := rows.SplitIndexes(text)
		texts = append(texts, plain)
	}
	if err := rows.CreateTables(ctx, c.To, c.at(c.To), texts); err != nil {
		return err
	}
	return c.divide(ctx, here.tables)
}

func (c *Copy) divide(ctx context.Context, tables []*rows.CopyTable) error {
	saved, err := rows.Parts(ctx, c.To, c.marks(), tables)
	if err != nil {
		return err
	}
	has := map[string]bool{}
	for _, p := range saved {
		has[p.Table.Name] = true
	}
	for _, t := range tables {
		if has[t.Name] {
			continue
		}
		n := min(int(t.Rows/partRows)+1, c.settings().Streams*partsStream)
		parts, err := rows.Divide(ctx, c.From, t, n)
		if err != nil {
			return err
		}
		if err := rows.SaveParts(ctx, c.To, c.marks(), parts); err != nil {
			return err
		}
	}
	return nil
}

// Carry copies all rows that are not copied yet and applies all changes, until
// the target is within moments of the source. It goes on where its marks say.
func (c *Copy) Carry(ctx context.Context) error {
	here, err := c.standing(ctx, c.From)
	if err != nil {
		return err
	}
	r, err := c.openCopying(ctx, false)
	if err != nil {
		return err
	}
	defer r.close()
	parts, err := rows.Parts(ctx, c.To, c.marks(), here.tables)
	if err != nil {
		return err
	}
	if err := r.copyParts(ctx, parts); err != nil {
		return err
	}
	if c.Native != nil { // who may be faster than we are does the rest
		return r.reachNow(ctx)
	}
	return r.catchUp(ctx)
}

// catchUp applies changes until there are next to none left.
func (r *run) catchUp(ctx context.Context) error {
	for {
		begin := time.Now()
		if err := r.reachNow(ctx); err != nil {
			return err
		}
		if time.Since(begin) < time.Second {
			return nil
		}
	}
}

func (r *run) copyParts(ctx context.Context, parts []*rows.Part) error {
	var total, done atomic.Int64
	var left []*rows.Part
	seen := map[string]bool{}
	for _, p := range parts {
		if !seen[p.Table.Name] {
			seen[p.Table.Name] = true
			total.Add(p.Table.Rows)
		}
		done.Add(p.Rows)
		if !p.Done {
			left = append(left, p)
		}
	}
	if len(left) == 0 {
		return nil
	}
	slices.SortStableFunc(left, func(a, b *rows.Part) int {
		return cmp.Or(cmp.Compare(b.Table.Rows, a.Table.Rows), strings.Compare(a.Table.Name, b.Table.Name))
	})
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	work := make(chan *rows.Part, len(left))
	for _, p := range left {
		work <- p
	}
	close(work)
	limit := newPace(r.c.settings().BytesPerSecond)
	var workers sync.WaitGroup
	for range min(r.c.settings().Streams, len(left)) {
		workers.Add(1)
		go func() {
			defer workers.Done()
			if err := r.work(ctx, work, limit, &done, &total); err != nil {
				stop(err)
			}
		}()
	}
	finished := make(chan struct{})
	go func() { workers.Wait(); close(finished) }()
	for {
		select {
		case <-finished:
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond): // rows copied beside a feed that has died are worth nothing
			if err := r.feed.err(); err != nil {
				stop(err)
				<-finished
				return err
			}
		}
	}
}

func (r *run) work(ctx context.Context, work <-chan *rows.Part, limit *pace, done, total *atomic.Int64) error {
	s := r.c.settings()
	src, err := rows.OpenStream(ctx, r.from, s.LockWait)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := rows.OpenStream(ctx, r.to, max(s.LockWait, 10*time.Second))
	if err != nil {
		return err
	}
	defer dst.Close()
	for p := range work {
		if err := r.copyPart(ctx, src, dst, p, limit, done, total); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) copyPart(ctx context.Context, src, dst *rows.Stream, p *rows.Part, limit *pace, done, total *atomic.Int64) error {
	size := r.size(p.Table.Name, 0)
	for !p.Done {
		if err := errors.Join(ctx.Err(), r.c.throttle(ctx)); err != nil {
			return err
		}
		begin := time.Now()
		load := dst.Loads(r.tables[p.Table.Name]) && !r.isSpelled(p.Table.Name)
		chunk, err := r.copyChunk(ctx, src, dst, p, size, load)
		switch {
		case errors.Is(err, rows.ErrNotLoaded):
			r.c.tell(farm.StepProgress, done.Load(), total.Load(), "%s: rows go as statements: %v", p.Table.Name, err)
			r.spell(p.Table.Name)
			continue
		case rows.IsLockWait(err):
			r.c.tell(farm.StepWaiting, done.Load(), total.Load(), "%s: rows are locked by others, a smaller chunk is tried", p.Table.Name)
			size = max(1, size/4)
			if err := pause(ctx, 100*time.Millisecond); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		n := done.Add(int64(chunk.Rows))
		r.c.tell(farm.StepProgress, n, max(n, total.Load()), "%s", p.Table.Name)
		size = r.size(p.Table.Name, nextSize(size, chunk, time.Since(begin), r.c.settings().ChunkTime))
		if err := limit.spend(ctx, chunk.Bytes); err != nil {
			return err
		}
	}
	return nil
}

// size is how many rows of a table a chunk gets; a next one is remembered for
// the table's other parts.
func (r *run) size(table string, next int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if next > 0 {
		r.sizes[table] = next
	}
	return cmp.Or(r.sizes[table], firstChunk)
}

// isSpelled reports whether a table's rows go as statements although they could be loaded.
func (r *run) isSpelled(table string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.spelled[table]
}

func (r *run) spell(table string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spelled[table] = true
}

// nextSize lets a chunk take as long as it should.
func nextSize(size int, chunk rows.Chunk, took, want time.Duration) int {
	factor := min(2, max(0.5, float64(want)/float64(max(took, time.Millisecond))))
	next := int(float64(size) * factor)
	if chunk.Rows > 0 {
		next = min(next, max(1, chunkBytes/max(1, chunk.Bytes/chunk.Rows)))
	}
	return max(10, min(largeChunk, next))
}

// copyChunk reads some rows and writes them with the part's mark. The position
// is read before the rows, and nothing younger is applied until they are there.
func (r *run) copyChunk(ctx context.Context, src, dst *rows.Stream, p *rows.Part, size int, load bool) (rows.Chunk, error) {
	at, err := r.from.BinlogPosition(ctx)
	if err != nil {
		return rows.Chunk{}, err
	}
	id, _ := r.hold.place(at)
	defer r.hold.lift(id)
	chunk, err := src.ReadChunk(ctx, p, size, r.tables[p.Table.Name], load)
	if err != nil {
		return chunk, err
	}
	r.c.reached(ctx, stageRead, p.Table.Name)
	isLast := chunk.Rows < size && !chunk.Cut
	err = r.write(ctx, dst, r.c.marks().PartMark(p, chunk.Last, chunk.Rows, isLast), chunk.Cargo(p, r.tables[p.Table.Name]))
	if err != nil {
		return chunk, err
	}
	r.c.reached(ctx, stageWritten, p.Table.Name)
	p.Rows += int64(chunk.Rows)
	p.Done = isLast
	if chunk.Last != nil {
		p.After = chunk.Last
	}
	return chunk, nil
}

func (r *run) write(ctx context.Context, dst *rows.Stream, mark string, cargo rows.Cargo) error {
	damaged, err := dst.Write(ctx, r.c.marks(), r.epoch, mark, cargo)
	if damaged != nil {
		r.c.tell(farm.StepProgress, 0, 0, "rows were written leniently, the comparison will judge them: %v", damaged)
	}
	return err
}
