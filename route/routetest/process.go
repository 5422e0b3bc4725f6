package routetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"stowage/internal/heard"
	"stowage/internal/keeper"
)

// startLimit is how long a process may take until it answers.
const startLimit = 2 * time.Minute

// process is a program that dies with the test, even a killed one.
type process struct {
	name   string
	cmd    *exec.Cmd
	said   heard.Log
	exited chan struct{}
}

// find is the path of a program, or the test is skipped, saying what was not
// tested.
func find(t testing.TB, name, debian string) string {
	t.Helper()
	if os.Getenv("STOWAGE_SERVERS") == "none" { // make check
		t.Skip("SKIPPED: no servers are wanted")
	}
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/usr/local/sbin") {
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err == nil && !st.IsDir() && st.Mode()&0o111 != 0 {
			return path
		}
	}
	t.Skipf("NOT TESTED: %s is not installed (Debian: %s; scripts/setup.sh test installs it)", name, debian)
	return ""
}

func start(t testing.TB, path string, args ...string) *process {
	t.Helper()
	p := &process{name: filepath.Base(path), exited: make(chan struct{})}
	p.cmd = exec.Command(path, args...)
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.WaitDelay = time.Second
	if err := keeper.Start(p.cmd); err != nil {
		t.Fatalf("start %s: %v", p.name, err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(p.kill)
	return p
}

// kill is kill -9 of the process and its children.
func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.exited
}

// freeze stops the process and its children without closing anything, until thaw. The kernel stops one thread after the other
// and after kill(2) has returned: freeze returns when all stand still.
func (p *process) freeze(t testing.TB) (thaw func()) {
	t.Helper()
	signal := func(s syscall.Signal) {
		if err := syscall.Kill(-p.cmd.Process.Pid, s); err != nil {
			t.Error(err)
		}
	}
	signal(syscall.SIGSTOP)
	for end := time.Now().Add(startLimit); !p.stands(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s runs on after SIGSTOP", p.name)
		}
	}
	return func() { signal(syscall.SIGCONT) }
}

// stands says whether no thread of the process group runs, by /proc.
func (p *process) stands() bool {
	threads, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*/stat")
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ") // "1 (name) S 0 1 ...": state, parent, process group
		if f := strings.Fields(rest); len(f) > 2 && f[2] == strconv.Itoa(p.cmd.Process.Pid) && !strings.Contains("TtZX", f[0]) {
			return false
		}
	}
	return true
}

// await waits until the process answers.
func (p *process) await(t testing.TB, answers func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(startLimit); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if err = answers(); err == nil {
			return
		}
		select {
		case <-p.exited:
			t.Fatalf("%s ended at once: %v\n%s", p.name, err, &p.said)
		default:
		}
	}
	t.Fatalf("%s does not answer: %v\n%s", p.name, err, &p.said)
}
