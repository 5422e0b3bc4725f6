package backup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
)

// Whoever has the vault of a logical backup and nothing else follows RESTORE.txt with a shell: each shard is in a plain server then, with the rows that the live one has.
func TestShardsLoadedByHand(t *testing.T) {
	turns.One(t, 6)
	k := farmtest.StartKeptFarm(t)
	k.Told(grantDump)
	k.F.CheckLedger() // and the clients end
	k.Run(farmtest.ExitFine, "1 of 1 instance done", "backup", "run", "--kind", "logical")
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
	plain := mariadbtest.Start(t, "plain")
	login := filepath.Join(t.TempDir(), "my.cnf")
	if err := os.WriteFile(login, []byte("[client]\nuser="+string(mariadbtest.Stowage)+"\npassword="+mariadbtest.Stowage.Password()+"\nhost="+plain.Host+"\nport="+plain.Value(t, "SELECT @@port")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sh := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", "mariadb() { command mariadb --defaults-file="+login+" \"$@\"; }\n"+strings.Join(lines, "\n"))
	sh.Dir = filepath.Dir(texts[0])
	if out, err := sh.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	shards := 0
	live := k.F.Root(k.Of)
	defer live.Close()
	for _, table := range strings.Fields(plain.Value(t, "SELECT GROUP_CONCAT(TABLE_SCHEMA, '.', TABLE_NAME SEPARATOR ' ') FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA LIKE 'etsy%'")) {
		shards++
		var name, want, got string
		if err := live.QueryRow("CHECKSUM TABLE "+table+" EXTENDED").Scan(&name, &want); err != nil {
			t.Fatal(err)
		}
		db := plain.DB(t, mariadbtest.Stowage, "")
		if err := db.QueryRow("CHECKSUM TABLE "+table+" EXTENDED").Scan(&name, &got); err != nil || got != want {
			t.Errorf("%s has the sum %s, and %s on the live server: %v", table, got, want, err)
		}
	}
	if shards == 0 {
		t.Error("no table came")
	}
}
