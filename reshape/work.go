package reshape

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"stowage/act"
	"stowage/engine"
	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/latest"
	"stowage/reshape/spec"
	"stowage/store"
)

// work is one pair: what the steps act on.
type work struct {
	act.Task
	act   *Act
	order order
	wave  wave
	pair  *farm.Pair
	// servers are all of the pair, those that take no writes of a pair with one writer first.
	servers []*mysql.Server
}

func (a *Act) work(c engine.Call, step act.Step, beat func(string)) (*work, error) {
	w := &work{act: a}
	var err error
	if w.Task, err = a.Conductor.Task(c, step, beat, &w.order, nil); err != nil {
		return nil, err
	}
	w.About = farm.Event{Pair: w.order.Pair}
	if _, err := a.Store.LatestDocument(waveDocument, w.order.Key, &w.wave); err != nil && !errors.Is(err, store.ErrNone) {
		return nil, err
	}
	now, err := a.Workspace.Farm()
	if err != nil {
		return nil, err
	}
	var ok bool
	if w.pair, ok = now.Pair(w.order.Pair); !ok {
		return nil, fmt.Errorf("%w: farm.yaml has no pair %s", farm.ErrInput, w.order.Pair)
	}
	for _, side := range slices.Backward(w.pair.SideNames()) { // A takes the writes of a pair with one writer
		w.servers = append(w.servers, a.Server(w.pair.Instance(side), now.Address(w.pair.Sides[side])))
	}
	return w, nil
}

// Remember implements act.Work.
func (*work) Remember() json.RawMessage { return nil }

// Close implements act.Work.
func (w *work) Close() {
	for _, s := range w.servers {
		s.Close()
	}
}

func (w *work) say(format string, args ...any) {
	w.Report(farm.Event{Kind: farm.StepProgress, Text: fmt.Sprintf(format, args...)})
}

func (w *work) shards() []farm.ShardName {
	var out []farm.ShardName
	for _, s := range w.wave.Shards[w.pair.Name] {
		out = append(out, farm.ShardName(s))
	}
	return out
}

func (w *work) members() []Member { return w.wave.Members[w.pair.Name] }

// tables are those of a shard on a server, with the spec completed by them.
func (w *work) tables(ctx context.Context, server *mysql.Server, shard farm.ShardName) (latest.Shape, spec.Tables, error) {
	return tablesOf(ctx, server, w.wave.Spec, shard)
}

func tablesOf(ctx context.Context, server *mysql.Server, sp spec.Spec, shard farm.ShardName) (latest.Shape, spec.Tables, error) {
	t, err := latest.Tables(ctx, server, shard, sp.Names())
	return latest.Shape{Spec: sp.Complete(t)}, t, err
}

// before are the tables of the pair's shards as they were when the run began.
type before map[farm.ShardName]spec.Tables

const beforeDocument = "before reshape"

func (w *work) key() string { return w.order.Key + "/" + string(w.order.Pair) }

func (w *work) before() (b before, err error) {
	_, err = w.act.Store.LatestDocument(beforeDocument, w.key(), &b)
	return b, err
}

func (w *work) preflight(ctx context.Context) error {
	if err := act.MayGoOn(ctx, w); err != nil {
		return err
	}
	if _, err := w.before(); err == nil || !errors.Is(err, store.ErrNone) {
		return err // a run that was cut short has kept it
	}
	was := before{}
	for _, shard := range w.shards() {
		_, t, err := w.tables(ctx, w.servers[0], shard)
		if err != nil {
			return err
		}
		was[shard] = t
	}
	if err := w.noteKeepers(ctx); err != nil {
		return err
	}
	return w.act.Store.PutDocument(beforeDocument, w.key(), time.Now(), was)
}

// eachShard calls do for each shard on each server, the one that takes writes last.
func (w *work) eachShard(ctx context.Context, do func(*mysql.Server, farm.ShardName, latest.Shape, spec.Tables) error) error {
	for _, server := range w.servers {
		if err := server.AwaitAlter(ctx, w.mark(), func(text string) { w.say("%s", text) }); err != nil {
			return err
		}
		for _, shard := range w.shards() {
			shape, t, err := w.tables(ctx, server, shard)
			if err != nil {
				return err
			}
			if err := do(server, shard, shape, t); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *work) mark() string { return "reshape " + w.order.Key }

// lockWait is how long a change of a definition waits for a table: everybody behind it waits as long.
const lockWait = time.Second

// define carries out a change of definitions, outside of the binary log. One that clients keep waiting gives up and comes again.
func (w *work) define(ctx context.Context, server *mysql.Server, shard farm.ShardName, statement string) error {
	for told := (time.Time{}); ; {
		err := server.Alter(ctx, mysql.Altering{Database: string(shard), Statement: statement, LockWait: lockWait, Mark: w.mark(), Tell: func(text string) { w.say("%s on %s: %s", shard, server.Name(), text) }})
		if !mysql.IsLockTimeout(err) {
			return err
		}
		if time.Since(told) > 5*time.Second {
			told = time.Now()
			w.Report(farm.Event{Kind: farm.StepWaiting, Text: fmt.Sprintf("a table of %s on %s is in use by a transaction; tried again each second", shard, server.Name())})
		}
		if !pause(ctx, time.Second) {
			return ctx.Err()
		}
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
