package netlab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A machine boots, runs units, loses its power and boots again: files stay,
// processes do not, and an enabled unit comes up with it.
func TestBoot(t *testing.T) {
	t.Parallel() // it mostly waits
	if missing := MissingToBoot(); missing != "" {
		t.Skip("NOT TESTED: machines that boot systemd: " + missing)
	}
	_, machines := newLab(t, "one")
	shared := t.TempDir()
	b, err := machines[0].Boot(t.TempDir(), shared)
	if err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := b.Run(name, args...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if out := run("hostname", "-I"); out != machines[0].Address {
		t.Errorf("its address is %q, not %s", out, machines[0].Address)
	}
	if out := run("cat", "/proc/1/comm"); out != "systemd" {
		t.Errorf("its process 1 is %s", out)
	}
	if _, err := b.Run("sh", "-c", "echo 1 > /proc/sys/vm/drop_caches"); err == nil {
		t.Error("a machine may write settings of the kernel")
	}
	unit := "[Service]\nExecStart=/bin/sh -c 'echo $$$$ >> " + shared + "/pids; exec sleep 3600'\nRestart=always\nRestartSec=0\n[Install]\nWantedBy=multi-user.target\n"
	if err := b.Write("/etc/systemd/system/sleeper.service", []byte(unit), 0o644); err != nil {
		t.Fatal(err)
	}
	run("systemctl", "enable", "--now", "sleeper")
	await := func(n int) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			raw, _ := os.ReadFile(filepath.Join(shared, "pids"))
			if lines := strings.Fields(string(raw)); len(lines) >= n {
				return
			} else if time.Now().After(deadline) {
				t.Fatalf("the unit was started %d times, want %d", len(lines), n)
			}
		}
	}
	await(1)
	run("pkill", "-9", "-x", "sleep")
	await(2)
	if err := b.Cut(); err != nil {
		t.Fatal(err)
	}
	if out, err := b.Run("true"); err == nil {
		t.Errorf("without power it says %q", out)
	}
	if err := b.Up(); err != nil {
		t.Fatal(err)
	}
	await(3)
	if out := run("systemctl", "is-active", "sleeper"); out != "active" {
		t.Errorf("after a boot the unit is %s", out)
	}
}

// A program that was in /tmp had all of /tmp shared with a machine, and its systemd removed what was in it.
func TestNoMachineIsGivenWhatItClears(t *testing.T) {
	for _, dir := range []string{"/tmp", "/tmp/", "/", "/var/tmp"} {
		m := &Machine{Name: "m"}
		if _, err := m.Boot(t.TempDir(), "/work", dir); err == nil || !strings.Contains(err.Error(), "clears") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
