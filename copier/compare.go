package copier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/farm"
	"stowage/mysql/rows"
)

// Difference is one row, or one definition, that is not the same on both ends.
type Difference struct {
	Table string   `json:"table"`
	Key   string   `json:"key,omitempty"` // as people read it
	Kind  string   `json:"kind"`          // "is missing", "should not be there", "differs", "definition"
	Row   []string `json:"row,omitempty"` // the key as literals, for Repair
}

func (d Difference) String() string {
	if d.Row == nil {
		return fmt.Sprintf("table %s: %s: %s", d.Table, d.Kind, d.Key)
	}
	return fmt.Sprintf("table %s, key %s %s", d.Table, d.Key, d.Kind)
}

// Differences are what a comparison has found; none: it was whole and clean.
type Differences []Difference

const (
	sumRows    = 20000            // rows of one checksum: a throttle is asked before each
	viewTime   = 60 * time.Second // a view is renewed after so long: it keeps the server from cleaning up
	mostListed = 1000             // differing keys of one table that are listed
	mostTold   = 20
	checkEvery = 250 * time.Millisecond // how old the mark of what is equal gets
)

// Compare compares every row of every table on both ends, at one position, while clients write and changes are applied
// (rows.Comparison). What is known to be equal is kept in the marks: an attempt that was cut short goes on there, and
// a table that is clean is not read again until Repair or Recheck forgets it.
func (c *Copy) Compare(ctx context.Context) (Differences, error) {
	tables, differ, err := rows.CompareExtract(ctx, c.From, c.To, c.extract())
	if err != nil || len(differ) > 0 {
		return differences(differ), err
	}
	r, err := c.open(ctx, false)
	if err != nil {
		return nil, err
	}
	defer r.close()
	begin, err := rows.CheckMark(ctx, c.To, c.marks())
	if err != nil {
		return nil, err
	}
	k, told := &views{run: r}, time.Time{}
	verdict, err := rows.Comparison{
		Ends: k.ends, Copy: c.To, ChunkRows: sumRows, List: mostListed, Begin: begin, SaveEvery: checkEvery,
		// Not with a context that has ended: what was found equal is worth keeping then too.
		Save: func(p rows.Progress) error {
			return rows.SaveCheckMark(context.WithoutCancel(ctx), c.To, c.marks(), r.epoch, p)
		},
		Tell: func(s rows.Compared) {
			if time.Since(told) > time.Second {
				told = time.Now()
				c.tell(farm.StepProgress, 0, 0, "comparing rows, table %d of %d, %s, %.0f rows/s", s.Done+1, s.Of, farm.Counted(s.Rows, "row"), s.PerSecond)
			}
		},
	}.Rows(ctx, tables)
	if err = errors.Join(err, k.close()); err != nil {
		return nil, err
	}
	found := differences(verdict.Mismatches)
	for _, d := range found[:min(mostTold, len(found))] {
		c.tell(farm.StepProgress, 0, 0, "%s", d)
	}
	return found, nil
}

func differences(of []rows.Mismatch) Differences {
	var out Differences
	for _, m := range of {
		if m.Rows == nil {
			out = append(out, Difference{Table: m.Table, Kind: "definition", Key: fmt.Sprintf("source %q, target %q", m.Was, m.Is)})
			continue
		}
		_, name, _ := strings.Cut(m.Table, ".")
		if m.Rows.Missing+m.Rows.Extra+m.Rows.Changed == 0 {
			out = append(out, Difference{Table: name, Kind: "a checksum differs and no row does", Key: m.Chunk})
		}
		for _, row := range m.Rows.First {
			out = append(out, Difference{name, rows.ShowKey(row.Key), row.What, row.Key})
		}
	}
	return out
}

// Recheck forgets what is known to be equal: the next Compare reads all rows.
func (c *Copy) Recheck(ctx context.Context) error { return rows.ForgetChecks(ctx, c.To, c.marks()) }

// views are both ends at one position, renewed now and then.
type views struct {
	run      *run
	src, dst *rows.View
	until    time.Time
}

func (k *views) close() error {
	var err error
	for _, v := range []*rows.View{k.src, k.dst} {
		if v != nil {
			err = errors.Join(err, v.Close())
		}
	}
	k.src, k.dst = nil, nil
	return err
}

// ends gives both ends at one position: the feed stands still from before the
// source's view is opened until the target's is, and in between applies
// exactly what the source's view shows.
func (k *views) ends(ctx context.Context) (source, copied *rows.View, err error) {
	if err := errors.Join(k.run.c.throttle(ctx), k.run.feed.err()); err != nil {
		return nil, nil, err
	}
	for k.src == nil || !time.Now().Before(k.until) {
		if err := k.close(); err != nil {
			return nil, nil, err
		}
		ok, err := k.barrier(ctx)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			k.until = time.Now().Add(viewTime)
			break
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return nil, nil, err
		}
	}
	return k.src, k.dst, nil
}

// barrier is false when it has to be tried again.
func (k *views) barrier(ctx context.Context) (ok bool, err error) {
	view, lift, err := k.run.still(ctx)
	if err != nil || view == nil {
		return false, err
	}
	k.src = view
	k.dst, err = rows.OpenView(ctx, k.run.to, true)
	err = errors.Join(err, lift())
	return err == nil, err
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
			c.tell(farm.StepProgress, 0, 0, "%s: %s repaired", t.Name, farm.Counted(len(keys), "row"))
		}
	}
	return r.catchUp(ctx)
}

func (r *run) repair(ctx context.Context, t *rows.CopyTable, keys [][]string) error {
	src, err := rows.OpenStream(ctx, r.from, r.c.settings().LockWait)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := rows.OpenStream(ctx, r.to, 10*time.Second)
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
