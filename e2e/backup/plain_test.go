package backup

import (
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"

	"stowage/e2e/farmtest"
)

// Whoever has the vault and nothing else follows RESTORE.txt with a shell: an incremental backup becomes a server that has the rows of both moments.
func TestRestoredByHand(t *testing.T) {
	k := farmtest.StartKeptFarm(t)
	k.Run(farmtest.ExitFine, "done", "backup", "run")
	shard := k.FirstShard()
	before := k.F.Value(k.Of, "SELECT COUNT(*) FROM `"+shard+"`.receipts")
	time.Sleep(2 * time.Second)
	k.Run(farmtest.ExitFine, "done", "backup", "run", "--incremental")
	k.F.CheckLedger()

	texts, err := filepath.Glob(filepath.Join(k.Vault, "*", "*-incremental", "RESTORE.txt"))
	if err != nil || len(texts) != 1 {
		t.Fatalf("%q %v", texts, err)
	}
	how, err := os.ReadFile(texts[0])
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
	for line := range strings.Lines(string(how)) {
		if command, is := strings.CutPrefix(line, "  "); is {
			lines = append(lines, strings.ReplaceAll(strings.TrimSpace(command), "/srv/", place+"/"))
		}
	}
	server := lines[len(lines)-1]
	sh := exec.CommandContext(t.Context(), "sh", "-euc", strings.Join(lines[:len(lines)-1], "\n"))
	sh.Dir = k.Vault
	if out, err := sh.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.CommandContext(t.Context(), "sh", "-c", "exec "+server)
	var said strings.Builder
	run.Stderr = &said
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = run.Process.Kill()
		_ = run.Wait()
	}()
	db, err := sql.Open("mysql", "root@unix("+place+"/restored/sock)/")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var first, all string
	for end := time.Now().Add(farmtest.WaitLimit); ; farmtest.PauseTest() {
		if err = db.QueryRow("SELECT (SELECT COUNT(*) FROM `"+shard+"`.receipts) >= ?, (SELECT COUNT(*) FROM `"+shard+"`.receipts)", before).Scan(&first, &all); err == nil || time.Now().After(end) {
			break
		}
	}
	if err != nil || first != "1" || all == before {
		t.Fatalf("%s receipts, %s at the full backup: %v\n%s", all, before, err, said.String())
	}
}
