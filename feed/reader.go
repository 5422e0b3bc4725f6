package feed

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"stowage/mysql"
)

// PieceRows is how many rows of a transaction are held in memory, and PieceBytes after how many bytes of the log no more
// are taken. A larger one comes in pieces.
const (
	PieceRows  = 20000
	PieceBytes = 16 << 20
)

// Source says where changes are read, and which.
type Source struct {
	// Servers are those to read from, the best first: both sides of a pair. They are asked for at the beginning and again
	// after each loss. One that has purged the position is passed over. The reader closes none of them.
	Servers  func(context.Context) ([]*mysql.Server, error)
	ServerID uint32 // nobody else's in the farm
	Schema   string
	Tables   []string // only these; nil: all
	// Tries is how often a lost server is asked for again, about a second apart, before the position has moved or a connection has held for a minute: 0 is 20, below 0 is for ever.
	Tries int
	// Tell hears of a loss that is being mended. May be nil.
	Tell func(text string)
}

// Piece is a transaction, or a part of a large one.
type Piece struct {
	Trx     mysql.Trx
	At      mysql.Position // with Last: everything up to this transaction. Not to be changed
	Seconds uint32         // when it was committed, in seconds since 1970, by the server's clock
	Changes []mysql.Change // inserts, updates and deletes, in order
	First   bool           // its first piece. It comes again when the server was lost in between
	Last    bool
	// IsRolledBack, with Last: the transaction ended in a rollback. The pieces before this one do not count, and this one has no changes.
	IsRolledBack bool
}

// Reader hands out what was written behind a position. It is not safe for
// several goroutines.
type Reader struct {
	source  Source
	server  *mysql.Server
	log     *mysql.BinlogReader
	at      mysql.Position // the end of the last transaction that was handed out whole
	trx     transaction
	tries   int              // to begin again, since the position moved or a connection held
	begun   time.Time        // when the connection was made
	refused map[string]error // by address: servers that do not have the position
}

// transaction is the one that is being read.
type transaction struct {
	id      mysql.Trx
	seconds uint32
	changes []mysql.Change
	rows    int  // in changes
	bytes   int  // of changes, in the log
	isOwn   bool // the copier's, in the other direction
	isXA    bool
	isBegun bool // a piece of it was handed out
	touched bool // it has changed something that is read
}

// Open begins to read behind a position. The first connection is not tried twice.
func Open(ctx context.Context, s Source, at mysql.Position) (*Reader, error) {
	r := &Reader{source: s, at: maps.Clone(at), refused: map[string]error{}}
	if err := r.connect(ctx); err != nil {
		return nil, r.judge(ctx, err)
	}
	return r, nil
}

// Close ends the reader.
func (r *Reader) Close() {
	if r.log != nil {
		r.log.Close()
	}
}

// At is the end of the last transaction that was handed out whole.
func (r *Reader) At() mysql.Position { return r.at }

// Next is the next piece. It waits for one until wait has passed; ok is false
// then. Only the mending of a lost connection takes longer.
//
// The error is a Stopped when rows do not show what was done, a Purged when no
// server has the position any more.
func (r *Reader) Next(ctx context.Context, wait time.Duration) (p Piece, ok bool, err error) {
	end := time.Now().Add(wait)
	for {
		c, ok, err := r.log.Next(ctx, max(time.Until(end), 0))
		var odd *mysql.Unreadable
		if errors.As(err, &odd) {
			r.trx.id = odd.Trx
			return Piece{}, false, r.stop("%s", short(odd.What))
		}
		if err != nil {
			if err := r.mend(ctx, err); err != nil {
				return Piece{}, false, err
			}
			continue
		}
		if !ok {
			return Piece{}, false, nil
		}
		if p, ok, err := r.take(c); ok || err != nil {
			return p, ok, err
		}
	}
}

// take adds one thing out of the log to the transaction, and hands out what is
// ready.
func (r *Reader) take(c mysql.Change) (Piece, bool, error) {
	switch c.Kind {
	case mysql.Begin:
		r.trx = transaction{id: c.Trx, seconds: c.Seconds}
		return Piece{}, false, nil
	case mysql.Insert, mysql.Update, mysql.Delete:
		return r.rows(c)
	case mysql.Statement:
		return Piece{}, false, r.statement(c)
	case mysql.Rollback:
		r.trx.changes = nil
	}
	r.at, r.tries = r.at.With(r.trx.id), 0
	clear(r.refused)
	p := r.piece()
	p.At, p.Last, p.IsRolledBack = r.at, true, c.Kind == mysql.Rollback
	return p, true, nil
}

func (r *Reader) piece() Piece {
	p := Piece{Trx: r.trx.id, Seconds: r.trx.seconds, Changes: r.trx.changes, First: !r.trx.isBegun}
	r.trx.isBegun, r.trx.changes, r.trx.rows, r.trx.bytes = true, nil, 0, 0
	return p
}

func (r *Reader) rows(c mysql.Change) (Piece, bool, error) {
	if c.Schema != r.source.Schema || r.trx.isOwn {
		return Piece{}, false, nil
	}
	if mysql.IsMark(c.Table) {
		r.trx.isOwn = true // the mark is the first row of every transaction of the copier's
		return Piece{}, false, nil
	}
	if !r.reads(c.Table) {
		return Piece{}, false, nil
	}
	if r.trx.isXA {
		return Piece{}, false, r.stop("an XA transaction wrote to table %s: its rows are in the binary log before it is decided", c.Table)
	}
	r.trx.touched = true
	r.trx.changes = append(r.trx.changes, c)
	r.trx.rows += len(c.Rows)
	r.trx.bytes += c.Bytes
	if r.trx.rows < PieceRows && r.trx.bytes < PieceBytes {
		return Piece{}, false, nil
	}
	return r.piece(), true, nil
}

// reads reports whether a table is among those that are read, by the name that clients know.
func (r *Reader) reads(table string) bool {
	return r.source.Tables == nil || slices.Contains(r.source.Tables, strings.TrimPrefix(table, mysql.AsidePrefix))
}
