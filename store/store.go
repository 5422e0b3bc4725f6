package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"time"

	"modernc.org/sqlite"

	"stowage/farm"
	"stowage/internal/nested"
)

// Store is one SQLite file. It is safe for several goroutines and processes.
type Store struct {
	db   *sql.DB
	path string
}

// schema is applied at every open; each statement is safe to run again.
var schema = []string{
	`CREATE TABLE IF NOT EXISTS runs (
		id TEXT PRIMARY KEY, kind TEXT NOT NULL, subject TEXT NOT NULL,
		state TEXT NOT NULL, started TEXT NOT NULL, ended TEXT NOT NULL DEFAULT '',
		pid INTEGER NOT NULL DEFAULT 0, result TEXT NOT NULL DEFAULT '')`,
	`CREATE TABLE IF NOT EXISTS events (id INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL, body TEXT NOT NULL)`,
	`CREATE INDEX IF NOT EXISTS events_by_run ON events (run, id)`,
	`CREATE TABLE IF NOT EXISTS documents (id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, name TEXT NOT NULL,
		made TEXT NOT NULL, body BLOB NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL, at TEXT NOT NULL, who TEXT NOT NULL,
		pid INTEGER NOT NULL, verb TEXT NOT NULL, part TEXT NOT NULL, what TEXT NOT NULL, why TEXT NOT NULL)`,
	`CREATE INDEX IF NOT EXISTS orders_by_run ON orders (run, id)`,
	`CREATE TABLE IF NOT EXISTS audit (id INTEGER PRIMARY KEY, run TEXT NOT NULL, body TEXT NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS lanes (job TEXT NOT NULL, lane TEXT NOT NULL, result TEXT NOT NULL DEFAULT '', PRIMARY KEY (job, lane))`,
	`CREATE INDEX IF NOT EXISTS documents_by_name ON documents (kind, name, id)`,
}

// Open opens or makes the store at path.
func Open(path string) (*Store, error) {
	if err := makePrivate(path); err != nil {
		return nil, &farm.Error{Op: "open store", Subject: path, Err: err}
	}
	dsn := "file:" + url.PathEscape(path) + "?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_pragma=synchronous(normal)"
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, &farm.Error{Op: "open store", Subject: path, Err: err}
	}
	db.SetMaxOpenConns(1) // SQLite has one writer; a queue here beats busy errors there
	for _, st := range slices.Concat(schema, seriesSchema, gaugeSchema) {
		if err := patiently(func() error { _, err := db.Exec(st); return err }); err != nil {
			db.Close()
			return nil, &farm.Error{Op: "open store", Subject: path, Err: err,
				Hint: "if the file is damaged and no run is under way, move it away: then it holds history only"}
		}
	}
	return &Store{db: db, path: path}, nil
}

// patiently does what a program that opens or closes the same file may make
// SQLite refuse at once: the busy timeout does not hold for the change to a write-ahead log.
func patiently(do func() error) error {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		err := do()
		var coded *sqlite.Error
		if !errors.As(err, &coded) || coded.Code()&0xff != busy || time.Now().After(end) {
			return err
		}
	}
}

const busy = 5 // SQLITE_BUSY

// makePrivate makes the file for its owner only: SQLite would let in whoever the umask does.
func makePrivate(path string) error {
	if path == ":memory:" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// Close closes the file.
func (s *Store) Close() error { return s.db.Close() }

func (s *Store) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &farm.Error{Op: op, Subject: s.path, Err: err}
}

// ErrNone: there is no such run or document.
var ErrNone = errors.New("none found")

// Document is one kept result.
type Document struct {
	ID   int64
	Kind string // inventory, digest, load, ...
	Name string
	Made time.Time
	Body []byte
}

// PutDocument keeps a value as JSON.
func (s *Store) PutDocument(kind, name string, made time.Time, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return s.fail("keep "+kind, err)
	}
	_, err = s.db.Exec(`INSERT INTO documents (kind, name, made, body) VALUES (?, ?, ?, ?)`, kind, name, stamp(made), body)
	return s.fail("keep "+kind, err)
}

