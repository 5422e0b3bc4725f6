package host_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"stowage/host"
	"stowage/internal/mariadbtest"
	"stowage/vault"
)

// resticPassword is that of a repository that lives for one round.
const resticPassword = "speed"

// speedRounds is how often each way is measured; without it the test is skipped.
func speedRounds(t *testing.T) (mb, rounds int) {
	t.Helper()
	mb, _ = strconv.Atoi(os.Getenv("BACKUP_MB"))
	rounds, _ = strconv.Atoi(os.Getenv("ROUNDS"))
	if mb == 0 {
		t.Skip("SKIPPED: the speed of backups; make bench BENCH=backup measures it")
	}
	return mb, max(1, rounds)
}

// TestBackupSpeed is a part of BENCH=backup: a copy into a vault beside what a person would type, from the same server to the same disk, in turns.
// Both are on the disk when their time ends. It prints a line each for scripts/bench/backup.sh.
func TestBackupSpeed(t *testing.T) {
	mb, rounds := speedRounds(t)
	l := local(t)
	s := mariadbtest.Start(t, "s", "--innodb-log-file-size=256M", "--innodb-buffer-pool-size=256M")
	// Rows that compress about as well as a shop's do: half of it is noise.
	s.Exec(t, "SET SESSION sql_log_bin = 0", "CREATE DATABASE d", "CREATE TABLE d.big (id INT PRIMARY KEY, noise VARBINARY(500), text VARCHAR(500)) ENGINE=InnoDB",
		fmt.Sprintf("INSERT INTO d.big SELECT seq, RANDOM_BYTES(500), REPEAT(MD5(seq %% 1000), 15) FROM d.seq_1_to_%d", mb*1000))
	s.Restart(t)                                                                              // all pages are written, and the redo log is short: each round copies the same
	for what, options := range map[string]string{"directory": "", "lean": "--check -1 -T2"} { // as zstd comes; and as Stowage calls it
		t.Run(what, func(t *testing.T) {
			compareBackups(t, l, s, rounds, what, func() (vault.Place, string) {
				dir := t.TempDir()
				return vault.Place{Dir: dir}, fmt.Sprintf("zstd -q %[2]s -o %[1]s/hand.zst && sync %[1]s/hand.zst %[1]s", dir, options)
			})
		})
	}
	t.Run("restic", func(t *testing.T) {
		if _, err := exec.LookPath("restic"); err != nil {
			t.Skip("NOT TESTED: restic is not installed")
		}
		compareBackups(t, l, s, rounds, "restic", func() (vault.Place, string) {
			dir := t.TempDir()
			repository, password := filepath.Join(dir, "repository"), filepath.Join(dir, "password")
			must(t, os.WriteFile(password, []byte(resticPassword), 0o600))
			restic := fmt.Sprintf("restic -q --no-cache -r %s --password-file %s", repository, password)
			shell(t, restic+" init")
			return vault.Place{Restic: repository, PasswordFile: password}, restic + " backup --stdin --stdin-filename base.xb && sync -f " + dir
		})
	})
}

// compareBackups measures both ways in turns. place gives a new place, and what a person would have the stream of mariadb-backup go to there.
func compareBackups(t *testing.T, l *host.Local, s *mariadbtest.Instance, rounds int, what string, place func() (vault.Place, string)) {
	var ours, hand speeds
	var own []float64 // processor seconds of Stowage's own process for each GB
	var raw, byHand int64
	for range rounds {
		p, _ := place()
		c := host.Copy{From: l, Origin: host.Origin{Instance: sourceOf(s), Login: loginTo(s), InOrder: true}, To: l,
			Target: host.Destination{Stored: host.Stored{Place: p, Set: "shard/speed-full", Name: "base.xb"}}}
		cpu, self, start := childrenCPU(t), ownCPU(t), time.Now()
		out, err := c.Run(t.Context())
		must(t, err)
		ours.add(out.Bytes, time.Since(start), childrenCPU(t)-cpu)
		own = append(own, (ownCPU(t)-self).Seconds()/float64(out.Bytes)*1e9)
		raw = out.Bytes
		forget(t, p)

		p, to := place()
		login := t.TempDir()
		must(t, os.WriteFile(login+"/login.cnf", fmt.Appendf(nil, "[mariadb-backup]\nuser=%s\npassword=%s\nhost=%s\nport=%d\nprotocol=tcp\n", admin.User, admin.Password, s.Host, s.Port), 0o600))
		pipe := fmt.Sprintf("mariadb-backup --defaults-file=%[1]s/login.cnf --backup --stream=xbstream --log-copy-interval=10 --datadir=%[2]s --target-dir=%[1]s 2>%[1]s/log", login, s.Datadir)
		cpu, start = childrenCPU(t), time.Now()
		shell(t, lowly+pipe+" | "+to) // as ours are: on a busy machine the other priority would count
		took := time.Since(start)
		used := childrenCPU(t) - cpu
		byHand = streamLength(t, p)
		hand.add(byHand, took, used)
		forget(t, p)
	}
	if d := raw - byHand; d > raw/100 || d < -raw/100 { // it is one server; the redo log between differs a little
		t.Errorf("%s: %d bytes, and by hand %d: these are not the same", what, raw, byHand)
	}
	a, b := median(ours.rate), median(hand.rate)
	fmt.Printf("FIGURE\t%s\t%.2f\t%d MB, %d rounds in turns; Stowage %.0f MB/s (%s), %.2f CPU-s/GB, %.2f of it in its own process; by hand %.0f MB/s (%s), %.2f CPU-s/GB\n",
		what, a/b, raw/1e6, rounds, a, ours, median(ours.cost), median(own), b, hand, median(hand.cost))
}

