// Package mutate_test feeds damaged files and answers to the readers of Stowage.
//
// Real examples are cut, doubled, nested, stretched and mixed, each by a number,
// and given to the readers in a child process. None may crash it, hang it, or
// make it take a gigabyte. STOWAGE_MUTATIONS=100000 go test ./e2e/mutate says how
// many; STOWAGE_MUTATION=TARGET:SEED runs one again.
package mutate_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	childEnv = "STOWAGE_MUTATE_CHILD" // TARGET:FROM:COUNT
	// oneTakes is how long a reader may take, on a machine that is busy.
	oneTakes = 20 * time.Second
	// mostRSS is what a child may have had in memory at its peak.
	mostRSS = 1 << 30
	// mostVirtual ends a child before it ends the machine.
	mostVirtual = 6 << 30
)

func TestMain(m *testing.M) {
	if order := os.Getenv(childEnv); order != "" {
		child(order)
		return
	}
	os.Exit(m.Run())
}

// child feeds COUNT mutations, beginning with number FROM, to one reader.
func child(order string) {
	f := strings.Split(order, ":")
	from, _ := strconv.ParseUint(f[1], 10, 64)
	count, _ := strconv.ParseUint(f[2], 10, 64)
	die := func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: mostVirtual, Max: mostVirtual}); err != nil {
		die(err)
	}
	target, ok := targets()[f[0]]
	if !ok {
		die(fmt.Errorf("no target %s", f[0]))
	}
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		die(err)
	}
	read, err := target.ready(dir)
	if err != nil {
		die(err)
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	var now atomic.Uint64
	var began atomic.Int64
	go func() { // says which one hangs
		for range time.Tick(time.Second) {
			if b := began.Load(); b != 0 && time.Since(time.Unix(0, b)) > oneTakes {
				fmt.Fprintf(os.Stderr, "mutation %s:%d takes more than %v\n", f[0], now.Load(), oneTakes)
				panic("hangs")
			}
		}
	}()
	last, err := os.Create(os.Getenv("STOWAGE_MUTATE_LAST")) // a killed child says nothing
	if err != nil {
		die(err)
	}
	for seed := from; seed < from+count; seed++ {
		select {
		case <-asked:
			_ = os.RemoveAll(dir)
			os.Exit(143)
		default:
		}
		now.Store(seed)
		_, _ = last.WriteAt([]byte(fmt.Sprintf("%20d", seed)), 0)
		text := mutate(rand.New(rand.NewPCG(seed, 17)), target.samples, seed)
		began.Store(time.Now().UnixNano())
		read(text)
		began.Store(0)
	}
	_ = os.RemoveAll(dir)
	os.Exit(0)
}

// run gives a share of the mutations to one target; it returns the peak of its memory.
func run(t *testing.T, name string, from, count uint64) (peak int64) {
	t.Helper()
	lastPath := filepath.Join(t.TempDir(), "last")
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%s:%d:%d", childEnv, name, from, count), "STOWAGE_MUTATE_LAST="+lastPath)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	said := &tail{}
	c.Stdout, c.Stderr = said, said
	err := c.Run()
	if err != nil {
		last, _ := os.ReadFile(lastPath) // empty: it did not begin
		t.Errorf("%s: mutation %s ended the reader: %v\n%s", name, strings.TrimSpace(string(last)), err, said)
	}
	usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		t.Error("no usage")
		return 0
	}
	if peak = usage.Maxrss << 10; peak > mostRSS {
		t.Errorf("%s: mutations %d to %d made %d MB", name, from, from+count-1, peak>>20)
	}
	return peak
}

// tail keeps the beginning of what a child says: a panic begins with its cause.
type tail struct{ b []byte }

func (w *tail) Write(p []byte) (int, error) {
	w.b = append(w.b, p[:min(len(p), 6000-min(6000, len(w.b)))]...)
	return len(p), nil
}

func (w *tail) String() string { return string(w.b) }

func TestADamagedFileCrashesHangsOrFillsAReader(t *testing.T) {
	if one := os.Getenv("STOWAGE_MUTATION"); one != "" {
		name, number, _ := strings.Cut(one, ":")
		seed, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("peak %d MB", run(t, name, seed, 1)>>20)
		return
	}
	total := uint64(600)
	if n, err := strconv.ParseUint(os.Getenv("STOWAGE_MUTATIONS"), 10, 64); err == nil {
		total = n
	}
	all := targets()
	share := total/uint64(len(all)) + 1
	const batch = 2000
	var most atomic.Int64
	var wg sync.WaitGroup
	atOnce := make(chan struct{}, 3) // two of them wait for answers most of the time
	start := time.Now()
	for name := range all {
		wg.Go(func() {
			atOnce <- struct{}{}
			defer func() { <-atOnce }()
			var peak int64
			begin := time.Now()
			for from := uint64(0); from < share; from += batch {
				peak = max(peak, run(t, name, from, min(batch, share-from)))
			}
			t.Logf("%-16s %6d runs, %6.1f s, peak %d MB", name, share, time.Since(begin).Seconds(), peak>>20)
			for was := most.Load(); peak > was && !most.CompareAndSwap(was, peak); was = most.Load() {
			}
		})
	}
	wg.Wait()
	t.Logf("%d runs, %.0f s, peak %d MB", share*uint64(len(all)), time.Since(start).Seconds(), most.Load()>>20)
}

func TestSIGTERMDoesNotEndAReader(t *testing.T) {
	lastPath := filepath.Join(t.TempDir(), "last")
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), childEnv+"=farm.yaml:0:100000000", "STOWAGE_MUTATE_LAST="+lastPath)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if _, err := os.Stat(lastPath); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	_ = c.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-ended:
		if c.ProcessState.ExitCode() != 143 {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(oneTakes):
		_ = c.Process.Kill()
		t.Error("it goes on after SIGTERM")
	}
}