// ReplaceDocument keeps a value as JSON in the place of all that were kept under its kind and name.
func (s *Store) ReplaceDocument(kind, name string, made time.Time, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return s.fail("keep "+kind, err)
	}
	tx, err := s.db.Begin()
	if err != nil {
		return s.fail("keep "+kind, err)
	}
	w := seriesWriter{tx: tx}
	if err := w.documents([]Document{{Kind: kind, Name: name, Made: made, Body: body}}); err != nil {
		return s.fail("keep "+kind, errors.Join(err, tx.Rollback()))
	}
	return s.fail("keep "+kind, tx.Commit())
}

// LatestDocument decodes the newest document of a kind and name into value;
// ErrNone when there is none. An empty name means any.
func (s *Store) LatestDocument(kind, name string, value any) (Document, error) {
	var d Document
	var made string
	where, args := "kind = ?", []any{kind}
	if name != "" { // one text for both would not go by the index on names: 7 ms each of 10,000 documents of a kind
		where, args = "kind = ? AND name = ?", []any{kind, name}
	}
	err := s.db.QueryRow(`SELECT id, kind, name, made, body FROM documents WHERE `+where+` ORDER BY id DESC LIMIT 1`, args...).Scan(&d.ID, &d.Kind, &d.Name, &made, &d.Body)
	if errors.Is(err, sql.ErrNoRows) {
		return d, s.fail("find "+kind+" "+name, ErrNone)
	}
	if err != nil {
		return d, s.fail("find "+kind, err)
	}
	d.Made = parse(made)
	if err := nested.Unmarshal(d.Body, value); err != nil {
		return d, s.fail(fmt.Sprintf("read %s %s", kind, d.Name), err)
	}
	return d, nil
}

// FirstDocument decodes the oldest document of a kind into value; ErrNone when
// there is none.
func (s *Store) FirstDocument(kind string, value any) (Document, error) {
	d := Document{Kind: kind}
	var made string
	err := s.db.QueryRow(`SELECT id, name, made, body FROM documents WHERE kind = ? ORDER BY id LIMIT 1`, kind).Scan(&d.ID, &d.Name, &made, &d.Body)
	if errors.Is(err, sql.ErrNoRows) {
		return d, s.fail("find "+kind, ErrNone)
	}
	if err != nil {
		return d, s.fail("find "+kind, err)
	}
	d.Made = parse(made)
	if err := nested.Unmarshal(d.Body, value); err != nil {
		return d, s.fail(fmt.Sprintf("read %s %s", kind, d.Name), err)
	}
	return d, nil
}

// Documents are the documents of a kind, oldest first, without their bodies.
func (s *Store) Documents(kind string) ([]Document, error) {
	rows, err := s.db.Query(`SELECT id, kind, name, made FROM documents WHERE kind = ? ORDER BY id`, kind)
	if err != nil {
		return nil, s.fail("list "+kind, err)
	}
	defer rows.Close()
	var out []Document
	for rows.Next() {
		var d Document
		var made string
		if err := rows.Scan(&d.ID, &d.Kind, &d.Name, &made); err != nil {
			return nil, s.fail("list "+kind, err)
		}
		d.Made = parse(made)
		out = append(out, d)
	}
	return out, s.fail("list "+kind, rows.Err())
}

// DocumentByID decodes one document into value.
func (s *Store) DocumentByID(id int64, value any) error {
	var body []byte
	err := s.db.QueryRow(`SELECT body FROM documents WHERE id = ?`, id).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNone
	}
	if err == nil {
		err = nested.Unmarshal(body, value)
	}
	return s.fail(fmt.Sprintf("read document %d", id), err)
}

// stamp is a time whose text sorts as the time does: RFC 3339 with all nine
// digits, because "12:00:00Z" sorts behind "12:00:00.5Z".
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000000Z") }

func parse(text string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, text)
	return t
}
