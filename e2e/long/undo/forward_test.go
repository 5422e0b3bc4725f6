package undo

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"stowage/act"
	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/route"
)

// A table is changed at the new place during the soak: the move says that the
// way back is lost and waits, whatever is said but the one thing, through kills
// of the program and of its engine; then it settles.
func TestWayBackLostInTheSoak(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartShardFarm(t)
	b := f.Soaks("--approve-before", "settle")
	if p := farmtest.RunProgram(t, "", "approve", farmtest.Forward, "-C", f.Dir); p.Code != farmtest.ExitRefused {
		t.Errorf("nothing is lost: exit %d\n%s", p.Code, p.Stderr)
	}
	f.Alters("ADD COLUMN mine INT NOT NULL DEFAULT 0")
	way := f.AwaitLost(b)
	if way.Part != farmtest.Goes || !strings.Contains(way.Why, "another client ran: ALTER TABLE") || !strings.Contains(b.Out.String(), act.LostWords) || way.Since.IsZero() {
		t.Errorf("it says %+v\n%s", way, &b.Out)
	}
	st := farmtest.RunProgram(t, "", "status", "-C", f.Dir)
	for _, want := range []string{act.LostWords + ": " + farmtest.Goes, "another client ran", "next: stowage -C " + f.Dir + " approve " + farmtest.Forward} {
		if !strings.Contains(st.Stdout+st.Stderr, want) {
			t.Errorf("the status lacks %q:\n%s", want, st.Stdout)
		}
	}
	page := farmtest.OpenPages(t, f.Dir)
	farmtest.Await(t, "the page says what a person may decide", func() bool {
		_, text := page.Get("/moves")
		return strings.Contains(text, "its way back is lost: another client ran") && strings.Contains(text, "--lane "+farmtest.Goes)
	})
	f.RefusesToEnd()
	if p := farmtest.RunProgram(t, "", "approve", "-C", f.Dir); p.Code != farmtest.ExitRefused || !strings.Contains(p.Stderr, farmtest.Forward) {
		t.Errorf("a plain approve: exit %d\n%s", p.Code, p.Stderr)
	}
	f.Must("resume") // tries once more, and cannot
	f.Await(b, "it waits again", func() bool { return strings.Count(b.Out.String(), act.LostWords+" since") > 1 && len(f.Lost()) == 1 })
	if again := f.AwaitLost(b); !again.Since.Equal(way.Since) {
		t.Errorf("lost since %v, was %v", again.Since, way.Since)
	}
	b.Kill()
	f.RefusesToEnd()
	b = f.Start("resume")
	f.AwaitLost(b)
	f.Must("pause")
	f.Must("approve", farmtest.Forward, "--reason", "it has to stay")
	f.Await(b, "it is paused", func() bool { return strings.Contains(fmt.Sprint(f.Status().Sides), "paused before") })
	b.Kill() // between the order and the settling
	for _, point := range []string{"both @ after soak", "stowage @ before settle", "both @ after settle/record", "stowage @ after settle/remove"} {
		if p := farmtest.RunProgram(t, point, "resume", "-C", f.Dir); p.Code != -1 {
			t.Fatalf("not killed %s: exit %d\n%s", point, p.Code, p.Stderr)
		}
	}
	p := farmtest.RunProgram(t, "", "resume", "-C", f.Dir)
	if p.Code != farmtest.ExitFine {
		t.Fatalf("the last resume: exit %d\n%s", p.Code, p.Stderr)
	}
	f.WentForward(p.Stdout, "mine")
}

