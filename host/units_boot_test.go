package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"stowage/farm"
	"stowage/host"
	"stowage/internal/netlab"
)

// stopper is set in the environment of a copy of this test program that shall
// stop an instance, on a machine that runs systemd.
const stopper = "STOWAGE_TEST_STOPPER"

// unitInstance is one of the directory that a machine shares with the test.
func unitInstance(dir, name string) host.Instance {
	return host.Instance{Name: farm.InstanceName(name), Address: "127.0.0.1", Port: 1, Datadir: filepath.Join(dir, name, "data"), Config: filepath.Join(dir, name, "my.cnf")}
}

// stopOne stops an instance and says which of those in its directory run a
// second later: systemd has had the time to start it again.
func stopOne(spec string) {
	var dir, name string
	var units bool
	_, err := fmt.Sscanf(spec, "%s %s %t", &dir, &name, &units)
	var l *host.Local
	if err == nil {
		l, err = host.NewLocal(newLog())
	}
	if err == nil && units {
		err = l.UseUnits()
	}
	for pid, end := 0, time.Now().Add(patience); err == nil && pid == 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		pid, err = l.Running(context.Background(), unitInstance(dir, name)) // its shell may not have come so far
	}
	if err == nil {
		err = l.Stop(context.Background(), unitInstance(dir, name), 4*time.Second)
	}
	time.Sleep(time.Second)
	for _, n := range []string{"one", "two"} {
		if pid, _ := l.Running(context.Background(), unitInstance(dir, n)); pid != 0 {
			fmt.Println(n, "runs")
		}
	}
	if err != nil {
		fmt.Println("error", err)
	}
	os.Exit(0)
}

// TestStopOneOfAUnit: the unit of a server ends with it, and stays stopped; a
// unit that other servers or other programs are in goes on.
func TestStopOneOfAUnit(t *testing.T) {
	t.Parallel() // it mostly waits
	if missing := netlab.MissingToBoot(); missing != "" {
		t.Skip("NOT TESTED: servers as units of systemd: " + missing)
	}
	local(t)
	dir, b := bootOne(t)
	self, err := os.Executable()
	must(t, err)
	for _, n := range []string{"one", "two"} {
		must(t, os.MkdirAll(filepath.Join(dir, n, "data"), 0o755))
	}
	server := func(name string) string { // with the name and the directory of one
		return fmt.Sprintf("cd %s/%s/data && exec %s/mariadbd 3600", dir, name, dir)
	}
	for _, c := range []struct {
		name, service string
		units         bool
		left          string // after "one" is stopped
		active        string
	}{
		{"mysqld_multi", fmt.Sprintf("Type=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -c '(%s) & (%s) &'\n", server("one"), server("two")), true, "two runs", "active"},
		{"cron", fmt.Sprintf("ExecStart=/bin/sh -c '(%s) & sleep 3600'\n", server("one")), true, "", "active"},
		{"mysqld_multi", fmt.Sprintf("Type=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -c '(%s) & (%s) &'\n", server("one"), server("two")), false, "two runs", "active"},
		{"its own, hung", fmt.Sprintf("ExecStart=/bin/sh -c 'trap \"\" TERM; %s'\nRestart=always\nRestartSec=0\nSendSIGKILL=no\n", server("one")), false, "", "failed"},
		{"its own", fmt.Sprintf("ExecStart=/bin/sh -c '%s'\nRestart=always\nRestartSec=0\n", server("one")), false, "", "inactive"},
		{"its own", fmt.Sprintf("ExecStart=/bin/sh -c '%s'\nRestart=always\nRestartSec=0\n", server("one")), true, "", "inactive"},
	} {
		must(t, b.Write("/etc/systemd/system/theirs.service", []byte("[Service]\n"+c.service), 0o644))
		must(t, b.Write("/etc/systemd/system/exporter.service", []byte("[Unit]\nRequires=theirs.service\nAfter=theirs.service\n[Service]\nExecStart=/bin/sleep 3600\n"), 0o644))
		run := func(args ...string) {
			t.Helper()
			if _, err := b.Run("systemctl", args...); err != nil {
				t.Fatal(err)
			}
		}
		run("daemon-reload")
		run("start", "exporter")
		said, err := b.Run("/usr/bin/env", fmt.Sprintf("%s=%s one %t", stopper, dir, c.units), self)
		active, _ := b.Run("systemctl", "is-active", "theirs")
		if err != nil || said != c.left || active != c.active {
			t.Errorf("%s, units %t: %q (%v) and the unit is %s; want %q and %s", c.name, c.units, said, err, active, c.left, c.active)
		}
		run("is-active", "exporter")
		_, _ = b.Run("systemctl", "stop", "exporter", "theirs") // one that failed has ended
	}
}

// bootOne boots a machine that shares a directory, with a program in it that
// looks like a server, and this test program.
func bootOne(t *testing.T) (dir string, b *netlab.Boot) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	dir = t.TempDir()
	sleep, err := os.ReadFile("/bin/sleep")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "mariadbd"), sleep, 0o755))
	mark := netlab.Mark()
	t.Cleanup(func() { must(t, netlab.Clear(mark)) })
	network, err := netlab.Network("10.214")
	must(t, err)
	lab, err := netlab.New(mark, network)
	must(t, err)
	machine, err := lab.Add("units")
	must(t, err)
	b, err = machine.Boot(t.TempDir(), dir, filepath.Dir(self))
	must(t, err)
	t.Cleanup(func() { must(t, b.Cut()) })
	return dir, b
}
