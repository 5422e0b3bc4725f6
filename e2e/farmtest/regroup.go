package farmtest

import (
	"fmt"
	"strings"
	"testing"

	"stowage/demo"
	"stowage/farm"
	"stowage/move"
	"stowage/route"
)

// StartRegrouping is pairs of two shards under load, and a plan that packs
// their shards into fewer pairs.
func StartRegrouping(t *testing.T, topology farm.Topology, pairs, most int) *LiveFarm {
	t.Helper()
	f := Raise(t, demo.Options{Topology: topology, Pairs: pairs, Shards: 2, Hosts: 2, Rows: 300}, 60, nil)
	f.Wanted = "anywhere"
	f.Goals(fmt.Sprintf("unit: shard\nshards_per_instance: %d\nsoak: 50ms\n", most))
	f.Must("plan", "--name", "regroup")
	return f
}

// RegroupPoints are the borders of everything that a plan of single shards
// does, in the order in which they are met first.
func RegroupPoints() (out []string) {
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

// KillRegrouping carries the plan out, killed at each of the points in turn and
// resumed, and compares what comes of it with the servers.
func (f *LiveFarm) KillRegrouping(points []string, topology farm.Topology) {
	t := f.T
	t.Helper()
	args := []string{"move", "regroup", "-C", f.Dir}
	for _, point := range points {
		p := RunProgram(t, "stowage @ "+point, args...)
		if !strings.Contains(p.Stderr, MarkOfKill+point) {
			t.Fatalf("the move never met %q: exit %d\n%s", point, p.Code, p.Stderr)
		}
		args = []string{"resume", "-C", f.Dir}
	}
	if p := RunProgram(t, "", args...); p.Code != ExitFine {
		t.Fatalf("last resume: exit %d\n%s", p.Code, p.Stderr)
	}
	f.CheckRegrouped(topology)
}

// CheckRegrouped stops the clients and compares everything with the servers.
func (f *LiveFarm) CheckRegrouped(topology farm.Topology) {
	t := f.T
	t.Helper()
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	table, err := route.ReadFile(f.Dir + "/routing.json")
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
			f.ShardIsAt(s.Name, p.Name)
		}
	}
	f.nothingElseRuns(fm)
	if topology == farm.ActiveActive {
		f.CheckWhole()
	} else {
		f.CheckOneWriter()
	}
}

// nothingElseRuns checks that the farm's own instances are all that run.
func (f *LiveFarm) nothingElseRuns(fm *farm.Farm) {
	f.T.Helper()
	known := map[string]bool{}
	for _, p := range fm.Pairs {
		for _, s := range p.Sides {
			known[f.Path(s.Config)] = true
		}
	}
	for _, line := range ProcessesIn(f.Dir) {
		_, config, is := strings.Cut(line, "--defaults-file=")
		config, _, _ = strings.Cut(config, " ")
		if is && !known[config] {
			f.T.Errorf("a server runs that farm.yaml does not know: %s", line)
		}
		delete(known, config)
	}
	for config := range known {
		f.T.Errorf("no server runs with %s", config)
	}
}
