package feed

import (
	"errors"
	"fmt"

	"stowage/farm"
	"stowage/mysql"
)

// ErrDefinition: a definition was changed, or rows were written in a way that
// the binary log does not show by rows. The reader stays before it.
var ErrDefinition = errors.New("the database was changed in a way that its rows do not show")

// Stopped is an ErrDefinition: which transaction, and what it did.
type Stopped struct {
	Trx  mysql.Trx
	What string
}

func (e *Stopped) Error() string { return ErrDefinition.Error() + ": " + e.What }

// Unwrap: it is refused, and why.
func (e *Stopped) Unwrap() []error { return []error{farm.ErrRefused, ErrDefinition} }

func (r *Reader) stop(format string, args ...any) error {
	return &Stopped{r.trx.id, fmt.Sprintf(format, args...)}
}

// statement judges a statement in the log by what it means for the tables that are read.
func (r *Reader) statement(c mysql.Change) error {
	switch mysql.Understand(r.source.Schema, c.Schema, c.Text, r.source.Tables...) {
	case mysql.Definition:
		return r.stop("another client ran: %s", short(c.Text))
	case mysql.Writing:
		return r.stop("a client writes by statements (binlog_format), not by rows: %s", short(c.Text))
	case mysql.TwoPhase:
		if r.trx.touched {
			return r.stop("an XA transaction wrote to the database: its rows are in the binary log before it is decided")
		}
		r.trx.isXA = true
	case mysql.PartUndone:
		if r.trx.touched {
			return r.stop("part of a transaction was rolled back, but it had changed a table that cannot roll back: %s", short(c.Text))
		}
	}
	return nil
}

func short(text string) string {
	if r := []rune(text); len(r) > 200 {
		return string(r[:200]) + " ..."
	}
	return text
}
