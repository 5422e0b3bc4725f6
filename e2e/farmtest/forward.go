package farmtest

import (
	"os"
	"slices"
	"strings"

	"stowage/act"
	"stowage/farm"
)

const Forward = "--without-way-back"

// Soaks begins to move the shard and returns when it serves at its new place.
func (f *LiveFarm) Soaks(more ...string) *background {
	f.T.Helper()
	b := f.Start(append([]string{"move", "shard", Goes, "--to", Away, "--soak", "1h"}, more...)...)
	f.Await(b, "it soaks", func() bool {
		return slices.ContainsFunc(f.Status().Sides, func(r sideLine) bool { return r.Step == "soak" && strings.Contains(r.Text, "has what was written") })
	})
	return b
}

// Alters changes a table of the shard where it serves now.
func (f *LiveFarm) Alters(text string) {
	f.T.Helper()
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	p, _ := fm.Pair(AwayOne)
	root := f.Dial("unix", f.Dir+"/"+p.Sides[farm.A].Datadir+"/mysqld.sock", "root", "")
	if _, err := root.Exec("ALTER TABLE " + Goes + ".listings " + text); err != nil {
		f.T.Fatal(err)
	}
}

func (f *LiveFarm) Lost() []act.LostWay { return f.Status().Steering.Lost }

func (f *LiveFarm) AwaitLost(b *background) act.LostWay {
	f.T.Helper()
	f.Await(b, "the way back is lost", func() bool { w := f.Lost(); return len(w) == 1 && w[0].IsOpen() })
	return f.Lost()[0]
}

// refusesToEnd: neither undo nor abort takes a shard away from what was written
// at its new place, and both leave it waiting.
func (f *LiveFarm) RefusesToEnd() {
	f.T.Helper()
	for _, verb := range []string{"undo", "abort"} {
		p := RunProgram(f.T, "", verb, "-C", f.Dir)
		if p.Code != ExitRefused || !strings.Contains(p.Stderr, "would lose what was written") || !strings.Contains(p.Stderr, Forward) {
			f.T.Errorf("%s while the way back is lost: exit %d, want %d and what to do instead\n%s", verb, p.Code, ExitRefused, p.Stderr)
		}
	}
	if s := f.Status().Steering; s.Ending != nil || len(s.Lost) != 1 {
		f.T.Errorf("after a refusal it does not wait as before: %+v", s)
	}
}

// wentForward: the shard is at its new place, nothing of it or of the move is
// anywhere else, no write is lost, and it is told who decided and why.
func (f *LiveFarm) WentForward(out, column string) {
	t := f.T
	t.Helper()
	f.ShardIsAt(MovedShard, AwayOne)
	f.PartedCleanly()
	if wrong := f.WrongNow(WaitLimit); len(wrong) > 0 {
		t.Errorf("left over:\n%s", strings.Join(wrong, "\n"))
	}
	if n := f.Columns(AwayOne, column); n != 2 {
		t.Errorf("column %s is there on %d of two sides", column, n)
	}
	if !strings.Contains(out, "without a way back by") || !strings.Contains(out, "it has to stay") {
		t.Errorf("the end does not say who went on without a way back:\n%s", out)
	}
	said := RunProgram(t, "", "log", "-C", f.Dir).Stdout
	if !strings.Contains(said, "forward without a way back  # it has to stay") || !strings.Contains(said, "lost ") {
		t.Error("the trail does not say who decided, or that the way back was lost")
	}
	f.Must("report")
	page, err := os.ReadFile(f.Dir + "/report.html")
	if err != nil || !strings.Contains(string(page), "without a way back by") {
		t.Errorf("the report does not say it: %v", err)
	}
	f.CheckLedger()
	f.NeighboursNeverWaited()
}

func (f *LiveFarm) Columns(pair farm.PairName, name string) (n int) {
	f.T.Helper()
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	p, _ := fm.Pair(pair)
	for _, side := range p.Sides {
		db := f.Login(fm.Address(side), "stowage")
		defer db.Close()
		var has int
		query := "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = 'listings' AND COLUMN_NAME = ?"
		if err := db.QueryRowContext(f.T.Context(), query, Goes, name).Scan(&has); err != nil {
			f.T.Fatal(err)
		}
		n += has
	}
	return n
}

// refusesToEndAlready: said again, it is refused, and what was said before the
// loss was known holds.
func (f *LiveFarm) RefusesToEndAlready() {
	f.T.Helper()
	if p := RunProgram(f.T, "", "undo", "-C", f.Dir); p.Code != ExitRefused {
		f.T.Errorf("said again: exit %d\n%s", p.Code, p.Stderr)
	}
	if f.Status().Steering.Ending == nil {
		f.T.Error("the undo is forgotten")
	}
}
