package digest

import (
	"errors"
	"strings"
	"testing"
	"time"
)

const twoStatements = `# Time: 2026-11-21T10:00:00.500000Z
# User@Host: app[app] @ web1 [10.0.0.1]  Id:     7
# Query_time: 0.250000  Lock_time: 0.000100 Rows_sent: 3  Rows_examined: 30
use shop;
SET timestamp=1795255200;
select * from t where id = 5;
# Time: 2026-11-21T10:00:01.000000Z
# User@Host: app[app] @ web1 [10.0.0.1]  Id:     8
# Query_time: 0.000010  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0
# administrator command: Quit;
`

func TestStatementsTellWhatTheLogTells(t *testing.T) {
	var got []Statement
	var texts []string
	in, err := Statements("slow.log", strings.NewReader(twoStatements), Options{}, func(s *Statement) error {
		got = append(got, *s)
		texts = append(texts, string(s.Query))
		return nil
	})
	if err != nil || len(got) != 2 || len(in) != 1 || in[0].Events != 2 {
		t.Fatalf("got %d statements, inputs %+v, %v", len(got), in, err)
	}
	s := got[0]
	if texts[0] != "select * from t where id = 5" || s.Thread != 7 || s.User != "app" || s.DB != "shop" || s.Time != 250*time.Millisecond ||
		!s.Timed || s.RowsSent != 3 || s.RowsExamined != 30 || s.Admin || s.At.IsZero() {
		t.Errorf("first statement %q: %+v", texts[0], s)
	}
	if !got[1].Admin || got[1].Thread != 8 {
		t.Errorf("second statement %q: %+v", texts[1], got[1])
	}
}

func TestStatementsStopWhereTheVisitorFails(t *testing.T) {
	stop, seen := errors.New("enough"), 0
	_, err := Statements("slow.log", strings.NewReader(twoStatements), Options{}, func(*Statement) error {
		seen++
		return stop
	})
	if !errors.Is(err, stop) || seen != 1 {
		t.Errorf("saw %d statements, %v", seen, err)
	}
}

func TestStatementsOfAStoredDigestAreRefused(t *testing.T) {
	b := New(Options{})
	if err := b.Read("slow.log", strings.NewReader(twoStatements)); err != nil {
		t.Fatal(err)
	}
	var stored strings.Builder
	if err := b.Digest().Encode(&stored); err != nil {
		t.Fatal(err)
	}
	_, err := Statements("x.digest", strings.NewReader(stored.String()), Options{}, func(*Statement) error { return nil })
	if !errors.Is(err, ErrUnknownInput) {
		t.Errorf("got %v", err)
	}
}
