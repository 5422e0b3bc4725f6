package copier

import (
	"context"
	"sync"

	"stowage/farm"
	"stowage/mysql/rows"
)

// Finish builds the secondary indexes and makes views, routines and events,
// the latter DISABLED, whatever of it is missing. Triggers come behind the
// fence: until then they would act on changes that hold their effect. Changes
// are not applied while indexes are built, and caught up afterwards.
func (c *Copy) Finish(ctx context.Context) error {
	if err := c.oneWay(ctx); err != nil {
		return err
	}
	if _, err := rows.TakeOver(ctx, c.To, c.marks()); err != nil {
		return err
	}
	if err := c.addIndexes(ctx); err != nil {
		return err
	}
	objects, err := rows.CopyObjects(ctx, c.From, c.Schema)
	if err != nil {
		return err
	}
	if err := rows.CreateObjects(ctx, c.To, c.Schema, objects); err != nil {
		return err
	}
	r, err := c.open(ctx, false)
	if err != nil {
		return err
	}
	defer r.close()
	return r.catchUp(ctx)
}

func (c *Copy) addIndexes(ctx context.Context) error {
	here, err := c.standing(ctx, c.From)
	if err != nil {
		return err
	}
	all := here.tables
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	work := make(chan *rows.CopyTable, len(here.tables))
	for _, t := range here.tables {
		work <- t
	}
	close(work)
	var builders sync.WaitGroup
	for range min(c.settings().Streams, 2) { // an index is built by sorting: more would fight for the disk
		builders.Add(1)
		go func() {
			defer builders.Done()
			for t := range work {
				if err := c.addIndexesOf(ctx, t, all); err != nil {
					stop(err)
					return
				}
			}
		}()
	}
	builders.Wait()
	return context.Cause(ctx)
}

func (c *Copy) addIndexesOf(ctx context.Context, t *rows.CopyTable, all []*rows.CopyTable) error {
	text, err := rows.CreateText(ctx, c.From, t)
	if err != nil {
		return err
	}
	text, _ = c.untied(text, all)
	_, indexes := rows.SplitIndexes(text)
	if len(indexes) == 0 {
		return nil
	}
	c.tell(farm.StepProgress, 0, 0, "%s: indexes", t.Name)
	return rows.AddIndexes(ctx, c.To, t.Aside(false).In(c.at(c.To)), indexes)
}
