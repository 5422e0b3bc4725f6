package shards

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/move"
	"stowage/route"
)

// A plan of single shards is carried out whole: its pairs are made, the shards
// go there under load, the old pairs are gone. Nothing is lost, and nothing
// runs or is known that should not be.
func TestRegroup(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartRegrouping(t, farm.ActiveActive, 3, 3)
	before := f.FarmFile()
	dry := farmtest.RunProgram(t, "", "move", "regroup", "--dry-run", "-C", f.Dir)
	if dry.Code != farmtest.ExitFine || !strings.Contains(dry.Stdout, "shardset001") || !strings.Contains(dry.Stdout, "is made first") || f.FarmFile() != before {
		t.Fatalf("dry run: exit %d\n%s%s", dry.Code, dry.Stdout, dry.Stderr)
	}
	p := farmtest.RunProgram(t, "", "move", "regroup", "-C", f.Dir)
	if p.Code != farmtest.ExitFine || !strings.Contains(p.Stdout, "6 of 6 shards moved") {
		t.Fatalf("exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
	}
	f.CheckRegrouped(farm.ActiveActive)
	again := farmtest.RunProgram(t, "", "move", "regroup", "-C", f.Dir)
	if again.Code != farmtest.ExitFine || !strings.Contains(again.Stdout, "nothing to do") {
		t.Errorf("a plan that is done: exit %d\n%s%s", again.Code, again.Stdout, again.Stderr)
	}
}

// The program is killed at borders of everything that a plan of single shards
// does; resume goes on. In `make test-all` a sample; STOWAGE_ALL_POINTS=1 takes all.
func TestKillRegroupingAtPoints(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: kills at every step of a plan of single shards")
	}
	points := []string{"after found/first", "before wire", "after list/record", "after cutover/lock", "before unlist", "after retire/record"}
	hands := 1
	if farmtest.AllPoints() {
		points, hands = farmtest.RegroupPoints(), 6
	}
	farmtest.SideBySide(t, func(run func(name string, test func(*testing.T))) {
		for n, mine := range farmtest.Dealt(points, hands) {
			run(fmt.Sprintf("farm%d", n), func(t *testing.T) {
				farmtest.StartRegrouping(t, farm.PrimaryReplica, 2, 4).KillRegrouping(mine, farm.PrimaryReplica)
			})
		}
	})
}

// A plan of single shards that fails for good, or is ended, leaves what has
// been moved and takes away what was made in vain: as if it had never begun,
// when no shard has moved. Afterwards it can be carried out.
func TestFailRegroupingAtPoints(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: failures at every step of a plan of single shards")
	}
	points := []string{"after found/second", "after list/record", "before copy", "before retire"}
	hands := 1
	if farmtest.AllPoints() {
		points, hands = farmtest.RegroupPoints(), 6
	}
	farmtest.SideBySide(t, func(run func(name string, test func(*testing.T))) {
		for n, mine := range farmtest.Dealt(points, hands) {
			run(fmt.Sprintf("farm%d", n), func(t *testing.T) { failRegroupingInTurn(t, mine) })
		}
	})
}

// TestOneSetOfShardsFailsAndTheOtherStands: of two new pairs, one cannot be made, or
// gets a shard that fails. The other is made, gets its shards, and the pairs that
// they leave are retired; of the one that failed nothing is left. The same plan
// brings the rest.
func TestOneSetOfShardsFailsAndTheOtherStands(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: plans of single shards, one of whose pairs fails")
	}
	farmtest.SideBySide(t, func(run func(name string, test func(*testing.T))) {
		for _, point := range []string{"after found/second", "before copy"} {
			run(point, func(t *testing.T) {
				f := farmtest.StartRegrouping(t, farm.ActiveActive, 4, 4)
				p := farmtest.RunProgram(t, "step @ "+point, "move", "regroup", "-C", f.Dir)
				if !strings.Contains(p.Stderr, farmtest.MarkOfKill+point) || p.Code != farmtest.ExitFailed {
					t.Fatalf("failed at %q: exit %d, want %d\n%s", point, p.Code, farmtest.ExitFailed, p.Stderr)
				}
				_, now, _, err := farmtest.FarmAccess(f.Dir)
				if err != nil {
					t.Fatal(err)
				}
				var has []string
				for _, pair := range now.Pairs {
					has = append(has, fmt.Sprintf("%.8s %d", pair.Name, len(pair.Shards)))
				}
				slices.Sort(has)
				if got, want := strings.Join(has, ", "), "dbshard0 2, dbshard0 2, shardset 4"; got != want {
					t.Errorf("failed at %q: the pairs hold %s shards, want %s\n%s", point, got, want, p.Stderr)
				}
				if left, _ := filepath.Glob(f.Dir + "/hosts/ssd*/*"); len(left) != 2 {
					t.Errorf("failed at %q: on the new hosts are %v, want one pair", point, left)
				}
				f.Must("move", "regroup")
				f.CheckRegrouped(farm.ActiveActive)
			})
		}
	})
}

