package workspace_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"stowage/workspace"
)

// manual is the first block of YAML after a heading of docs/reference/farm.yaml.md.
func manual(t *testing.T, heading string) string {
	t.Helper()
	page, err := os.ReadFile("../docs/reference/farm.yaml.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(page), "\n"+heading+"\n")
	_, after, fenced := strings.Cut(after, "```yaml\n")
	block, _, closed := strings.Cut(after, "```\n")
	if !ok || !fenced || !closed {
		t.Fatalf("the manual has no example after %q", heading)
	}
	return block
}

// TestExamplesOfTheManualRead: what people copy works.
func TestExamplesOfTheManualRead(t *testing.T) {
	f, err := openWith(t, manual(t, "## farm.yaml")).Farm()
	if err != nil {
		t.Errorf("the farm: %v", err)
	} else if s := f.Pairs[0].Shards[0]; s.Profile != "office" || s.Customer != "acme" || f.Hosts[2].Reserved == nil {
		t.Errorf("the example shows neither profile, customer nor what is reserved: %+v", s)
	}
	if _, err := openWith(t, "farm: x\n"+manual(t, "### Profiles")).Farm(); err != nil {
		t.Errorf("the profiles: %v", err)
	}
	if _, err := openGoals(t, manual(t, "## goals.yaml")).Goals(); err != nil {
		t.Errorf("the goals: %v", err)
	}
}

// openGoals has the goals and a farm that they fit: dense hosts in two racks,
// and pairs dbshard001 to dbshard019.
func openGoals(t *testing.T, goals string) *workspace.Workspace {
	t.Helper()
	var b strings.Builder
	b.WriteString("farm: f\nnext_server_id: 1\nhost_types: {r630-ssd: {disk: 14TB, memory: 512GiB}}\nhosts:\n")
	for i := range 8 {
		fmt.Fprintf(&b, "  - {name: ssd%02d, type: r630-ssd, address: 10.0.0.%d, labels: {rack: r%d}}\n", i+1, i+1, i%2+1)
	}
	b.WriteString("pairs:\n")
	for i := range 19 {
		fmt.Fprintf(&b, "  - name: dbshard%03d\n    topology: active-active\n    sides: {A: {host: ssd01, port: %d, datadir: /%d}, B: {host: ssd02, port: %d, datadir: /%d}}\n", i+1, i+1, i, i+1, i)
		fmt.Fprintf(&b, "    shards:\n      - {name: s%d, disk: 48GB}\n", i)
	}
	w := openWith(t, b.String())
	if err := os.WriteFile(w.Path("goals.yaml"), []byte(goals), 0o644); err != nil {
		t.Fatal(err)
	}
	return w
}
