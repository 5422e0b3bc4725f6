package faults

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
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
	if !farmtest.Apart(t) {
		return
	}
	f := farmtest.StartSmallFarm(t)
	for _, x := range []farmtest.Fault{
		{What: "fill", Whom: farmtest.Target, At: "before seed", Long: 3 * time.Second},
		{What: "fill", Whom: farmtest.Twin, At: "before seed", Long: 3 * time.Second},
		{What: "fill", Whom: farmtest.Twin, At: "before in", Long: 3 * time.Second},
		{What: "fill", Whom: farmtest.Peer, At: "before out/drain", Long: 3 * time.Second},
		{What: "fill", Whom: farmtest.Twin, At: "before retire/record", Long: 3 * time.Second},
		{What: "fill", Whom: farmtest.WorkspaceDisk, At: "before out", Long: 3 * time.Second},
	} {
		if os.Getenv("STOWAGE_FAULTS") != "all" && x.Whom != farmtest.WorkspaceDisk && x.Whom != farmtest.Target {
			continue
		}
		f.Full = x.Whom == farmtest.Twin || x.Whom == farmtest.Peer
		r := f.WithFaults(f.Planned(f.Emptied()), []farmtest.Fault{x})
		t.Logf("%-60s %s, exits %v, %.1f s", x, r.End(), r.Codes, r.Seconds)
		if len(r.Wrong) > 0 {
			t.Errorf("%s:\n  %s\n%s\n%s", x, strings.Join(r.Wrong, "\n  "), strings.Join(r.Log, "\n"), r.Said)
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
	if !farmtest.Apart(t) {
		return
	}
	f := farmtest.StartSmallFarm(t)
	plan := f.Emptied()
	before := f.Places()
	r := f.WithFaults(f.Planned(plan), []farmtest.Fault{{What: "fill", Whom: farmtest.Target, At: "before seed", Long: farmtest.UntilTheEnd}})
	if r.End() != "undone" || f.Places() != before {
		t.Errorf("%s, exits %v, farm.yaml has %s, had %s\n%s", r.End(), r.Codes, f.Places(), before, r.Said)
	}
	for _, wrong := range r.Wrong {
		t.Error(wrong)
	}
	if left, _ := filepath.Glob(f.Dir + "/hosts/ssd*/*/*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if !strings.Contains(strings.ToLower(r.Said), "no space left on device") {
		t.Errorf("the message does not say what is wrong:\n%s", r.Said)
	}
}
