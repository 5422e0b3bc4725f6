package workspace

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/bench/decide"
)

// A data sheet's claim for an array is held to what its controller lets through, in bytes and in requests.
func TestClaimBeyondItsController(t *testing.T) {
	path := filepath.Join(t.TempDir(), "decision.yaml")
	text := `decision: which
fast:
  goals: [{figure: iops, step: RND64K-R-Q8T2}]
candidates:
  drives:
    devices: {count: 6, level: 10, capacity: 64GB, ceiling: 600MB/s}
    data_sheet:
      source: a sheet
      of: device
      steps: {RND64K-R-Q8T2: {iops: 3000, mbps: 250}, RND4K-R-Q32T1: {iops: 20000}, MIX: {iops: 90000}}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := ReadDecision(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range map[decide.Key]float64{
		{What: "mbps", Step: "RND64K-R-Q8T2"}: 600,
		{What: "iops", Step: "RND64K-R-Q8T2"}: 600e6 / 65536,
		{What: "iops", Step: "RND4K-R-Q32T1"}: 6 * 20000, // 492 MB/s: below the ceiling
		{What: "iops", Step: "MIX"}:           90000,     // its name states no size
	} {
		f := d.Candidates[0].Figures[k]
		if math.Abs(f.Value-want) > 0.01 {
			t.Errorf("%v is %v, want %v (%s)", k, f.Value, want, f.Source)
		}
		if held := strings.Contains(f.Source, "held to the ceiling of 600 MB/s"); held != (k.Step == "RND64K-R-Q8T2") {
			t.Errorf("%v rests on %q", k, f.Source)
		}
	}
}
