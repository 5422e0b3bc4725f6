package agents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
)

// TestMoveAcrossMachines: a pair moves between machines that share nothing but
// the network, while clients write and agents record beside it, and no password
// is in any file that the engine or an agent keeps.
func TestMoveAcrossMachines(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartNetFarm(t, farm.ActiveActive, 2, 50)
	if p := f.During("seed", f.RecordBoth); p.Code != farmtest.ExitFine {
		t.Fatalf("exit %d\n%s", p.Code, p.Stderr)
	}
	f.CheckWhole()
	for _, h := range farmtest.NetHosts {
		raw, err := os.ReadFile(filepath.Join(f.Dir, "agent-"+string(h), "audit.jsonl"))
		if err != nil || len(raw) == 0 {
			t.Errorf("%s has no audit log: %v", h, err)
		}
		for line := range strings.Lines(string(raw)) {
			if !json.Valid([]byte(line)) {
				t.Errorf("audit line of %s: %q", h, line)
			}
		}
	}
	f.NoPasswordIn("agent-old1", "agent-old2", "agent-new1", "agent-new2", ".stowage")
}
