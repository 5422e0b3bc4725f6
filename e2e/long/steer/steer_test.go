package steer

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
)

// A copy is slowed down from another terminal within a second, paused, killed,
// and goes on when somebody says so; the pause is remembered with who and why.
func TestThrottlePauseKillResume(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	f.Goals("soak: 50ms\nbudgets: {disk_write: 2MB/s}\n")
	f.Must("plan", "--name", "slow")
	b := f.Start("move", "slow", "--reason", "ticket 4711")
	f.Await(b, "bytes move", func() bool { return f.Copied() > 2e6 })
	if s := farmtest.RunProgram(t, "", "throttle", "0.5", "-C", f.Dir); s.Code != 0 {
		t.Fatalf("throttle: %+v", s)
	}
	f.Await(b, "throttled to 0.5 MB/s it copies that much", f.CopiesBelow(0.75))
	f.Must("pause", "--copies", "--reason", "the shop opens")
	f.Await(b, "paused with its copies it moves nothing", func() bool {
		from := f.Copied()
		time.Sleep(2 * time.Second)
		return f.Copied() == from
	})
	b.Kill()
	st := farmtest.RunProgram(t, "", "status", "-C", f.Dir)
	for _, want := range []string{"interrupted", "PAUSED by", "the shop opens", "THROTTLED to 0.5 MB/s", "next: stowage -C " + f.Dir + " resume"} {
		if !strings.Contains(st.Stdout+st.Stderr, want) {
			t.Errorf("status after a kill lacks %q:\n%s", want, st.Stdout)
		}
	}
	f.Must("throttle", "off")
	f.Must("resume")
	f.CheckWhole()
	log := farmtest.RunProgram(t, "", "log", "-C", f.Dir)
	for _, want := range []string{"pause copies  # the shop opens", "throttle off", "CHANGE MASTER TO", "SET GLOBAL read_only = ON", "# ticket 4711"} {
		if !strings.Contains(log.Stdout, want) {
			t.Errorf("the log lacks %q:\n%s", want, log.Stdout)
		}
	}
	f.NoSecretAnywhere()
}

// A side waits for a person for as long as it takes, through a kill, and goes
// on when it was approved.
func TestApprove(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	if p := farmtest.RunProgram(t, "", "move", "first", "--approve-before", "lunch", "-C", f.Dir); p.Code != farmtest.ExitUsage || !strings.Contains(p.Stderr, "retire") {
		t.Errorf("an approval that nobody comes to: exit %d\n%s", p.Code, p.Stderr)
	}
	b := f.Start("move", "first", "--approve-before", "retire", "--approve-before", "out")
	f.Await(b, "a side waits before out", func() bool { return len(f.Status().Waiting) == 1 })
	if g := f.Status().Waiting[0]; g.Step != "out" || g.Part != "dbshard001/B" {
		t.Errorf("waits: %+v", g)
	}
	s := farmtest.OpenPages(t, f.Dir) // of a move that runs
	page := func(want string) {
		t.Helper()
		f.Await(b, "the page has: "+want, func() bool { _, text := s.Get("/moves"); return strings.Contains(text, want) })
	}
	page("approve out --lane dbshard001/B")
	page(`<b>running</b>`)
	if p := farmtest.RunProgram(t, "", "approve", "retire", "-C", f.Dir); p.Code != farmtest.ExitRefused {
		t.Errorf("approved what does not wait: exit %d\n%s", p.Code, p.Stdout)
	}
	b.Kill()
	if status, text := s.Get("/moves"); status != http.StatusOK {
		t.Errorf("the page of a move that was killed: %d\n%s", status, text)
	}
	farmtest.Await(t, "the page says that it was interrupted", func() bool {
		_, text := s.Get("/moves")
		return strings.Contains(text, "<b>interrupted</b>") && strings.Contains(text, "resume")
	})
	b = f.Start("resume")
	time.Sleep(2 * time.Second)
	if s := f.Steps(); strings.Contains(s, "B:out") {
		t.Fatalf("went on without an approval: %s", s)
	}
	f.Must("approve", "out", "--ahead", "--reason", "checked by hand")
	f.Await(b, "a side waits before retire", func() bool { w := f.Status().Waiting; return len(w) == 1 && w[0].Step == "retire" })
	f.Must("approve", "retire", "--lane", "dbshard001")
	page("<b>1 of 2</b>")
	f.Await(b, "the other side waits before retire", func() bool { w := f.Status().Waiting; return len(w) == 1 && w[0].Part == "dbshard001/A" })
	f.Must("approve")
	b.Ends(t, farmtest.ExitFine)
	farmtest.Await(t, "the page says that it is done", func() bool {
		_, text := s.Get("/moves")
		return strings.Contains(text, "<b>done</b>") && strings.Contains(text, "<b>2 of 2</b>")
	})
	f.CheckWhole()
}

