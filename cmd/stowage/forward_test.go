package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/move"
	"stowage/route"
)

const forward = "--without-way-back"

// soaks begins to move the shard and returns when it serves at its new place.
func (f *liveFarm) soaks(more ...string) *background {
	f.t.Helper()
	b := f.start(append([]string{"move", "shard", goes, "--to", away, "--soak", "1h"}, more...)...)
	f.await(b, "it soaks", func() bool {
		return slices.ContainsFunc(f.status().Sides, func(r sideRow) bool { return r.Step == "soak" && strings.Contains(r.Text, "has what was written") })
	})
	return b
}

// alters changes a table of the shard where it serves now.
func (f *liveFarm) alters(text string) {
	f.t.Helper()
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	p, _ := fm.Pair(awayOne)
	root := f.dial("unix", f.dir+"/"+p.Sides[farm.A].Datadir+"/mysqld.sock", "root", "")
	if _, err := root.Exec("ALTER TABLE " + goes + ".listings " + text); err != nil {
		f.t.Fatal(err)
	}
}

func (f *liveFarm) lost() []move.LostWay { return f.status().Steering.Lost }

func (f *liveFarm) awaitLost(b *background) move.LostWay {
	f.t.Helper()
	f.await(b, "the way back is lost", func() bool { w := f.lost(); return len(w) == 1 && w[0].IsOpen() })
	return f.lost()[0]
}

// refusesToEnd: neither undo nor abort takes a shard away from what was written
// at its new place, and both leave it waiting.
func (f *liveFarm) refusesToEnd() {
	f.t.Helper()
	for _, verb := range []string{"undo", "abort"} {
		p := runProgram(f.t, "", "move", verb, "-C", f.dir)
		if p.code != exitRefused || !strings.Contains(p.stderr, "would be lost") || !strings.Contains(p.stderr, forward) {
			f.t.Errorf("%s while the way back is lost: exit %d, want %d and what to do instead\n%s", verb, p.code, exitRefused, p.stderr)
		}
	}
	if s := f.status().Steering; s.Ending != nil || len(s.Lost) != 1 {
		f.t.Errorf("after a refusal it does not wait as before: %+v", s)
	}
}

// wentForward: the shard is at its new place, nothing of it or of the move is
// anywhere else, no write is lost, and it is told who decided and why.
func (f *liveFarm) wentForward(out, column string) {
	t := f.t
	t.Helper()
	f.shardIsAt(movedShard, awayOne)
	f.partedCleanly()
	if wrong := f.wrongNow(waitLimit); len(wrong) > 0 {
		t.Errorf("left over:\n%s", strings.Join(wrong, "\n"))
	}
	if n := f.columns(awayOne, column); n != 2 {
		t.Errorf("column %s is there on %d of two sides", column, n)
	}
	if !strings.Contains(out, "without a way back by") || !strings.Contains(out, "it has to stay") {
		t.Errorf("the end does not say who went on without a way back:\n%s", out)
	}
	said := runProgram(t, "", "move", "log", "-C", f.dir).stdout
	if !strings.Contains(said, "forward without a way back  # it has to stay") || !strings.Contains(said, "lost ") {
		t.Error("the trail does not say who decided, or that the way back was lost")
	}
	f.must("report")
	page, err := os.ReadFile(f.dir + "/report.html")
	if err != nil || !strings.Contains(string(page), "without a way back by") {
		t.Errorf("the report does not say it: %v", err)
	}
	f.checkLedger()
	f.neighboursNeverWaited()
}

func (f *liveFarm) columns(pair farm.PairName, name string) (n int) {
	f.t.Helper()
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	p, _ := fm.Pair(pair)
	for _, side := range p.Sides {
		db := f.login(fm.Address(side), "stowage")
		defer db.Close()
		var has int
		query := "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = 'listings' AND COLUMN_NAME = ?"
		if err := db.QueryRowContext(f.t.Context(), query, goes, name).Scan(&has); err != nil {
			f.t.Fatal(err)
		}
		n += has
	}
	return n
}

