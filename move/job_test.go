package move

import (
	"encoding/json"
	"fmt"
	"testing"

	"stowage/act"

	"stowage/farm"
	"stowage/placement"
)

// A farm of six thousand pairs is one job that the engine accepts: every pair
// in one lane, its sides in the plan's order, each side's twin where it will
// be by then.
func TestLargeMovesAreOneJob(t *testing.T) {
	const pairs = 6000
	now, moves := largeFarm(pairs)
	job, err := NewJob("move-large-1", moves, now, 4)
	if err != nil {
		t.Fatal(err)
	}
	stages := act.Stages(job)
	if len(stages) != 1 || stages[0].ID != job.ID || len(stages[0].Lanes) != pairs {
		t.Fatalf("%d stages, the first %s with %d lanes", len(stages), stages[0].ID, len(stages[0].Lanes))
	}
	if err := job.Validate(); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, l := range job.Lanes {
		if seen[l.Name] {
			t.Errorf("pair %s has two lanes", l.Name)
		}
		seen[l.Name] = true
		if len(l.Parts) != 2 || l.Parts[0].Subject != l.Name+"/B" || l.Parts[1].Subject != l.Name+"/A" {
			t.Fatalf("parts of %s are %v", l.Name, l.Parts)
		}
	}
}

func largeFarm(pairs int) (*farm.Farm, []placement.Move) {
	f := &farm.Farm{Name: "large"}
	var moves []placement.Move
	for n := range pairs {
		p := farm.Pair{Name: farm.PairName(fmt.Sprintf("dbshard%04d", n)), Sides: map[farm.SideName]farm.Side{}}
		for i, side := range []farm.SideName{farm.B, farm.A} {
			host := farm.Host{Name: farm.HostName(fmt.Sprintf("db%05d", 2*n+i)), Address: fmt.Sprintf("10.%d.%d.%d", i, n/250, n%250)}
			f.Hosts = append(f.Hosts, host)
			dir := fmt.Sprintf("/var/lib/mysql/%s", p.Instance(side))
			p.Sides[side] = farm.Side{Host: host.Name, Port: 3306, Datadir: dir + "/data", Config: dir + "/my.cnf"}
			moves = append(moves, placement.Move{Wave: i + 1, Pair: p.Name, Side: side, Instance: p.Instance(side), ServerID: uint32(9000 + 2*n + i),
				From: placement.Place{Host: host.Name, Address: host.Address, Port: 3306, Datadir: dir + "/data", Config: dir + "/my.cnf"},
				To:   placement.Place{Host: farm.HostName(fmt.Sprintf("ssd%03d", (2*n+i)%500)), Address: "10.9.9.9", Port: 3306, Datadir: dir + "/data", Config: dir + "/my.cnf"}})
		}
		f.Pairs = append(f.Pairs, p)
	}
	return f, moves
}

// Points are generated from the steps, each border once.
func TestPointsAreDistinct(t *testing.T) {
	for _, b := range Runbooks() {
		seen := map[string]bool{}
		for _, p := range b.Points() {
			if seen[p] {
				t.Errorf("%s: point %q is listed twice", b.Name, p)
			}
			seen[p] = true
		}
		for _, s := range b.Steps {
			for _, want := range []string{"before " + s.Name, "after " + s.Name} {
				if !seen[want] {
					t.Errorf("%s: step %s has no point %q", b.Name, s.Name, want)
				}
			}
			if s.Needs == "" || s.Effect == "" || s.Known == "" {
				t.Errorf("%s: step %s does not say what it needs, does, and how it is known to be done", b.Name, s.Name)
			}
			if (s.Undo == nil) != (s.Undone == "") {
				t.Errorf("%s: step %s: undo and what it says of it disagree", b.Name, s.Name)
			}
		}
		if b.Steps[0].Name != "preflight" {
			t.Errorf("%s begins with %s and not with preflight", b.Name, b.Steps[0].Name)
		}
		if found, ok := ByName(b.Name); !ok || len(found.Steps) != len(b.Steps) {
			t.Errorf("%s is not found by its name", b.Name)
		}
	}
}

// What moves in a later stage is in a later job, and its twin is where the
// stages before have brought it.
func TestStagesAreRunOneAfterTheOther(t *testing.T) {
	now, moves := largeFarm(3)
	for i := range moves {
		moves[i].Stage = 1
		if moves[i].Side == farm.A {
			moves[i].Stage = 2
		}
	}
	job, err := NewJob("move-staged-1", moves, now, 4)
	if err != nil {
		t.Fatal(err)
	}
	ps := act.Stages(job)
	if len(ps) != 2 || len(ps[0].Lanes) != 3 || len(ps[1].Lanes) != 3 || ps[0].ID == ps[1].ID {
		t.Fatalf("stages %+v", ps)
	}
	for n, p := range ps {
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
		for _, l := range p.Lanes {
			if want := l.Name + "/" + []string{"B", "A"}[n]; len(l.Parts) != 1 || l.Parts[0].Subject != want {
				t.Errorf("stage %d has %v, want %s", n, l.Parts, want)
			}
		}
	}
	var o order
	if err := json.Unmarshal(ps[1].Lanes[0].Parts[0].Args, &o); err != nil {
		t.Fatal(err)
	}
	if b := moves[0]; b.Side != farm.B || o.Move.Side != farm.A || o.Twin != b.To {
		t.Errorf("the twin of %+v is taken to be at %+v", o.Move, o.Twin)
	}
}

// TestOrdersHaveTheOptionsOfTheNewHost: shares are divided by the instances that
// the host has when all moves are done, those that stay among them.
func TestOrdersHaveTheOptionsOfTheNewHost(t *testing.T) {
	now, moves := largeFarm(3)
	now.HostTypes = []farm.HostType{{Name: "dense", Capacity: farm.Resources{farm.Memory: 100 << 30}, Options: []farm.HostOption{{Name: "innodb_buffer_pool_size", Share: 0.75}}}}
	now.Hosts = append(now.Hosts, farm.Host{Name: "ssd", Type: "dense", Address: "10.9.9.9"})
	now.Pairs[0].Sides[farm.B] = farm.Side{Host: "ssd", Port: 3306, Datadir: "/x/data", Config: "/x/my.cnf"} // there already
	moves = moves[2:]
	for n := range moves {
		moves[n].To.Host = "ssd"
	}
	job, err := NewJob("x", moves, now, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, lane := range job.Lanes {
		for _, part := range lane.Parts {
			var o order
			if err := json.Unmarshal(part.Args, &o); err != nil {
				t.Fatal(err)
			}
			if o.Options["innodb_buffer_pool_size"] != "15360M" || len(o.Options) != 1 { // 75 GiB by five
				t.Errorf("%s: %v", part.Subject, o.Options)
			}
		}
	}
}
