package digest

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"stowage/digest/internal/gen"
	"stowage/internal/turns"
)

// Several goroutines must come to the very bytes that one comes to, whatever lies across the cuts.
func TestPartsEqualOnePass(t *testing.T) {
	turns.One(t, 6)
	var plain bytes.Buffer
	if _, err := (gen.SlowLog{Seed: 3, Events: 60_000}).Write(&plain); err != nil {
		t.Fatal(err)
	}
	forgedFill := "SELECT '" + strings.Repeat("x"+forged, 3<<20/len(forged)) + "'" // a literal full of places to cut
	never := "SELEC broken 'abc"
	old := strings.ReplaceAll(strings.ReplaceAll(plain.String()[:5<<20], "  Schema: sbtest  QC_hit: No", ""), "SET timestamp", "use shop;\nSET timestamp")
	old = old[:strings.LastIndex(old, "# User@Host")] // no schema: the database is carried from event to event
	mysql := mysqlLog(40_000)
	for name, log := range map[string]string{
		"plain":                     plain.String(),
		"forged cuts":               plain.String()[:3<<20] + "x;\n" + logged(10, forgedFill) + "# Time: 261121 22:45:44\n" + plain.String(),
		"literal never closed":      plain.String() + logged(10, never) + "# Time: 261121 22:45:44\n" + plain.String(),
		"database carried":          old + strings.ReplaceAll(old, "use shop;\n", ""),
		"no place to cut":           strings.ReplaceAll(plain.String(), "# Time: ", "# Thyme: "),
		"session with its own time": plain.String() + logged(10, "SET timestamp=5") + plain.String(),
		"few stamps":                strings.Replace(quiet(plain.String()), "# User@Host", "# Time: 261121 21:00:00\n# User@Host", 1) + plain.String(),
		"no stamps":                 quiet(plain.String()),
		"stamps of another day":     strings.Replace(quiet(plain.String()), "# User@Host", "# Time: 200101 21:00:00\n# User@Host", 1) + plain.String(),
		"no schema, one database":   mysql,
		"no schema, two databases":  mysql + strings.Replace(mysql, "use shop;", "use other;", 1),
		"clock set and given back":  logged(10, "SET timestamp=5") + plain.String() + logged(10, "SET timestamp=DEFAULT") + plain.String(),
		"no event at all":           strings.Repeat("nothing\n", 1<<19),
		"empty":                     "",
	} {
		t.Run(name, func(t *testing.T) {
			read := func(workers int, r io.Reader) (Report, []byte) {
				b := New(Options{Workers: workers})
				if err := b.Read("log", r); err != nil {
					t.Fatal(err)
				}
				d := b.Digest()
				return d.Report(), stored(t, d)
			}
			want, digest := read(1, strings.NewReader(log))
			for how, r := range map[string]io.Reader{"file": strings.NewReader(log), "stream": iotest.DataErrReader(strings.NewReader(log))} {
				got, other := read(3, r)
				if !bytes.Equal(digest, other) {
					t.Errorf("3 goroutines count %d events in %d classes of a %s, one counts %d in %d", got.Events, len(got.Classes), how, want.Events, len(want.Classes))
				}
				if a, b := fmt.Sprintf("%+v", want.Inputs), fmt.Sprintf("%+v", got.Inputs); a != b {
					t.Errorf("inputs of one goroutine %s\nof three, of a %s, %s", a, how, b)
				}
			}
		})
	}
}

// quiet is a log without stamps.
func quiet(log string) string {
	var out strings.Builder
	for line := range strings.Lines(log) {
		if !strings.HasPrefix(line, "# Time: ") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// mysqlLog is a log as MySQL 8 writes it: a stamp on every event, and a use line when the database changes, that is once.
func mysqlLog(events int) string {
	var out strings.Builder
	at := time.Unix(1795300000, 0).UTC()
	for i := range events {
		at = at.Add(time.Duration(i%7) * time.Millisecond)
		fmt.Fprintf(&out, "# Time: %s\n# User@Host: app[app] @ web [10.0.0.1]  Id: %5d\n# Query_time: 0.%06d  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\n",
			at.Format("2006-01-02T15:04:05.000000Z"), i%40, 100+i%500)
		if i == 0 {
			out.WriteString("use shop;\n")
		}
		fmt.Fprintf(&out, "SET timestamp=%d;\nSELECT name FROM customers WHERE id = %d;\n", at.Unix(), i)
	}
	return out.String()
}

// A part that was read on a wrong supposition is read again: of two databases, none may take the events of the other.
func TestPartsSupposeRightly(t *testing.T) {
	one := mysqlLog(40_000)
	log := one + strings.Replace(one, "use shop;", "use other;", 1)
	b := New(Options{Workers: 2, GroupBy: ByDB})
	if err := b.Read("log", strings.NewReader(log)); err != nil {
		t.Fatal(err)
	}
	r := b.Digest().Report()
	if len(r.Classes) != 2 || r.Classes[0].Count != 40_000 || r.Classes[1].Count != 40_000 {
		t.Errorf("%+v", r.Classes)
	}
}

// The rest of a log with very many classes is read in one piece.
func TestPartsOfManyClasses(t *testing.T) {
	var log strings.Builder
	for i := range 3 * manyClasses {
		log.WriteString(logged(10, fmt.Sprintf("SELECT a FROM %c%c%c%c WHERE b = 'some text that makes the log long enough to be cut'", 'a'+i%26, 'a'+i/26%26, 'a'+i/676%26, 'a'+i/17576)))
	}
	for _, r := range []io.Reader{strings.NewReader(log.String()), iotest.DataErrReader(strings.NewReader(log.String()))} {
		one, many := New(Options{}), New(Options{Workers: 2})
		check(t, one.Read("log", strings.NewReader(log.String())), many.Read("log", r))
		if a, b := one.Digest(), many.Digest(); !bytes.Equal(stored(t, a), stored(t, b)) {
			t.Errorf("%d events in %d classes, want %d in %d", b.Events(), len(b.byHash), a.Events(), len(a.byHash))
		}
	}
}

func TestPartsKeepWhatWasReadBeforeAnError(t *testing.T) {
	var log bytes.Buffer
	if _, err := (gen.SlowLog{Seed: 3, Events: 20_000}).Write(&log); err != nil {
		t.Fatal(err)
	}
	b := New(Options{Workers: 2})
	if err := b.ReadSlowLog("log", iotest.TimeoutReader(&log)); err == nil {
		t.Error("a read error is not reported")
	}
	if n := b.Digest().Events(); n < 100 {
		t.Errorf("%d events kept of what was read before the error", n)
	}
}
