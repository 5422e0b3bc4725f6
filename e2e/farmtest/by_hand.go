package farmtest

import (
	"cmp"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"stowage/internal/mariadbtest"
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

// LoadedByHand follows RESTORE.txt of the only logical backup with a shell, whose client reaches a plain server, and compares the sums of all rows with the live side's.
func (k *KeptFarm) LoadedByHand(client string, plain *mariadbtest.Instance) {
	t := k.F.T
	t.Helper()
	texts, err := filepath.Glob(filepath.Join(k.Vault, "*", "*-logical", "RESTORE.txt"))
	if err != nil || len(texts) != 1 {
		t.Fatalf("%q %v", texts, err)
	}
	how, err := os.ReadFile(texts[0])
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(how)) {
		if command, is := strings.CutPrefix(line, "  "); is {
			lines = append(lines, command)
		}
	}
	login := filepath.Join(t.TempDir(), "my.cnf")
	if err := os.WriteFile(login, []byte("[client]\nuser="+string(mariadbtest.Stowage)+"\npassword="+mariadbtest.Stowage.Password()+"\nhost="+plain.Host+"\nport="+plain.Value(t, "SELECT @@port")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sh := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", client+"() { command "+client+" --defaults-file="+login+" \"$@\"; }\n"+strings.Join(lines, "\n"))
	sh.Dir = filepath.Dir(texts[0])
	if out, err := sh.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	live, db := k.F.Root(k.Of), plain.DB(t, mariadbtest.Stowage, "")
	defer live.Close()
	tables := strings.Fields(plain.Value(t, "SELECT COALESCE(GROUP_CONCAT(TABLE_SCHEMA, '.', TABLE_NAME SEPARATOR ' '), '') FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA LIKE 'etsy%'"))
	for _, table := range tables {
		var name, want, got string
		if err := live.QueryRow("CHECKSUM TABLE "+table+" EXTENDED").Scan(&name, &want); err != nil {
			t.Fatal(err)
		}
		if err := db.QueryRow("CHECKSUM TABLE "+table+" EXTENDED").Scan(&name, &got); err != nil || got != want {
			t.Errorf("%s has the sum %s, and %s on the live server: %v", table, got, want, err)
		}
	}
	if len(tables) == 0 {
		t.Error("no table came")
	}
}