// Aborted at any phase before the point of no return, the side is put back as
// it was; nothing of the new instance is left.
func TestAbortInEachPhase(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	f.Wanted = "anywhere"
	before := f.Places()
	for n, step := range []string{"seed", "start", "out", "rewire", "in", "retire"} {
		plan := fmt.Sprintf("try-%d", n)
		f.Must("plan", "--name", plan)
		b := f.Start("move", plan, "--approve-before", step)
		f.Await(b, "a side waits before "+step, func() bool { return len(f.Status().Waiting) == 1 })
		killed := n%2 == 1
		if killed {
			b.Kill() // abort then does it all itself
			f.Must("abort", "--reason", "a test says so")
		} else {
			f.Must("abort", "--reason", "a test says so")
			b.Ends(t, farmtest.ExitFailed)
			if !strings.Contains(b.Out.String(), "aborted by") || !strings.Contains(b.Out.String(), "a test says so") {
				t.Errorf("it does not say why:\n%s", &b.Out)
			}
		}
		if now := f.Places(); now != before {
			t.Errorf("aborted before %s: farm.yaml says %s, was %s", step, now, before)
		}
		if left, _ := filepath.Glob(f.Dir + "/hosts/ssd*/*"); len(left) > 0 {
			t.Errorf("aborted before %s: left behind %v", step, left)
		}
		f.CheckNow()
	}
	f.CheckWhole()
}

// A copy that runs is broken off at once.
func TestAbortBreaksACopyOff(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	f.Wanted = "anywhere"
	f.Goals("soak: 50ms\nbudgets: {disk_write: 1MB/s}\n")
	f.Must("plan", "--name", "slow")
	b := f.Start("move", "slow")
	f.Await(b, "bytes move", func() bool { return f.Copied() > 0 })
	f.Must("abort")
	b.Ends(t, farmtest.ExitFailed)
	for _, e := range f.Events() {
		if e.Step == "seed" && e.Kind == farm.StepDone {
			t.Error("the copy went on to its end")
		}
	}
	if left, _ := filepath.Glob(f.Dir + "/hosts/ssd*/*"); len(left) > 0 {
		t.Errorf("left behind %v", left)
	}
	f.CheckWhole()
}

// While the old side soaks, the whole move can be undone; what was dropped
// before is planned back, and that plan can be moved.
func TestUndo(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	before := f.Places()
	f.Goals("soak: 30m\n")
	f.Must("plan", "--name", "soaks")
	b := f.Start("move", "soaks")
	f.Await(b, "side B soaks", func() bool { return strings.Contains(rowText(f.Status(), farm.B), "serves in its new place until") })
	f.Must("undo", "--reason", "not today")
	b.Ends(t, farmtest.ExitFailed)
	if now := f.Places(); now != before {
		t.Errorf("undone: farm.yaml says %s, was %s", now, before)
	}
	f.Wanted = "anywhere"
	f.CheckNow()

	// The same, and one side is moved for good meanwhile.
	f.Goals("soak: 50ms\n")
	f.Must("plan", "--name", "half")
	b = f.Start("move", "half", "--approve-before", "retire")
	f.Await(b, "side B waits", func() bool { return len(f.Status().Waiting) == 1 })
	f.Must("approve")
	f.Await(b, "side A waits", func() bool { w := f.Status().Waiting; return len(w) == 1 && w[0].Part == "dbshard001/A" })
	f.Must("undo")
	b.Ends(t, farmtest.ExitFailed)
	if !strings.Contains(b.Out.String(), " move undo-half") {
		t.Fatalf("no way back:\n%s", &b.Out)
	}
	f.CheckNow()
	f.ClearOld()
	f.Must("move", "undo-half")
	if now := f.Places(); !farmtest.SamePlaces(now, before) {
		t.Errorf("moved back: farm.yaml says %s, was %s", now, before)
	}
	again := farmtest.RunProgram(t, "", "undo", "-C", f.Dir)
	if again.Code != farmtest.ExitFine || !strings.Contains(again.Stdout, "undo-undo-half") {
		t.Errorf("the way back of the way back: %+v", again)
	}
	f.CheckWhole()
}

func rowText(s farmtest.StatusAnswer, side farm.SideName) string {
	for _, r := range s.Sides {
		if r.Side == side {
			return r.Text
		}
	}
	return ""
}

// A copy slows down by itself when a server beside it has more to do than
// before, or falls behind; it says why, goes on, and comes back when that is
// over.
func TestCopySlowsDownByItself(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	f.Goals("soak: 50ms\nbudgets: {disk_write: 1MB/s, lag: 1s}\n")
	f.Must("plan", "--name", "slow")
	b := f.Start("move", "slow")
	f.Await(b, "bytes move", func() bool { return f.Copied() > 3e6 })
	says := func(side farm.SideName, words string) func() bool {
		return func() bool { return strings.Contains(rowText(f.Status(), side), words) }
	}
	quiet := f.Occupy(farm.A, 40)
	f.Await(b, "it says that statements are in flight", says(farm.B, "MB/s: dbshard001a has"))
	f.Await(b, "it is at its floor", says(farm.B, "0.5 of 1.0 MB/s"))
	f.Await(b, "with 40 statements in flight it copies at 0.5 MB/s", f.CopiesBelow(0.7))
	quiet()
	f.Await(b, "it comes back", func() bool {
		text := rowText(f.Status(), farm.B)
		return text != "" && !strings.Contains(text, "MB/s:")
	})
	f.Await(b, "side A is copied", func() bool { return strings.Contains(f.Steps(), "A:seed") })
	unlock := f.LockTables(farm.A)
	f.Await(b, "it says who is behind", says(farm.A, "MB/s: dbshard001a (old) is "))
	unlock()
	b.Ends(t, farmtest.ExitFine)
	f.CheckWhole()
}
