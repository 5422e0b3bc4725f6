package host_test

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"testing"
	"time"

	"stowage/backup/dump"
	"stowage/host"
	"stowage/internal/mariadbtest"
	"stowage/session"
	"stowage/vault"
)

// TestDumpSpeed is a part of BENCH=backup: a logical backup of a shard into a vault beside mydumper, whose files zstd compresses, from the same server to the same disk,
// in turns. Both are on the disk when their time ends, and count as the bytes of ours.
func TestDumpSpeed(t *testing.T) {
	mb, rounds := speedRounds(t)
	if _, err := exec.LookPath("mydumper"); err != nil {
		t.Skip("NOT TESTED: mydumper is not installed: apt-get install mydumper")
	}
	l := local(t)
	l.Dumps(session.Dumper(slog.New(slog.DiscardHandler)))
	s := mariadbtest.Start(t, "s", "--innodb-log-file-size=256M", "--innodb-buffer-pool-size=256M")
	s.Exec(t, "SET SESSION sql_log_bin = 0", "CREATE DATABASE d",
		"CREATE TABLE d.big (id INT PRIMARY KEY, shop INT, state TINYINT, made DATETIME, price DECIMAL(10,2), noise VARBINARY(100), text VARCHAR(500)) ENGINE=InnoDB",
		fmt.Sprintf("INSERT INTO d.big SELECT seq, seq * 7 %% 100000, seq %% 5, '2026-01-01' + INTERVAL seq SECOND, seq / 7, RANDOM_BYTES(100), REPEAT(MD5(seq %% 1000), 8) FROM d.seq_1_to_%d", mb*2300))
	s.Restart(t)
	rows := mb * 2300
	var ours, hand speeds
	var raw int64
	for range rounds {
		p := vault.Place{Dir: t.TempDir()}
		cpu, start := childrenCPU(t), time.Now()
		out, err := host.Copy{From: l, Origin: host.Origin{Instance: sourceOf(s), Login: loginTo(s), Dump: []string{"d"}}, To: l,
			Target: host.Destination{Stored: host.Stored{Place: p, Set: "shard/speed-logical", Name: dump.Part}}}.Run(t.Context())
		must(t, err)
		ours.add(out.Bytes, time.Since(start), childrenCPU(t)-cpu)
		if raw = out.Bytes; out.Rows != int64(rows) {
			t.Fatalf("%d rows of %d", out.Rows, rows)
		}
		forget(t, p)

		p = vault.Place{Dir: t.TempDir()}
		login := t.TempDir() + "/login.cnf"
		must(t, os.WriteFile(login, fmt.Appendf(nil, "[mydumper]\nuser=%s\npassword=%s\nhost=%s\nport=%d\n[client]\nuser=%[1]s\npassword=%[2]s\nhost=%[3]s\nport=%[4]d\n", admin.User, admin.Password, s.Host, s.Port), 0o600))
		cpu, start = childrenCPU(t), time.Now()
		shell(t, fmt.Sprintf("renice -n 10 $$ >/dev/null; mydumper --defaults-file=%[1]s -t 2 -r 200000 -G -E -R -B d -o %[2]s/dump 2>%[2]s/log && zstd -q --check -1 -T2 --rm %[2]s/dump/*.sql && sync -f %[2]s", login, p.Dir))
		hand.add(raw, time.Since(start), childrenCPU(t)-cpu)
		if n := shell(t, "zstd -dc "+p.Dir+"/dump/d.big*.sql.zst | grep -c '\"2026-\\|\"2027-\\|\"20[0-9][0-9]-'"); n == "0\n" {
			t.Fatal("by hand there are no rows")
		}
		forget(t, p)
	}
	a, b := median(ours.rate), median(hand.rate)
	fmt.Printf("FIGURE\tdump\t%.2f\t%d MB of SQL, %d rounds in turns, two sessions each; Stowage %.0f MB/s (%s), %.2f CPU-s/GB; mydumper 0.10.1 and zstd %.0f MB/s (%s), %.2f CPU-s/GB; without the server's own CPU\n",
		a/b, raw/1e6, rounds, a, ours, median(ours.cost), b, hand, median(hand.cost))
}
