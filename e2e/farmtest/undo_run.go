package farmtest

import (
	"strings"
)

// StuckUndoing lets a move fail at a point and its taking back at another,
// and has it go on being taken back afterwards.
func (f *LiveFarm) StuckUndoing(point, undo string, args ...string) {
	t := f.T
	t.Helper()
	p := RunProgram(t, "step @ "+point+"|"+undo, args...)
	if p.Code != ExitUnknown || !strings.Contains(p.Stderr, "continues to take it back") {
		t.Fatalf("failed at %q, and again at %q: exit %d, want %d and how to go on\n%s", point, undo, p.Code, ExitUnknown, p.Stderr)
	}
	// Killed in the middle of going on, too.
	if p := RunProgram(t, "stowage @ "+strings.Replace(undo, "before", "after", 1), "resume", "-C", f.Dir); p.Code != -1 {
		t.Fatalf("not killed after %q: exit %d\n%s", undo, p.Code, p.Stderr)
	}
	if p := RunProgram(t, "", "resume", "-C", f.Dir); p.Code != ExitFailed {
		t.Fatalf("taken back from %q: exit %d, want %d\n%s", undo, p.Code, ExitFailed, p.Stderr)
	}
	again := RunProgram(t, "", "resume", "-C", f.Dir)
	if again.Code != ExitFine || !strings.Contains(again.Stderr, "has ended") {
		t.Errorf("resumed when it had been taken back: exit %d\n%s%s", again.Code, again.Stdout, again.Stderr)
	}
}

// UndoAt begins a move, waits until it is at its last gate, and undoes it.
func (f *LiveFarm) UndoAt(args ...string) {
	t := f.T
	t.Helper()
	b := f.Start(args...)
	f.Await(b, "it is at its gate", func() bool { return len(f.Status().Waiting) == 1 })
	f.Must("undo", "--reason", "not today")
	b.Ends(t, ExitFailed)
}

// NothingLeft checks that no directory is there that farm.yaml does not know.
func (f *LiveFarm) NothingLeft() {
	f.T.Helper()
	for _, d := range f.unknownDirs() {
		f.T.Errorf("left behind: %s", d)
	}
}

// TakesNext checks what status names as the next step.
func (f *LiveFarm) TakesNext(command string) {
	f.T.Helper()
	next := f.Status().NextSteps
	if len(next) == 0 || !strings.HasPrefix(strings.Replace(next[0], " -C "+f.Dir, "", 1), command) {
		f.T.Fatalf("next: %q, want %s", next, command)
	}
}

// TakeNext takes the next step that status names.
func (f *LiveFarm) TakeNext(command string, code int) {
	f.T.Helper()
	f.TakesNext(command)
	args := append(strings.Fields(command)[1:], "-C", f.Dir)
	if p := RunProgram(f.T, "", args...); p.Code != code {
		f.T.Fatalf("%s, which status named: exit %d, want %d\n%s%s", command, p.Code, code, p.Stdout, p.Stderr)
	}
}
