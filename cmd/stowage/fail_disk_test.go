package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A full disk, at the border where it hurts most: on the target while the copy
// is unpacked, on the source and on the old side while clients write to them,
// under the engine's own file. It is full for a few seconds, as long as
// somebody needs who was called; nothing is lost in either case. MariaDB looks
// once a minute whether there is room again, so without STOWAGE_FAULTS=all it is
// the target and the workspace.
func TestFullDisk(t *testing.T) {
	t.Parallel() // it mostly waits
	if testing.Short() {
		t.Skip("SKIPPED: full disks")
	}
	if !apart(t) {
		return
	}
	f := startSmallFarm(t)
	for _, x := range []fault{
		{What: "fill", Whom: target, At: "before seed", Long: 3 * time.Second},
		{What: "fill", Whom: twin, At: "before seed", Long: 3 * time.Second},
		{What: "fill", Whom: twin, At: "before in", Long: 3 * time.Second},
		{What: "fill", Whom: peer, At: "before out/drain", Long: 3 * time.Second},
		{What: "fill", Whom: twin, At: "before retire/record", Long: 3 * time.Second},
		{What: "fill", Whom: workspaceDisk, At: "before out", Long: 3 * time.Second},
	} {
		if os.Getenv("STOWAGE_FAULTS") != "all" && x.Whom != workspaceDisk && x.Whom != target {
			continue
		}
		f.full = x.Whom == twin || x.Whom == peer
		r := f.withFaults(f.planned(f.emptied()), []fault{x})
		t.Logf("%-60s %s, exits %v, %.1f s", x, r.end(), r.Codes, r.Seconds)
		if len(r.Wrong) > 0 {
			t.Errorf("%s:\n  %s\n%s\n%s", x, strings.Join(r.Wrong, "\n  "), strings.Join(r.Log, "\n"), r.stderr)
		}
	}
}

// A target that stays full: the copy is given up, what it made is removed, the
// old sides never noticed.
func TestTargetStaysFull(t *testing.T) {
	t.Parallel() // it mostly waits
	if testing.Short() {
		t.Skip("SKIPPED: full disks")
	}
	if !apart(t) {
		return
	}
	f := startSmallFarm(t)
	plan := f.emptied()
	before := f.places()
	r := f.withFaults(f.planned(plan), []fault{{What: "fill", Whom: target, At: "before seed", Long: untilTheEnd}})
	if r.end() != "undone" || f.places() != before {
		t.Errorf("%s, exits %v, farm.yaml has %s, had %s\n%s", r.end(), r.Codes, f.places(), before, r.stderr)
	}
	for _, wrong := range r.Wrong {
		t.Error(wrong)
	}
	if left, _ := filepath.Glob(f.dir + "/hosts/ssd*/*/*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if !strings.Contains(strings.ToLower(r.stderr), "no space left on device") {
		t.Errorf("the message does not say what is wrong:\n%s", r.stderr)
	}
}

// emptied is another plan; directories that are mounts are emptied, not
// removed.
func (f *liveFarm) emptied() string {
	f.t.Helper()
	plan := f.anotherPlan()
	for _, at := range []string{"db001", "db002", "ssd01", "ssd02"} {
		if err := os.MkdirAll(filepath.Join(f.dir, "hosts", at), 0o755); err != nil {
			f.t.Fatal(err)
		}
	}
	return plan
}
