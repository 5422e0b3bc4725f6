package alter

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"

	"stowage/e2e/farmtest"
)

// The side that serves all clients dies for good while its twin is held: what the twin has received is applied once its tables are changed, also when it was restarted meanwhile. These are the
// statements of docs/guide/alter.md.
func TestHeldRowsOutliveTheirSource(t *testing.T) {
	farmtest.SideBySide(t, func(run func(string, func(*testing.T))) {
		for _, restarted := range []bool{false, true} {
			run(map[bool]string{false: "running", true: "restarted"}[restarted], func(t *testing.T) {
				a, b := mariadbtest.Start(t, "a"), mariadbtest.Start(t, "b", "--skip-slave-start=ON")
				mariadbtest.Ring(t, a, b)
				a.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT d.t VALUES (1)")
				mariadbtest.AwaitApplied(t, b, a)
				held := mysql.Open(farm.InstanceName("b"), b.Address, mysqltest.Account(mariadbtest.Stowage), farmtest.QuietLog())
				t.Cleanup(func() { _ = held.Close() })
				if err := held.HoldApplier(t.Context()); err != nil {
					t.Fatal(err)
				}
				b.Exec(t, "SET GLOBAL sync_relay_log = 1")
				a.Exec(t, "SET STATEMENT sql_log_bin = 0 FOR ALTER TABLE d.t ADD COLUMN c INT NOT NULL DEFAULT 7", "INSERT d.t VALUES (2, 99)", "UPDATE d.t SET c = 55 WHERE id = 1")
				received(t, a, b)
				a.Kill()
				file, at := relayPosition(t, b)
				if restarted {
					b.Kill()
					b.Restart(t)
				}
				b.Exec(t, "SET STATEMENT sql_log_bin = 0 FOR ALTER TABLE d.t ADD COLUMN c INT NOT NULL DEFAULT 7")
				if restarted {
					replay(t, b, file, at)
				} else {
					b.Exec(t, "START SLAVE SQL_THREAD")
				}
				for end := time.Now().Add(farmtest.WaitLimit); ; farmtest.PauseTest() {
					if is := b.Value(t, "SELECT GROUP_CONCAT(CONCAT(id, '=', c) ORDER BY id) FROM d.t"); is == "1=55,2=99" {
						break
					} else if time.Now().After(end) {
						t.Fatalf("the rows are %s: %v", is, b.ReplicaStatus(t))
					}
				}
			})
		}
	})
}

// received waits until b has read all that a has written.
func received(t *testing.T, a, b *mariadbtest.Instance) {
	t.Helper()
	want := strings.Fields(a.Value(t, "SELECT @@gtid_binlog_pos"))[0]
	for end := time.Now().Add(farmtest.WaitLimit); ; farmtest.PauseTest() {
		if s := b.ReplicaStatus(t); s["Gtid_IO_Pos"] == want || strings.Contains(s["Gtid_IO_Pos"], want) {
			return
		} else if time.Now().After(end) {
			t.Fatalf("received %s of %s", s["Gtid_IO_Pos"], want)
		}
	}
}

// relayPosition is where the applier stands, by its relay-log.info.
func relayPosition(t *testing.T, b *mariadbtest.Instance) (file, at string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(b.Datadir, "relay-log.info"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(raw), "\n") // how many lines, file, offset
	return filepath.Base(lines[1]), lines[2]
}

// replay applies relay logs from a place on by the client's own tools: after a restart no thread may be started, or the server throws them away.
func replay(t *testing.T, b *mariadbtest.Instance, file, at string) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(b.Datadir, "rl.0*"))
	if err != nil {
		t.Fatal(err)
	}
	from := slices.Index(logs, filepath.Join(b.Datadir, file))
	cmd := exec.CommandContext(t.Context(), "mariadb-binlog", append([]string{"--start-position=" + at}, logs[from:]...)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &said)
	}
	into := exec.CommandContext(t.Context(), "mariadb", "--socket="+b.Socket, "--user="+string(mariadbtest.Stowage), "--password="+mariadbtest.Stowage.Password())
	into.Stdin = bytes.NewReader(text)
	if out, err := into.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
