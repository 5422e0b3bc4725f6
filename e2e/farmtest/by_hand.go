package farmtest

import (
	"cmp"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ByHand follows RESTORE.txt of a backup with a shell, as somebody does who has the vault and nothing else. The last line starts the
// server, which runs until the test ends. printed is what the lines before have said.
func (k *KeptFarm) ByHand(id string) (server *sql.DB, text, printed string) {
	t := k.F.T
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(k.Vault, id, "RESTORE.txt"))
	if err != nil {
		t.Fatal(err)
	}
	place, err := os.MkdirTemp("/var/tmp", "stowage-by-hand-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(place) })
	if err := os.Chmod(place, 0o755); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(raw)) {
		if command, is := strings.CutPrefix(line, "  "); is {
			lines = append(lines, strings.ReplaceAll(strings.TrimSpace(command), "/srv/", place+"/"))
		}
	}
	last := len(lines) - 1
	env := append(os.Environ(), "PATH="+cmp.Or(k.F.Servers, os.Getenv("PATH")))
	sh := exec.CommandContext(t.Context(), "sh", "-euc", strings.Join(lines[:last], "\n"))
	sh.Dir, sh.Env = k.Vault, env
	out, err := sh.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.CommandContext(t.Context(), "sh", "-c", "exec "+lines[last])
	var said strings.Builder
	run.Env, run.Stdout, run.Stderr = env, &said, &said
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	server, err = sql.Open("mysql", "root@unix("+place+"/restored/sock)/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server, string(raw), string(out)
}
