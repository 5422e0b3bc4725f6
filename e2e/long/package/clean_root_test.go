package packaged

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// cleanRoot is a Debian 12 as debootstrap makes it, with MariaDB, in namespaces of its own: nothing of it reaches this machine's network, mounts or
// processes, and all of it ends with the test. There is no systemd.
type cleanRoot struct {
	t    *testing.T
	dir  string // where it is mounted, as only its namespaces see it
	init int    // its first process
}

// inRoot are the packages that a root has besides Debian's minimum: what the demo needs, and what shows manual pages and completes words.
const inRoot = "mariadb-server,mariadb-backup,man-db,bash-completion"

// begin is the first process of a root. It mounts what a machine has, on top of the kept files, and waits for processes that nobody else waits for.
const begin = `set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=$2,upperdir=$1/upper,workdir=$1/work" "$1/root"
mount -t proc proc "$1/root/proc"
mount -t tmpfs tmpfs "$1/root/dev/shm"
mount -t tmpfs tmpfs "$1/root/run"
ip link set lo up
echo "127.0.0.1 localhost" >"$1/root/etc/hosts"
touch "$3"
while :; do sleep 0.1; done`

func newCleanRoot(t *testing.T) *cleanRoot {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: the package in a clean root: that needs root")
	}
	for _, program := range []string{"debootstrap", "unshare", "nsenter", "ip"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("NOT TESTED: the package in a clean root: there is no %s", program)
		}
	}
	base := keptRoot(t)
	dir := t.TempDir()
	ready := filepath.Join(dir, "ready")
	mounted := filepath.Join(dir, "mounted")
	if err := os.Mkdir(mounted, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child=KILL", "sh", "-c", begin, "sh", mounted, base, ready)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	for {
		select {
		case err := <-ended:
			ended <- err
			t.Skipf("NOT TESTED: the package in a clean root: %v: %s", err, &said)
		case <-time.After(20 * time.Millisecond):
		}
		if _, err := os.Stat(ready); err == nil {
			break
		}
	}
	r := &cleanRoot{t: t, dir: filepath.Join(mounted, "root")}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid))
	if _, scanErr := fmt.Sscan(string(children), &r.init); err != nil || scanErr != nil {
		t.Fatalf("first process of the root: %q, %v, %v", children, err, scanErr)
	}
	return r
}

// keptRoot is the root without its namespaces: made once, kept outside of every clone, and never written again.
func keptRoot(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "stowage", "clean-root-bookworm")
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err == nil {
		defer lock.Close()
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	t.Log("making a Debian 12 with MariaDB in", dir, "(some minutes, 700 MB, once)")
	fresh := dir + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "debootstrap", "--variant=minbase", "--include="+inRoot, "bookworm", fresh, mirror()).CombinedOutput()
	if err != nil {
		t.Skipf("NOT TESTED: the package in a clean root: debootstrap: %v: %s", err, last(string(out), 1000))
	}
	if err := os.Rename(fresh, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// mirror is where apt fetches this machine's own packages from.
func mirror() string {
	out, _ := exec.Command("apt-get", "indextargets", "--format", "$(REPO_URI)").Output()
	for line := range strings.Lines(string(out)) {
		if url := strings.TrimSpace(line); strings.HasSuffix(strings.TrimSuffix(url, "/"), "/debian") {
			return url
		}
	}
	return "http://deb.debian.org/debian"
}

func last(text string, n int) string { return text[max(0, len(text)-n):] }

// command is a shell command in the root.
func (r *cleanRoot) command(ctx context.Context, text string) *exec.Cmd {
	return exec.CommandContext(ctx, "nsenter", "--target", fmt.Sprint(r.init), "--mount", "--net", "--pid",
		"chroot", r.dir, "/usr/bin/env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C", "TERM=dumb", "DEBIAN_FRONTEND=noninteractive", "sh", "-c", text)
}

// try runs a shell command in the root: all that it prints, and its exit code.
func (r *cleanRoot) try(text string) (said string, code int) {
	r.t.Helper()
	out, err := r.command(r.t.Context(), text).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatalf("%s: %v", text, err)
	}
	if exit != nil {
		code = exit.ExitCode()
	}
	return string(out), code
}

// must is try for what has to go well.
func (r *cleanRoot) must(text string) string {
	r.t.Helper()
	said, code := r.try(text)
	if code != 0 {
		r.t.Fatalf("%s: exit code %d:\n%s", text, code, last(said, 4000))
	}
	return said
}

// shows runs a command that has to go well and print something.
func (r *cleanRoot) shows(text, want string) {
	r.t.Helper()
	if said := r.must(text); !strings.Contains(said, want) {
		r.t.Errorf("%s does not print %q:\n%s", text, want, last(said, 2000))
	}
}

// put copies a file of this machine into the root.
func (r *cleanRoot) put(path, to string, mode os.FileMode) {
	r.t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	r.write(string(raw), to, mode)
}

// write makes a file in the root.
func (r *cleanRoot) write(text, to string, mode os.FileMode) {
	r.t.Helper()
	cmd := r.command(r.t.Context(), fmt.Sprintf("mkdir -p %s && cat >%s && chmod %o %s", filepath.Dir(to), to, mode, to))
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("write %s: %v: %s", to, err, out)
	}
}

// until asks again and again whether a command goes well.
func (r *cleanRoot) until(text string) {
	r.t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		said, code := r.try(text)
		if code == 0 {
			return
		}
		if time.Now().After(end) {
			r.t.Fatalf("%s: exit code %d after five minutes:\n%s", text, code, last(said, 4000))
		}
	}
}

// background is a command that goes on; it keeps its process id and what it says in files of the root.
type background struct {
	root *cleanRoot
	name string
	end  chan error
}

func (r *cleanRoot) start(name, text string) *background {
	r.t.Helper()
	b := &background{r, name, make(chan error, 1)}
	cmd := r.command(context.Background(), fmt.Sprintf("echo $$ >/run/%s.pid; exec %s >/run/%[1]s.out 2>&1", name, text))
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	go func() { b.end <- cmd.Wait() }()
	r.until("test -s /run/" + name + ".pid")
	return b
}

func (b *background) signal(name string) {
	b.root.t.Helper()
	b.root.must(fmt.Sprintf("kill -%s $(cat /run/%s.pid)", name, b.name))
}

// ended waits for its end: its exit code, and what it said.
func (b *background) ended() (code int, said string) {
	b.root.t.Helper()
	select {
	case err := <-b.end:
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		}
	case <-time.After(5 * time.Minute):
		b.root.t.Errorf("%s has not ended after five minutes", b.name)
		code = -1
	}
	said, _ = b.root.try("cat /run/" + b.name + ".out")
	return code, said
}
