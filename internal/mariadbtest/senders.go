package mariadbtest

import (
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// Senders has n threads of the server send its binary log to programs that throw it away, for as long as the test runs. Their account is Repl.
func (i *Instance) Senders(t testing.TB, n int) {
	t.Helper()
	for k := range n {
		cmd := exec.Command("mariadb-binlog", "--no-defaults", "--read-from-remote-server", "--stop-never", "--raw", "--result-file="+t.TempDir()+"/",
			"--stop-never-slave-server-id="+strconv.Itoa(900_000+k), "--host="+i.Host, "--port="+strconv.Itoa(i.Port), "--user="+string(Repl), "--password="+Repl.Password(),
			i.Value(t, "SELECT REGEXP_SUBSTR(VARIABLE_VALUE, '[^/]+$') FROM information_schema.GLOBAL_VARIABLES WHERE VARIABLE_NAME = 'LOG_BIN_BASENAME'")+".000001")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // it was killed
		})
	}
	for end := time.Now().Add(time.Minute); i.Value(t, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND = 'Binlog Dump'") != strconv.Itoa(n); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s does not send its binary log", i.Name)
		}
	}
}
