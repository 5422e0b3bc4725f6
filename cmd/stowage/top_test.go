package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"stowage/act"
	"stowage/engine"
	"stowage/farm"
	"stowage/route"
	"stowage/store"
	"stowage/workspace"
)

// watched is a workspace with a move under way: one side of four is moved, and one is out of rotation.
func watched(t *testing.T) (dir string, kept *store.Store) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/workspace")); err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.Chmod(filepath.Join(dir, "accounts.cnf"), 0o600))
	check(os.MkdirAll(filepath.Join(dir, ".stowage"), 0o700))
	tellMove(t, dir)
	ws, err := workspace.Open(dir)
	check(err)
	f, err := ws.Farm()
	check(err)
	pairs := map[farm.PairName]*route.Pair{}
	for _, p := range f.Pairs {
		pairs[p.Name] = route.ForFarm(f, p)
	}
	pairs["dbshard001"].Serve(farm.A, farm.B, "127.0.99.2:3306", 100)
	check(route.NewFile(ws.Path("routing.json")).Create(pairs))
	x := openTeller(t, dir)
	job := engine.Job{ID: toldRun, Kind: "move"}
	for _, p := range f.Pairs {
		job.Lanes = append(job.Lanes, engine.Lane{Name: string(p.Name), Parts: []engine.Part{{Subject: string(p.Name) + "/A"}, {Subject: string(p.Name) + "/B"}}})
	}
	check(x.store.PutDocument("job", toldRun, x.now, job))
	return dir, x.store
}

// Without a terminal top prints once.
func TestTopPrintsOnceWithoutATerminal(t *testing.T) {
	dir, _ := watched(t)
	var out, errOut bytes.Buffer
	if code := run(t.Context(), []string{"top", "-C", dir}, &out, &errOut, nil); code != exitFine {
		t.Fatalf("exit code %d: %s", code, &errOut)
	}
	for _, want := range []string{
		toldRun + " of plan first: running", "1 of 4 sides done, 2 running", "A PERSON DECIDES: dbshard001/A before out",
		"dbshard002/B", "copied 12000 MB of 48000", "out of rotation: dbshard001/A\n", "findings: 0 blockers, 0 warnings",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("top does not say %q:\n%s", want, &out)
		}
	}
	out.Reset()
	if code := run(t.Context(), []string{"top", "--json", "-C", dir}, &out, &errOut, nil); code != exitFine {
		t.Fatalf("exit code %d: %s", code, &errOut)
	}
	var v topView
	if err := json.Unmarshal(out.Bytes(), &v); err != nil || v.Parts != 4 || len(v.Out) != 1 || v.Status.SidesDone != 1 {
		t.Errorf("%v: %s", err, &out)
	}
}

// A screen has as many lines as it is high: parts at work make room, what holds clients back does not.
func TestTopFitsItsScreen(t *testing.T) {
	dir, _ := watched(t)
	ws, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	from := &shelf{app: app{dir: dir}, ws: ws}
	v, err := from.topView("")
	if err != nil {
		t.Fatal(err)
	}
	for n := range 50 {
		v.Status.Sides = append(v.Status.Sides, sideRow{short: fmt.Sprintf("part %d", n)})
	}
	lines := v.lines(time.Now(), 12)
	text := strings.Join(lines, "\n")
	if len(lines) != 12 || !strings.Contains(text, " more") || !strings.Contains(text, "A PERSON DECIDES") || !strings.Contains(text, "out of rotation") {
		t.Errorf("%d lines:\n%s", len(lines), text)
	}
	if got := onScreen("a\x1b[2Jb\r\nc", 6); got != "a [2Jb" {
		t.Errorf("what a server said came to the screen as %q", got)
	}
}

func TestKeysGoFromThrottleToThrottle(t *testing.T) {
	mb := func(n int64) *int64 { n *= 1e6; return &n }
	for _, x := range []struct {
		now    *int64
		faster bool
		want   int64
	}{
		{nil, true, -1}, {nil, false, 100e6}, {mb(100), false, 50e6}, {mb(100), true, 200e6}, {mb(40), false, 20e6}, {mb(40), true, 50e6},
		{mb(1), false, 1e6}, {mb(0), true, 1e6}, {mb(1000), true, -1}, {mb(5000), false, 1000e6},
	} {
		if got := nextLimit(x.now, x.faster); got != x.want {
			t.Errorf("from %v, faster %v: %d, want %d", x.now, x.faster, got, x.want)
		}
	}
}

// terminal is a pseudo terminal with a program on it.
type terminal struct {
	t    *testing.T
	hand *os.File // what a person types and sees
	cmd  *exec.Cmd
	mu   sync.Mutex
	seen bytes.Buffer
}

