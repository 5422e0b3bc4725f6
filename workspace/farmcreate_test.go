package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/workspace"
)

// TestDraftFarm: remarks stand where they belong, and change nothing of what is read.
func TestDraftFarm(t *testing.T) {
	f := &farm.Farm{Name: "small", NextServerID: 3, HostTypes: []farm.HostType{{Name: "t", Capacity: farm.Resources{}}},
		Hosts: []farm.Host{{Name: "db1", Type: "t", Address: "10.0.0.1"}},
		Pairs: []farm.Pair{{Name: "p", Topology: farm.Single, Sides: map[farm.SideName]farm.Side{farm.A: {Host: "db1", Port: 3306, Datadir: "/d"}}}}}
	remarks := map[string][]string{}
	for _, place := range []string{"", "farm", "host_types", "host_types.t", "hosts", "pairs", "pairs.p", "end"} {
		remarks[place] = []string{"of <" + place + ">", "more: {a: [b"}
	}
	text, faults := workspace.DraftFarm("farm.yaml", f, remarks)
	if faults != nil {
		t.Fatalf("%v\n%s", faults, text)
	}
	plain, _ := workspace.DraftFarm("farm.yaml", f, nil)
	var without []string
	for _, line := range strings.SplitAfter(string(text), "\n") {
		if !strings.Contains(line, "# of <") && !strings.Contains(line, "# more: ") {
			without = append(without, line)
		}
	}
	if strings.Join(without, "") != string(plain) {
		t.Errorf("without its remarks the draft is\n%s\nand not\n%s", strings.Join(without, ""), plain)
	}
	for place, next := range map[string]string{"farm": "farm: small", "host_types": "host_types:", "host_types.t": "  t: {}", "hosts": "hosts:", "pairs": "pairs:", "pairs.p": "  - name: p"} {
		if !strings.Contains(string(text), "# of <"+place+">\n"+next[:len(next)-len(strings.TrimLeft(next, " "))]+"# more: {a: [b\n"+next) {
			t.Errorf("the remark of %q does not be above %q:\n%s", place, next, text)
		}
	}
	f.NextServerID = 0
	if _, faults := workspace.DraftFarm("farm.yaml", f, nil); faults == nil || !errors.Is(faults, farm.ErrInput) {
		t.Errorf("a draft without next_server_id: %v", faults)
	}
}

func TestCreateFarm(t *testing.T) {
	path := filepath.Join(t.TempDir(), "farm.yaml")
	for n := range 2 {
		err := workspace.CreateFarm(path, []byte{byte('0' + n)})
		if (err != nil) != (n > 0) || err != nil && (!errors.Is(err, farm.ErrInput) || farm.Hint(err) == "") {
			t.Errorf("written for the %d. time: %v", n+1, err)
		}
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != "0" {
		t.Errorf("it holds %q, %v", now, err)
	}
	if err := workspace.CreateFarm(filepath.Join(path, "farm.yaml"), nil); err == nil || farm.Hint(err) == "" {
		t.Errorf("in a directory that is none: %v", err)
	}
}
