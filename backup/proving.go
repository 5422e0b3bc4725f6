package backup

import (
	"context"
	"fmt"
	"slices"
	"time"

	"stowage/backup/kept"
	"stowage/compare"
	"stowage/farm"
	"stowage/fresh"
	"stowage/host"
	"stowage/mysql/rows"
)

// check makes sure that what was restored is what was asked for, and stays as it is.
func (r *restoring) check(ctx context.Context) error {
	if err := fresh.Check(ctx, r.server, r.order.Instance, r.order.ServerID); err != nil {
		return err
	}
	closed, err := r.server.IsReadOnly(ctx)
	if err != nil {
		return err
	}
	if !closed {
		return r.refuse("check", fmt.Errorf("it takes writes: someone set read_only to OFF"), "find who; then restore again")
	}
	if err := r.server.CheckTables(ctx, sampled, func(text string) { r.Report(farm.Event{Kind: farm.StepProgress, Text: text}) }); err != nil {
		return err
	}
	at := "at the end of the copy"
	if r.memory.GTID != "" {
		at = "GTID position " + r.memory.GTID
	}
	r.Report(farm.Event{Kind: farm.StepProgress, Text: fmt.Sprintf("%s serves at %s, read-only, as of %s, %s", r.order.Instance.Name, r.order.Instance.Dial(), r.memory.At.Local().Format(time.DateTime), at)})
	return keepRestored(r)
}

// sampled is how many tables are read whole by CHECK TABLE: the largest.
const sampled = 20

func (r *restoring) refuse(op string, err error, hint string) error {
	return &farm.Error{Op: op, Subject: string(r.order.Instance.Name), Err: fmt.Errorf("%w: %w", farm.ErrRefused, err), Hint: hint}
}

// compare lets the restored instance follow the live server to a barrier, at which every row of both is summed.
func (r *restoring) compare(ctx context.Context) error {
	if err := r.follow(ctx); err != nil {
		return err
	}
	v := compare.Verification{
		Source: r.live, Copied: r.server, Patience: r.act.Patience, Databases: databasesOf(r.order.last()),
		Keep: func(context.Context, rows.Progress) error { return nil }, // a throw-away server is compared from the beginning
		Tell: func(text string) { r.Report(farm.Event{Kind: farm.StepProgress, Text: text}) },
	}
	verdict, err := v.Run(ctx)
	if err != nil {
		return err
	}
	differ, err := r.withoutMemory(ctx, verdict.Mismatches)
	if err != nil {
		return err
	}
	r.memory.Rows, r.memory.Differ = verdict.Rows, len(differ)
	if len(differ) > 0 {
		if err := keepRestored(r); err != nil {
			return err
		}
		return r.refuse("compare", fmt.Errorf("%s", compare.Differences(r.live, differ)),
			"the backup differs from the live server: take a full backup now, and find what was written there with sql_log_bin=0")
	}
	return nil
}

// withoutMemory leaves out the rows of MEMORY tables: no backup has them.
func (r *restoring) withoutMemory(ctx context.Context, found []rows.Mismatch) ([]rows.Mismatch, error) {
	if len(found) == 0 {
		return nil, nil
	}
	tables, err := r.server.MemoryTables(ctx)
	if err != nil {
		return nil, err
	}
	left := slices.DeleteFunc(slices.Clone(found), func(m rows.Mismatch) bool { return m.OfRows() && slices.Contains(tables, m.Table) })
	if n := len(found) - len(left); n > 0 {
		r.Report(farm.Event{Kind: farm.StepProgress, Text: fmt.Sprintf("%s differ in MEMORY tables; backups do not have the rows of these", farm.Counted(n, "chunk"))})
	}
	return left, nil
}

// follow is join, until it has caught up.
func (r *restoring) follow(ctx context.Context) error {
	if err := r.join(ctx); err != nil {
		return err
	}
	goal, err := r.live.BinlogPosition(ctx)
	if err != nil {
		return err
	}
	return r.server.WaitFor(ctx, goal, r.act.Patience)
}