// onTerminal runs the program on a terminal of 24 lines.
func onTerminal(t *testing.T, args ...string) *terminal {
	t.Helper()
	hand, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("NOT TESTED: top on a terminal: %v", err)
	}
	t.Cleanup(func() { hand.Close() })
	fd := int(hand.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 120})
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("NOT TESTED: top on a terminal: %v", err)
	}
	defer line.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, hand: hand, cmd: exec.CommandContext(t.Context(), self, args...)}
	x.cmd.Env = append(os.Environ(), playsProgram+"=1")
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = line, line, line
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		piece := make([]byte, 4096)
		for {
			n, err := hand.Read(piece)
			if err != nil {
				return
			}
			x.mu.Lock()
			x.seen.Write(piece[:n])
			x.mu.Unlock()
		}
	}()
	return x
}

// press types a key, and waits until the screen says something that it has not said before.
func (x *terminal) press(key, want string) {
	x.t.Helper()
	x.mu.Lock()
	x.seen.Reset()
	x.mu.Unlock()
	if _, err := x.hand.WriteString(key); err != nil {
		x.t.Fatal(err)
	}
	x.await(want)
}

func (x *terminal) await(want string) {
	x.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		x.mu.Lock()
		text := x.seen.String()
		x.mu.Unlock()
		if strings.Contains(text, want) {
			return
		}
		if time.Now().After(end) {
			x.t.Fatalf("the screen does not say %q: %q", want, text)
		}
	}
}

// Keys do what the verbs do, and the terminal is as it was afterwards.
func TestTopIsSteeredByKeys(t *testing.T) {
	t.Parallel()
	dir, kept := watched(t)
	steering := func() act.Steering {
		t.Helper()
		now, err := act.SteeringOf(kept, toldRun)
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	x := onTerminal(t, "top", "-C", dir)
	x.await("1 of 4 sides done")
	x.await("p pause  r resume")
	x.press("p", "PAUSED by ")
	if steering().Paused == nil {
		t.Error("p has not paused the run")
	}
	x.press("r", "it goes on")
	if steering().Paused != nil {
		t.Error("r has not taken the pause back")
	}
	x.press("-", "THROTTLED to 100 MB/s")
	if now := steering().Throttle; now == nil || *now != 100e6 {
		t.Errorf("- gave the throttle %v", now)
	}
	x.press("+", "no more than 200 MB/s")
	x.press("l", "a key of stowage top")
	x.press("l", "dbshard002/B")
	x.press("q", "\x1b[?1049l")
	if err := x.cmd.Wait(); err != nil {
		t.Errorf("q: %v", err)
	}
	if now, err := unix.IoctlGetTermios(int(x.hand.Fd()), unix.TCGETS); err != nil || now.Lflag&unix.ECHO == 0 || now.Lflag&unix.ICANON == 0 {
		t.Errorf("the terminal is not as it was: %v", err)
	}
}

// Two runs at once are on one screen, with their progress and what each waits for; Tab and arrows choose the one that keys steer.
func TestTopShowsAllOpenRuns(t *testing.T) {
	t.Parallel()
	dir, kept := watched(t)
	const other = "move-second-1"
	began := time.Now().Add(-time.Hour)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(kept.PutRun(store.Run{ID: other, Kind: "move", Subject: "second", State: store.Running, Started: began, PID: os.Getpid()}))
	carries(t, dir, other)
	check(kept.PutDocument("job", other, began, engine.Job{ID: other, Kind: "move", Lanes: []engine.Lane{{Name: "dbshard009", Parts: []engine.Part{{Subject: "dbshard009/A"}, {Subject: "dbshard009/B"}}}}}))

	var out, errOut bytes.Buffer
	if code := run(t.Context(), []string{"top", "-C", dir}, &out, &errOut, nil); code != exitFine {
		t.Fatalf("exit code %d: %s", code, &errOut)
	}
	for _, want := range []string{"2 runs not ended", "> " + toldRun, "[###.........] 1 of 4 sides done, 2 running", "WAITS FOR 1 APPROVAL", "  " + other, "[............] 0 of 2 sides done, 0 running, 1h0m"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("top does not say %q:\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "> "+other) {
		t.Errorf("two runs are chosen:\n%s", &out)
	}

	x := onTerminal(t, "top", "-C", dir)
	x.await(toldRun + " of plan first: running")
	x.await("  " + other)
	x.await("Tab other run")
	x.press("\t", "> "+other)
	x.press("p", other+": paused")
	for run, want := range map[string]bool{other: true, toldRun: false} {
		if now, err := act.SteeringOf(kept, run); err != nil || (now.Paused != nil) != want {
			t.Errorf("%s is paused: %v, want %v (%v)", run, now.Paused != nil, want, err)
		}
	}
	x.press("\t", "> "+toldRun)
	x.press("\x1b[B", "> "+other)
	x.press("\x1b[A", "> "+toldRun)
	x.press("\x1bOD", "> "+other) // the list is a ring
	check(kept.PutRun(store.Run{ID: other, Kind: "move", Subject: "second", State: store.Failed, Started: began, Ended: time.Now()}))
	x.await(other + " of plan second: failed")
	x.await("1 run not ended")
	x.press("\t", "1 of 4 sides done")
	x.press("q", "\x1b[?1049l")
	if err := x.cmd.Wait(); err != nil {
		t.Errorf("q: %v", err)
	}
}
