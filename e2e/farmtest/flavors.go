package farmtest

import (
	"os"
	"strings"
)

// Env is what the program is run with on this farm: its servers, and where to
// be killed.
func (f *LiveFarm) Env(kill string) []string {
	if f.Servers == "" {
		return []string{KillAt + "=" + kill}
	}
	return []string{KillAt + "=" + kill, "PATH=" + BinDir(f.T) + string(os.PathListSeparator) + f.Servers}
}

// KilledAt runs the program, kills it and its engine at each of the points in
// turn, and resumes, to the end.
func (f *LiveFarm) KilledAt(points []string, args ...string) {
	t := f.T
	t.Helper()
	if args[len(args)-1] != f.Dir {
		args = append(args, "-C", f.Dir)
	}
	for _, point := range points {
		p := RunWith(t, f.Env("both @ "+point), args...)
		if !strings.Contains(p.Stderr, MarkOfKill+point) || p.Code != -1 {
			t.Fatalf("not killed at %q: exit %d\n%s", point, p.Code, p.Stderr)
		}
		args = []string{"resume", "-C", f.Dir}
	}
	if p := RunWith(t, f.Env(""), args...); p.Code != ExitFine {
		t.Fatalf("exit %d\n%s", p.Code, p.Stderr)
	}
}