// join makes the restored instance a replica of the live server, from where it stands.
func (r *restoring) join(ctx context.Context) error {
	now, err := r.server.Replication(ctx)
	if err != nil {
		return err
	}
	if !now.Follows(r.live.Address()) {
		at, err := r.server.BinlogPosition(ctx)
		if err != nil {
			return err
		}
		if err := r.server.Adopt(ctx, at); err != nil { // what was replayed was not replicated
			return err
		}
	}
	as, err := r.act.Replication.LinkedAs(ctx, r.live)
	if err != nil {
		return err
	}
	return r.server.Follow(ctx, r.live.Address(), as, 30*time.Second)
}

// record says that the backup was proven, and takes the restored instance away.
func (r *restoring) record(ctx context.Context) error {
	err := r.Phase(ctx, "proven", func(context.Context) error {
		r.Report(farm.Event{Kind: farm.StepProgress, Text: fmt.Sprintf("%s is proven: %s equal to %s", r.order.last().ID, farm.Counted(r.memory.Rows, "row"), r.order.LiveName)})
		return r.keepProof()
	})
	if err != nil {
		return err
	}
	return r.takenAway(ctx)
}

// keepProof writes down what was restored, and that all backups of its chain were good for it.
func (r *restoring) keepProof() error {
	if err := keepRestored(r); err != nil {
		return err
	}
	now := time.Now().UTC()
	for _, b := range r.order.Chain {
		if err := kept.Proven(r.act.Store, b.ID, now); err != nil {
			return err
		}
	}
	return nil
}

// takenAway stops the throw-away server and removes it.
func (r *restoring) takenAway(ctx context.Context) error {
	if err := r.Phase(ctx, "stop", r.stop); err != nil {
		return err
	}
	return r.Phase(ctx, "remove", r.remove)
}

// Restored is what came of a restore. It is kept in the store, under the name of its run and instance.
type Restored struct {
	Instance farm.InstanceName `json:"instance"`
	Backup   string            `json:"backup"`
	Address  string            `json:"address"`
	At       time.Time         `json:"at"`
	GTID     string            `json:"gtid"`
	Bytes    int64             `json:"bytes"`
	Rows     int64             `json:"rows_compared"`
	Differ   int               `json:"differences"`

	// On, Place and Owner say where it is, and the mark that its directory bears.
	On    farm.HostName `json:"host"`
	Place host.Instance `json:"place"`
	Owner string        `json:"owner"`

	// What was taken out of it and is in a pair, at Address, and what of it was left out; the instance is gone then. Empty: nothing.
	// Side, of Pair, is what it serves as. Empty: it serves nobody.
	Side farm.SideName `json:"side,omitempty"`

	Shard    string        `json:"shard,omitempty"`
	Tables   []string      `json:"tables,omitempty"`
	Pair     farm.PairName `json:"pair,omitempty"`
	Database string        `json:"database,omitempty"`
	LeftOut  []string      `json:"left_out,omitempty"`
}

// restoredDocument is their kind in the store.
const restoredDocument = "restored"

func keepRestored(r *restoring) error {
	m, i := r.memory, r.order.Instance
	out := Restored{Instance: i.Name, Backup: r.order.last().ID, Address: i.Dial(), At: m.At, GTID: m.GTID, Bytes: m.Bytes, Rows: m.Rows, Differ: m.Differ,
		On: r.order.On, Place: i, Owner: r.owner()}
	if x := r.order.Extract; x != nil {
		out.Shard, out.Tables, out.Pair, out.Database, out.LeftOut, out.Address = x.Schema, x.Tables, x.Pair, x.As, m.Left, x.Ends[0].Address
	}
	if x := r.order.Side; x != nil {
		out.Pair, out.Side = x.Pair, x.Side
	}
	return r.act.Store.PutDocument(restoredDocument, r.Run+" "+string(i.Name), time.Now(), out)
}