// The way back is lost while nobody feeds it, and that is found out by an undo:
// the shard serves on at its new place, without a client that waited for long,
// and the undo waits for a person, and goes on waiting after a kill.
func TestUndoFindsTheWayBackLost(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartShardFarmOf(t, farm.PrimaryReplica)
	b := f.Start("move", "shard", farmtest.Goes, "--to", farmtest.Away, "--approve-before", "settle")
	f.Await(b, "it waits for its approval", func() bool { return len(f.Status().Waiting) == 1 })
	f.Alters("ADD COLUMN mine INT NOT NULL DEFAULT 0")
	f.Must("undo")
	f.AwaitLost(b)
	f.RefusesToEndAlready()
	b.Kill()
	b = f.Start("resume")
	f.AwaitLost(b)
	if held := f.Status().HeldShards; len(held) > 0 {
		t.Errorf("clients wait: %v", held)
	}
	f.Must("approve", farmtest.Forward, "--reason", "it has to stay")
	b.Ends(t, farmtest.ExitFine)
	if n := f.Columns(farmtest.AwayOne, "mine"); n != 2 {
		t.Errorf("the column is on %d of two sides", n)
	}
	f.WentForward(b.Out.String(), "mine")
}

// An undo is killed while it holds the clients of a shard, a table is changed at
// the new place behind that hold, and only then the undo goes on: there is no way
// back any more, so the clients go on where they were, and a person decides.
func TestUndoKilledWhileItHoldsClientsFindsTheWayBackLost(t *testing.T) {
	farmtest.SideBySide(t, func(run func(string, func(*testing.T))) {
		for _, x := range []struct {
			topology farm.Topology
			points   []string // of the undo, and of each resume after it
		}{
			{farm.ActiveActive, []string{"stowage @ after undo cutover/close", "both @ before undo cutover/lock"}},
			{farm.PrimaryReplica, []string{"both @ after undo cutover/lock"}},
			{farm.ActiveActive, []string{"stowage @ before undo cutover/rename"}},
		} {
			run(fmt.Sprintf("%s/%s", x.topology, x.points[0]), func(t *testing.T) { undoHeldAndLost(t, x.topology, x.points) })
		}
	})
}

func undoHeldAndLost(t *testing.T, topology farm.Topology, points []string) {
	f := farmtest.StartShardFarmOf(t, topology)
	b := f.Start("move", "shard", farmtest.Goes, "--to", farmtest.Away, "--approve-before", "settle")
	f.Await(b, "it waits for its approval", func() bool { return len(f.Status().Waiting) == 1 })
	b.Kill()
	for k, point := range points {
		verb := "resume"
		if k == 0 {
			verb = "undo"
		}
		if p := farmtest.RunProgram(t, point, verb, "-C", f.Dir); p.Code != -1 {
			t.Fatalf("not killed %s: exit %d\n%s", point, p.Code, p.Stderr)
		}
		if held := f.Status().HeldShards; len(held) != 1 {
			t.Fatalf("killed %s, and %v are held", point, held)
		}
		if k == 0 {
			f.Alters("ADD COLUMN mine INT NOT NULL DEFAULT 0")
		}
	}
	b = f.Start("resume")
	f.AwaitLost(b)
	if held := f.Status().HeldShards; len(held) > 0 {
		t.Errorf("clients wait: %v", held)
	}
	if table, err := route.ReadFile(f.Dir + "/routing.json"); err != nil || !slices.Equal(table.Serves(farmtest.MovedShard), []farm.PairName{farmtest.AwayOne}) {
		t.Errorf("its clients are not at its new place: %v", err)
	}
	f.RefusesToEndAlready()
	f.Must("approve", farmtest.Forward, "--reason", "it has to stay")
	b.Ends(t, farmtest.ExitFine)
	f.WentForward(b.Out.String(), "mine")
}

// The same as a round of random faults has it: people change a table while it
// soaks, and a person finishes what they have begun.
func TestRoundThatAPersonFinishes(t *testing.T) {
	t.Parallel() // it mostly waits
	c := farmtest.SceneNamed(t, "shard")
	f := c.Start(t)
	f.Goals("soak: 1h\n")
	r := f.WithFaults(f.Next(c), []farmtest.Fault{{What: "ddl", At: "before soak"}})
	if r.End() != "forward" || r.Forward != 1 || len(r.Missed) > 0 {
		t.Errorf("it ended %s, after %d decisions\n%s", r.End(), r.Forward, farmtest.SeriesRound{Round: r, Stderr: r.Said}.Text())
	}
}
