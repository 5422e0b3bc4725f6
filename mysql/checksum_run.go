package mysql

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// Comparison compares a copy that stands still with a snapshot of its source, at the one position that both show: every
// row of every table, the history rows of versioned tables, sequences, and the definitions of everything.
//
// It can be cut short at any moment and gone on with: Begin takes the progress that Save was last given. A chunk that was
// equal at one barrier is not summed again at the next. That gives up nothing: each chunk has been proven
// equal once after it was copied, and what comes after that, for whichever chunk, is replication's.
type Comparison struct {
	Source *Snapshot
	Copy   *Server
	// Before are the source's sequences, read before the snapshot was taken; nil leaves sequences out.
	Before map[string]Sequence
	// Databases are the ones that count; nil is all.
	Databases []string
	// ChunkRows is how many rows are summed at a time; 0 is the constant of that name.
	ChunkRows int
	// Details names the rows that differ.
	Details bool

	Begin Progress
	// Save keeps a progress, so that it outlives us; called after a chunk, at most every SaveEvery (0: after each), and at the end of Run.
	// Where it takes its time, it is called so much less often that comparing does not wait for it.
	Save      func(Progress) error
	SaveEvery time.Duration
	// Tell says how far it is, after each chunk.
	Tell func(Compared)
}

// Progress is what of a comparison has been found equal.
type Progress struct {
	Tables map[string]string `json:"tables"` // finished ones, each with a fingerprint of its definition
	Table  string            `json:"table"`  // the one in which it is, up to Key
	Shape  string            `json:"shape"`
	Key    Key               `json:"key"`
	Rows   int64             `json:"rows"`
	Chunks int64             `json:"chunks"`
}

// Compared is how far a comparison is.
type Compared struct {
	Done, Of  int // tables
	Table     string
	Rows      int64 // so far, by this and earlier attempts
	PerSecond float64
}

// Verdict is what a comparison came to.
type Verdict struct {
	Mismatches []Mismatch
	Tables     int
	Rows       int64 // on the source, by this and earlier attempts
	Fresh      int64 // of them, by this one
	Took       time.Duration
}

// PerSecond is how many rows were compared in a second.
func (v Verdict) PerSecond() float64 { return float64(v.Fresh) / max(v.Took.Seconds(), 1e-3) }

// Run compares until everything is compared or ctx ends. Differences are in the verdict, and no error.
func (c *Comparison) Run(ctx context.Context) (Verdict, error) {
	r := run{Comparison: c, started: time.Now(), progress: c.Begin}
	if r.ChunkRows == 0 {
		r.ChunkRows = ChunkRows
	}
	if r.progress.Tables == nil {
		r.progress.Tables = map[string]string{}
	}
	err := r.all(ctx)
	r.verdict.Took = time.Since(r.started)
	r.verdict.Rows = r.progress.Rows
	if saveErr := r.save(); err == nil {
		err = saveErr
	}
	return r.verdict, err
}

// run is a comparison on its way.
type run struct {
	*Comparison
	started, saved time.Time
	saving         time.Duration // how long the last Save took
	progress       Progress
	verdict        Verdict
	done, of       int
}

func (r *run) all(ctx context.Context) error {
	tables, err := r.Source.shapes(ctx)
	if err != nil {
		return err
	}
	there, err := tableShapes(ctx, r.Copy.db)
	if err != nil {
		return r.Copy.fail("read tables", err)
	}
	tables, there = r.wanted(tables), r.wanted(there)
	if r.verdict.Mismatches = diffShapes(tables, there); len(r.verdict.Mismatches) > 0 {
		return nil // summing rows of different shapes would only confuse
	}
	if err := r.definitions(ctx); err != nil {
		return err
	}
	r.of = len(tables)
	for _, t := range tables {
		if err := r.table(ctx, t); err != nil {
			return err
		}
		r.done++
	}
	r.verdict.Tables = len(tables)
	return nil
}

// shapes are the tables of the snapshot's moment, or of now.
func (n *Snapshot) shapes(ctx context.Context) ([]shape, error) {
	if n.defined != nil {
		return slices.Clone(n.defined.shapes), nil
	}
	out, err := tableShapes(ctx, n.conn)
	return out, n.server.fail("read tables", err)
}

// objects are the definitions of the snapshot's moment, or of now.
func (n *Snapshot) objects(ctx context.Context, databases []string) (map[string]string, error) {
	if n.defined != nil {
		return n.defined.objects, nil
	}
	out, err := objects(ctx, n.conn, databases)
	return out, n.server.fail("read definitions", err)
}

func (r *run) wanted(tables []shape) []shape {
	if r.Databases == nil {
		return tables
	}
	return slices.DeleteFunc(tables, func(t shape) bool { return !slices.Contains(r.Databases, t.schema) })
}

// definitions compares what is no row.
func (r *run) definitions(ctx context.Context) error {
	was, err := r.Source.objects(ctx, r.Databases)
	if err != nil {
		return err
	}
	is, err := objects(ctx, r.Copy.db, r.Databases)
	if err != nil {
		return r.Copy.fail("read definitions", err)
	}
	r.verdict.Mismatches = append(r.verdict.Mismatches, diffObjects(was, is)...)
	if r.Before == nil {
		return nil
	}
	copied, err := r.Copy.Sequences(ctx)
	if err != nil {
		return err
	}
	now, err := r.Source.server.Sequences(ctx)
	if err != nil {
		return err
	}
	r.verdict.Mismatches = append(r.verdict.Mismatches, diffSequences(r.Before, copied, now, r.Databases)...)
	return nil
}

