package host_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"stowage/host"
	"stowage/host/hosttest"
)

// TestServerInAContainerIsNoServerAtAll: a server with files of its own by the
// names of ours works in the data directory, and it was said that none does.
func TestServerInAContainerIsNoServerAtAll(t *testing.T) {
	l := local(t)
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: another mount namespace takes root")
	}
	i, _ := hosttest.Filled(t, l, "boxed")
	if start, err := l.Options(t.Context(), i); err != nil || start.PID != 0 || start.Contained != 0 {
		t.Fatalf("nothing runs, and it says %+v, %v", start, err)
	}
	server, err := exec.LookPath("mariadbd")
	must(t, err)
	box := exec.Command("unshare", "--mount", server, "--defaults-file="+i.Config, "--user="+host.ServerUser)
	must(t, box.Start())
	defer func() { _, _ = box.Process.Kill(), box.Wait() }()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		start, err := l.Options(t.Context(), i)
		_, written := os.Stat(filepath.Join(i.Dir(), host.PidFile)) // by a server that listens
		if err == nil && start.Contained == box.Process.Pid && written == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("process %d is not seen: %+v, %v", box.Process.Pid, start, err)
		}
	}
	if pid, err := l.Running(t.Context(), i); pid != 0 || err != nil {
		t.Errorf("it is taken for process %d, which we could stop and start, %v", pid, err)
	}
}