// A table is changed at the new place during the soak: the move says that the
// way back is lost and waits, whatever is said but the one thing, through kills
// of the program and of its engine; then it settles.
func TestWayBackLostInTheSoak(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startShardFarm(t)
	b := f.soaks("--gate", "before-settle")
	if p := runProgram(t, "", "move", "approve", forward, "-C", f.dir); p.code != exitRefused {
		t.Errorf("nothing is lost: exit %d\n%s", p.code, p.stderr)
	}
	f.alters("ADD COLUMN mine INT NOT NULL DEFAULT 0")
	way := f.awaitLost(b)
	if way.Part != goes || !strings.Contains(way.Why, "somebody ran: ALTER TABLE") || !strings.Contains(b.out.String(), move.LostWords) || way.Since.IsZero() {
		t.Errorf("it says %+v\n%s", way, &b.out)
	}
	st := runProgram(t, "", "move", "status", "-C", f.dir)
	for _, want := range []string{move.LostWords + ": " + goes, "somebody ran", "next: stowage move approve " + forward} {
		if !strings.Contains(st.stdout, want) {
			t.Errorf("the status lacks %q:\n%s", want, st.stdout)
		}
	}
	page := serveNow(t, f.dir)
	page.enter()
	await(t, "the page says what a person may decide", func() bool {
		_, text := page.get("/moves")
		return strings.Contains(text, "its way back is lost: somebody ran") && strings.Contains(text, "--lane "+goes)
	})
	f.refusesToEnd()
	if p := runProgram(t, "", "move", "approve", "-C", f.dir); p.code != exitRefused || !strings.Contains(p.stderr, forward) {
		t.Errorf("a plain approve: exit %d\n%s", p.code, p.stderr)
	}
	f.must("move", "resume") // tries once more, and cannot
	f.await(b, "it waits again", func() bool { return strings.Count(b.out.String(), move.LostWords+" since") > 1 && len(f.lost()) == 1 })
	if again := f.awaitLost(b); !again.Since.Equal(way.Since) {
		t.Errorf("lost since %v, was %v", again.Since, way.Since)
	}
	b.kill()
	f.refusesToEnd()
	b = f.start("move", "resume")
	f.awaitLost(b)
	f.must("move", "pause")
	f.must("move", "approve", forward, "--reason", "it has to stay")
	f.await(b, "it is paused", func() bool { return strings.Contains(fmt.Sprint(f.status().Sides), "paused before") })
	b.kill() // between the order and the settling
	for _, point := range []string{"both @ after soak", "stowage @ before settle", "both @ after settle/record", "stowage @ after settle/remove"} {
		if p := runProgram(t, point, "move", "resume", "-C", f.dir); p.code != -1 {
			t.Fatalf("not killed %s: exit %d\n%s", point, p.code, p.stderr)
		}
	}
	p := runProgram(t, "", "move", "resume", "-C", f.dir)
	if p.code != exitFine {
		t.Fatalf("the last resume: exit %d\n%s", p.code, p.stderr)
	}
	f.wentForward(p.stdout, "mine")
}

// The way back is lost while nobody feeds it, and that is found out by an undo:
// the shard serves on at its new place, without a client that waited for long,
// and the undo waits for a person, and goes on waiting after a kill.
func TestUndoFindsTheWayBackLost(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startShardFarmOf(t, farm.PrimaryReplica)
	b := f.start("move", "shard", goes, "--to", away, "--gate", "before-settle")
	f.await(b, "it stands at its gate", func() bool { return len(f.status().Waiting) == 1 })
	f.alters("ADD COLUMN mine INT NOT NULL DEFAULT 0")
	f.must("move", "undo")
	f.awaitLost(b)
	f.refusesToEndAlready()
	b.kill()
	b = f.start("move", "resume")
	f.awaitLost(b)
	if held := f.status().HeldShards; len(held) > 0 {
		t.Errorf("clients wait: %v", held)
	}
	f.must("move", "approve", forward, "--reason", "it has to stay")
	b.ends(t, exitFine)
	if n := f.columns(awayOne, "mine"); n != 2 {
		t.Errorf("the column is on %d of two sides", n)
	}
	f.wentForward(b.out.String(), "mine")
}

