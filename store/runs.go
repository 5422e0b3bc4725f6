package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"stowage/farm"
	"stowage/internal/nested"
)

// RunState is how far a run has come.
type RunState string

const (
	Running RunState = "running" // or interrupted: see whether its process lives
	Done    RunState = "done"
	Failed  RunState = "failed"
)

// Replay is the kind of a replay that wrote: it has a trail, and no steps that
// could be steered.
const Replay = "replay"

// Run is one act: a move of a whole plan, for example.
type Run struct {
	ID      string // move-first-1
	Kind    string // move
	Subject string // the plan's name
	State   RunState
	Started time.Time
	Ended   time.Time // zero while it runs
	PID     int       // the process that last worked on it
	Result  string    // JSON of the act's result, when it ended
}

// PutRun writes a run, new or known.
func (s *Store) PutRun(r Run) error { return s.fail("keep run "+r.ID, putRun(s.db, r)) }

// BeginRun writes a new run and its first orders, all or nothing: orders of a run that never began would hold for the next of that id.
func (s *Store) BeginRun(r Run, first []Order) error {
	tx, err := s.db.Begin()
	if err != nil {
		return s.fail("begin run "+r.ID, err)
	}
	err = putRun(tx, r)
	for _, o := range first {
		if err == nil {
			err = putOrder(tx, o)
		}
	}
	if err != nil {
		return s.fail("begin run "+r.ID, errors.Join(err, rollback(tx)))
	}
	return s.fail("begin run "+r.ID, tx.Commit())
}

// writer is the database, or a transaction in it.
type writer interface {
	Exec(query string, args ...any) (sql.Result, error)
}

func putRun(to writer, r Run) error {
	ended := ""
	if !r.Ended.IsZero() {
		ended = stamp(r.Ended)
	}
	_, err := to.Exec(`INSERT INTO runs (id, kind, subject, state, started, ended, pid, result) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET state = excluded.state, ended = excluded.ended, pid = excluded.pid, result = excluded.result`,
		r.ID, r.Kind, r.Subject, r.State, stamp(r.Started), ended, r.PID, r.Result)
	return err
}

// Runs are the runs of a kind, or of all ("") kinds, newest first.
func (s *Store) Runs(kind string) ([]Run, error) {
	rows, err := s.db.Query(`SELECT id, kind, subject, state, started, ended, pid, result FROM runs WHERE kind = ? OR ? = '' ORDER BY started DESC, id DESC`, kind, kind)
	if err != nil {
		return nil, s.fail("list runs", err)
	}
	defer rows.Close()
	var out []Run
	for rows.Next() {
		var r Run
		var started, ended string
		if err := rows.Scan(&r.ID, &r.Kind, &r.Subject, &r.State, &started, &ended, &r.PID, &r.Result); err != nil {
			return nil, s.fail("list runs", err)
		}
		r.Started, r.Ended = parse(started), parse(ended)
		out = append(out, r)
	}
	return out, s.fail("list runs", rows.Err())
}

// LatestRun is the newest run of a kind; ErrNone when there is none.
func (s *Store) LatestRun(kind string) (Run, error) {
	runs, err := s.Runs(kind)
	if err == nil && len(runs) == 0 {
		err = s.fail("find a run of "+kind, ErrNone)
	}
	if err != nil {
		return Run{}, err
	}
	return runs[0], nil
}

// Events are the events of a run after the one with id after (0: from the
// first), in order, and the id of the last.
func (s *Store) Events(run string, after int64) ([]farm.Event, int64, error) {
	rows, err := s.db.Query(`SELECT id, body FROM events WHERE run = ? AND id > ? ORDER BY id`, run, after)
	if err != nil {
		return nil, after, s.fail("read events", err)
	}
	defer rows.Close()
	var out []farm.Event
	for rows.Next() {
		var body []byte
		if err := rows.Scan(&after, &body); err != nil {
			return nil, after, s.fail("read events", err)
		}
		var e farm.Event
		if err := nested.Unmarshal(body, &e); err != nil {
			return nil, after, s.fail("read events", err)
		}
		out = append(out, e)
	}
	return out, after, s.fail("read events", rows.Err())
}

// Recorder appends events in batches, so that an act never waits for a disk.
// Events that were not yet written when the process is killed are lost; they
// are history, not state.
type Recorder struct {
	store *Store
	mu    sync.Mutex
	batch []farm.Event
	ended bool
	wake  chan struct{}
	done  chan struct{}
	err   error
}

// Record starts a recorder; Close writes what is left.
func (s *Store) Record() *Recorder {
	r := &Recorder{store: s, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go r.run()
	return r
}

// Add takes an event; it is a farm.Sink.
func (r *Recorder) Add(e farm.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return // a straggler of an act that was given up
	}
	r.batch = append(r.batch, e)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Close writes what is left and returns the first error of all writes. Closing
// again is no harm.
func (r *Recorder) Close() error {
	r.mu.Lock()
	if !r.ended {
		r.ended = true
		close(r.wake)
	}
	r.mu.Unlock()
	<-r.done
	return r.err
}

func (r *Recorder) run() {
	defer close(r.done)
	for range r.wake {
		r.flush()
		time.Sleep(20 * time.Millisecond) // gather
	}
	r.flush()
}

func (r *Recorder) flush() {
	r.mu.Lock()
	batch := r.batch
	r.batch = nil
	r.mu.Unlock()
	if len(batch) == 0 {
		return
	}
	if err := r.store.append(batch); err != nil && r.err == nil {
		r.err = err
	}
}

func (s *Store) append(batch []farm.Event) error {
	tx, err := s.db.Begin()
	if err != nil {
		return s.fail("append events", err)
	}
	for _, e := range batch {
		body, err := json.Marshal(e)
		if err == nil {
			_, err = tx.Exec(`INSERT INTO events (run, body) VALUES (?, ?)`, e.Run, body)
		}
		if err != nil {
			return s.fail("append events", errors.Join(err, rollback(tx)))
		}
	}
	return s.fail("append events", tx.Commit())
}

func rollback(tx *sql.Tx) error { return tx.Rollback() }
