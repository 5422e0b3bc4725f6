package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stowage/farm"
	"stowage/host"
)

// fault is one thing that goes wrong during a move.
type fault struct {
	What  string        // kill, freeze or cut a server; stowage, engine, both, interrupt: of our own; fail: a step, for good; ddl, long, super: people
	Whom  role          // which server
	At    string        // the border at which it strikes; "#2" is the second time that is met. Or, when empty:
	After time.Duration // so long after the first step has begun, or, when it is
	Early bool          // so, after the program was started
	Long  time.Duration // until a server is started again, goes on, or is reached again
}

// untilTheEnd is a fault that nobody puts right while the move runs.
const untilTheEnd time.Duration = 0

// role is what a server is to the side that is moved.
type role string

const (
	twin   role = "twin"   // the other side: source of the copy, serves everybody meanwhile
	target role = "target" // the new instance
	peer   role = "peer"   // the old instance, of the side that is replaced
	beyond role = "beyond" // of a shard's new pair: the other side of the target
)

func (x fault) String() string {
	when := x.At
	if when == "" {
		when = "+" + x.After.String()
		if x.Early {
			when = "start" + when
		}
	}
	if x.Whom == "" && x.Long > 0 {
		return fmt.Sprintf("%s @ %s for %v", x.What, when, x.Long)
	}
	if x.Whom == "" {
		return fmt.Sprintf("%s @ %s", x.What, when)
	}
	return fmt.Sprintf("%s %s @ %s for %v", x.What, x.Whom, when, x.Long)
}

// apart runs the calling test once more in a process with a network and mounts
// of its own, where addresses can be cut off and small filesystems mounted
// without anybody else noticing, and of which nothing is left when it ends. It
// is true inside; outside it has done everything when it returns false.
func apart(t *testing.T) bool {
	t.Helper()
	if os.Getenv(isApart) != "" {
		if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
			t.Fatalf("raise loopback: %v %s", err, out)
		}
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: faults of the network need root, for a network namespace")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v="+fmt.Sprint(testing.Verbose()),
		"-test.timeout="+timeLeft(t).String())
	cmd.Env = append(os.Environ(), isApart+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("in a network of its own: %v", err)
	}
	return false
}

func timeLeft(t *testing.T) time.Duration {
	if end, ok := t.Deadline(); ok {
		return time.Until(end) - 5*time.Second
	}
	return time.Hour
}

const (
	isApart    = "STOWAGE_TEST_APART"
	goDir      = "STOWAGE_TEST_GO"   // where a held program finds leave to go on
	goSeen     = "STOWAGE_TEST_SEEN" // a file that is made when a program is held
	mustFail   = "fail"              // in place of leave: the step fails for good
	markOfHold = "held at "
)

