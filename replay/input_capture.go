package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"stowage/capture"
	"stowage/digest"
	"stowage/farm"
)

// capture reads a packet capture.
func (r *reader) capture(name string, in io.Reader) error {
	var failed error
	sum, err := capture.Read(name, stoppable{in, &failed}, capture.Options{MaxQuery: longestSQL}, func(e *capture.Event) {
		if failed == nil {
			failed = r.hand(r.fromCapture(e), stampsStart)
		}
	})
	r.report.Kind = string(sum.Format)
	for _, s := range sum.Skipped {
		r.report.Notes = append(r.report.Notes, fmt.Sprintf("%s: %d", s.Reason, s.Count))
	}
	if sum.TLS > 0 {
		r.report.Notes = append(r.report.Notes, fmt.Sprintf("encrypted connections, which cannot be read: %d", sum.TLS))
	}
	switch {
	case failed != nil:
		return failed
	case err != nil:
		return &farm.Error{Op: "read", Subject: name, Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
	}
	return nil
}

// stoppable ends a reader early once an error stands.
type stoppable struct {
	io.Reader
	failed *error
}

func (s stoppable) Read(p []byte) (int, error) {
	if *s.failed != nil {
		return 0, *s.failed
	}
	return s.Reader.Read(p)
}

// errStop ends the reading: no more is wanted.
var errStop = errors.New("no more is wanted")

func stopped(err error) bool { return errors.Is(err, errStop) }

// fromCapture makes a statement of what went over the wire.
func (r *reader) fromCapture(e *capture.Event) *Statement {
	s := &Statement{
		Statement: digest.Statement{
			Query: bytes.Clone(e.Query), At: e.At, Time: e.Total, Timed: e.Answered && !e.Incomplete, Thread: e.Session,
			User: e.User, Host: e.Client, DB: e.DB, RowsSent: e.RowsSent, RowsAffected: e.RowsAffected, BytesSent: e.BytesSent,
			Error: e.ErrorCode != 0,
		},
		Session: SessionID{Recording: r.recording, Thread: e.Session, Peer: e.Client + " " + e.Server},
		Code:    e.ErrorCode, Warned: e.Warnings, IsCut: e.Truncated, onWire: true,
	}
	if !e.Incomplete {
		s.Tells = Tells{Rows: true, Affected: true, Warnings: true, Errors: true}
	}
	s.Command, s.Reason = Other, e.Command.String()
	switch e.Command {
	case capture.Query:
		s.Command = Say
		// A text of several statements is an event each, with one beginning.
		if e.Statement > 1 {
			s.At = s.At.Add(1)
		}
	case capture.Execute:
		s.Command, s.IsBound = Say, true
		s.values(e)
	case capture.Connect:
		s.Command = Login
	case capture.InitDB:
		s.Command, s.DB = Use, string(e.Query)
	case capture.Quit:
		s.Command = Quit
	case capture.ChangeUser, capture.ResetConnection:
		s.Command = Renew
	}
	if (s.Command == Login || s.Command == Use) && e.ErrorCode != 0 {
		s.Command, s.Reason = Other, e.Command.String()+" that was refused"
	}
	return s
}

// values takes over the values of an execute.
func (s *Statement) values(e *capture.Event) {
	switch {
	case len(e.Query) == 0:
		s.Command, s.Reason = Other, "execute of what was prepared before the capture began"
		return
	}
	for i := range e.Args {
		v := &e.Args[i]
		switch v.Kind {
		case capture.Int:
			s.Values = append(s.Values, v.Int)
		case capture.Uint:
			s.Values = append(s.Values, v.Uint)
		case capture.Float, capture.Double:
			s.Values = append(s.Values, v.Float)
		case capture.Bytes, capture.Time:
			s.Values = append(s.Values, string(v.Bytes))
		default:
			s.Values = append(s.Values, nil)
		}
	}
}
