package digest

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

const conformance = "../../shared/conformance/digest"

// reference is what pt-query-digest 3.2.1 says about a sample.
type reference struct {
	OK      bool
	Classes []struct {
		Fingerprint  string
		QueryID      string `json:"query_id"`
		QueryID16    string `json:"query_id16"`
		Count        uint64
		QueryTime    struct{ Sum, Min, Max, P95 float64 } `json:"query_time"`
		LockTime     float64                              `json:"lock_time_sum"`
		RowsSent     float64                              `json:"rows_sent_sum"`
		RowsExamined float64                              `json:"rows_examined_sum"`
	}
}

func samples(t *testing.T, kind string) map[string]reference {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(conformance, kind, "*.ref.json"))
	if len(files) == 0 {
		t.Skipf("NOT TESTED: no conformance cases in %s", filepath.Join(conformance, kind))
	}
	out := map[string]reference{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var ref reference
		if err := json.Unmarshal(text, &ref); err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(f, ".ref.json")] = ref
	}
	return out
}

func checkReference(t *testing.T, r Report, ref reference) {
	t.Helper()
	got := map[string]Class{}
	for _, c := range r.Classes {
		got[c.ID32] = c
	}
	if len(r.Classes) != len(ref.Classes) {
		var names []string
		for _, c := range r.Classes {
			names = append(names, c.Fingerprint)
		}
		sort.Strings(names)
		t.Errorf("%d classes, reference has %d; ours: %q", len(r.Classes), len(ref.Classes), names)
	}
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-6+1e-9*math.Abs(b) }
	for _, want := range ref.Classes {
		c, ok := got[want.QueryID]
		if !ok {
			t.Errorf("no class %s %q", want.QueryID, want.Fingerprint)
			continue
		}
		if c.Fingerprint != want.Fingerprint || c.ID16 != want.QueryID16 {
			t.Errorf("class %s: fingerprint %q id16 %s, want %q %s", c.ID32, c.Fingerprint, c.ID16, want.Fingerprint, want.QueryID16)
		}
		if c.Untimed == c.Count { // the reference says zero of what no source told; a report here leaves it out
			if !math.IsNaN(c.QueryTime.Min) || !math.IsNaN(c.QueryTime.Max) {
				t.Errorf("class %q has no time in its source, and its least and most are %v and %v", want.Fingerprint, c.QueryTime.Min, c.QueryTime.Max)
			}
			c.QueryTime.Min, c.QueryTime.Max = 0, 0
		}
		if c.Count != want.Count || !near(c.QueryTime.Sum, want.QueryTime.Sum) || !near(c.LockTimeSum, want.LockTime) ||
			c.RowsSentSum != want.RowsSent || c.RowsExaminedSum != want.RowsExamined ||
			!near(c.QueryTime.Min, want.QueryTime.Min) || !near(c.QueryTime.Max, want.QueryTime.Max) {
			t.Errorf("class %q: got %+v\nwant %+v", want.Fingerprint, c, want)
		}
	}
}

func TestSlowLogConformance(t *testing.T) {
	for path, ref := range samples(t, "slowlogs") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			b := New(Options{})
			if err := b.ReadSlowLog(path, f); err != nil {
				t.Fatal(err)
			}
			checkReference(t, b.Digest().Report(), ref)
		})
	}
}
