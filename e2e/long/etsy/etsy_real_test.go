package etsy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"stowage/demo"
	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/host"
	"stowage/internal/netlab"
	"stowage/move"
)

// The farm of examples/etsy-2016 for real: every host a machine of its own
// (netlab) with an agent, every side a mariadbd with durable settings, every
// shard written to, and the plan carried out while a fault strikes each minute.
//
//	PAIRS=n    so many of the 60 pairs, large and small ones (60)
//	SEED=s     of the faults and of the clients (1)
//	EVERY=s    seconds from fault to fault (60)
//
// STOWAGE_ETSY_DIR is where the farm lives; what an earlier run has left there,
// and in the kernel, is cleared. STOWAGE_ETSY_SUM is a file for the row of
// docs/measuring/benchmarks.md.
func TestEtsyFarmForReal(t *testing.T) {
	f, ctx := startRealEtsy(t, "the farm of 2016 on machines of its own; make bench-etsy runs it")
	f.begin()
	f.carryOut(ctx, time.Duration(farmtest.Number("EVERY", 60))*time.Second)
	f.recordAll()
	f.judge(f.misplaced)
	f.sum.Seconds = time.Since(f.began).Seconds()
	f.sum.tell(os.Getenv("STOWAGE_ETSY_SUM"), f.T)
}

// startRealEtsy raises the farm, where a directory for it is named; otherwise the test is skipped, and says what it would have done. Its context ends with a signal.
func startRealEtsy(t *testing.T, what string) (*realEtsy, context.Context) {
	t.Helper()
	dir := os.Getenv("STOWAGE_ETSY_DIR")
	if dir == "" {
		t.Skip("SKIPPED: " + what)
	}
	farmtest.NeedsMachines(t)
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	t.Cleanup(stop)
	f := newRealEtsy(t, dir)
	f.raise(ctx, farmtest.Number("PAIRS", 60))
	f.sum.Seed = farmtest.Number("SEED", 1)
	return f, ctx
}

// realEtsy is that farm, and the account of what happens to it.
type realEtsy struct {
	*farmtest.NetFarm
	began  time.Time
	memory *memory
	sum    etsySum
}

// The names of the farm's network are known to the next run, which clears what
// this one may leave.
const (
	etsyMark    = "stetsy"
	etsyNetwork = "10.214.7.0"
)

// newRealEtsy makes the network of an empty farm.
func newRealEtsy(t *testing.T, dir string) *realEtsy {
	t.Helper()
	onlyOne(t, dir)
	if err := errors.Join(netlab.Clear(etsyMark), os.RemoveAll(dir), os.MkdirAll(dir, 0o755), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	f := &realEtsy{began: time.Now(), NetFarm: &farmtest.NetFarm{
		LiveFarm: &farmtest.LiveFarm{T: t, Dir: dir, Onto: "dense"}, Hosts: map[farm.HostName]*netlab.Machine{}, Agents: map[farm.HostName]*farmtest.NetAgent{}}}
	t.Cleanup(func() { f.Remove(etsyMark) })
	_ = os.Remove(f.moveLog())
	lab, err := netlab.New(etsyMark, etsyNetwork)
	if err != nil {
		t.Fatal(err)
	}
	f.Lab = lab
	return f
}

// moveLog is what the program said in all its runs. It outlasts the farm.
func (f *realEtsy) moveLog() string { return f.Dir + ".move.log" }

// onlyOne keeps two runs from clearing each other's farm.
func onlyOne(t *testing.T, dir string) {
	t.Helper()
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatalf("another run uses %s", dir)
	}
}

func (f *realEtsy) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "[%6.1f s] %s\n", time.Since(f.began).Seconds(), fmt.Sprintf(format, args...))
}

// raise draws the farm, plans, and starts its servers.
func (f *realEtsy) raise(ctx context.Context, pairs int) {
	t := f.T
	f.memory = watchMemory(f.Dir)
	t.Cleanup(func() { f.memory.stop() })
	fm := f.draw(pairs)
	f.say("%d machines, %d pairs, %d shards", len(fm.Hosts), f.sum.Pairs, f.sum.Shards)
	local, err := host.NewLocal(farmtest.QuietLog())
	if err != nil {
		t.Fatal(err)
	}
	start := func(ctx context.Context, h farm.HostName, i host.Instance) error {
		return f.Hosts[h].Do(func() error { return local.Start(ctx, i, 2*time.Minute) })
	}
	f.Did(demo.Raise(ctx, f.Dir, fm, 50, start, func(text string) { f.say("%s", text) }, farmtest.QuietLog()))
	f.Must("agent", "certs")
}

// begin starts the agents and the clients.
func (f *realEtsy) begin() {
	for _, h := range slices.Sorted(maps.Keys(f.Hosts)) {
		f.StartAgent(h)
	}
	f.Rate = min(120, 30*float64(f.sum.Pairs))
	f.Did(f.StartClients())
	f.say("%d agents and the clients are at work", len(f.Agents))
}

