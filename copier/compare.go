package copier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/farm"
	"stowage/mysql"
)

// Difference is one row, or one definition, that is not the same on both ends.
type Difference struct {
	Table string   `json:"table"`
	Key   string   `json:"key,omitempty"` // as people read it
	Kind  string   `json:"kind"`          // missing, extra, differs, definition
	Row   []string `json:"row,omitempty"` // the key as literals, for Repair
}

func (d Difference) String() string {
	if d.Row == nil {
		return fmt.Sprintf("table %s: %s: %s", d.Table, d.Kind, d.Key)
	}
	return fmt.Sprintf("table %s, key %s: %s", d.Table, d.Key, d.Kind)
}

// Differences are what a comparison has found; none: it was whole and clean.
type Differences []Difference

const (
	sumRows    = 20000            // rows of one checksum
	viewTime   = 60 * time.Second // a view is renewed after so long: it keeps the server from cleaning up
	mostListed = 1000             // differing keys of one table that are listed
	mostTold   = 20
)

// Compare sums every row of every table on both ends, at one position, chunk
// by chunk, while clients write and changes are applied. What is known to be
// equal is kept in the marks: an attempt that was cut short goes on there, and
// a table that is clean is not read again until Repair or Recheck forgets it.
func (c *Copy) Compare(ctx context.Context) (Differences, error) {
	found, err := c.compareShapes(ctx)
	if err != nil || len(found) > 0 {
		return found, err
	}
	here, err := c.standing(ctx, c.From)
	if err != nil {
		return nil, err
	}
	r, err := c.open(ctx, false)
	if err != nil {
		return nil, err
	}
	defer r.close()
	clean, err := c.To.CheckMarks(ctx, c.marks())
	if err != nil {
		return nil, err
	}
	k := &comparison{run: r, clean: clean}
	var done, total int64
	for _, t := range here.tables {
		total += t.Rows
	}
	for _, t := range here.tables {
		if !clean[t.Name].Clean {
			if err := k.table(ctx, t); err != nil {
				return nil, errors.Join(err, k.close())
			}
		}
		done += t.Rows
		c.tell(farm.StepProgress, done, total, "%s compared", t.Name)
	}
	for i, d := range k.found {
		if i < mostTold {
			c.tell(farm.StepProgress, done, total, "%s", d)
		}
	}
	return k.found, k.close()
}

// Recheck forgets what is known to be equal: the next Compare reads all rows.
func (c *Copy) Recheck(ctx context.Context) error { return c.To.ForgetChecks(ctx, c.marks()) }

func (c *Copy) compareShapes(ctx context.Context) (Differences, error) {
	was, err := c.From.Shapes(ctx, c.Schema)
	if err != nil {
		return nil, err
	}
	is, err := c.To.Shapes(ctx, c.Schema)
	if err != nil {
		return nil, err
	}
	var out Differences
	for name, shape := range was {
		if is[name] != shape {
			out = append(out, Difference{Table: name, Kind: "definition", Key: fmt.Sprintf("source %q, target %q", shape, is[name])})
		}
	}
	for name, shape := range is {
		if was[name] == "" {
			out = append(out, Difference{Table: name, Kind: "definition", Key: fmt.Sprintf("source has no such table, target %q", shape)})
		}
	}
	slices.SortFunc(out, func(a, b Difference) int { return strings.Compare(a.Table, b.Table) })
	return out, nil
}

// comparison is one pass: a pair of views at one position, renewed now and then.
type comparison struct {
	run      *run
	clean    map[string]mysql.CheckMark
	src, dst *mysql.View
	until    time.Time
	found    Differences
}

func (k *comparison) close() error {
	var err error
	for _, v := range []*mysql.View{k.src, k.dst} {
		if v != nil {
			err = errors.Join(err, v.Close())
		}
	}
	k.src, k.dst = nil, nil
	return err
}

// views gives both ends at one position: the feed stands still from before the
// source's view is opened until the target's is, and in between applies
// exactly what the source's view shows.
func (k *comparison) views(ctx context.Context) error {
	if k.src != nil && time.Now().Before(k.until) {
		return nil
	}
	if err := k.close(); err != nil {
		return err
	}
	for try := 0; ; try++ {
		ok, err := k.barrier(ctx)
		if err != nil || ok {
			k.until = time.Now().Add(viewTime)
			return err
		}
		if err := errors.Join(k.close(), pause(ctx, 5*time.Millisecond)); err != nil {
			return err
		}
	}
}

// barrier is false when it has to be tried again.
func (k *comparison) barrier(ctx context.Context) (ok bool, err error) {
	view, lift, err := k.run.still(ctx)
	if err != nil || view == nil {
		return false, err
	}
	k.src = view
	k.dst, err = k.run.to.View(ctx, false)
	err = errors.Join(err, lift())
	return err == nil, err
}