// TestPairTakenBackKeepsItsErrorLogs: a pair is made for shards that do not come, and
// taken away whole. What its two servers said is kept.
func TestPairTakenBackKeepsItsErrorLogs(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartRegrouping(t, farm.ActiveActive, 2, 4)
	if p := farmtest.RunProgram(t, "step @ before copy", "move", "regroup", "-C", f.Dir); p.Code != farmtest.ExitFailed {
		t.Fatalf("exit %d, want %d\n%s", p.Code, farmtest.ExitFailed, p.Stderr)
	}
	if left, _ := filepath.Glob(f.Dir + "/hosts/ssd*/*"); len(left) > 0 {
		t.Errorf("left behind %v", left)
	}
	for _, side := range []string{"a", "b"} {
		logs, _ := filepath.Glob(filepath.Join(f.Dir, ".stowage", "errorlogs", "*-shardset001"+side+".log"))
		if len(logs) != 1 {
			t.Errorf("%d error logs of shardset001%s are kept, want 1", len(logs), side)
			continue
		}
		if log, err := os.ReadFile(logs[0]); err != nil || !strings.Contains(string(log), "ready for connections") {
			t.Errorf("%s: %v\n%s", logs[0], err, log)
		}
	}
	f.CheckWhole()
}

func failRegroupingInTurn(t *testing.T, points []string) {
	f := farmtest.StartRegrouping(t, farm.ActiveActive, 2, 4)
	before, table := f.FarmFile(), f.Routing()
	for _, point := range points {
		p := farmtest.RunProgram(t, "step @ "+point, "move", "regroup", "-C", f.Dir)
		if !strings.Contains(p.Stderr, farmtest.MarkOfKill+point) {
			t.Fatalf("the move never met %q: exit %d\n%s", point, p.Code, p.Stderr)
		}
		if strings.Contains(point, " settle") || strings.Contains(point, " retire") {
			if p.Code != farmtest.ExitUnknown {
				t.Fatalf("failed at %q behind the point of no return: exit %d\n%s", point, p.Code, p.Stderr)
			}
			f.Must("resume")
			break // it goes forward only
		}
		if p.Code != farmtest.ExitFailed {
			t.Fatalf("failed at %q: exit %d, want %d\n%s", point, p.Code, farmtest.ExitFailed, p.Stderr)
		}
		if book, _ := move.ByName(move.Emptied); strings.Contains(strings.Join(book.Points(), "\n"), point) && !strings.Contains(point, "preflight") {
			continue // all shards have been moved by then
		}
		if now := f.FarmFile(); nextID.ReplaceAllString(now, "") != nextID.ReplaceAllString(before, "") {
			t.Errorf("failed at %q: farm.yaml was changed:\n%s", point, now)
		}
		if now := f.Routing(); pairsOf(t, now) != pairsOf(t, table) {
			t.Errorf("failed at %q: routing was changed:\n%s", point, now)
		}
		if left, _ := filepath.Glob(f.Dir + "/hosts/ssd*/*"); len(left) > 0 {
			t.Errorf("failed at %q: left behind %v", point, left)
		}
	}
	f.Must("move", "regroup")
	f.CheckRegrouped(farm.ActiveActive)
}

// pairsOf is a routing file without its generation and time, and without the
// order of shards.
func pairsOf(t *testing.T, text string) string {
	t.Helper()
	var table route.Table
	if err := json.Unmarshal([]byte(text), &table); err != nil {
		t.Fatal(err)
	}
	for _, p := range table.Pairs {
		slices.Sort(p.Shards)
	}
	raw, err := json.MarshalIndent(table.Pairs, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
