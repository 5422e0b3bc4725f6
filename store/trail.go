package store

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"stowage/farm"
	"stowage/internal/nested"
)

// Deed is one line of the audit trail: who did what, when, where and why.
type Deed struct {
	ID      int64             `json:"id"` // grows with time, also across processes
	Time    time.Time         `json:"time"`
	Run     string            `json:"run"`
	Kind    string            `json:"kind"` // statement, or the verb of a person
	Who     string            `json:"who"`
	Why     string            `json:"why,omitempty"`
	Pair    farm.PairName     `json:"pair,omitempty"`
	Side    farm.SideName     `json:"side,omitempty"`
	Part    string            `json:"part,omitempty"`
	Step    string            `json:"step,omitempty"`
	Undo    bool              `json:"undo,omitempty"`
	Server  farm.InstanceName `json:"server,omitempty"`
	Address string            `json:"address,omitempty"`
	Text    string            `json:"text"`            // the statement, without secrets
	Count   int64             `json:"count,omitempty"` // so many of the same shape, since the line before
	Error   string            `json:"error,omitempty"`
}

// Bounds of the trail: the files hold four times maxTrailFile, the store
// maxDeeds of the newest lines. A move of one side sends some sixty statements.
const (
	maxTrailFile = 16 << 20
	trailFiles   = 4
	maxDeeds     = 500_000
)

// Trail writes deeds as JSON lines, each before what it tells of is done. It is
// safe for several goroutines; processes may add to one file.
type Trail struct {
	store *Store
	path  string

	mu    sync.Mutex
	file  *os.File
	size  int64
	last  int64
	err   error
	rows  map[Deed]*rows // statements that write rows, by everything but their number
	flush time.Time
}

// rows are statements of one shape that were not told one by one.
type rows struct{ count int64 }

// gather is for how long statements of one shape are counted before the next
// line about them.
const gather = 10 * time.Second

// trailPath is where the lines are, beside the store.
func (s *Store) trailPath() string { return filepath.Join(filepath.Dir(s.path), "audit.jsonl") }

// OpenTrail opens the trail for adding to it.
func (s *Store) OpenTrail() (*Trail, error) {
	t := &Trail{store: s, path: s.trailPath(), rows: map[Deed]*rows{}, flush: time.Now()}
	if err := s.TakeTrail(); err != nil {
		return nil, err
	}
	return t, t.open()
}

func (t *Trail) open() error {
	f, err := os.OpenFile(t.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return &farm.Error{Op: "open audit trail", Subject: t.path, Err: err}
	}
	about, err := f.Stat()
	if err != nil {
		f.Close()
		return &farm.Error{Op: "open audit trail", Subject: t.path, Err: err}
	}
	t.file, t.size = f, about.Size()
	return nil
}

// Add writes a line, at once. An act does not fail because its trail cannot be
// written: the first error is what Close returns.
func (t *Trail) Add(d Deed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(d)
}

// AddRows is Add for statements that write rows: the first of a shape is
// written at once, later ones are counted.
func (t *Trail) AddRows(d Deed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := d
	key.Time, key.ID = time.Time{}, 0
	if r := t.rows[key]; r != nil {
		r.count++
	} else {
		t.rows[key] = &rows{}
		t.add(d)
	}
	if time.Since(t.flush) > gather {
		t.flushRows()
	}
}

func (t *Trail) flushRows() {
	t.flush = time.Now()
	for d, r := range t.rows {
		if r.count > 0 {
			d.Count = r.count
			t.add(d)
		}
	}
	clear(t.rows)
}

func (t *Trail) add(d Deed) {
	if d.Time.IsZero() {
		d.Time = time.Now()
	}
	d.Time = d.Time.UTC()
	t.last = max(t.last+1, d.Time.UnixNano())
	d.ID = t.last
	line, err := json.Marshal(d)
	if err == nil && t.file == nil {
		err = fs.ErrClosed
	}
	if err == nil {
		var n int
		n, err = t.file.Write(append(line, '\n'))
		t.size += int64(n)
	}
	if err == nil && t.size > maxTrailFile {
		err = t.rotate()
	}
	if err != nil && t.err == nil {
		t.err = &farm.Error{Op: "write audit trail", Subject: t.path, Err: err}
	}
}

// rotate begins a new file, after the store has what is in the old ones.
func (t *Trail) rotate() error {
	if err := t.store.TakeTrail(); err != nil {
		return err
	}
	if err := t.file.Close(); err != nil {
		return err
	}
	t.file = nil
	for n := trailFiles - 1; n > 0; n-- {
		err := os.Rename(rotated(t.path, n-1), rotated(t.path, n))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return t.open()
}

func rotated(path string, n int) string {
	if n == 0 {
		return path
	}
	return fmt.Sprintf("%s.%d", path, n)
}

// Close writes what was counted, puts everything into the store and returns the
// first error there was.
func (t *Trail) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flushRows()
	err := t.err
	if t.file != nil {
		err = errors.Join(err, t.file.Close())
		t.file = nil
	}
	return errors.Join(err, t.store.TakeTrail())
}

// TakeTrail takes lines of the file into the store that it does not have yet: a
// process that was killed has written its lines and no more.
func (s *Store) TakeTrail() error {
	var last int64
	if err := s.db.QueryRow(`SELECT COALESCE(MAX(id), 0) FROM audit`).Scan(&last); err != nil {
		return s.fail("read audit trail", err)
	}
	for n := trailFiles - 1; n >= 0; n-- {
		if err := s.takeTrailFile(rotated(s.trailPath(), n), last); err != nil {
			return s.fail("take audit trail", err)
		}
	}
	_, err := s.db.Exec(`DELETE FROM audit WHERE id <= (SELECT id FROM audit ORDER BY id DESC LIMIT 1 OFFSET ?)`, maxDeeds)
	return s.fail("bound audit trail", err)
}

func (s *Store) takeTrailFile(path string, last int64) error {
	about, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && about.ModTime().UnixNano() < last-int64(time.Minute) {
		return nil // all of it is older than what the store has
	}
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var d Deed
		if nested.Unmarshal(lines.Bytes(), &d) != nil {
			continue // a line that a killed process, or a full disk, cut short
		}
		if d.ID <= last-int64(time.Minute) {
			continue // two processes may write at the same time, so a little is looked at twice
		}
		if _, err := tx.Exec(`INSERT OR IGNORE INTO audit (id, run, body) VALUES (?, ?, ?)`, d.ID, d.Run, lines.Text()); err != nil {
			return errors.Join(err, rollback(tx))
		}
	}
	if err := lines.Err(); err != nil {
		return errors.Join(err, rollback(tx))
	}
	return tx.Commit()
}

// Deeds are the lines about a run, or about all, in order.
func (s *Store) Deeds(run string) ([]Deed, error) {
	rows, err := s.db.Query(`SELECT body FROM audit WHERE ? = '' OR run = ? ORDER BY id`, run, run)
	if err != nil {
		return nil, s.fail("read audit trail", err)
	}
	defer rows.Close()
	var out []Deed
	for rows.Next() {
		var body []byte
		var d Deed
		err := rows.Scan(&body)
		if err == nil {
			err = nested.Unmarshal(body, &d)
		}
		if err != nil {
			return nil, s.fail("read audit trail", err)
		}
		out = append(out, d)
	}
	return out, s.fail("read audit trail", rows.Err())
}
