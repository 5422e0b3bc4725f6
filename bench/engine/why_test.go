package engine

import (
	"bytes"
	"context"
	"encoding/xml"
	"strings"
	"testing"

	"stowage/bench/engine/flame"
	"stowage/bench/engine/sheet"
	"stowage/internal/turns"
)

const traced = ` Summary of events:

 mariadbd (123), 4000 events, 50.0%

   syscall            calls  errors  total       min       avg       max       stddev
                                     (msec)    (msec)    (msec)    (msec)        (%)
   --------------- --------  ------ -------- --------- --------- ---------     ------
   futex                100      4   800.500     0.001     8.005    30.000      5.00%
   read                  10      0     0.500     0.001     0.050     0.100      1.00%

LOST 12 events!
 mariadbd (124), 2 events, 1.0%

   syscall            calls  errors  total       min       avg       max       stddev
   --------------- --------  ------ -------- --------- --------- ---------     ------
   futex                  1      0   100.000   100.000   100.000   100.000      0.00%
`

func TestParseCalls(t *testing.T) {
	got, lost, err := parseCalls([]byte(traced))
	if err != nil || lost != 12 || len(got) != 2 || got[0] != (sheet.Call{Name: "futex", PerTx: 101, Micros: 900500}) || got[1].Name != "read" {
		t.Errorf("%+v, %v lost, %v", got, lost, err)
	}
	// Before 5.x there was no column of errors.
	old := strings.ReplaceAll(strings.ReplaceAll(traced, "calls  errors", "calls"), "   futex                100      4", "   futex                100")
	if got, _, err := parseCalls([]byte(old)); err != nil || got[0].Name != "futex" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, _, err := parseCalls([]byte("perf: no\n")); err == nil {
		t.Error("no table was taken for one")
	}
}

func FuzzParseCalls(f *testing.F) {
	f.Add([]byte(traced))
	f.Fuzz(func(t *testing.T, text []byte) {
		calls, _, err := parseCalls(text)
		if err == nil && calls == nil {
			t.Fatal("neither calls nor an error")
		}
	})
}

// TestWhy asks a real server of each engine. Where perf may not look, the document says so, and the figures that need no perf are there.
func TestWhy(t *testing.T) {
	turns.Heavy(t, 5)
	dir := storage(t)
	o := small(t, sheet.Engines, []string{"innodb-16k", "myisam"}, []string{"point"})
	pictures := map[string]*bytes.Buffer{}
	w, err := Why(context.Background(), dir, o, func(row string, g *flame.Graph, sub string) (string, error) {
		pictures[row] = &bytes.Buffer{}
		return row + ".svg", g.WriteSVG(pictures[row], row, sub)
	})
	if err != nil {
		t.Fatal(err)
	}
	isEmpty(t, dir)
	if len(w.Rows) != 2 || w.Rows[0].ID != "innodb-16k/point" || w.Rows[1].ID != "myisam/point" {
		t.Fatalf("%+v", w.Rows)
	}
	for _, r := range w.Rows {
		if !(r.TPS > 0 && r.CPUs > 0 && r.CPU > 0) || len(r.Waits) == 0 {
			t.Errorf("%+v", r)
		}
		if r.Samples == 0 {
			t.Logf("NOT TESTED: samples of %s: %+v", r.ID, w.Unmeasured)
			if len(w.Unmeasured) == 0 {
				t.Error("there are no samples, and nothing says why")
			}
			continue
		}
		if err := xml.Unmarshal(pictures[r.ID].Bytes(), new(struct {
			XMLName xml.Name `xml:"svg"`
		})); err != nil || r.Flame != r.ID+".svg" {
			t.Errorf("%s: %q, %v", r.ID, r.Flame, err)
		}
	}
	var b bytes.Buffer
	if err := sheet.WriteWhy(&b, w); err != nil || !strings.Contains(b.String(), "innodb-16k/point: ") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// TestWhyWithoutPerf: what cannot be measured is named, and how to allow it; the rest is there.
func TestWhyWithoutPerf(t *testing.T) {
	p := &profiler{}
	p.refused("x", []byte("Error:\nNo permission to enable cpu-clock event.\n"), nil)
	if g := p.gaps[0]; g.Why != "No permission to enable cpu-clock event" || !strings.Contains(g.How, "perf_event_paranoid") {
		t.Errorf("%+v", g)
	}
	t.Setenv("PATH", t.TempDir())
	p = newProfiler(t.TempDir())
	if len(p.gaps) != 1 || p.gaps[0].Why != "there is no program perf" || !strings.Contains(p.gaps[0].How, "linux-perf") {
		t.Errorf("%+v", p.gaps)
	}
}
