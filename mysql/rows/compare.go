package rows

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"stowage/mysql"
)

// Comparison compares the rows of a copy with those of its source, at one position that both show: every row of every
// table, the history rows of versioned tables too. Compare says what it compares besides.
//
// It can be cut short at any moment and continued: Begin takes the progress that Save was last given. A chunk that was
// equal at one barrier is not summed again at the next. That gives up nothing: each chunk has been proven
// equal once after it was copied, and what comes after that, for whichever chunk, is replication's.
type Comparison struct {
	// Ends gives a view of each end, at one position. It is asked before each chunk, and may give others than the last time.
	Ends func(context.Context) (source, copied *View, err error)
	Copy *mysql.Server
	// ChunkRows is how many rows are summed at a time; 0 is the constant of that name.
	ChunkRows int
	// List is how many of the rows that differ are listed, of each table; 0 finds out none.
	List int

	// LeftOut are keys and constraints that may differ, by their kind and full name: "index d.t.k".
	LeftOut []string

	Begin Progress
	// Save keeps a progress, so that it outlives us; called after a chunk, at most every SaveEvery (0: after each), and at the end.
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
	Key    []string          `json:"key"` // literals
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

// Compare compares all that a snapshot's server holds, or some of its databases, with a copy that stands still at its
// position: definitions, sequences, and, where those are equal, rows. It looks until everything is compared or ctx ends. Differences
// are in the verdict, and no error.
func (c Comparison) Compare(ctx context.Context, source *View, databases []string) (Verdict, error) {
	was, err := source.definitions(ctx, databases)
	if err != nil {
		return Verdict{}, err
	}
	is, err := definitionsOf(ctx, mysql.Through(c.Copy), databases)
	if err != nil {
		return Verdict{}, err
	}
	found := slices.DeleteFunc(was.diff(is), func(m Mismatch) bool { return m.Chunk == "definition" && slices.Contains(c.LeftOut, m.Table) })
	if len(found) > 0 && found[0].Chunk == "columns" {
		return Verdict{Mismatches: found}, nil // summing rows of different shapes would only confuse
	}
	if source.defined != nil {
		moved, err := source.sequences(ctx, c.Copy, databases)
		if err != nil {
			return Verdict{}, err
		}
		found = append(found, moved...)
	}
	copied, err := OpenView(ctx, c.Copy, false)
	if err != nil {
		return Verdict{}, err
	}
	c.Ends = func(context.Context) (*View, *View, error) { return source, copied, nil }
	verdict, err := c.Rows(ctx, pairs(was, is))
	verdict.Mismatches = append(found, verdict.Mismatches...)
	return verdict, errors.Join(err, copied.Close())
}

// TablePair is one table on both ends.
type TablePair struct{ was, is *CopyTable }

func pairs(was, is definitions) []TablePair {
	copies := map[string]*CopyTable{}
	for _, t := range is.tables {
		copies[t.String()] = t
	}
	out := make([]TablePair, len(was.tables))
	for i, t := range was.tables {
		out[i] = TablePair{t, copies[t.String()]}
	}
	return out
}

// Rows compares the rows of tables whose definitions are equal.
func (c Comparison) Rows(ctx context.Context, tables []TablePair) (Verdict, error) {
	if c.ChunkRows == 0 {
		c.ChunkRows = ChunkRows
	}
	r := run{Comparison: c, started: time.Now(), progress: c.Begin, of: len(tables)}
	if r.progress.Tables == nil {
		r.progress.Tables = map[string]string{}
	}
	var err error
	if r.bounds, err = OpenView(ctx, c.Copy, false); err != nil {
		return r.verdict, err
	}
	for _, t := range tables {
		if err = r.table(ctx, t); err != nil {
			break
		}
		r.done++
	}
	if err == nil {
		r.verdict.Tables = len(tables)
	}
	r.verdict.Took = time.Since(r.started)
	r.verdict.Rows = r.progress.Rows
	if saveErr := r.save(); err == nil {
		err = saveErr
	}
	return r.verdict, errors.Join(err, r.bounds.Close())
}

// run is a comparison on its way.
type run struct {
	Comparison
	bounds         *View // of the copy: where chunks end is read beside the sums
	started, saved time.Time
	saving         time.Duration // how long the last Save took
	progress       Progress
	verdict        Verdict
	done, of       int
}

// definitions are those of the view's moment, or of now.
func (v *View) definitions(ctx context.Context, databases []string) (definitions, error) {
	if v.defined != nil {
		return v.defined.definitions, nil
	}
	return definitionsOf(ctx, v.server, databases)
}

// sequences compares those of a copy that is at the view's moment.
func (v *View) sequences(ctx context.Context, copied *mysql.Server, databases []string) ([]Mismatch, error) {
	is, err := Sequences(ctx, copied)
	if err != nil {
		return nil, err
	}
	now, err := Sequences(ctx, v.server.Server)
	return diffSequences(v.defined.sequences, is, now, databases), err
}

// tableDefinitions are a database's tables, without the copier's own, and what belongs to them.
func tableDefinitions(ctx context.Context, s mysql.Door, schema string) (definitions, error) {
	d, err := definitionsOf(ctx, s, []string{schema}, tableKinds...)
	d.tables = slices.DeleteFunc(d.tables, func(t *CopyTable) bool { return mysql.IsMark(t.Name) })
	maps.DeleteFunc(d.objects, func(name, _ string) bool {
		_, table, _ := strings.Cut(name, " "+schema+".")
		return mysql.IsMark(table)
	})
	return d, err
}

// table walks the key of one table chunk by chunk. Both ends sum the same ranges of keys, the last one open-ended, so a
// row that exists on one end only falls into some chunk as well. The bounds come from the copy: it has the least else to do,
// and while both ends sum one chunk it looks for the end of the next.
func (r *run) table(ctx context.Context, pair TablePair) error {
	t := pair.was
	fingerprint := t.fingerprint()
	if r.progress.Tables[t.String()] == fingerprint {
		r.tell(t)
		return nil
	}
	var from []string
	if r.progress.Table == t.String() && r.progress.Shape == fingerprint {
		from = r.progress.Key
	}
	r.progress.Table, r.progress.Shape, r.progress.Key = t.String(), fingerprint, from
	to, err := r.end(ctx, pair.is, from)
	if err != nil {
		return err
	}
	equal, room := true, r.List
	for {
		source, copied, err := r.Ends(ctx)
		if err != nil {
			return err
		}
		was, is, next, err := r.chunk(ctx, source, copied, pair, from, to)
		if err != nil {
			return err
		}
		if was != is {
			equal = false
			m := Mismatch{Table: t.String(), Chunk: chunkName(from, to), Was: was.String(), Is: is.String(), of: t, from: from, to: to}
			if r.List > 0 {
				rows, err := diffRows(ctx, source, copied, pair, from, to, room)
				if err != nil {
					return err
				}
				room -= len(rows.First)
				m.Rows = &rows
			}
			r.verdict.Mismatches = append(r.verdict.Mismatches, m)
		}
		r.verdict.Fresh += was.Rows
		r.progress.Rows += was.Rows
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
func (r *run) end(ctx context.Context, t *CopyTable, from []string) ([]string, error) {
	to, err := r.bounds.End(ctx, t, from, nil, r.ChunkRows)
	if err != nil || slices.Equal(to, from) {
		return nil, err // equal: a key that does not compare as it is ordered, so the rest is one chunk
	}
	return to, nil
}

// chunk sums one chunk on both ends and finds the end of the next, all at once.
func (r *run) chunk(ctx context.Context, source, copied *View, t TablePair, from, to []string) (was, is Sum, next []string, err error) {
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
	at(0, func() (err error) { was, err = source.Sum(ctx, t.was, from, to); return err })
	at(1, func() (err error) { is, err = copied.Sum(ctx, t.is, from, to); return err })
	if to != nil {
		at(2, func() (err error) { next, err = r.end(ctx, t.is, to); return err })
	}
	wait.Wait()
	for _, e := range errs { // the first that failed by itself, not by being cancelled
		if e != nil && (err == nil || errors.Is(err, context.Canceled)) {
			err = e
		}
	}
	return was, is, next, err
}

func (r *run) tell(t *CopyTable) {
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
func (t *CopyTable) fingerprint() string {
	h := md5.Sum([]byte(t.definition + "|" + t.keyColumns()))
	return hex.EncodeToString(h[:8])
}
