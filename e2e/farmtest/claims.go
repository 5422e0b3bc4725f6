package farmtest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"stowage/demo"
	"stowage/internal/border"
)

// beside is a program that is held at a point until it may go on.
type beside struct {
	point, dir string
	cmd        *exec.Cmd
	said       bytes.Buffer
	ended      chan struct{}
}

func heldAt(t *testing.T, f *LiveFarm, point string, args ...string) *beside {
	t.Helper()
	b := &beside{point: point, dir: t.TempDir(), ended: make(chan struct{})}
	seen := b.dir + "/seen"
	b.cmd = exec.CommandContext(t.Context(), LiveProgram(t), append(args, "-C", f.Dir)...)
	b.cmd.Env = append(os.Environ(), "PATH="+BinDir(t)+":"+os.Getenv("PATH"),
		border.KillAt+"=hold @ "+point, border.GoDir+"="+b.dir, border.GoSeen+"="+seen)
	b.cmd.Stdout, b.cmd.Stderr = &b.said, &b.said
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = b.cmd.Wait() // the exit code tells
		close(b.ended)
	}()
	for end := time.Now().Add(WaitLimit); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(seen); err == nil {
			return b
		}
		select {
		case <-b.ended:
			t.Fatalf("it ended before %s: exit %d\n%s", point, b.cmd.ProcessState.ExitCode(), &b.said)
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("it never came to %s", point)
		}
	}
}

// goesOn lets it go and waits for its end.
func (b *beside) goesOn(t *testing.T) {
	t.Helper()
	if err := border.Release(b.dir, b.point, "go"); err != nil {
		t.Fatal(err)
	}
	<-b.ended
	if code := b.cmd.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("the one that went on ended with %d\n%s", code, &b.said)
	}
}

func (b *beside) kill() {
	_ = b.cmd.Process.Kill()
	<-b.ended
}

// killEngine kills the one engine of a workspace.
func killEngine(t *testing.T, f *LiveFarm) {
	t.Helper()
	var at struct{ PID int }
	raw, err := os.ReadFile(f.Dir + "/.stowage/engine.at")
	if err == nil {
		err = json.Unmarshal(raw, &at)
	}
	if err != nil || at.PID == 0 {
		t.Fatalf("no engine: %v", err)
	}
	if err := syscall.Kill(at.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// RunIn runs the program in the workspace of a farm.
func RunIn(t *testing.T, f *LiveFarm, args ...string) Program {
	t.Helper()
	return RunWith(t, nil, append(args, "-C", f.Dir)...)
}

// SideBySideRounds are how one of two runs is killed while the other goes on.
var SideBySideRounds = []SideBySideRound{
	{"A", "B", "before seed", true, true}, {"B", "A", "after out", false, true}, {"A", "B", "before in", true, false},
}

// SideBySideRound is one of them.
type SideBySideRound struct {
	side, twin, at string
	engine, first  bool // the engine is killed, too; the one that has started it is killed
}

// RunsSideBySide has two runs that have nothing in common go on side by side, under load. One is killed, with the engine that they share
// or alone; the other goes on to its end, and the killed one is resumed. What has something in common with a run that has not ended is
// refused, and an order that may mean either is asked about.
func RunsSideBySide(t *testing.T, rounds []SideBySideRound) {
	t.Helper()
	f := Raise(t, demo.Options{Pairs: 2, Shards: 2, Hosts: 4, Rows: 50}, 40, nil)
	f.Onto, f.Wanted = "", "anywhere"
	for round, k := range rounds {
		to := f.FreeHosts()
		start := []func() *beside{
			func() *beside { return heldAt(t, f, k.at, "move", "instance", "dbshard001/"+k.side, "--to", to[0]) },
			func() *beside {
				return heldAt(t, f, "before out", "move", "instance", "dbshard002/"+k.side, "--to", to[1])
			},
		}
		var killed, other *beside
		if k.first {
			killed, other = start[0](), start[1]()
		} else {
			other = start[1]()
			killed = start[0]()
		}
		if k.engine {
			killEngine(t, f)
		}
		killed.kill()
		checkRefusals(t, f, "dbshard001/"+k.twin, to[0])
		other.goesOn(t)
		f.Must("resume") // the only one that has not ended
		if left, err := os.ReadDir(f.Dir + "/.stowage/claims"); err != nil || len(left) != 0 {
			t.Errorf("round %d: %d claims are left, error %v", round, len(left), err)
		}
	}
	f.CheckWhole()
}

// checkRefusals tries what must not be done beside two runs: one of them was killed, and has claimed the pair of third.
func checkRefusals(t *testing.T, f *LiveFarm, third, to string) {
	t.Helper()
	var s struct {
		Run      string `json:"run"`
		AlsoOpen []struct {
			Run   string `json:"run"`
			State string `json:"state"`
		} `json:"also_open"`
	}
	p := RunIn(t, f, "status", "--json")
	if err := json.Unmarshal([]byte(p.Stdout), &s); err != nil || len(s.AlsoOpen) != 1 {
		t.Fatalf("status: %v\n%s%s", err, p.Stdout, p.Stderr)
	}
	for _, x := range []struct {
		wants string
		args  []string
	}{
		{"stowage pause --run " + s.Run, []string{"pause"}},
		{"stowage resume --run ", []string{"resume"}},
		{"pair " + third[:10], []string{"move", "instance", third, "--to", to}},
		{"is working in this workspace", []string{"routing", "open", "dbshard002", "A"}},
	} {
		if p := RunIn(t, f, x.args...); p.Code != ExitRefused || !strings.Contains(p.Stderr, x.wants) {
			t.Errorf("stowage %v: exit %d, want %d and %q\n%s", x.args, p.Code, ExitRefused, x.wants, p.Stderr)
		}
	}
	// A pause is for one of them; the other is not held by it.
	live, cut := s.Run, s.AlsoOpen[0].Run
	if s.AlsoOpen[0].State == "running" {
		live, cut = cut, live
	}
	f.Must("pause", "--run", live)
	f.Must("resume", "--run", live)
	if p := RunIn(t, f, "log", "--run", cut); p.Code != 0 || strings.Contains(p.Stdout, "pause") {
		t.Errorf("the pause of %s is in the log of %s:\n%s", live, cut, p.Stdout)
	}
	if p := RunIn(t, f, "pause", "--run", "move-nowhere-1"); p.Code != 2 {
		t.Errorf("pause of a run that is not there: exit %d\n%s", p.Code, p.Stderr)
	}
}
