package packages

import (
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

	"stowage/packages/pin"
)

// Tests run in a root of their own, with this machine's apt and dpkg and what it has installed: an overlay, which is thrown away. Nothing of this machine changes.

const (
	inside = "STOWAGE_PACKAGES_INSIDE" // "tests", or what a child of a test does
	source = "/srv/source"             // where apt finds packages
)

// noRoot is how the shell ends where this machine lets nobody mount.
const noRoot = 99

const intoRoot = `set -u
mount -t tmpfs tmpfs "$1" &&
mkdir -p "$1/changes" "$1/work" "$1/root" &&
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/changes,workdir=$1/work" "$1/root" &&
mount --rbind /proc "$1/root/proc" &&
mount --rbind /dev "$1/root/dev" &&
mount -t tmpfs tmpfs "$1/root/run" || exit 99
shift
dir=$1
shift
exec chroot "$dir" "$@"
`

func TestMain(m *testing.M) {
	switch do := os.Getenv(inside); do {
	case "tests":
		os.Exit(m.Run())
	case "":
	default:
		child(do)
	}
	if missing := Missing(); missing != "" || os.Geteuid() != 0 {
		fmt.Println("NOT TESTED: packages: needs root, apt and dpkg:", missing)
		return
	}
	if err := exec.Command("unshare", "--mount", "--", "true").Run(); err != nil {
		fmt.Println("NOT TESTED: packages: unshare --mount:", err)
		return
	}
	dir, err := os.MkdirTemp("", "stowage-packages-*")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	own, _ := os.Executable()
	cmd := exec.Command("unshare", append([]string{"--mount", "--propagation", "private", "--", "/bin/sh", "-c", intoRoot, "sh", dir, dir + "/root", own}, os.Args[1:]...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), inside+"=tests"), os.Stdout, os.Stderr
	err = cmd.Run()
	_ = os.RemoveAll(dir)
	var code *exec.ExitError
	switch {
	case errors.As(err, &code) && code.ExitCode() == noRoot:
		fmt.Println("NOT TESTED: packages: no root of their own can be mounted here")
	case errors.As(err, &code):
		os.Exit(code.ExitCode())
	case err != nil:
		fmt.Println(err)
		os.Exit(1)
	}
}

// child is what a process does that a test kills, or looks at.
func child(do string) {
	what, at, _ := strings.Cut(do, "@")
	a := &Apt{Out: os.Stdout}
	switch what {
	case "install":
		a.Border = func(point string) error {
			if point == at {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
			return nil
		}
		p, err := pin.Parse(os.Args[len(os.Args)-1])
		if err == nil {
			err = a.Install(contextOf(), []pin.Pin{p})
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	case "lock":
		f, err := os.OpenFile("/var/lib/dpkg/lock-frontend", os.O_RDWR, 0)
		if err == nil {
			err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
		}
		fmt.Println("locked", err)
		time.Sleep(time.Hour) // it is killed before
		_ = f.Close()         // and not earlier, by the garbage collector
	}
	os.Exit(0)
}

// start runs a child.
func start(t *testing.T, do string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), inside+"="+do)
	return cmd
}

func sh(t *testing.T, script string) string {
	t.Helper()
	out, err := exec.Command("/bin/sh", "-c", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// tiny is a package of a test.
type tiny struct {
	name, version, source, depends, postinst string
}

// offer makes packages what apt can have, and nothing else.
func offer(t *testing.T, all ...tiny) {
	t.Helper()
	sh(t, "rm -rf "+source+" /etc/apt/sources.list.d/* /var/cache/apt/archives/*.deb; mkdir -p "+source)
	for n, p := range all {
		tree := filepath.Join(t.TempDir(), fmt.Sprint(n))
		control := fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: nobody <nobody@example.com>\nInstalled-Size: 10\nDescription: a package of a test\n", p.name, p.version)
		if p.source != "" {
			control += "Source: " + p.source + "\n"
		}
		if p.depends != "" {
			control += p.depends + "\n"
		}
		sh(t, "mkdir -p "+tree+"/DEBIAN")
		write(t, tree+"/DEBIAN/control", control, 0o644)
		if p.postinst != "" {
			write(t, tree+"/DEBIAN/postinst", "#!/bin/sh\n"+p.postinst+"\n", 0o755)
		}
		sh(t, fmt.Sprintf("dpkg-deb --root-owner-group -Zgzip -b %s %s/%d.deb", tree, source, n))
	}
	sh(t, "cd "+source+" && dpkg-scanpackages --multiversion . 2>/dev/null > Packages; echo 'deb [trusted=yes] file:"+source+" ./' > /etc/apt/sources.list; apt-get -q update")
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// clean takes the packages of earlier tests away.
func clean(t *testing.T) {
	t.Helper()
	sh(t, "apt-mark unhold tinyd tiny-common other >/dev/null 2>&1; dpkg --purge --force-all tinyd tiny-common other fresh >/dev/null 2>&1; rm -f /usr/sbin/policy-rc.d* /etc/policy /tiny.log")
}

func install(t *testing.T, pins ...string) {
	t.Helper()
	sh(t, "apt-get "+strings.Join(installArgs(parsed(t, pins...)), " "))
}

func parsed(t *testing.T, pins ...string) (out []pin.Pin) {
	t.Helper()
	for _, text := range pins {
		p, err := pin.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}
