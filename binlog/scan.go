package binlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// Transaction is one transaction of a file, or a statement that is one by itself, as those that define tables are.
type Transaction struct {
	GTID GTID
	// Begin is the offset of its first byte, End the one behind its last.
	Begin, End int64
	// At is the second at which the statement that committed it began, by the clock of the server that wrote it first; of MySQL, the second at
	// which the server that wrote the file committed it. Seconds of transactions that follow each other may go back.
	At time.Time
	// Definition is where it defines the table that its own rows go to: it is a CREATE TABLE ... SELECT by rows. See Head.DefineAlone.
	Definition Part
}

// Ending is how a file ends.
type Ending string

// The endings. A file without one is in use, or its server has ended without a word.
const (
	Open    Ending = ""
	Rotated Ending = "rotated" // the server went on in another file
	Stopped Ending = "stopped" // the server was shut down
)

// Scanner goes from transaction to transaction.
type Scanner struct {
	feed   *feed
	mysql  bool
	state  State
	ending Ending
	now    Transaction
	err    error
}

// Scan begins behind the head, or at any offset between two transactions: state is what the log had had by there.
func (h Head) Scan(r io.ReaderAt, at int64, state State) *Scanner {
	return &Scanner{feed: newFeed(r, at, h.IsSummed, scanBuffer), mysql: h.IsMySQL, state: state.Clone()}
}

// Next goes to the next transaction. It is false where the file ends, or has a Fault.
func (s *Scanner) Next() bool {
	for s.err == nil {
		e, err := s.feed.next()
		if err != nil {
			s.err = err
			return false
		}
		switch group := s.groupOf(e.kind); {
		case group != nil:
			if s.err = group(e); s.err != nil {
				return false
			}
			s.feed.whole = s.now.End
			s.state.Add(s.now.GTID)
			return true
		case e.kind == kindRotate:
			s.ending = Rotated
		case e.kind == kindStop:
			s.ending = Stopped
		case e.kind == kindMySQLAnonymous && s.mysql:
			s.err = fmt.Errorf("%w: at offset %d is a transaction without a GTID: gtid_mode was not ON", ErrRefused, e.at)
			return false
		case isInside(e.kind):
			s.err = s.feed.fault(e.at, "an event of kind %d between two transactions", e.kind)
			return false
		}
		s.feed.whole = e.end
	}
	return false
}

// groupOf is what reads a transaction that begins with an event of that kind; nil: none does.
func (s *Scanner) groupOf(kind byte) func(event) error {
	switch {
	case kind == kindGTID && !s.mysql:
		return s.group
	case (kind == kindMySQLGTID || kind == kindMySQLTagged) && s.mysql:
		return s.groupMySQL
	}
	return nil
}

// isInside are events that do not stand between two transactions.
func isInside(kind byte) bool {
	switch kind {
	case kindEncryption, kindMySQLGTID, kindMySQLAnonymous, kindMySQLPrevious, kindMySQLTagged, kindFormat, kindXid, kindXAPrepare:
		return true
	}
	return false
}

// Transaction is the one that Next has gone to.
func (s *Scanner) Transaction() Transaction { return s.now }

// Whole is the offset up to which all was read and is right: the end of a transaction, or of an event of the log itself.
func (s *Scanner) Whole() int64 { return s.feed.whole }

// State is what the log has had by Whole.
func (s *Scanner) State() State { return s.state.Clone() }

// Position is State's last GTID of each domain.
func (s *Scanner) Position() string { return s.state.Position() }

// Ending says how the file ends, after Next was false.
func (s *Scanner) Ending() Ending { return s.ending }

// Err is nil when the file ended between two transactions; else a *Fault, or what the reader said.
func (s *Scanner) Err() error {
	if errors.Is(s.err, io.EOF) {
		return nil
	}
	return s.err
}

const (
	gtidFixed   = 8 + 4 + 1 // number, domain, flags
	standalone  = 1         // flag: one statement, and nothing says COMMIT
	defines     = 32        // flag: with a statement that defines something
	completesXA = 128       // flag: XA COMMIT or XA ROLLBACK, which is one statement, too
)

// group reads on to the end of a transaction.
func (s *Scanner) group(first event) error {
	if first.length < gtidFixed {
		return s.feed.fault(first.at, "a GTID of %d bytes", first.length)
	}
	t := Transaction{
		GTID:  GTID{Domain: binary.LittleEndian.Uint32(first.front[8:]), Server: first.server, Seq: binary.LittleEndian.Uint64(first.front)},
		Begin: first.at,
	}
	when, flags := first.when, first.front[12]
	for {
		e, err := s.feed.next()
		switch {
		case errors.Is(err, io.EOF):
			return s.feed.cut(t.Begin, "transaction "+t.GTID.String()+" without its end")
		case err != nil:
			return err
		case outside(e.kind):
			return s.feed.fault(t.Begin, "transaction %s without its end, and an event of kind %d at %d,", t.GTID, e.kind, e.at)
		case e.kind == kindXid, e.kind == kindXAPrepare,
			flags&(standalone|completesXA) != 0 && (e.kind == kindQuery || e.kind == kindQueryCompressed || e.kind == kindExecuteLoad),
			e.kind == kindQuery && ends(e):
			t.End, t.At = e.end, time.Unix(int64(max(when, e.when)), 0).UTC()
			s.now = t
			return nil
		case flags&defines != 0 && (e.kind == kindQuery || e.kind == kindQueryCompressed):
			t.Definition = Part{e.at, e.end}
		}
	}
}

// outside are events that no transaction has.
func outside(kind byte) bool {
	switch kind {
	case kindGTID, kindGTIDList, kindRotate, kindStop, kindFormat, kindEncryption, kindMySQLGTID, kindMySQLAnonymous, kindMySQLPrevious, kindMySQLTagged:
		return true
	}
	return false
}

// ends reports whether a query is COMMIT or ROLLBACK: the fixed part, the variables, the database with a zero behind it, the text.
func ends(e event) bool {
	const fixed = 4 + 4 + 1 + 2 + 2
	if e.length < fixed {
		return false
	}
	text := e.length - fixed - int64(binary.LittleEndian.Uint16(e.front[11:])) - int64(e.front[8]) - 1
	for _, word := range []string{"COMMIT", "ROLLBACK"} {
		if n := len(word); text == int64(n) && string(e.back[len(e.back)-n:]) == word {
			return true
		}
	}
	return false
}