func (k *comparison) table(ctx context.Context, t *mysql.CopyTable) error {
	there := k.run.tables[t.Name]
	mark := k.clean[t.Name]
	isClean, listed := true, 0
	for after := mark.After; ; {
		if err := errors.Join(k.run.c.throttle(ctx), k.run.feed.err()); err != nil {
			return err
		}
		if err := k.views(ctx); err != nil {
			return err
		}
		upTo, err := k.src.End(ctx, t, after, sumRows)
		if err != nil {
			return err
		}
		equal, err := k.sums(ctx, t, there, after, upTo)
		if err != nil {
			return err
		}
		if !equal {
			isClean = false
			if err := k.list(ctx, t, there, after, upTo, &listed); err != nil {
				return err
			}
		}
		if isClean {
			if err := k.run.to.SaveCheckMark(ctx, k.run.c.marks(), t.Name, mysql.CheckMark{After: upTo, Clean: upTo == nil}); err != nil {
				return err
			}
		}
		if upTo == nil {
			return nil
		}
		after = upTo
	}
}

// sums asks both ends at the same time.
func (k *comparison) sums(ctx context.Context, here, there *mysql.CopyTable, after, upTo []string) (bool, error) {
	type result struct {
		rows int64
		sum  string
		err  error
	}
	was := make(chan result, 1)
	go func() {
		rows, sum, err := k.src.Sum(ctx, here, after, upTo)
		was <- result{rows, sum, err}
	}()
	rows, sum, err := k.dst.Sum(ctx, there, after, upTo)
	w := <-was
	return w.rows == rows && w.sum == sum, errors.Join(w.err, err)
}

// list names the rows of a range that differ.
func (k *comparison) list(ctx context.Context, here, there *mysql.CopyTable, after, upTo []string, listed *int) error {
	was, err := k.src.Hashes(ctx, here, after, upTo)
	if err != nil {
		return err
	}
	is, err := k.dst.Hashes(ctx, there, after, upTo)
	if err != nil {
		return err
	}
	var found Differences
	for key, row := range was {
		switch other, ok := is[key]; {
		case !ok:
			found = append(found, Difference{here.Name, row.Shown, "missing", row.Key})
		case other.Hash != row.Hash:
			found = append(found, Difference{here.Name, row.Shown, "differs", row.Key})
		}
	}
	for key, row := range is {
		if _, ok := was[key]; !ok {
			found = append(found, Difference{here.Name, row.Shown, "extra", row.Key})
		}
	}
	if len(found) == 0 {
		return k.run.c.fail("compare "+here.Name, errors.New("a checksum differs and no row does"))
	}
	slices.SortFunc(found, func(a, b Difference) int { return strings.Compare(a.Key, b.Key) })
	room := max(0, mostListed-*listed)
	*listed += len(found)
	k.found = append(k.found, found[:min(room, len(found))]...)
	return nil
}

// Repair brings rows that differ to what the source has now, under the rules of
// a chunk, and forgets every comparison: only a whole clean pass counts.
// Definitions it does not repair.
func (c *Copy) Repair(ctx context.Context, found Differences) error {
	byTable := map[string][][]string{}
	for _, d := range found {
		if d.Row == nil {
			return c.refuse("repair", "make the definitions equal by hand, or discard the copy and begin again", "%s", d)
		}
		byTable[d.Table] = append(byTable[d.Table], d.Row)
	}
	if err := c.Recheck(ctx); err != nil {
		return err
	}
	here, err := c.standing(ctx, c.From)
	if err != nil {
		return err
	}
	r, err := c.openCopying(ctx, false)
	if err != nil {
		return err
	}
	defer r.close()
	for _, t := range here.tables {
		for keys := range slices.Chunk(byTable[t.Name], 100) {
			if err := r.repair(ctx, t, keys); err != nil {
				return err
			}
			c.tell(farm.StepProgress, 0, 0, "%s: %d rows repaired", t.Name, len(keys))
		}
	}
	return r.catchUp(ctx)
}

func (r *run) repair(ctx context.Context, t *mysql.CopyTable, keys [][]string) error {
	src, err := r.from.Stream(ctx, r.c.settings().LockWait)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := r.to.Stream(ctx, 10*time.Second)
	if err != nil {
		return err
	}
	defer dst.Close()
	at, err := r.from.BinlogPosition(ctx)
	if err != nil {
		return err
	}
	id, _ := r.hold.place(at)
	defer r.hold.lift(id)
	there := r.tables[t.Name]
	chunk, err := src.ReadKeys(ctx, t, keys, there)
	if err != nil {
		return err
	}
	return r.write(ctx, dst, r.c.marks().MoveMark(nil), chunk.Repair(there, keys))
}
