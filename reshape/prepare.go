package reshape

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/latest"
	"stowage/reshape/spec"
	"stowage/store"
)

// columns gives every server the columns that are carried, and the flags.
func (w *work) columns(ctx context.Context) error {
	return w.eachShard(ctx, func(server *mysql.Server, shard farm.ShardName, shape latest.Shape, t spec.Tables) error {
		for _, statement := range shape.AddColumns(t) {
			err := w.define(ctx, server, shard, statement+", ALGORITHM=INSTANT")
			if code := mysql.CodeOf(err); code == 1845 || code == 1846 {
				return &farm.Error{Op: "add columns", Subject: fmt.Sprintf("%s on %s", shard, server.Name()), Err: fmt.Errorf("%w: the server would have to rebuild the table: %w", farm.ErrRefused, err),
					Hint: "add the columns with stowage alter, then begin again: " + statement + ";"}
			}
			if err != nil {
				return err
			}
			w.say("%s has the columns on %s", shard, server.Name())
		}
		return nil
	})
}

// columnsBack drops what was not there before, and not yet read by anybody.
func (w *work) columnsBack(ctx context.Context) error {
	was, err := w.before()
	if err != nil {
		return err
	}
	return w.eachShard(ctx, func(server *mysql.Server, shard farm.ShardName, shape latest.Shape, t spec.Tables) error {
		if column, last := shape.AreLast(was[shard], t); !last {
			return &farm.Error{Op: "drop columns", Subject: fmt.Sprintf("%s on %s", shard, server.Name()), Err: fmt.Errorf("%w: column %s was added after them; replication would then write into the wrong column", farm.ErrRefused, column),
				Hint: "leave the columns; no query reads them: stowage resume continues"}
		}
		for _, statement := range shape.DropColumns(was[shard], t) {
			if err := w.define(ctx, server, shard, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// keep makes what keeps the columns current: triggers, or the table in which an applier says how far it is.
func (w *work) keep(ctx context.Context) error {
	err := w.eachShard(ctx, func(_ *mysql.Server, shard farm.ShardName, shape latest.Shape, _ spec.Tables) error {
		return w.keepMeaning(shard, shape)
	})
	if err != nil {
		return err
	}
	switch w.wave.Spec.Keep {
	case spec.Application:
		return nil
	case spec.Applier:
		return w.eachShard(ctx, func(server *mysql.Server, shard farm.ShardName, _ latest.Shape, _ spec.Tables) error {
			return w.define(ctx, server, shard, latest.CreateLeases)
		})
	}
	return w.eachShard(ctx, func(server *mysql.Server, shard farm.ShardName, shape latest.Shape, t spec.Tables) error {
		there, err := latest.ThereTriggers(ctx, server, shard)
		if err != nil {
			return err
		}
		flavor, err := server.Flavor(ctx)
		if err != nil {
			return err
		}
		for _, tr := range shape.Triggers(t) {
			if there[tr.Name] == tr.Body {
				continue
			}
			create := tr.Create
			if _, has := there[tr.Name]; has && replaces(flavor) { // of another version: no write may come between
				create = tr.Replace()
			} else if has { // no tenant is active: otherSpec
				if err := w.define(ctx, server, shard, "DROP TRIGGER "+mysql.Ident(tr.Name)); err != nil {
					return err
				}
			}
			if err := w.define(ctx, server, shard, create); err != nil {
				return err
			}
		}
		w.say("%s keeps its columns current on %s", shard, server.Name())
		return nil
	})
}

// replaces reports whether a server replaces a trigger in one statement: MariaDB does.
func replaces(f mysql.Flavor) bool { return f.HasGTIDDomains() }

// keepers are what kept the columns of a shard on a server before a run began: triggers, or the table of leases, which all specs share.
type keepers struct {
	Triggers []string `json:"triggers"` // their names
	Leases   bool     `json:"leases"`
}

const keepersDocument = "keepers before reshape"

func (w *work) keepersKey(server *mysql.Server, shard farm.ShardName) string {
	return w.key() + " " + string(server.Name()) + " " + string(shard)
}

// noteKeepers keeps what is there before anything is changed: whoever gives the run up leaves it.
func (w *work) noteKeepers(ctx context.Context) error {
	return w.eachShard(ctx, func(server *mysql.Server, shard farm.ShardName, shape latest.Shape, _ spec.Tables) error {
		there, err := latest.ThereTriggers(ctx, server, shard)
		if err != nil {
			return err
		}
		_, leases, err := shape.Leases(ctx, server, shard)
		if err != nil {
			return err
		}
		return w.act.Store.PutDocument(keepersDocument, w.keepersKey(server, shard), time.Now(), keepers{slices.Sorted(maps.Keys(there)), leases})
	})
}

// keepBack drops the triggers and the leases that the run has made, unless tenants of an earlier wave rest on them.
func (w *work) keepBack(ctx context.Context) error {
	return w.eachShard(ctx, func(server *mysql.Server, shard farm.ShardName, shape latest.Shape, t spec.Tables) error {
		rests, err := w.isReadByOthers(ctx, server, shard, shape, t)
		if err != nil || rests {
			return err
		}
		var was keepers // none of a run that an older version has begun
		if _, err := w.act.Store.LatestDocument(keepersDocument, w.keepersKey(server, shard), &was); err != nil && !errors.Is(err, store.ErrNone) {
			return err
		}
		there, err := latest.ThereTriggers(ctx, server, shard)
		if err != nil {
			return err
		}
		for _, tr := range shape.Triggers(t) {
			if _, has := there[tr.Name]; has && !slices.Contains(was.Triggers, tr.Name) {
				if err := w.define(ctx, server, shard, "DROP TRIGGER "+mysql.Ident(tr.Name)); err != nil {
					return err
				}
			}
		}
		if w.wave.Spec.Keep != spec.Applier || was.Leases {
			return nil
		}
		return w.define(ctx, server, shard, latest.DropLeases)
	})
}

// isReadByOthers reports whether a tenant of the shard is migrated: its rows must stay current.
func (w *work) isReadByOthers(ctx context.Context, server *mysql.Server, shard farm.ShardName, shape latest.Shape, t spec.Tables) (bool, error) {
	flags, err := shape.Flags(ctx, server, shard, t[shape.Tenant.Table])
	for _, f := range flags {
		if f.Migrated || f.Active {
			return true, err
		}
	}
	return false, err
}

// index builds the indexes of the spec, while clients write.
func (w *work) index(ctx context.Context) error {
	return w.eachShard(ctx, func(server *mysql.Server, shard farm.ShardName, shape latest.Shape, t spec.Tables) error {
		statement := shape.AddIndexes(t)
		if statement == "" {
			return nil
		}
		if err := w.define(ctx, server, shard, statement+", LOCK=NONE"); err != nil {
			return err
		}
		w.say("%s has its indexes on %s", shard, server.Name())
		return nil
	})
}
