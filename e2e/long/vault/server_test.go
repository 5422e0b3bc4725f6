package vault

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stowage/internal/heard"
	"stowage/internal/keeper"
	"stowage/vault"
)

// server is what a repository is behind.
type server struct {
	t       testing.TB
	path    string
	args    []string
	address string
	place   vault.Place

	cmd    *exec.Cmd
	said   heard.Log
	exited chan struct{}
}

// kinds are the servers, each with an empty repository; room is a directory for its files.
var kinds = map[string]func(t testing.TB, room string) *server{"sftp": newSSH, "rest": newREST, "s3": newS3}

func newServer(t testing.TB, path string) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, l.Close())
	return &server{t: t, path: path, address: l.Addr().String()}
}

func newSSH(t testing.TB, room string) *server {
	t.Helper()
	sshd, err := exec.LookPath("/usr/sbin/sshd")
	if err != nil {
		t.Skip("NOT TESTED: repositories by SFTP: sshd is not installed (scripts/setup.sh test installs it)")
	}
	s := newServer(t, sshd)
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	for _, key := range []string{"host", "client"} {
		out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key)).CombinedOutput()
		if err != nil {
			t.Fatalf("ssh-keygen: %v %s", err, out)
		}
	}
	host, port, err := net.SplitHostPort(s.address)
	must(t, err)
	public, err := os.ReadFile(filepath.Join(dir, "host.pub"))
	must(t, err)
	known := file("known", fmt.Sprintf("[%s]:%s %s", host, port, public), 0o600)
	if os.Geteuid() == 0 {
		must(t, os.MkdirAll("/run/sshd", 0o755)) // its package's unit makes it
	}
	config := file("sshd_config", fmt.Sprintf("ListenAddress %s\nPort %s\nHostKey %s/host\nAuthorizedKeysFile %s/client.pub\nPermitRootLogin yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\nStrictModes no\nPidFile none\nSubsystem sftp internal-sftp\n",
		host, port, dir, dir), 0o600)
	s.args = []string{"-D", "-e", "-f", config}
	// restic finds this ssh in the PATH of its env_file.
	clientConfig := file("ssh_config", fmt.Sprintf("IdentityFile %s/client\nIdentitiesOnly yes\nUserKnownHostsFile %s\nStrictHostKeyChecking yes\n", dir, known), 0o600)
	file("ssh", "#!/bin/sh\nexec /usr/bin/ssh -F "+clientConfig+" \"$@\"\n", 0o755)
	repository := filepath.Join(room, "repository")
	user := "root"
	if os.Geteuid() != 0 {
		user = os.Getenv("USER")
	}
	s.started(vault.Place{Restic: fmt.Sprintf("sftp://%s@%s:%s/%s", user, host, port, repository), EnvFile: file("env", "PATH="+dir+":/usr/bin:/bin\n", 0o600)})
	return s
}

// The passwords: words that no other process of the machine has among its arguments.
const (
	userPassword       = "mukade zenmai"
	repositoryPassword = "tanishi warabi"
)

func newREST(t testing.TB, room string) *server {
	t.Helper()
	s := newServer(t, built(t, "github.com/restic/rest-server@v0.14.0", "./cmd/rest-server"))
	sum := sha1.Sum([]byte(userPassword))
	must(t, os.WriteFile(filepath.Join(room, ".htpasswd"), []byte("me:{SHA}"+base64.StdEncoding.EncodeToString(sum[:])+"\n"), 0o600))
	env := filepath.Join(t.TempDir(), "env")
	must(t, os.WriteFile(env, []byte("RESTIC_REST_USERNAME=me\nRESTIC_REST_PASSWORD="+userPassword+"\n"), 0o600))
	s.args = []string{"--listen", s.address, "--path", room}
	s.started(vault.Place{Restic: "rest:http://" + s.address + "/repository/", EnvFile: env})
	return s
}

// newS3 starts gofakes3, a small server that speaks S3 and keeps objects in a file. It asks for no keys; restic needs some.
func newS3(t testing.TB, room string) *server {
	t.Helper()
	s := newServer(t, built(t, "github.com/johannesboyne/gofakes3@v1.2.0", "./cmd/gofakes3"))
	env := filepath.Join(t.TempDir(), "env")
	must(t, os.WriteFile(env, []byte("AWS_ACCESS_KEY_ID=a\nAWS_SECRET_ACCESS_KEY=b\n"), 0o600))
	s.args = []string{"-backend", "bolt", "-bolt.db", filepath.Join(room, "objects"), "-host", s.address, "-initialbucket", "vault", "-quiet"}
	s.started(vault.Place{Restic: "s3:http://" + s.address + "/vault/repository", EnvFile: env})
	return s
}

// started starts the server for the first time.
func (s *server) started(p vault.Place) {
	s.t.Helper()
	p.PasswordFile = filepath.Join(s.t.TempDir(), "password")
	must(s.t, os.WriteFile(p.PasswordFile, []byte(repositoryPassword+"\n"), 0o600))
	s.place = p
	s.t.Cleanup(s.kill)
	s.start()
}

func (s *server) start() {
	s.t.Helper()
	must(s.t, s.tryStart())
}

func (s *server) tryStart() error {
	s.exited = make(chan struct{})
	s.cmd = exec.Command(s.path, s.args...)
	s.cmd.Stdout, s.cmd.Stderr, s.cmd.WaitDelay = &s.said, &s.said, time.Second
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := keeper.Start(s.cmd); err != nil {
		return err
	}
	go func(cmd *exec.Cmd, exited chan struct{}) { _ = cmd.Wait(); close(exited) }(s.cmd, s.exited)
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp", s.address)
		if err == nil {
			return c.Close()
		}
		select {
		case <-s.exited:
			return fmt.Errorf("%s ended at once:\n%s", s.path, &s.said)
		default:
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s does not answer: %w\n%s", s.path, err, &s.said)
		}
	}
}

// signal reaches what the server has started for its connections, too: an sshd has processes of their own for each.
func (s *server) signal(sig syscall.Signal) {
	for _, pid := range append(offspring(s.cmd.Process.Pid), s.cmd.Process.Pid) {
		_ = syscall.Kill(pid, sig)
	}
}

// kill is kill -9 of the server.
func (s *server) kill() {
	s.signal(syscall.SIGKILL)
	<-s.exited
}

// offspring are the children of a process, and theirs.
func offspring(pid int) (all []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, path := range lists {
		text, _ := os.ReadFile(path)
		for _, f := range strings.Fields(string(text)) {
			var child int
			if _, err := fmt.Sscan(f, &child); err == nil {
				all = append(append(all, offspring(child)...), child)
			}
		}
	}
	return all
}

var building sync.Mutex

// built is a program of another module, built once and kept.
func built(t testing.TB, module, pkg string) string {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	cache, err := os.UserCacheDir()
	must(t, err)
	path := filepath.Join(cache, "stowage", "servers", strings.ReplaceAll(filepath.Base(module), "@", "-"))
	if _, err := os.Stat(path); err == nil {
		return path
	}
	run := func(dir string, args ...string) []byte {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0", "GOWORK=off")
		out, err := cmd.Output()
		if err != nil {
			t.Skipf("NOT TESTED: %s cannot be had here: go %s: %v\n%s", module, strings.Join(args, " "), err, out)
		}
		return out
	}
	var found struct{ Dir string }
	must(t, json.Unmarshal(run(t.TempDir(), "mod", "download", "-json", module), &found))
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	making := fmt.Sprintf("%s.%d", path, os.Getpid())
	run(found.Dir, "build", "-o", making, pkg)
	must(t, os.Rename(making, path))
	return path
}
