package farmtest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stowage/host"
	"stowage/internal/border"
)

// Fault is one thing that goes wrong during a move.
type Fault struct {
	What  string        // kill, freeze or cut a server; stowage, engine, both, interrupt: of our own; fail: a step, for good; ddl, long, super: people
	Whom  Role          // which server
	At    string        // the border at which it strikes; "#2" is the second time that is met. Or, when empty:
	After time.Duration // so long after the first step has begun, or, when it is
	Early bool          // so, after the program was started
	Long  time.Duration // until a server is started again, goes on, or is reached again
}

// UntilTheEnd is a fault that nobody puts right while the move runs.
const UntilTheEnd time.Duration = 0

// Role is what a server is to the side that is moved.
type Role string

const (
	Twin   Role = "twin"   // the other side: source of the copy, serves everybody meanwhile
	Target Role = "target" // the new instance
	Peer   Role = "peer"   // the old instance, of the side that is replaced
	beyond Role = "beyond" // of a shard's new pair: the other side of the target
)

func (x Fault) String() string {
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

// Apart runs the calling test once more in a process with a network and mounts
// of its own, where addresses can be cut off and small filesystems mounted
// without anybody else noticing, and of which nothing is left when it ends. It
// is true inside; outside it has done everything when it returns false.
func Apart(t *testing.T) bool {
	t.Helper()
	if os.Getenv(IsApart) != "" {
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
	cmd.Env = append(os.Environ(), IsApart+"=1")
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
	IsApart    = "STOWAGE_TEST_APART"
	goDir      = border.GoDir
	goSeen     = border.GoSeen
	mustFail   = border.MustFail
	markOfHold = border.MarkOfHold
)

// release lets a held program go on, with a text for it.
func release(t *testing.T, dir, point, text string) {
	t.Helper()
	if err := border.Release(dir, point, text); err != nil {
		t.Fatal(err)
	}
}

// Striker carries out the faults of one round, and puts everything right.
type Striker struct {
	f     *LiveFarm
	Casts []Cast
	Host  *host.Local
	Serve func(host.Instance) error         // starts a server, as whoever looks after servers does
	Cut   func(host.Instance) (heal func()) // takes a machine off the network
	More  map[string]func(host.Instance) (heal func())

	mu      sync.Mutex
	Healing sync.WaitGroup
	once    sync.Once
	over    chan struct{} // closed when the program has ended for good
	Log     []string      // what was done, when
	start   time.Time
}

func (f *LiveFarm) Striker(j Journey) *Striker {
	f.T.Helper()
	local, err := host.NewLocal(slog.New(slog.DiscardHandler))
	if err != nil {
		f.T.Fatal(err)
	}
	return &Striker{f: f, Casts: j.Casts, Host: local, start: time.Now(), over: make(chan struct{}), Cut: cutAddress,
		Serve: func(i host.Instance) error { return local.Start(context.Background(), i, 30*time.Second) }}
}

func (s *Striker) Note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Log = append(s.Log, fmt.Sprintf("%6.2fs ", time.Since(s.start).Seconds())+fmt.Sprintf(format, args...))
}

// Finish puts right what is wrong until the end.
func (s *Striker) Finish() { s.once.Do(func() { close(s.over) }) }

// Instance is who plays a role in the move that a fault falls into.
func (s *Striker) Instance(x Fault) host.Instance {
	n := 0
	if strings.Contains(x.At, "#") {
		n = min(1, len(s.Casts)-1)
	}
	return s.Casts[n].Who[x.Whom]
}

// WorkspaceDisk is the filesystem of .stowage.
const WorkspaceDisk Role = "workspace"

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

// StartSmallFarm is a farm on filesystems of their own: one for the old servers
// and the workspace, one for each new host, and one for .stowage.
func StartSmallFarm(t *testing.T) *LiveFarm {
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
	mount(f.Dir+"/hosts/ssd01", "512m")
	mount(f.Dir+"/hosts/ssd02", "512m")
	mount(f.Dir+"/.stowage", "64m")
	// The ledger is the measure: it is not to be on what is measured.
	f.Load.Stop()
	ledger := t.TempDir()
	if out, err := exec.Command("cp", "-a", ledgerDir(f.Dir)+"/.", ledger).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if err := os.RemoveAll(ledgerDir(f.Dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(ledger, ledgerDir(f.Dir)); err != nil {
		t.Fatal(err)
	}
	if err := f.StartClients(); err != nil {
		t.Fatal(err)
	}
	return f
}

// Strike does a fault to the program or to a server; what it did to a server is
// put right after a while, whatever becomes of the program.
func (s *Striker) Strike(x Fault, program *os.Process) {
	s.Note("%s", x)
	switch x.What {
	case "stowage":
		_ = program.Kill()
	case "interrupt":
		_ = program.Signal(syscall.SIGINT)
	case "ddl", "long", "super":
		s.Healing.Go(func() { s.f.work(x.What, x.Long) })
	case "fail": // the program is told when it is released
	case "engine", "both":
		for _, pid := range EnginesOf(program.Pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if x.What == "both" {
			_ = program.Kill()
		}
	default:
		s.Hit(x, s.Instance(x))
	}
}

// Hit strikes a server; of the workspace: nobody.
func (s *Striker) Hit(x Fault, i host.Instance) {
	ctx := context.Background()
	var heal func()
	switch x.What {
	case "kill":
		pid, _ := s.Host.Running(ctx, i)
		if pid == 0 {
			s.Note("  %s does not run", x.Whom)
			return
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
		heal = func() { s.revive(i) }
	case "freeze":
		pid, _ := s.Host.Running(ctx, i)
		if pid == 0 {
			s.Note("  %s does not run", x.Whom)
			return
		}
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		heal = func() { _ = syscall.Kill(pid, syscall.SIGCONT) }
	case "cut":
		heal = s.Cut(i)
	case "fill":
		ballast := filepath.Join(filepath.Dir(i.Dir()), "ballast")
		if x.Whom == WorkspaceDisk {
			ballast = filepath.Join(s.f.Dir, ".stowage", "ballast")
		}
		fill(ballast)
		heal = func() { os.Remove(ballast) }
	default:
		do, known := s.More[x.What]
		if !known {
			s.f.T.Fatalf("there is no fault %q", x.What)
		}
		heal = do(i)
	}
	s.Healing.Go(func() {
		if x.Long == UntilTheEnd {
			<-s.over
		}
		time.Sleep(x.Long)
		heal()
		s.Note("  %s of %s is over", x.What, x.Whom)
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
func (s *Striker) revive(i host.Instance) {
	for range 20 {
		if _, err := os.Stat(i.Config); err != nil || s.isRetired(i) {
			return
		}
		if s.Serve(i) == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// EnginesOf are the processes that a program has started and that run
// stowage-engine.
func EnginesOf(pid int) []int {
	var out []int
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, t := range tasks {
		raw, _ := os.ReadFile(t)
		for _, field := range strings.Fields(string(raw)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				continue
			}
			line, _ := os.ReadFile("/proc/" + field + "/cmdline")
			if strings.Contains(string(line), "stowage-engine") {
				out = append(out, child)
			}
		}
	}
	return out
}