// table walks the key of one table chunk by chunk. Both ends sum the same ranges of keys, the last one open-ended, so a
// row that exists on one end only falls into some chunk as well. The bounds come from the copy: it has nothing else to do,
// and while both ends sum one chunk it looks for the end of the next.
func (r *run) table(ctx context.Context, t shape) error {
	fingerprint := t.fingerprint()
	if r.progress.Tables[t.String()] == fingerprint {
		r.tell(t)
		return nil
	}
	var from []any
	if r.progress.Table == t.String() && r.progress.Shape == fingerprint {
		from = r.progress.Key
	}
	r.progress.Table, r.progress.Shape, r.progress.Key = t.String(), fingerprint, from
	to, err := r.end(ctx, t, from)
	if err != nil {
		return err
	}
	equal := true
	for {
		was, is, next, err := r.chunk(ctx, t, from, to)
		if err != nil {
			return err
		}
		if was != is {
			equal = false
			if err := r.differ(ctx, t, from, to, was, is); err != nil {
				return err
			}
		}
		r.verdict.Fresh += was.rows
		r.progress.Rows += was.rows
		r.progress.Chunks++
		if equal && to != nil {
			r.progress.Key = to
		}
		if to == nil {
			break
		}
		if err := r.saveNow(); err != nil {
			return err
		}
		r.tell(t)
		from, to = to, next
	}
	r.progress.Table, r.progress.Shape, r.progress.Key = "", "", nil
	if equal {
		r.progress.Tables[t.String()] = fingerprint
	}
	r.tell(t)
	return r.saveNow()
}

// end is the end of the chunk after from, nil for the last.
func (r *run) end(ctx context.Context, t shape, from []any) ([]any, error) {
	to, err := chunkEnd(ctx, r.Copy.db, t, from, r.ChunkRows)
	if err != nil {
		return nil, r.Copy.fail("find chunk of "+t.String(), err)
	}
	if from != nil && keyText(to, "") == keyText(from, "") {
		return nil, nil // a key that does not compare as it is ordered: the rest is one chunk
	}
	return to, nil
}

// chunk sums one chunk on both ends and finds the end of the next, all at once.
func (r *run) chunk(ctx context.Context, t shape, from, to []any) (was, is sum, next []any, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wait sync.WaitGroup
	errs := make([]error, 3)
	at := func(i int, do func() error) {
		wait.Go(func() {
			if errs[i] = do(); errs[i] != nil {
				cancel()
			}
		})
	}
	at(0, func() (err error) {
		was, err = chunkSum(ctx, r.Source.conn, t, from, to)
		return r.Source.server.fail("checksum "+t.String(), err)
	})
	at(1, func() (err error) {
		is, err = chunkSum(ctx, r.Copy.db, t, from, to)
		return r.Copy.fail("checksum "+t.String(), err)
	})
	if to != nil {
		at(2, func() (err error) {
			next, err = r.end(ctx, t, to)
			return err
		})
	}
	wait.Wait()
	for _, e := range errs { // the first that failed by itself, not by being cancelled
		if e != nil && (err == nil || errors.Is(err, context.Canceled)) {
			err = e
		}
	}
	return was, is, next, err
}

// differ notes a chunk that differs.
func (r *run) differ(ctx context.Context, t shape, from, to []any, was, is sum) error {
	m := Mismatch{Table: t.String(), Chunk: chunkName(from, to), Was: was.String(), Is: is.String(), of: t, from: from, to: to}
	if r.Details {
		rows, err := diffRows(ctx, r.Source, r.Copy, t, from, to)
		if err != nil {
			return err
		}
		m.Rows = &rows
	}
	r.verdict.Mismatches = append(r.verdict.Mismatches, m)
	return nil
}

func (r *run) tell(t shape) {
	if r.Tell != nil {
		r.Tell(Compared{Done: r.done, Of: r.of, Table: t.String(), Rows: r.progress.Rows,
			PerSecond: float64(r.verdict.Fresh) / max(time.Since(r.started).Seconds(), 1e-3)})
	}
}

// saveShare is how many times as long as the last Save took the next one waits: a twentieth of the time is spent on it.
const saveShare = 20

func (r *run) saveNow() error {
	if r.SaveEvery > 0 && time.Since(r.saved) < max(r.SaveEvery, saveShare*r.saving) {
		return nil
	}
	return r.save()
}

func (r *run) save() error {
	if r.Save == nil {
		return nil
	}
	begun := time.Now()
	defer func() { r.saved, r.saving = time.Now(), time.Since(begun) }()
	return r.Save(r.progress)
}

// fingerprint changes with the table's columns and key.
func (t shape) fingerprint() string {
	h := md5.Sum([]byte(t.definition + "|" + strings.Join(t.key, ",")))
	return hex.EncodeToString(h[:8])
}