// An undo is killed while it holds the clients of a shard, a table is changed at
// the new place behind that hold, and only then the undo goes on: there is no way
// back any more, so the clients go on where they were, and a person decides.
func TestUndoKilledWhileItHoldsClientsFindsTheWayBackLost(t *testing.T) {
	sideBySide(t, func(run func(string, func(*testing.T))) {
		for _, x := range []struct {
			topology farm.Topology
			points   []string // of the undo, and of each resume after it
		}{
			{farm.ActiveActive, []string{"stowage @ after undo cutover/hold", "both @ before undo cutover/lock"}},
			{farm.PrimaryReplica, []string{"both @ after undo cutover/lock"}},
			{farm.ActiveActive, []string{"stowage @ before undo cutover/rename"}},
		} {
			run(fmt.Sprintf("%s/%s", x.topology, x.points[0]), func(t *testing.T) { undoHeldAndLost(t, x.topology, x.points) })
		}
	})
}

func undoHeldAndLost(t *testing.T, topology farm.Topology, points []string) {
	f := startShardFarmOf(t, topology)
	b := f.start("move", "shard", goes, "--to", away, "--gate", "before-settle")
	f.await(b, "it stands at its gate", func() bool { return len(f.status().Waiting) == 1 })
	b.kill()
	for k, point := range points {
		verb := "resume"
		if k == 0 {
			verb = "undo"
		}
		if p := runProgram(t, point, "move", verb, "-C", f.dir); p.code != -1 {
			t.Fatalf("not killed %s: exit %d\n%s", point, p.code, p.stderr)
		}
		if held := f.status().HeldShards; len(held) != 1 {
			t.Fatalf("killed %s, and %v are held", point, held)
		}
		if k == 0 {
			f.alters("ADD COLUMN mine INT NOT NULL DEFAULT 0")
		}
	}
	b = f.start("move", "resume")
	f.awaitLost(b)
	if held := f.status().HeldShards; len(held) > 0 {
		t.Errorf("clients wait: %v", held)
	}
	if table, err := route.ReadFile(f.dir + "/routing.json"); err != nil || !slices.Equal(table.Serves(movedShard), []farm.PairName{awayOne}) {
		t.Errorf("its clients are not at its new place: %v", err)
	}
	f.refusesToEndAlready()
	f.must("move", "approve", forward, "--reason", "it has to stay")
	b.ends(t, exitFine)
	f.wentForward(b.out.String(), "mine")
}

// refusesToEndAlready: said again, it is refused, and what was said before the
// loss was known holds.
func (f *liveFarm) refusesToEndAlready() {
	f.t.Helper()
	if p := runProgram(f.t, "", "move", "undo", "-C", f.dir); p.code != exitRefused {
		f.t.Errorf("said again: exit %d\n%s", p.code, p.stderr)
	}
	if f.status().Steering.Ending == nil {
		f.t.Error("the undo is forgotten")
	}
}

// The same as a round of random faults has it: people change a table while it
// soaks, and a person finishes what they have begun.
func TestRoundThatAPersonFinishes(t *testing.T) {
	t.Parallel() // it mostly waits
	c := sceneNamed(t, "shard")
	f := c.start(t)
	f.goals("soak: 1h\n")
	r := f.withFaults(f.next(c), []fault{{What: "ddl", At: "before soak"}})
	if r.end() != "forward" || r.Forward != 1 || len(r.Missed) > 0 {
		t.Errorf("it ended %s, after %d decisions\n%s", r.end(), r.Forward, seriesRound{round: r, Stderr: r.stderr}.text())
	}
}
