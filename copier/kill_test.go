package copier

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"stowage/internal/keeper"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/internal/turns"
	"stowage/mysql"
)

// The test binary plays the copier's process when this is set: the two
// addresses, what to do, and, when the target follows by itself, the source's
// GTID domain, separated by spaces.
const childEnv = "STOWAGE_COPIER_CHILD"

func TestMain(m *testing.M) {
	if job := os.Getenv(childEnv); job != "" {
		if err := child(strings.Fields(job)); err != nil {
			fmt.Println("FAILED", err)
			os.Exit(1)
		}
		fmt.Println("DONE")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(args []string) error {
	account := mysqltest.Account(mariadbtest.Stowage)
	log := slog.New(slog.DiscardHandler)
	ctx := context.Background()
	c := &Copy{Job: "j1", From: mysql.Open("source", args[0], account, log), To: mysql.Open("target", args[1], account, log), Schema: "shop", ServerID: 990001,
		Settings: Settings{Streams: 2, ChunkTime: 5 * time.Millisecond, LockWait: 2 * time.Second}}
	c.Settings.Throttle = func(ctx context.Context) error { return pause(ctx, 10*time.Millisecond) } // so that kills hit something
	if len(args) > 3 {
		domain, err := strconv.ParseUint(args[3], 10, 32)
		if err != nil {
			return err
		}
		c.Native = nativeFrom(uint32(domain))
	}
	fmt.Println("READY")
	switch args[2] {
	case "carry":
		for _, do := range []func(context.Context) error{c.Prepare, c.Carry, c.Finish} {
			if err := do(ctx); err != nil {
				return err
			}
		}
		found, err := c.Compare(ctx)
		if err == nil && len(found) > 0 {
			err = fmt.Errorf("%d differences: %s", len(found), found[0])
		}
		return err
	case "fence", "fenceback":
		begin := c.Fence
		if args[2] == "fenceback" {
			begin = c.FenceBack
		}
		fence, err := begin(ctx)
		if err != nil {
			return err
		}
		for _, do := range []func(context.Context) error{fence.Reach, fence.Rename, fence.Unlock} {
			if err := do(ctx); err != nil {
				return err
			}
		}
	case "lock":
		fence, err := c.Fence(ctx)
		if err != nil {
			return err
		}
		fmt.Println("LOCKED")
		if err := fence.Reach(ctx); err != nil {
			return err
		}
		select {}
	case "back":
		return c.Back(ctx)
	}
	return nil
}

// spawn starts the copier's process and kills it with SIGKILL after so long;
// 0 lets it run. done says that it came to its end by itself.
func (f *farmOfTwo) spawn(t *testing.T, what string, life time.Duration) (done bool, last string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	if f.native {
		what += fmt.Sprintf(" %d", f.from.ServerID)
	}
	cmd.Env = append(os.Environ(), childEnv+"="+f.from.Address+" "+f.to.Address+" "+what)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, keeper.Start(cmd))
	lines := bufio.NewScanner(out)
	var timer *time.Timer
	for lines.Scan() {
		last = lines.Text()
		if last == "READY" && life > 0 {
			timer = time.AfterFunc(life, func() { _ = cmd.Process.Kill() })
		}
	}
	_ = cmd.Wait()
	if timer != nil {
		timer.Stop()
	}
	return last == "DONE", last
}

func seed(t *testing.T) *rand.Rand {
	n := uint64(time.Now().UnixNano())
	if text := os.Getenv("SEED"); text != "" {
		n, _ = strconv.ParseUint(text, 10, 64)
	}
	t.Logf("SEED=%d", n)
	return rand.New(rand.NewPCG(n, 0))
}

// TestKilledAndResumed kills the copier at twenty moments of a seeded schedule,
// a third of them with -short, while clients write: while it copies, in the
// fence, behind it, and on the way back. Nothing is lost and nothing is there
// twice.
func TestKilledAndResumed(t *testing.T) { killAndResume(t, start(t, busy...)) }

func killAndResume(t *testing.T, f *farmOfTwo) {
	r := seed(t)
	some := func(kills int) int {
		if testing.Short() { // `make test`: the part whole of test-all has them all
			return (kills + 2) / 3
		}
		return kills
	}
	stop := f.writers(t, f.from, 2)
	kills := f.untilDone(t, r, "carry", some(10), 500)
	t.Logf("carry: killed %d times", kills)
	for range some(3) { // given up in the fence: the source serves on
		f.spawn(t, "fence", time.Duration(1+r.IntN(400))*time.Millisecond)
		must(t, f.c.Unfence(t.Context()))
		f.from.Exec(t, "INSERT INTO shop.k (v) VALUES (1)")
	}
	kills = f.untilDone(t, r, "fence", some(5), 200)
	t.Logf("fence: killed %d times", kills)
	n := stop()
	t.Logf("the writers did %d changes", n)
	if n < 50 {
		t.Fatalf("the writers did only %d changes, which shows nothing", n)
	}
	f.equal(t, mysql.AsidePrefix)
	stop = f.writers(t, f.to, 2)
	for range some(3) {
		f.spawn(t, "back", time.Duration(1+r.IntN(500))*time.Millisecond)
	}
	kills = f.untilDone(t, r, "fenceback", some(5), 200)
	t.Logf("fence back: killed %d times", kills)
	stop()
	was, is := dump(t, f.to, mysql.AsidePrefix), dump(t, f.from, "")
	for table := range was {
		if len(was[table]) != len(is[table]) || strings.Join(was[table], ";") != strings.Join(is[table], ";") {
			t.Errorf("%s: %d rows on the target, %d came back", table, len(was[table]), len(is[table]))
		}
	}
}

// untilDone kills up to n times at random moments within so many ms, and then lets it come to its end.
func (f *farmOfTwo) untilDone(t *testing.T, r *rand.Rand, what string, n, within int) (kills int) {
	t.Helper()
	for range n {
		done, last := f.spawn(t, what, time.Duration(1+r.IntN(within))*time.Millisecond)
		if done {
			return kills
		}
		if strings.HasPrefix(last, "FAILED") && !strings.Contains(last, "1205") {
			t.Fatal(last)
		}
		kills++
	}
	for range 10 { // a fence may not get its lock at once
		done, last := f.spawn(t, what, 0)
		if done {
			return kills
		}
		if !strings.Contains(last, "1205") {
			t.Fatal(last)
		}
	}
	t.Fatalf("%s never got its lock", what)
	return kills
}

// TestLockDiesWithItsProcess: a writer that waits at the lock of a copier that
// was killed goes on at once, and one whose copier is frozen, after lockSilence.
func TestLockDiesWithItsProcess(t *testing.T) {
	turns.One(t, 8)
	t.Parallel() // it mostly waits
	for name, sig := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "frozen": syscall.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			f := start(t, "CREATE TABLE r (id INT AUTO_INCREMENT PRIMARY KEY, v INT)")
			f.carried(t)
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), childEnv+"="+f.from.Address+" "+f.to.Address+" lock")
			out, err := cmd.StdoutPipe()
			must(t, err)
			must(t, keeper.Start(cmd))
			defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
			lines := bufio.NewScanner(out)
			for lines.Scan() && lines.Text() != "LOCKED" {
			}
			must(t, cmd.Process.Signal(sig))
			begin := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			defer cancel()
			_, err = f.from.DB(t, mariadbtest.App, "shop").ExecContext(ctx, "INSERT INTO r (v) VALUES (1)")
			must(t, err)
			t.Logf("the writer went on after %v", time.Since(begin).Round(time.Millisecond))
			must(t, f.copy(t).Unfence(t.Context()))
		})
	}
}
