package replay

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"stowage/capture"
	"stowage/digest"
	"stowage/farm"
)

// Input is one file of a recording.
type Input struct {
	Name string
	Open func() (io.ReadCloser, error)
}

const (
	sniffSize  = 64 << 10
	maxNested  = 3       // of compression; a bomb goes deeper
	longestSQL = 8 << 20 // longer statements come cut from package digest
)

// InputReport is what was read of one input.
type InputReport struct {
	Name       string   `json:"name"`
	Kind       string   `json:"kind"` // slow or general log with its server, or capture
	Statements uint64   `json:"statements"`
	Left       uint64   `json:"left_out"`   // by since, until and filter
	Incomplete bool     `json:"incomplete"` // compressed, and cut or damaged: what follows is missing
	Notes      []string `json:"notes,omitempty"`
}

// stamps is what the times in a log mean.
type stamps byte

const (
	stampsEnd   stamps = iota // of the end of the statement
	stampsStart               // of its beginning, in whole seconds
)

// reader reads inputs one after the other.
type reader struct {
	recording int
	matches   *digest.Builder
	hasFilter bool
	visit     func(*Statement, stamps) error
	report    InputReport
}

// read reads one input to its end and calls visit for each statement, in the
// order in which the source has them: about that of their ends.
func (r *reader) read(in Input) (InputReport, error) {
	r.report = InputReport{Name: in.Name}
	file, err := in.Open()
	if err != nil {
		return r.report, &farm.Error{Op: "read", Subject: in.Name, Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
	}
	defer file.Close()
	err = r.unpack(in.Name, bufio.NewReaderSize(file, sniffSize), 0)
	return r.report, err
}

func (r *reader) unpack(name string, in *bufio.Reader, nested int) error {
	head, err := in.Peek(sniffSize)
	if err != nil && !errors.Is(err, io.EOF) && len(head) == 0 {
		return &farm.Error{Op: "read", Subject: name, Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
	}
	u, err := digest.Unpack(in)
	switch {
	case err != nil:
		return &farm.Error{Op: "read", Subject: name, Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
	case u != nil:
		defer u.Close()
	case capture.IsCapture(head):
		return r.capture(name, in)
	case len(head) == 0:
		r.report.Kind = "empty"
		return nil
	default:
		return r.log(name, in, head)
	}
	if nested >= maxNested {
		return &farm.Error{Op: "read", Subject: name, Err: fmt.Errorf("%w: compressed more than %d times", farm.ErrInput, maxNested)}
	}
	err = r.unpack(name, bufio.NewReaderSize(u, sniffSize), nested+1)
	if why := u.Incomplete(); why != "" {
		r.report.Incomplete = true
		r.report.Notes = append(r.report.Notes, why)
	}
	return err
}

// log reads a slow or general log.
func (r *reader) log(name string, in io.Reader, head []byte) error {
	// MariaDB stamps events with the second in which the statement began, all
	// others with that in which it ended (tried with 10.11: a SLEEP(1.5) that
	// began at 17.3 s has 17). Only MariaDB writes QC_hit in these letters.
	at := stampsEnd
	if bytes.Contains(head, []byte("QC_hit: ")) {
		at = stampsStart
	}
	// Last_errno comes with every event or with none.
	tellsErrors := bytes.Contains(head, []byte("Last_errno: ")) || bytes.Contains(head, []byte(" Errno: "))
	tellsAffected := bytes.Contains(head, []byte("Rows_affected: "))
	tells := Tells{Rows: true, Affected: tellsAffected, Errors: tellsErrors}

	// The last statement waits until we know whether the file ends inside it.
	var last *Statement
	// Under the lexer's rules a general log's Execute is the statement it runs.
	inputs, err := digest.Statements(name, in, digest.Options{Rules: digest.RulesLexer, MaxStatement: longestSQL}, func(s *digest.Statement) error {
		before := last
		last = r.fromLog(s, tells)
		return r.hand(before, at)
	})
	for _, i := range inputs {
		r.report.Kind = strings.TrimSpace(i.Type + " " + i.Dialect)
		for _, n := range append(i.Skipped, i.Notes...) {
			r.report.Notes = append(r.report.Notes, fmt.Sprintf("%s: %d", n.Reason, n.Count))
			if last != nil && strings.Contains(n.Reason, "cut off by the end of the file") {
				last.IsCut = true
			}
		}
	}
	if handed := r.hand(last, at); err == nil {
		return handed
	}
	if stopped(err) {
		return err
	}
	return &farm.Error{Op: "read", Subject: name, Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
}

// hand passes a statement on, unless it is left out.
func (r *reader) hand(s *Statement, at stamps) error {
	if s == nil {
		return nil
	}
	if !r.matches.Matches(&s.Statement) {
		if s.Command != Quit {
			r.report.Left++
			return nil
		}
	}
	if s.Command == Login && r.hasFilter {
		return nil // sessions begin with what is left of them
	}
	r.report.Statements++
	return r.visit(s, at)
}

const adminPrefix = "administrator command: "

// fromLog makes a statement of an event of a log.
func (r *reader) fromLog(s *digest.Statement, tells Tells) *Statement {
	out := &Statement{Statement: *s, Session: SessionID{Recording: r.recording, Thread: s.Thread}}
	out.Query = bytes.Clone(s.Query)
	if !s.Timed {
		tells = Tells{} // a general log
	}
	out.Tells = tells
	if s.Error {
		out.Code = 1 // which, it does not tell
	}
	out.IsCut = s.Cut || len(out.Query) >= longestSQL/2
	if !s.Admin {
		return out
	}
	what, _ := strings.CutPrefix(strings.TrimSpace(string(out.Query)), adminPrefix)
	out.Command, out.Reason = Other, what
	switch {
	case what == "Quit":
		out.Command = Quit
	case what == "Connect":
		out.Command = Login
	case what == "Init DB":
		out.Command = Use
	case what == "Change" || what == "Change user" || strings.HasPrefix(what, "Reset Connection"):
		out.Command = Renew
	}
	return out
}
