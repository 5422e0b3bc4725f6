package digest

import (
	"io"
	"time"
)

// Statement is one event as a log or a capture tells it, with its values. What a source does not tell is zero. Query
// belongs to the reader and is valid until the function it was given to returns.
type Statement struct {
	Query []byte
	At    time.Time     // of a log, as it tells: of the beginning or the end, often in whole seconds; of a capture, of the first byte; zero: not known
	Time  time.Duration // how long it took, where Timed
	Timed bool

	Thread         uint64 // the connection
	User, Host, DB string
	LockTime       time.Duration
	RowsSent       uint64
	RowsExamined   uint64
	RowsAffected   uint64
	BytesSent      uint64
	Error, Killed  bool
	FullScan       bool
	FullJoin       bool
	TmpTable       bool
	TmpDisk        bool // a temporary table on disk
	Admin          bool // not a statement: Quit, Init DB and the like; in a capture also Prepare and Close
	Cut            bool // Query is not the statement, or not all of it: cut off by the capture, or prepared before it
}

// Statements reads a capture of any kind, as Builder.Read does, and calls visit for each event in the order in which the
// source has them, which is about that of their ends. Of the options, Since, Until and Filter count. An error of visit
// ends the reading and is returned as it is. What was skipped stands in the inputs returned; there are several where a
// file holds more than one.
func Statements(name string, r io.Reader, o Options, visit func(*Statement) error) ([]Input, error) {
	o.Workers = 1
	b := New(o)
	var failed error
	var out Statement
	b.sink = func(e *event) {
		if failed != nil {
			return
		}
		out.set(e)
		failed = visit(&out)
	}
	stop := stoppable{r, &failed}
	err := b.Read(name, stop)
	if failed != nil {
		err = failed
	}
	return b.d.Report().Inputs, err
}

// set fills a statement from an event of a parser.
func (s *Statement) set(e *event) {
	*s = Statement{
		Query: e.text, Timed: e.timed, Time: time.Duration(e.queryTime.saturated()),
		Thread: e.thread, User: string(e.user.text), Host: string(e.host.text), DB: string(e.db.text),
		LockTime: time.Duration(e.lockTime), RowsSent: e.rowsSent, RowsExamined: e.rowsExamined, RowsAffected: e.rowsAffected,
		BytesSent: e.bytesSent,
		Error:     e.flags>>flagError&1 != 0, Killed: e.flags>>flagKilled&1 != 0,
		FullScan: e.flags>>flagFullScan&1 != 0, FullJoin: e.flags>>flagFullJoin&1 != 0,
		TmpTable: e.flags>>flagTmpTable&1 != 0, TmpDisk: e.flags>>flagTmpDisk&1 != 0, Admin: e.flags>>flagAdmin&1 != 0, Cut: e.flags>>flagCut&1 != 0,
	}
	switch {
	case e.began != 0:
		s.At = time.UnixMicro(e.began).UTC()
	case e.at != 0:
		s.At = time.UnixMicro(e.at).UTC()
	}
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