// holder is a border that holds the program at each point of a list, separated
// by |, until a file of that name is in the directory.
func holder(list, dir string) func(string) error {
	want, met := map[string]bool{}, map[string]int{}
	for _, p := range strings.Split(list, "|") {
		want[p] = true
	}
	var mu sync.Mutex
	return func(point string) error {
		mu.Lock()
		met[point]++
		if n := met[point]; n > 1 {
			point = fmt.Sprintf("%s#%d", point, n)
		}
		held := want[point]
		mu.Unlock()
		if !held {
			return nil
		}
		fmt.Fprintln(os.Stderr, markOfHold+point)
		if seen := os.Getenv(goSeen); seen != "" {
			_ = os.WriteFile(seen, nil, 0o644)
		}
		for {
			leave, err := os.ReadFile(filepath.Join(dir, escape(point)))
			if err == nil && string(leave) == mustFail {
				return fmt.Errorf("%w: a test says so", farm.ErrRefused)
			}
			if err == nil {
				return nil
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
}

// release lets a held program go on, with a text for it.
func release(t *testing.T, dir, point, text string) {
	t.Helper()
	file := filepath.Join(dir, escape(point))
	if err := os.WriteFile(file+".new", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// escape makes a file name of a border.
func escape(point string) string { return url.PathEscape(point) }

// striker carries out the faults of one round, and puts everything right.
type striker struct {
	f     *liveFarm
	casts []cast
	host  *host.Local
	serve func(host.Instance) error         // starts a server, as whoever looks after servers does
	cut   func(host.Instance) (heal func()) // takes a machine off the network
	more  map[string]func(host.Instance) (heal func())

	mu      sync.Mutex
	healing sync.WaitGroup
	once    sync.Once
	over    chan struct{} // closed when the program has ended for good
	log     []string      // what was done, when
	start   time.Time
}

func (f *liveFarm) striker(j journey) *striker {
	f.t.Helper()
	local, err := host.NewLocal(slog.New(slog.DiscardHandler))
	if err != nil {
		f.t.Fatal(err)
	}
	return &striker{f: f, casts: j.casts, host: local, start: time.Now(), over: make(chan struct{}), cut: cutAddress,
		serve: func(i host.Instance) error { return local.Start(context.Background(), i, 30*time.Second) }}
}

func (s *striker) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf("%6.2fs ", time.Since(s.start).Seconds())+fmt.Sprintf(format, args...))
}

// finish puts right what is wrong until the end.
func (s *striker) finish() { s.once.Do(func() { close(s.over) }) }

// instance is who plays a role in the move that a fault falls into.
func (s *striker) instance(x fault) host.Instance {
	n := 0
	if strings.Contains(x.At, "#") {
		n = min(1, len(s.casts)-1)
	}
	return s.casts[n].who[x.Whom]
}

// workspaceDisk is the filesystem of .stowage.
const workspaceDisk role = "workspace"

// fill writes until a filesystem is full.
func fill(path string) {
	f, err := os.Create(path)
	if err != nil {
		return
	}
	defer f.Close()
	for _, size := range []int{1 << 20, 1 << 12, 1} {
		for block := make([]byte, size); err == nil; {
			_, err = f.Write(block)
		}
		err = nil
	}
}

// startSmallFarm is a farm on filesystems of their own: one for the old servers
// and the workspace, one for each new host, and one for .stowage.
func startSmallFarm(t *testing.T) *liveFarm {
	t.Helper()
	mount := func(path, size string) {
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("mount", "-t", "tmpfs", "-o", "mode=755,size="+size, "stowage-test", path).CombinedOutput()
		if err != nil {
			t.Fatalf("mount %s: %v %s", path, err, out)
		}
		t.Cleanup(func() {
			_ = exec.Command("umount", "-l", path).Run()
			os.RemoveAll(path)
		})
	}
	f := startFarmIn(t, func(dir string) { mount(dir, "1500m") })
	mount(f.dir+"/hosts/ssd01", "512m")
	mount(f.dir+"/hosts/ssd02", "512m")
	mount(f.dir+"/.stowage", "64m")
	// The ledger is the measure: it is not to be on what is measured.
	f.load.Stop()
	ledger := t.TempDir()
	if out, err := exec.Command("cp", "-a", loadDir(f.dir)+"/.", ledger).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if err := os.RemoveAll(loadDir(f.dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(ledger, loadDir(f.dir)); err != nil {
		t.Fatal(err)
	}
	if err := f.startClients(); err != nil {
		t.Fatal(err)
	}
	return f
}

// strike does a fault to the program or to a server; what it did to a server is
// put right after a while, whatever becomes of the program.
func (s *striker) strike(x fault, program *os.Process) {
	s.note("%s", x)
	switch x.What {
	case "stowage":
		_ = program.Kill()
	case "interrupt":
		_ = program.Signal(syscall.SIGINT)
	case "ddl", "long", "super":
		s.healing.Go(func() { s.f.work(x.What, x.Long) })
	case "fail": // the program is told when it is released
	case "engine", "both":
		for _, pid := range enginesOf(program.Pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if x.What == "both" {
			_ = program.Kill()
		}
	default:
		s.hit(x, s.instance(x))
	}
}

// hit strikes a server; of the workspace: nobody.
func (s *striker) hit(x fault, i host.Instance) {
	ctx := context.Background()
	var heal func()
	switch x.What {
	case "kill":
		pid, _ := s.host.Running(ctx, i)
		if pid == 0 {
			s.note("  %s does not run", x.Whom)
			return
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
		heal = func() { s.revive(i) }
	case "freeze":
		pid, _ := s.host.Running(ctx, i)
		if pid == 0 {
			s.note("  %s does not run", x.Whom)
			return
		}
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		heal = func() { _ = syscall.Kill(pid, syscall.SIGCONT) }
	case "cut":
		heal = s.cut(i)
	case "fill":
		ballast := filepath.Join(filepath.Dir(i.Dir()), "ballast")
		if x.Whom == workspaceDisk {
			ballast = filepath.Join(s.f.dir, ".stowage", "ballast")
		}
		fill(ballast)
		heal = func() { os.Remove(ballast) }
	default:
		do, known := s.more[x.What]
		if !known {
			s.f.t.Fatalf("there is no fault %q", x.What)
		}
		heal = do(i)
	}
	s.healing.Go(func() {
		if x.Long == untilTheEnd {
			<-s.over
		}
		time.Sleep(x.Long)
		heal()
		s.note("  %s of %s is over", x.What, x.Whom)
	})
}

// cutAddress makes an address of this machine unreachable.
func cutAddress(i host.Instance) (heal func()) {
	rule := []string{"unreachable", i.Address + "/32", "table", "local"}
	_ = exec.Command("ip", append([]string{"route", "add"}, rule...)...).Run()
	return func() { _ = exec.Command("ip", append([]string{"route", "del"}, rule...)...).Run() }
}

// revive starts a server again, as systemd would. One that stowage has retired
// or removed meanwhile stays as it is.
func (s *striker) revive(i host.Instance) {
	for range 20 {
		if _, err := os.Stat(i.Config); err != nil || s.isRetired(i) {
			return
		}
		if s.serve(i) == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// enginesOf are the processes that a program has started and that run
// stowage-engine.
func enginesOf(pid int) []int {
	var out []int
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, t := range tasks {
		raw, _ := os.ReadFile(t)
		for _, field := range strings.Fields(string(raw)) {
			var child int
			fmt.Sscan(field, &child)
			line, _ := os.ReadFile("/proc/" + field + "/cmdline")
			if strings.Contains(string(line), "stowage-engine") {
				out = append(out, child)
			}
		}
	}
	return out
}
