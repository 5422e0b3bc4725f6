package routetest

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/farm"
)

// Backend is one backend of a HAProxy under test, as docs/reference/routing.md wants it.
type Backend struct {
	Pair   farm.PairName
	Home   farm.SideName
	A, B   string // addresses of the servers in the configuration
	Listen string // where clients come; empty: a free address
}

// HAProxy is a real HAProxy on loopback.
type HAProxy struct {
	Socket string            // of the worker
	Master string            // of the master, when it was started with one
	Listen map[string]string // where clients come, by backend: dbshard001_A
	dir    string
	path   string
	config string
	proc   *process
}

// StartHAProxy starts a HAProxy with these backends, with a master process if
// asked for one.
func StartHAProxy(t testing.TB, master bool, backends ...Backend) *HAProxy {
	t.Helper()
	dir := shortDir(t)
	h := &HAProxy{Socket: filepath.Join(dir, "stats"), Listen: map[string]string{}, dir: dir, path: find(t, "haproxy", "haproxy")}
	if master {
		h.Master = filepath.Join(dir, "master")
	}
	var c strings.Builder
	fmt.Fprintf(&c, "global\n stats socket %s mode 600 level admin\n maxconn 1000\n", h.Socket)
	fmt.Fprintf(&c, " server-state-file %s\n", filepath.Join(dir, "state"))
	c.WriteString("defaults\n mode tcp\n timeout client 10m\n timeout server 10m\n load-server-state-from-file global\n")
	for _, b := range backends {
		name := string(b.Pair) + "_" + string(b.Home)
		if b.Listen == "" {
			b.Listen = FreeAddress(t)
		}
		h.Listen[name] = b.Listen
		off := map[farm.SideName]string{b.Home.Twin(): " disabled"}
		fmt.Fprintf(&c, "frontend %s\n bind %s\n default_backend %s\nbackend %s\n", name, b.Listen, name, name)
		fmt.Fprintf(&c, " timeout connect 50ms\n retries 12000\n option redispatch 1\n")
		fmt.Fprintf(&c, " server A %s%s\n server B %s%s\n server gate 127.0.0.1:1 disabled\n", b.A, off[farm.A], b.B, off[farm.B])
	}
	h.config = filepath.Join(dir, "haproxy.cfg")
	if err := os.WriteFile(h.config, []byte(c.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	h.start(t)
	return h
}

func (h *HAProxy) start(t testing.TB) {
	t.Helper()
	args := []string{"-db", "-f", h.config}
	if h.Master != "" {
		args = []string{"-W", "-S", h.Master, "-f", h.config}
	}
	h.proc = start(t, h.path, args...)
	h.proc.await(t, func() error { _, err := h.Ask("show info"); return err })
}

// CheckConfig lets HAProxy say whether it would start with a configuration.
func CheckConfig(t testing.TB, text string) {
	t.Helper()
	path := filepath.Join(shortDir(t), "haproxy.cfg")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, find(t, "haproxy", "haproxy"), "-c", "-f", path)
	<-p.exited
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d\n%s", code, &p.said)
	}
}

// Ask sends a line to the worker's socket.
func (h *HAProxy) Ask(line string) (string, error) { return ask(h.Socket, line) }

func ask(socket, line string) (string, error) {
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		return "", err
	}
	if err := conn.(*net.UnixConn).CloseWrite(); err != nil { // a master waits for the next line otherwise
		return "", err
	}
	raw, err := io.ReadAll(conn)
	return string(raw), err
}

// Do sends a line that must be obeyed in silence.
func (h *HAProxy) Do(t testing.TB, line string) {
	t.Helper()
	if answer, err := h.Ask(line); err != nil || strings.TrimSpace(answer) != "" {
		t.Fatalf("%s: %v %s", line, err, answer)
	}
}

// SaveState writes the file that the next start takes the servers' states
// from.
func (h *HAProxy) SaveState(t testing.TB) {
	t.Helper()
	text, err := h.Ask("show servers state")
	if err == nil {
		err = os.WriteFile(filepath.Join(h.dir, "state"), []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Kill is kill -9; nothing answers until Restart.
func (h *HAProxy) Kill() { h.proc.kill() }

// Restart starts it again with its configuration: what it was told is
// forgotten, unless SaveState kept it.
func (h *HAProxy) Restart(t testing.TB) {
	t.Helper()
	h.Kill()
	h.start(t)
}

// Freeze stops it without closing anything, until thaw.
func (h *HAProxy) Freeze(t testing.TB) (thaw func()) {
	t.Helper()
	return h.proc.freeze(t)
}

// Reload lets the master start a new worker; the old one keeps the connections
// it has.
func (h *HAProxy) Reload(t testing.TB) {
	t.Helper()
	before, err := ask(h.Master, "show proc")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(h.Master, "reload"); err != nil {
		t.Fatal(err)
	}
	h.proc.await(t, func() error {
		after, err := ask(h.Master, "show proc")
		if err != nil {
			return err
		}
		if worker(after) == worker(before) || worker(after) == "" {
			return fmt.Errorf("no new worker yet: %s", after)
		}
		_, err = h.Ask("show info")
		return err
	})
}

// worker is the process id of the worker that runs now.
func worker(showProc string) string {
	_, rest, _ := strings.Cut(showProc, "# workers\n")
	id, _, _ := strings.Cut(rest, " ")
	return id
}

// shortDir is a directory whose path leaves room for the name of a socket.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rt-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
