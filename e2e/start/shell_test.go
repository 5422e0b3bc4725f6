package start

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shell is the reader's: one bash, in which directories, variables and jobs last
// from one command to the next.
type shell struct {
	t      *testing.T
	dir    string // for the text of commands, and what they say on standard error
	in     io.WriteCloser
	out    *bufio.Reader
	errors string
}

// newShell starts it in a directory.
func newShell(t *testing.T, in string) *shell {
	t.Helper()
	dir := t.TempDir()
	s := &shell{t: t, dir: dir, errors: filepath.Join(dir, "stderr")}
	said, err := os.Create(s.errors)
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd := exec.Command("bash", "--norc", "--noprofile")
	cmd.Dir = in
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "STOWAGE_") }), "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "TZ=UTC")
	if u, err := user.Current(); err == nil { // mariadb-install-db lets this user in
		cmd.Env = append(cmd.Env, "USER="+u.Username)
	}
	cmd.Stderr = said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if s.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.out = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.in.Close()
		_ = cmd.Wait() // it ends with its input
	})
	return s
}

// ended marks the end of what a command prints; its exit code follows.
const ended = "--- ended with "

// run types a command and waits until it has ended: what it printed on standard
// output, its exit code, and what it said on standard error.
func (s *shell) run(command string) (output []string, code int, said string) {
	s.t.Helper()
	file := filepath.Join(s.dir, "command")
	if err := os.WriteFile(file, []byte(command+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	before := s.said()
	if _, err := fmt.Fprintf(s.in, ". %s </dev/null\necho \"%s$?\"\n", file, ended); err != nil {
		s.t.Fatalf("the shell has ended: %v\n%s", err, before)
	}
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.t.Fatalf("%s: the shell has ended: %v\n%s", command, err, s.said())
		}
		line = strings.TrimSuffix(line, "\n")
		if rest, is := strings.CutPrefix(line, ended); is {
			code, err := strconv.Atoi(rest)
			if err != nil {
				s.t.Fatal(err)
			}
			return output, code, strings.TrimPrefix(s.said(), before)
		}
		output = append(output, line)
	}
}

func (s *shell) said() string {
	raw, err := os.ReadFile(s.errors)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(raw)
}

// stopAll ends every process whose command line names dir: what a page leaves
// behind whose last commands were not reached.
func stopAll(t *testing.T, dir string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		left := processesOf(dir)
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("processes %v still run from %s", left, dir)
			return
		}
		for _, pid := range left {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				t.Error(err)
			}
		}
	}
}

func processesOf(dir string) (out []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		raw, err := os.ReadFile(f)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err == nil && pid != os.Getpid() && strings.Contains(string(raw), dir+"/") {
			out = append(out, pid)
		}
	}
	return out
}
