package mariadbtest

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"stowage/internal/keeper"
)

// Multi are servers that start with one option file, as many shops have them:
// each reads [mysqld] and a group of its own, whose name ends with its suffix.
type Multi struct {
	Config    string
	Suffixes  []string // "1" under mysqld_multi; ".s1" as mariadb@s1 has it
	Instances []*Instance
	byMulti   bool
}

// Together makes running instances start with one option file, which is at
// path and holds all of theirs, and starts them again: by mysqld_multi where all
// suffixes are numbers, else with --defaults-group-suffix, as the unit
// mariadb@.service does. A group of shared lines is read by all.
func Together(t testing.TB, path, shared string, suffixes []string, instances ...*Instance) *Multi {
	t.Helper()
	m := &Multi{Config: path, Suffixes: suffixes, Instances: instances, byMulti: true}
	// mysqld_multi does not hand its own --defaults-file on: as shipped it is for
	// servers that read /etc/mysql/my.cnf.
	server := instances[0].path("server")
	script := "#!/bin/sh\nexec " + instances[0].home.line.Server + " --defaults-file=" + path + " \"$@\"\n"
	if err := os.WriteFile(server, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	text := "[mysqld_multi]\nmysqld = " + server + "\nlog = " + instances[0].path("multi.log") + "\n\n[mysqld]\n" + shared
	for n, i := range instances {
		own, err := os.ReadFile(i.Config)
		if err != nil {
			t.Fatal(err)
		}
		_, lines, _ := strings.Cut(string(own), "]\n")
		text += "\n[mysqld" + suffixes[n] + "]\n" + lines
		i.Stop(t)
		if _, err := strconv.Atoi(suffixes[n]); err != nil {
			m.byMulti = false
		}
		t.Cleanup(func() { m.end(i, syscall.SIGKILL) })
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for n := range instances {
		m.Start(t, n)
	}
	return m
}

// Start starts one of them and waits for a login.
func (m *Multi) Start(t testing.TB, n int) {
	t.Helper()
	if err := m.Try(t, n); err != nil {
		t.Fatal(err)
	}
}

// Try is Start for a server that may not come up.
func (m *Multi) Try(t testing.TB, n int) error {
	t.Helper()
	i := m.Instances[n]
	cmd := exec.Command(i.home.line.Server, "--defaults-file="+m.Config, "--defaults-group-suffix="+m.Suffixes[n])
	if m.byMulti {
		cmd = exec.Command("mysqld_multi", "--defaults-file="+m.Config, "start", m.Suffixes[n])
	}
	cmd.Dir, cmd.SysProcAttr, cmd.Env = "/", i.home.attributes(), []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/nonexistent"}
	if err := keeper.Start(cmd); err != nil {
		return err
	}
	exited := make(chan error, 1)
	go func() {
		if err := cmd.Wait(); !m.byMulti { // mysqld_multi ends before the server is up
			exited <- err
		}
	}()
	i.exited = exited
	if err := i.awaitLogin(); err != nil {
		return fmt.Errorf("start %s (%s) with group suffix %s: %w\n%s", i.Name, i.Address, m.Suffixes[n], err, i.LogTail(40))
	}
	return nil
}

// Restart stops one, as somebody would who knows nothing of us, and starts it.
func (m *Multi) Restart(t testing.TB, n int) {
	t.Helper()
	m.end(m.Instances[n], syscall.SIGTERM)
	m.Start(t, n)
}

// PID of one of them, 0 when it does not run.
func (m *Multi) PID(n int) int { return m.Instances[n].pidFile() }

func (i *Instance) pidFile() int {
	raw, err := os.ReadFile(i.path("pid"))
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(raw)))
	if !i.runs(pid) {
		return 0
	}
	return pid
}

// end ends a server that its pid file names.
func (m *Multi) end(i *Instance, sig syscall.Signal) {
	pid := i.pidFile()
	if pid == 0 {
		return
	}
	_ = syscall.Kill(pid, sig)
	// Nobody may wait for what mysqld_multi has started: a dead server may be
	// there as a zombie, which has no command line.
	for end := time.Now().Add(stopLimit); i.runs(pid) && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
	}
	if i.runs(pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// runs reports whether the process is one that Together has started.
func (i *Instance) runs(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.Contains(string(line), "--defaults-group-suffix=")
}
