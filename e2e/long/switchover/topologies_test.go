package switchover

import (
	"strings"
	"testing"
	"time"

	"stowage/demo"
	"stowage/e2e/farmtest"
	"stowage/farm"
)

// One plan moves a primary with two replicas and a single instance onto three
// hosts while clients write, replicas before their primary; undone afterwards,
// one plan brings them all back.
func TestPlanOfAllThatHasOneWriter(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.Raise(t, demo.Options{Topology: farm.PrimaryReplica, Pairs: 2, Shards: 1, Hosts: 3, Rows: 50}, 40, nil)
	f.BecomesSingle(1)
	f.GetsAnotherReplica()
	before := f.Addresses()
	f.Must("plan", "--name", "first")
	p := farmtest.RunProgram(t, "", "move", "first", "-C", f.Dir)
	if p.Code != farmtest.ExitFine || !strings.Contains(p.Stdout, "writes paused for") {
		t.Fatalf("exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
	}
	_, fm, _, err := farmtest.FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if used := fm.HostsInUse(); len(used) != 3 {
		t.Errorf("it uses %v, want three hosts", used)
	}
	f.CheckOneServes()
	done := map[string]int{}
	for n, e := range f.Events() {
		if e.Kind == farm.StepDone && e.Step == "retire" {
			done[string(e.Pair)+"/"+string(e.Side)] = n + 1
		}
	}
	if len(done) != 3 || done["dbshard001/C"] == 0 || done["dbshard001/C"] > done["dbshard001/A"] || done["dbshard002/A"] == 0 {
		t.Errorf("moved, by the event that ended it: %v", done)
	}
	f.Must("undo")
	f.ClearOld()
	f.Wanted = "anywhere"
	f.Must("move", "undo-first")
	if now := f.Addresses(); !farmtest.SamePlaces(now, before) {
		t.Errorf("moved back: farm.yaml says %s, was %s", now, before)
	}
	f.CheckOneWriter()
	at, err := f.Server(farm.A).BinlogPosition(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Server("C").WaitFor(t.Context(), at, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	query := "SELECT CONCAT(COUNT(*), ' ', COALESCE(SUM(CRC32(CONCAT_WS('#', client, seq))), 0)) FROM etsy_shard_0001.receipts"
	if has, want := f.Value("C", query), f.Value(farm.A, query); has != want {
		t.Errorf("receipts on the second replica: %s, on the primary %s", has, want)
	}
}
