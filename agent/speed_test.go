package agent_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestSeedSpeed is BENCH=seed: a copy from agent to agent beside a shell's
// mariadb-backup | mbstream, between the same directories, in turns. It prints
// one line for scripts/bench/seed.sh.
func TestSeedSpeed(t *testing.T) {
	mb, _ := strconv.Atoi(os.Getenv("SEED_MB"))
	if mb == 0 {
		t.Skip("SKIPPED: the speed of copies; make bench BENCH=seed measures it")
	}
	rounds, _ := strconv.Atoi(os.Getenv("ROUNDS"))
	p := newPair(t)
	// Rows that compress about as well as a shop's do: half of it is noise.
	p.source.Exec(t, "CREATE TABLE d.big (id INT PRIMARY KEY, noise VARBINARY(500), text VARCHAR(500)) ENGINE=InnoDB",
		fmt.Sprintf("INSERT INTO d.big SELECT seq, RANDOM_BYTES(500), REPEAT(MD5(seq %% 1000), 15) FROM d.seq_1_to_%d", mb*1000))
	var ours, shell speeds
	var bytes int64
	for range max(1, rounds) {
		must(t, p.to.Wipe(t.Context(), p.copy.Target.Instance, copyOwner))
		cpu, start := p.agentsCPU(t), time.Now()
		out, err := p.copy.Run(t.Context())
		must(t, err)
		n := out.Bytes
		bytes = n
		ours.add(n, time.Since(start), p.agentsCPU(t)-cpu)
		must(t, p.to.Wipe(t.Context(), p.copy.Target.Instance, copyOwner))
		start = time.Now()
		used := p.pipe(t)
		shell.add(n, time.Since(start), used)
	}
	must(t, p.to.Wipe(t.Context(), p.copy.Target.Instance, copyOwner))
	a, b := median(ours.rate), median(shell.rate)
	fmt.Printf("SEED %d MB rounds %d agents %.0f MB/s %.2f CPU-s/GB shell %.0f MB/s %.2f CPU-s/GB ratio %.2f\n",
		bytes/1e6, len(ours.rate), a, median(ours.cost), b, median(shell.cost), a/b)
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

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// agentsCPU is the processor time of both agents and of all commands they have
// waited for.
func (p *pairOfHosts) agentsCPU(t *testing.T) time.Duration {
	t.Helper()
	var ticks int64
	for _, a := range p.agents {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", a.cmd.Process.Pid))
		must(t, err)
		fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		for _, f := range fields[11:15] { // utime, stime, cutime, cstime: proc_pid_stat(5)
			n, err := strconv.ParseInt(f, 10, 64)
			must(t, err)
			ticks += n
		}
	}
	return time.Duration(ticks) * time.Second / 100 // USER_HZ is 100 on every Linux that Go runs on
}

// pipe is what a person would type.
func (p *pairOfHosts) pipe(t *testing.T) (cpu time.Duration) {
	t.Helper()
	dir := t.TempDir()
	login := filepath.Join(dir, "login.cnf")
	text := fmt.Sprintf("[mariadb-backup]\nuser=%s\npassword=%s\nhost=%s\nport=%d\nprotocol=tcp\n", p.copy.Origin.Login.User, p.copy.Origin.Login.Password, p.source.Host, p.source.Port)
	must(t, os.WriteFile(login, []byte(text), 0o600))
	script := fmt.Sprintf("set -o pipefail; mariadb-backup --defaults-file=%s --backup --stream=mbstream --log-copy-interval=10 --parallel=2 --datadir=%s --target-dir=%s 2>%s/log | mbstream -x -C %s",
		login, p.source.Datadir, dir, dir, p.copy.Target.Instance.Datadir)
	cmd := exec.Command("bash", "-c", script)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}
