package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stowage/demo"
	"stowage/farm"
	"stowage/move"
	"stowage/route"
)

// startRegrouping is pairs of two shards under load, and a plan that packs
// their shards into fewer pairs.
func startRegrouping(t *testing.T, topology farm.Topology, pairs, most int) *liveFarm {
	t.Helper()
	f := raise(t, demo.Options{Topology: topology, Pairs: pairs, Shards: 2, Hosts: 2, Rows: 300}, 60, nil)
	f.wanted = "anywhere"
	f.goals(fmt.Sprintf("unit: shard\nshards_per_instance: %d\nsoak: 50ms\n", most))
	f.must("plan", "--name", "regroup")
	return f
}

// A plan of single shards is carried out whole: its pairs are made, the shards
// go there under load, the old pairs are gone. Nothing is lost, and nothing
// runs or is known that should not be.
func TestRegroup(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startRegrouping(t, farm.ActiveActive, 3, 3)
	before := f.farmFile()
	dry := runProgram(t, "", "move", "regroup", "--dry-run", "-C", f.dir)
	if dry.code != exitFine || !strings.Contains(dry.stdout, "shardset001") || !strings.Contains(dry.stdout, "is made first") || f.farmFile() != before {
		t.Fatalf("dry run: exit %d\n%s%s", dry.code, dry.stdout, dry.stderr)
	}
	p := runProgram(t, "", "move", "regroup", "-C", f.dir)
	if p.code != exitFine || !strings.Contains(p.stdout, "6 of 6 shards moved") {
		t.Fatalf("exit %d\n%s%s", p.code, p.stdout, p.stderr)
	}
	f.checkRegrouped(farm.ActiveActive)
	again := runProgram(t, "", "move", "regroup", "-C", f.dir)
	if again.code != exitFine || !strings.Contains(again.stdout, "nothing to do") {
		t.Errorf("a plan that is done: exit %d\n%s%s", again.code, again.stdout, again.stderr)
	}
}

// checkRegrouped stops the clients and holds everything against the servers.
func (f *liveFarm) checkRegrouped(topology farm.Topology) {
	t := f.t
	t.Helper()
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	table, err := route.ReadFile(f.dir + "/routing.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(fm.Pairs) != len(table.Pairs) {
		t.Errorf("farm.yaml has %d pairs, routing %d", len(fm.Pairs), len(table.Pairs))
	}
	for _, p := range fm.Pairs {
		if !strings.HasPrefix(string(p.Name), "shardset") || len(p.Shards) == 0 {
			t.Errorf("pair %s has %d shards", p.Name, len(p.Shards))
		}
		for _, s := range p.Shards {
			f.shardIsAt(s.Name, p.Name)
		}
	}
	f.nothingElseRuns(fm)
	if topology == farm.ActiveActive {
		f.checkWhole()
	} else {
		f.checkOneWriter()
	}
}

// nothingElseRuns checks that the farm's own instances are all that run.
func (f *liveFarm) nothingElseRuns(fm *farm.Farm) {
	f.t.Helper()
	known := map[string]bool{}
	for _, p := range fm.Pairs {
		for _, s := range p.Sides {
			known[f.path(s.Config)] = true
		}
	}
	for _, line := range processesIn(f.dir) {
		_, config, is := strings.Cut(line, "--defaults-file=")
		config, _, _ = strings.Cut(config, " ")
		if is && !known[config] {
			f.t.Errorf("a server runs that farm.yaml does not know: %s", line)
		}
		delete(known, config)
	}
	for config := range known {
		f.t.Errorf("no server runs with %s", config)
	}
}

// regroupPoints are the borders of everything that a plan of single shards
// does, in the order in which they are met first.
func regroupPoints() (out []string) {
	for _, name := range []string{move.Provision, move.Shard, move.Emptied} {
		book, _ := move.ByName(name)
		for _, p := range book.Points() {
			if !strings.Contains(strings.Join(out, "\n")+"\n", p+"\n") { // preflight, soak: the first of each
				out = append(out, p)
			}
		}
	}
	return out
}

// The program is killed at borders of everything that a plan of single shards
// does; resume goes on. In `make test` a sample; STOWAGE_ALL_POINTS=1 takes all.
func TestKillRegroupingAtPoints(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: kills at every step of a plan of single shards")
	}
	points := []string{"after found/first", "before wire", "after list/record", "after cutover/lock", "before unlist", "after retire/record"}
	hands := 1
	if allPoints() {
		points, hands = regroupPoints(), 6
	}
	sideBySide(t, func(run func(name string, test func(*testing.T))) {
		for n, mine := range dealt(points, hands) {
			run(fmt.Sprintf("farm%d", n), func(t *testing.T) { killRegroupingInTurn(t, mine) })
		}
	})
}

func killRegroupingInTurn(t *testing.T, points []string) {
	f := startRegrouping(t, farm.PrimaryReplica, 2, 4)
	args := []string{"move", "regroup", "-C", f.dir}
	for _, point := range points {
		p := runProgram(t, "stowage @ "+point, args...)
		if !strings.Contains(p.stderr, markOfKill+point) {
			t.Fatalf("the move never met %q: exit %d\n%s", point, p.code, p.stderr)
		}
		args = []string{"move", "resume", "-C", f.dir}
	}
	if p := runProgram(t, "", args...); p.code != exitFine {
		t.Fatalf("last resume: exit %d\n%s", p.code, p.stderr)
	}
	f.checkRegrouped(farm.PrimaryReplica)
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
	if allPoints() {
		points, hands = regroupPoints(), 6
	}
	sideBySide(t, func(run func(name string, test func(*testing.T))) {
		for n, mine := range dealt(points, hands) {
			run(fmt.Sprintf("farm%d", n), func(t *testing.T) { failRegroupingInTurn(t, mine) })
		}
	})
}

func failRegroupingInTurn(t *testing.T, points []string) {
	f := startRegrouping(t, farm.ActiveActive, 2, 4)
	before, table := f.farmFile(), f.routing()
	for _, point := range points {
		p := runProgram(t, "step @ "+point, "move", "regroup", "-C", f.dir)
		if !strings.Contains(p.stderr, markOfKill+point) {
			t.Fatalf("the move never met %q: exit %d\n%s", point, p.code, p.stderr)
		}
		if strings.Contains(point, " settle") || strings.Contains(point, " retire") {
			if p.code != exitUnknown {
				t.Fatalf("failed at %q behind the point of no return: exit %d\n%s", point, p.code, p.stderr)
			}
			f.must("move", "resume")
			break // it goes forward only
		}
		if p.code != exitFailed {
			t.Fatalf("failed at %q: exit %d, want %d\n%s", point, p.code, exitFailed, p.stderr)
		}
		if book, _ := move.ByName(move.Emptied); strings.Contains(strings.Join(book.Points(), "\n"), point) && !strings.Contains(point, "preflight") {
			continue // all shards have been moved by then
		}
		if now := f.farmFile(); nextID.ReplaceAllString(now, "") != nextID.ReplaceAllString(before, "") {
			t.Errorf("failed at %q: farm.yaml was changed:\n%s", point, now)
		}
		if now := f.routing(); pairsOf(t, now) != pairsOf(t, table) {
			t.Errorf("failed at %q: routing was changed:\n%s", point, now)
		}
		if left, _ := filepath.Glob(f.dir + "/hosts/ssd*/*"); len(left) > 0 {
			t.Errorf("failed at %q: left behind %v", point, left)
		}
	}
	f.must("move", "regroup")
	f.checkRegrouped(farm.ActiveActive)
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
