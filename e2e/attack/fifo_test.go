package attack

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"stowage/e2e/farmtest"
)

// fifoVerbs are all verbs that read a file which somebody names, with FIFO where the file stands; DIR is a directory of its own, and
// FARM the workspace. waits: a FIFO is a fair input, whose writer is waited for until a signal comes. The plain tune reads this
// machine and no FIFO, and may well find nothing to say.
var fifoVerbs = []struct {
	args  string
	waits bool
}{
	{"digest FIFO", true}, {"digest DIR/FIFO.digest", true}, {"digest compare FIFO FIFO", true}, {"digest -", true},
	{"replay FIFO --to 127.0.0.1:1 --dry-run", true}, {"replay - --to 127.0.0.1:1 --dry-run", true}, {"inventory discover --from FIFO", true},
	{"digest --instance 127.0.0.1:1 --defaults-file FIFO", false}, {"replay DIR/log --to 127.0.0.1:1 --defaults-file FIFO", false},
	{"inventory discover 127.0.0.1:1 -o DIR/new.yaml --accounts FIFO", false}, {"inventory discover 127.0.0.1:1 -o FIFO --accounts DIR/accounts.cnf", false},
	{"bench show FIFO", false}, {"bench show FIFO --html DIR/x.html", false}, {"bench compare FIFO FIFO", false}, {"bench compare FIFO#cell FIFO#cell", false}, {"bench csv FIFO", false},
	{"bench decide FIFO", false}, {"bench matrix FIFO --dry-run", false}, {"bench matrix DIR/matrix.yaml --save FIFO", false}, {"bench run DIR --save FIFO", false}, {"bench engine DIR --save FIFO", false},
	{"tune --root DIR/tree --measured FIFO", false}, {"tune --root FIFO", false}, {"tune", true}, {"plan --vbp FIFO", false},
	{"-C FARM plan", false}, {"-C FARM inventory", false}, {"-C FARM move FIFO", false}, {"-C FARM move DIR/plan.json", false}, {"-C FARM plan show first", false}, {"-C FARM report", false}, {"-C FARM serve --listen 127.0.0.1:0", false},
	{"agent --host x --engine 127.0.0.1:1 --certificates DIR/certs --data DIR/data", false},
}

// A FIFO hangs nobody: a verb refuses it, or waits for its writer and ends with a signal. (The results of benches, the logs of digest
// and replay, lists of addresses and whatever stood on standard input hung beyond SIGTERM, and so did tune while it read a slow /sys.)
func TestAVerbThatReadsAFIFOEndsWithSIGTERM(t *testing.T) {
	binary, err := filepath.Abs("../../bin/stowage")
	must(t, err)
	for _, v := range fifoVerbs {
		t.Run(v.args, func(t *testing.T) {
			t.Parallel() // it mostly waits
			dir := t.TempDir()
			fifos := []string{"FIFO", "FIFO.digest", "FIFO.json", "ws/farm.yaml", "ws/goals.yaml", "ws/plans/first.json", "plan.json", "certs/own.crt", "certs/own.key", "certs/ca.crt", "tree/sys/x"}
			for _, f := range fifos {
				path := filepath.Join(dir, f)
				must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), unix.Mkfifo(path, 0o600)))
			}
			must(t, os.WriteFile(filepath.Join(dir, "log"), []byte("x"), 0o600))
			must(t, os.WriteFile(filepath.Join(dir, "accounts.cnf"), []byte("[stowage]\nuser=x\n"), 0o600))
			must(t, os.WriteFile(filepath.Join(dir, "matrix.yaml"), []byte("matrix: x\n"), 0o600))
			args := strings.Fields(strings.NewReplacer("DIR", dir, "FIFO", "FIFO", "FARM", filepath.Join(dir, "ws")).Replace(v.args))
			cmd := exec.Command(binary, args...)
			var said bytes.Buffer
			cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &said, &said
			in, err := cmd.StdinPipe() // never written to
			must(t, err)
			defer in.Close()
			must(t, cmd.Start())
			ended := make(chan struct{})
			go func() { _ = cmd.Wait(); close(ended) }()
			waits := make(chan struct{})
			go func() { awaitRest(cmd.Process.Pid, v.waits); close(waits) }()
			select {
			case <-ended:
				if code := cmd.ProcessState.ExitCode(); code == 0 && v.args != "tune" || code > 128 {
					t.Errorf("exit %d\n%s", code, &said)
				}
				return
			case <-waits:
			}
			if !v.waits {
				t.Errorf("it neither refuses nor ends\n%s", &said)
			}
			must(t, cmd.Process.Signal(syscall.SIGTERM))
			select {
			case <-ended:
				// The plain tune may have come to its end, with findings, just before the signal: beside load it takes a second.
				code := cmd.ProcessState.ExitCode()
				if isDone := code == 0 || code == farmtest.ExitFindings && v.args == "tune"; code != farmtest.ExitInterrupted && !isDone && v.waits {
					t.Errorf("exit %d after SIGTERM\n%s", code, &said)
				}
			case <-time.After(time.Minute):
				must(t, cmd.Process.Kill())
				<-ended
				t.Errorf("it hangs beyond SIGTERM\n%s", &said)
			}
		})
	}
}

// awaitRest waits until a process has slept for a second, where it is one that waits, or for as long as a refusal may take. Beside other work a program that has run for a second may
// not have begun to listen to signals.
func awaitRest(pid int, waits bool) {
	var last []byte
	rested := time.Now()
	for end := time.Now().Add(farmtest.WaitLimit / 10); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		now := slept(pid)
		if now == nil || !bytes.Equal(now, last) {
			last, rested = now, time.Now()
		}
		if waits && time.Since(rested) > time.Second {
			return
		}
	}
}

// slept is how much each thread of a process has worked, nil while one of them does.
func slept(pid int) (all []byte) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, path := range tasks {
		raw, err := os.ReadFile(path)
		_, after, _ := bytes.Cut(raw, []byte(") "))
		f := bytes.Fields(after)
		if err != nil || len(f) < 13 || string(f[0]) != "S" {
			return nil
		}
		all = append(append(append(all, f[11]...), ' '), f[12]...) // utime, stime
	}
	return all
}
