package farmtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"stowage/internal/border"

	"golang.org/x/sys/unix"
)

// Program is one run of the program as a process of its own.
type Program struct {
	Code           int // exit code, -1 when it was killed
	Stdout, Stderr string
}

func RunProgram(t *testing.T, kill string, args ...string) Program {
	t.Helper()
	return RunWith(t, []string{KillAt + "=" + kill}, args...)
}

// RunWith runs the program with more in its environment.
func RunWith(t *testing.T, env []string, args ...string) Program {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), LiveProgram(t), args...)
	cmd.Env = append(append(os.Environ(), "PATH="+BinDir(t)+":"+os.Getenv("PATH")), env...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	_ = cmd.Run() // the exit code tells
	return Program{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// BinDir holds stowage-engine.
func BinDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join(rootDir(), "bin"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "stowage-engine")); err != nil {
		t.Fatalf("bin/stowage-engine is missing: make build makes it")
	}
	return dir
}

// KillAfter starts the program and kills it after a while.
func KillAfter(t *testing.T, wait time.Duration, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), LiveProgram(t), args...)
	cmd.Env = append(os.Environ(), "PATH="+BinDir(t)+":"+os.Getenv("PATH"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(wait, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait()
}

const (
	KillAt     = border.KillAt
	MarkOfKill = border.MarkOfKill
)

var live struct {
	sync.Once
	path string
	err  error
}

// LiveProgram is the program with borders: STOWAGE_LIVE=, or bin/stowage-live, built here.
func LiveProgram(t testing.TB) string {
	t.Helper()
	live.Do(func() {
		if live.path = os.Getenv("STOWAGE_LIVE"); live.path != "" {
			return
		}
		live.path, live.err = buildLive()
	})
	if live.err != nil {
		t.Fatal(live.err)
	}
	return live.path
}

func buildLive() (string, error) {
	path := filepath.Join(rootDir(), "bin/stowage-live")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	unlock, err := lockFile(path + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	cmd := exec.Command("go", "build", "-trimpath", "-tags", "livetest", "-o", path, "./cmd/stowage")
	cmd.Dir = rootDir()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return path, nil
}

func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// rootDir is the root of the repository: tests run in the directory of their package.
func rootDir() string {
	dir, err := os.Getwd()
	for ; err == nil && dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "ladder_test.go")); err == nil {
			return dir
		}
	}
	return "."
}
