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
	box := exec.Command("unshare", "--mount", "sh", "-ec", `
		root=$1 && shift
		mount -t tmpfs none "$root"
		for dir in /*; do
			if [ -L "$dir" ]; then cp -P "$dir" "$root$dir"
			elif [ -d "$dir" ] && [ "$dir" != /lost+found ]; then mkdir "$root$dir" && mount --rbind "$dir" "$root$dir"; fi
		done
		exec chroot "$root" "$@"`, "sh", t.TempDir(), server, "--defaults-file="+i.Config, "--user="+host.ServerUser)
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

// TestProtectedServiceIsOurs: systemd gives a service mounts of its own when it
// protects it, as Debian's mariadb@ asks for. It is no container.
func TestProtectedServiceIsOurs(t *testing.T) {
	l := local(t)
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: another mount namespace takes root")
	}
	i, _ := hosttest.Filled(t, l, "guarded")
	server, err := exec.LookPath("mariadbd")
	must(t, err)
	unit := exec.Command("unshare", "--mount", server, "--defaults-file="+i.Config, "--user="+host.ServerUser)
	must(t, unit.Start())
	defer func() { _, _ = unit.Process.Kill(), unit.Wait() }()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		start, err := l.Options(t.Context(), i)
		if err == nil && start.PID == unit.Process.Pid && start.Contained == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("process %d is not seen: %+v, %v", unit.Process.Pid, start, err)
		}
	}
	if pid, err := l.Running(t.Context(), i); pid != unit.Process.Pid || err != nil {
		t.Errorf("process %d runs, %v; it is %d", pid, err, unit.Process.Pid)
	}
}