// carryOut moves the farm by its plan while faults strike, until all of it is
// moved: a run that was killed or interrupted is resumed, after one that was
// undone what is left is planned and moved again.
func (f *realEtsy) carryOut(ctx context.Context, every time.Duration) {
	plan, began := "first", time.Now()
	s := f.strikes(f.Planned(plan), move.Name, etsyFaults, f.sum.Seed)
	faults, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); s.strikeEvery(faults, every) }()
	defer func() {
		stop()
		<-ended
		s.Finish()
		s.Healing.Wait()
		f.sum.Faults, f.sum.Log = s.struck, s.Log
		f.sum.MoveSeconds = time.Since(began).Seconds()
	}()
	args := []string{"move", plan}
	for attempts := 0; ; attempts++ {
		code, said, _ := f.program(ctx, s, args...)
		f.sum.Codes = append(f.sum.Codes, code)
		switch {
		case ctx.Err() != nil:
			f.T.Fatal("interrupted")
		case code == farmtest.ExitFine:
			f.say("all is moved")
			return
		case attempts == 40:
			f.T.Fatalf("the move does not end: exit codes %v\n%s", f.sum.Codes, said)
		case code == farmtest.ExitFailed || code == farmtest.ExitRefused:
			// A side was taken back, or a server was away while preflight asked.
			s.Healing.Wait()
			f.sum.Again++
			plan = fmt.Sprintf("again-%d", f.sum.Again)
			f.say("exit %d: planning and moving what is left (%s)\n%s", code, plan, said)
			f.Must("plan", "--name", plan)
			s.follow(f.Planned(plan))
			args = []string{"move", plan}
		case code == farmtest.ExitUnknown || code == farmtest.ExitInterrupted || code == -1:
			if code == farmtest.ExitUnknown {
				s.Healing.Wait() // whoever looks at the pair brings its servers back first
			}
			f.say("exit %d: stowage resume", code)
			if wrong := f.ClosedGates(farmtest.RunProgram(f.T, "", "status", "-C", f.Dir).Stdout); wrong != "" {
				f.T.Error(wrong)
			}
			f.sum.Resumes++
			args = []string{"resume"}
		default:
			f.T.Fatalf("stowage %s: exit %d\n%s", strings.Join(args, " "), code, said)
		}
	}
}

// program runs it once and returns its exit code, what it said last, and what it printed.
func (f *realEtsy) program(ctx context.Context, s *strikes, args ...string) (code int, said, printed string) {
	cmd := exec.CommandContext(ctx, farmtest.LiveProgram(f.T), append(args, "-C", f.Dir)...)
	cmd.Env = append(os.Environ(), "PATH="+farmtest.BinDir(f.T)+":"+os.Getenv("PATH"))
	log, err := os.OpenFile(f.moveLog(), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil {
		f.T.Fatal(err)
	}
	defer log.Close()
	from, err := log.Seek(0, 2)
	if err != nil {
		f.T.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(log, &out), log
	f.Did(cmd.Start())
	s.runs(cmd.Process)
	_ = cmd.Wait() // the exit code tells
	s.runs(nil)
	raw, err := os.ReadFile(log.Name())
	if err != nil {
		f.T.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(raw[from:])), "\n")
	return cmd.ProcessState.ExitCode(), "  " + strings.Join(lines[max(0, len(lines)-12):], "\n  "), out.String()
}

// judge compares every promise with the servers; misplaced is what is not where it should be.
func (f *realEtsy) judge(misplaced func(*farm.Farm) []string) {
	f.say("looking at every server")
	wrong := f.WrongNow(2 * time.Minute)
	f.say("comparing the ledger with both sides of every pair")
	clients, verdict, more := f.Settle()
	f.sum.fill(clients, verdict)
	f.sum.PeakMB = f.memory.stop()
	_, fm, _, err := farmtest.FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	wrong = append(append(wrong, more...), misplaced(fm)...)
	f.sum.Wrong = wrong
	for _, w := range wrong {
		f.T.Error(w)
	}
	if f.T.Failed() {
		f.T.Logf("faults:\n  %s", strings.Join(f.sum.Log, "\n  "))
	}
}

// misplaced is what does not be where a plan of 30 hosts has it.
func (f *realEtsy) misplaced(fm *farm.Farm) []string {
	var out []string
	shards := map[farm.HostName]int{}
	for _, p := range fm.Pairs {
		for _, side := range farm.SideNames {
			h, _ := fm.Host(p.Sides[side].Host)
			shards[h.Name] += len(p.Shards)
			if string(h.Type) != f.Onto {
				out = append(out, fmt.Sprintf("%s %s is on %s, a %s", p.Name, side, h.Name, h.Type))
			}
		}
	}
	if len(shards) != f.sum.HostsAfter {
		out = append(out, fmt.Sprintf("%d hosts are in use, the plan says %d", len(shards), f.sum.HostsAfter))
	}
	for h, n := range shards {
		if f.sum.Pairs == 60 && n != 60 && n != 66 {
			out = append(out, fmt.Sprintf("%d shards are on %s, want 60 or 66", n, h))
		}
	}
	return out
}
