package attack

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/mysql"
)

// Every port that a process of a demo, of its move and of serve listens on has an owner that is known here, and gives nobody nothing.
func TestEveryPortOfAMoveGivesNobodyNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: another user against the ports of a move (needs root)")
	}
	f := farmtest.StartFarm(t)
	serve := exec.CommandContext(t.Context(), farmtest.LiveProgram(t), "serve", "--listen", "127.0.0.1:0", "-C", f.Dir)
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = serve.Process.Kill(); _ = serve.Wait() }()
	h := f.HoldAt("before rewire")
	ports := map[string][]string{}
	for end := time.Now().Add(farmtest.WaitLimit); len(ports["serve"]) == 0 && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		ports = portsOf(t, f.Dir)
	}
	if len(ports["stowage-engine"]) != 3 || len(ports["serve"]) != 1 || len(ports["mariadbd"]) != 3 {
		t.Errorf("listening: %v; want three ports of the engine, one of serve and one of each server", ports)
	}
	dir := farmtest.OpenToNobody(t)
	secrets := []string{"accounts.cnf", ".stowage/engine.db", ".stowage/engine.key", ".stowage/engine.db.key", ".stowage/stowage.db"}
	for i, s := range secrets {
		secrets[i] = filepath.Join(f.Dir, s)
	}
	farmtest.AsNobody(t, dir, ports["stowage-engine"], secrets, nil)
	for _, address := range ports["mariadbd"] {
		for _, name := range []string{"root", "", "stowage", "mysql"} {
			server := mysql.Open("attacked", address, mysql.Account{User: name}, farmtest.QuietLog())
			if _, err := server.Replication(t.Context()); err == nil || !strings.Contains(err.Error(), "denied") {
				t.Errorf("%s as %q without a password: %v", address, name, err)
			}
			server.Close()
		}
	}
	for _, path := range []string{"/", "/moves", "/plan", "/report", "/api/moves"} {
		mustRefuse(t, "http://"+ports["serve"][0]+path, f.Dir)
	}
	if p := h.LetGo(false); p.Code != 0 {
		t.Errorf("exit %d\n%s", p.Code, p.Stderr)
	}
	f.CheckLedger()
}

// mustRefuse: without the link there is no page.
func mustRefuse(t *testing.T, url, dir string) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode < 400 || strings.Contains(string(text), "dbshard") || strings.Contains(string(text), dir) {
		t.Errorf("%s without the link: %d\n%s", url, answer.StatusCode, text)
	}
}

// portsOf are the ports of all processes that were started for dir, by what the process is.
func portsOf(t *testing.T, dir string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	all, err := farmtest.Sockets(dir)
	if err != nil {
		t.Error(err)
	}
	for _, s := range all {
		if s.Net != "tcp" || !slices.Contains([]string{"mariadbd", "stowage-engine", "serve"}, s.What) || !s.Addr.Addr().IsLoopback() {
			t.Errorf("%s (process %d) has %s %s open, which this test does not know", s.What, s.PID, s.Net, s.Addr)
		}
		out[s.What] = append(out[s.What], s.Addr.String())
	}
	return out
}