// speeds are of one way to copy, by round.
type speeds struct {
	rate []float64 // MB/s
	cost []float64 // processor seconds for each GB: what a busy machine does not change much
}

func (s *speeds) add(bytes int64, took, cpu time.Duration) {
	s.rate = append(s.rate, float64(bytes)/1e6/took.Seconds())
	s.cost = append(s.cost, cpu.Seconds()/float64(bytes)*1e9)
}

func (s speeds) String() string {
	var all []string
	for _, r := range s.rate {
		all = append(all, fmt.Sprintf("%.0f", r))
	}
	return strings.Join(all, " ")
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

// childrenCPU is the processor time of this process, and of all commands it has waited for.
func childrenCPU(t *testing.T) time.Duration {
	t.Helper()
	return ownCPU(t) + usage(t, syscall.RUSAGE_CHILDREN)
}

// ownCPU is that of this process alone.
func ownCPU(t *testing.T) time.Duration { return usage(t, syscall.RUSAGE_SELF) }

func usage(t *testing.T, who int) time.Duration {
	t.Helper()
	var u syscall.Rusage
	must(t, syscall.Getrusage(who, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// streamLength is what a person has kept at a place.
func streamLength(t *testing.T, p vault.Place) int64 {
	t.Helper()
	if p.Dir != "" {
		n, err := strconv.ParseInt(strings.TrimSpace(shell(t, "zstd -dc "+p.Dir+"/hand.zst | wc -c")), 10, 64)
		must(t, err)
		return n
	}
	var stats struct {
		Size int64 `json:"total_size"`
	}
	must(t, json.Unmarshal([]byte(shell(t, fmt.Sprintf("restic -q --no-cache --no-lock --json -r %s --password-file %s stats latest", p.Restic, p.PasswordFile))), &stats))
	return stats.Size
}

// forget makes room, and has the disk at rest for whoever comes next.
func forget(t *testing.T, p vault.Place) {
	t.Helper()
	dir := p.Dir
	if dir == "" {
		dir = p.Restic
	}
	must(t, os.RemoveAll(dir))
	must(t, os.MkdirAll(dir, 0o700)) // t.TempDir removes it
	shell(t, "sync -f "+dir)
}

// lowly gives a shell the priority of Stowage's copies, in its session and beside others.
const lowly = "renice -n 10 $$ >/dev/null; echo 10 2>/dev/null >/proc/$$/autogroup || true; "

// shell runs a script in a session of its own.
func shell(t *testing.T, script string) string {
	t.Helper()
	var out, said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "bash", "-c", "set -o pipefail; "+script)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = &out, &said, &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, said.Bytes())
	}
	return out.String()
}

// TestReplaySpeed is another part: binary logs from an archive into an empty server, beside mariadb-binlog | mariadb of the same files.
func TestReplaySpeed(t *testing.T) {
	mb, rounds := speedRounds(t)
	mb = max(1, mb/10) // a replay is ten times as slow as a copy
	l := local(t)
	s := mariadbtest.Start(t, "s")
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.a (id INT AUTO_INCREMENT PRIMARY KEY, v VARBINARY(1000))")
	into := archiveOf(t)
	db := s.DB(t, mariadbtest.Stowage, "d")
	for range mb * 50 { // transactions of twenty rows, a kilobyte each
		if _, err := db.ExecContext(t.Context(), "INSERT a (v) SELECT RANDOM_BYTES(1000) FROM seq_1_to_20"); err != nil {
			t.Fatal(err)
		}
	}
	a := archive(t, l, s, into)
	from := begin(t, into, a)
	files, err := filepath.Glob(filepath.Join(into, a.Identity, "bl.0?????"))
	must(t, err)
	bytes, rows := a.Bytes, s.Value(t, "SELECT COUNT(*) FROM d.a")
	has := func(target *mariadbtest.Instance) {
		t.Helper()
		if got := target.Value(t, "SELECT COUNT(*) FROM d.a"); got != rows {
			t.Fatalf("%s rows of %s", got, rows)
		}
		target.Stop(t)
	}
	var ours, hand speeds
	for range rounds {
		target := mariadbtest.Start(t, "target", "--read-only=1")
		cpu, start := childrenCPU(t), time.Now()
		must(t, l.Replay(t.Context(), replaying(target, into, from, a.Last)))
		ours.add(bytes, time.Since(start), childrenCPU(t)-cpu)
		has(target)

		target = mariadbtest.Start(t, "target", "--read-only=1")
		cpu, start = childrenCPU(t), time.Now()
		shell(t, fmt.Sprintf("mariadb-binlog --no-defaults %s | MYSQL_PWD=%s mariadb --no-defaults --binary-mode -h %s -P %d -u %s", strings.Join(files, " "), admin.Password, target.Host, target.Port, admin.User))
		hand.add(bytes, time.Since(start), childrenCPU(t)-cpu)
		has(target)
	}
	x, y := median(ours.rate), median(hand.rate)
	fmt.Printf("FIGURE\treplay\t%.2f\t%d MB of binary logs, transactions of 20 rows and 20 kB, %d rounds in turns; Stowage %.1f MB/s (%s), by hand %.1f MB/s (%s)\n", x/y, bytes/1e6, rounds, x, ours, y, hand)
}
