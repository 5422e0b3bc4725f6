package backup

import (
	"path/filepath"
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
	id, err := filepath.Rel(k.Vault, filepath.Dir(texts[0]))
	if err != nil {
		t.Fatal(err)
	}
	db, _, _ := k.ByHand(id)
	var first, all string
	for end := time.Now().Add(farmtest.WaitLimit); ; farmtest.PauseTest() {
		if err = db.QueryRow("SELECT (SELECT COUNT(*) FROM `"+shard+"`.receipts) >= ?, (SELECT COUNT(*) FROM `"+shard+"`.receipts)", before).Scan(&first, &all); err == nil || time.Now().After(end) {
			break
		}
	}
	if err != nil || first != "1" || all == before {
		t.Fatalf("%s receipts, %s at the full backup: %v", all, before, err)
	}
}
