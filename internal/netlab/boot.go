package netlab

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// bootScript makes the machine's own root and becomes its systemd.
//
//go:embed boot.sh
var bootScript []byte

// Boot is a machine that runs a systemd of its own.
type Boot struct {
	machine *Machine
	dir     string
	shared  []string
	script  string
	init    *os.Process // unshare(1), which ends with its systemd
	ended   chan struct{}
	pid     int // of the machine's process 1, as seen from here
	said    bytes.Buffer
}

// MissingToBoot says what a machine needs to run systemd and is not there, or "".
func MissingToBoot() string {
	if missing := Missing(); missing != "" {
		return missing
	}
	for _, program := range []string{"/lib/systemd/systemd", "/usr/bin/nsenter", "/usr/bin/unshare"} {
		if _, err := os.Stat(program); err != nil {
			return "there is no " + program
		}
	}
	return ""
}

// cleared are directories whose content systemd-tmpfiles(8) removes as a machine boots, and those above them.
var cleared = []string{"/", "/tmp", "/var", "/var/tmp", "/run"}

// Boot boots systemd in the machine and waits until it is up. The machine has
// processes, files and units of its own: it sees the files of this one, and
// what it changes is kept in dir, over its next boot, too. Shared are
// directories that are the same inside and outside. It fails where the kernel
// does not allow it.
func (m *Machine) Boot(dir string, shared ...string) (*Boot, error) {
	for _, x := range shared {
		if slices.Contains(cleared, filepath.Clean(x)) {
			return nil, fmt.Errorf("boot machine %s: it clears %s as it boots, of this machine, too, if the two share it: share a directory below it", m.Name, x)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("boot machine %s: %w", m.Name, err)
	}
	b := &Boot{machine: m, dir: dir, shared: shared, script: filepath.Join(dir, "boot.sh")}
	if err := os.WriteFile(b.script, bootScript, 0o644); err != nil {
		return nil, fmt.Errorf("boot machine %s: %w", m.Name, err)
	}
	return b, b.Up()
}

// Up boots the machine again after Cut.
func (b *Boot) Up() error {
	args := append([]string{"--mount", "--", "/bin/sh", b.script, b.machine.space, b.dir}, b.shared...)
	cmd := exec.Command("/usr/bin/unshare", args...)
	b.said.Reset()
	cmd.Stdout, cmd.Stderr = &b.said, &b.said
	if err := b.machine.Do(cmd.Start); err != nil {
		return fmt.Errorf("boot machine %s: %w", b.machine.Name, err)
	}
	b.init, b.ended, b.pid = cmd.Process, make(chan struct{}), 0
	go func() { _ = cmd.Wait(); close(b.ended) }()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if b.pid == 0 {
			b.pid = firstOf(b.init.Pid)
		} else if state, _ := b.Run("systemctl", "is-system-running"); state == "running" || state == "degraded" {
			return nil
		}
		select {
		case <-b.ended:
			return fmt.Errorf("boot machine %s: its systemd ended: %s", b.machine.Name, &b.said)
		default:
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("boot machine %s: its systemd does not come up", b.machine.Name), b.Cut())
		}
	}
}

// Down is closed when the machine has gone down: it was cut, or it has rebooted
// itself, which ends it here. Up boots it again.
func (b *Boot) Down() <-chan struct{} { return b.ended }

// firstOf is the child of a process that is process 1 of a namespace, or 0: the
// script has other children before.
func firstOf(pid int) int {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for word := range strings.FieldsSeq(string(raw)) {
		status, _ := os.ReadFile("/proc/" + word + "/status")
		_, inside, _ := strings.Cut(string(status), "\nNSpid:")
		inside, _, _ = strings.Cut(inside, "\n")
		if pids := strings.Fields(inside); len(pids) > 1 && pids[len(pids)-1] == "1" {
			child, _ := strconv.Atoi(word)
			return child
		}
	}
	return 0
}

// Run runs a program inside the machine, and returns what it said.
func (b *Boot) Run(name string, args ...string) (string, error) {
	cmd := exec.Command("/usr/bin/nsenter", append([]string{"--target", strconv.Itoa(b.pid), "--all", "--root", "--wd", "--", name}, args...)...)
	out, err := cmd.CombinedOutput()
	said := strings.TrimSpace(string(out))
	if err != nil {
		err = fmt.Errorf("on machine %s: %s %s: %w\n%s", b.machine.Name, name, strings.Join(args, " "), err, said)
	}
	return said, err
}

// Write writes a file of the machine.
func (b *Boot) Write(path string, content []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(b.inside(path)), 0o755); err != nil {
		return fmt.Errorf("write on machine %s: %w", b.machine.Name, err)
	}
	if err := os.WriteFile(b.inside(path), content, mode); err != nil {
		return fmt.Errorf("write on machine %s: %w", b.machine.Name, err)
	}
	return nil
}

// inside is where a file of the machine is to be found from outside.
func (b *Boot) inside(path string) string {
	return filepath.Join("/proc", strconv.Itoa(b.pid), "root", path)
}

// Cut takes the power off: everything that runs in the machine is gone at once,
// its files stay.
func (b *Boot) Cut() error {
	if b.pid != 0 {
		_ = syscall.Kill(b.pid, syscall.SIGKILL) // and with process 1 all others; who waits for it ends, too
	} else {
		_ = b.init.Kill()
	}
	select {
	case <-b.ended:
		return nil
	case <-time.After(30 * time.Second):
		return fmt.Errorf("take the power off machine %s: it does not end", b.machine.Name)
	}
}
