package farmtest

import (
	"os"
	"path/filepath"
)

// Emptied is another plan; directories that are mounts are emptied, not
// removed.
func (f *LiveFarm) Emptied() string {
	f.T.Helper()
	plan := f.anotherPlan()
	for _, at := range []string{"db001", "db002", "ssd01", "ssd02"} {
		if err := os.MkdirAll(filepath.Join(f.Dir, "hosts", at), 0o755); err != nil {
			f.T.Fatal(err)
		}
	}
	return plan
}
