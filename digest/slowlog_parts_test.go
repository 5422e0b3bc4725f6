package digest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"stowage/digest/internal/gen"
)

// Several goroutines must come to the very bytes that one comes to, whatever lies across the cuts.
func TestPartsEqualOnePass(t *testing.T) {
	var plain bytes.Buffer
	if _, err := (gen.SlowLog{Seed: 3, Events: 60_000}).Write(&plain); err != nil {
		t.Fatal(err)
	}
	forgedFill := "SELECT '" + strings.Repeat("x"+forged, 3<<20/len(forged)) + "'" // a literal full of places to cut
	never := "SELEC broken 'abc"
	old := strings.ReplaceAll(strings.ReplaceAll(plain.String()[:5<<20], "  Schema: sbtest  QC_hit: No", ""), "SET timestamp", "use shop;\nSET timestamp")
	old = old[:strings.LastIndex(old, "# User@Host")] // no schema: the database is carried from event to event
	for name, log := range map[string]string{
		"plain":                     plain.String(),
		"forged cuts":               plain.String()[:3<<20] + "x;\n" + logged(10, forgedFill) + "# Time: 261121 22:45:44\n" + plain.String(),
		"literal never closed":      plain.String() + logged(10, never) + "# Time: 261121 22:45:44\n" + plain.String(),
		"database carried":          old + strings.ReplaceAll(old, "use shop;\n", ""),
		"no place to cut":           strings.ReplaceAll(plain.String(), "# Time: ", "# Thyme: "),
		"session with its own time": plain.String() + logged(10, "SET timestamp=5") + plain.String(),
		"no event at all":           strings.Repeat("nothing\n", 1<<19),
		"empty":                     "",
	} {
		t.Run(name, func(t *testing.T) {
			digests := map[int][]byte{}
			var reports [2]Report
			for i, workers := range []int{1, 3} {
				b := New(Options{Workers: workers})
				if err := b.ReadSlowLog("log", strings.NewReader(log)); err != nil {
					t.Fatal(err)
				}
				d := b.Digest()
				reports[i] = d.Report()
				digests[workers] = stored(t, d)
			}
			if !bytes.Equal(digests[1], digests[3]) {
				t.Errorf("3 goroutines count %d events in %d classes, one counts %d in %d", reports[1].Events, len(reports[1].Classes), reports[0].Events, len(reports[0].Classes))
			}
			if a, b := fmt.Sprintf("%+v", reports[0].Inputs), fmt.Sprintf("%+v", reports[1].Inputs); a != b {
				t.Errorf("inputs of one goroutine %s\nof three %s", a, b)
			}
		})
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
