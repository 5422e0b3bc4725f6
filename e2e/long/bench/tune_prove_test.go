package bench

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"stowage/bench/stat"
	"stowage/e2e/farmtest"
	"stowage/tune"
	"stowage/tune/prove"
)

// proving is a throttled loop device, and a /var/lib of the program's own, so that its journal is not this machine's.
type proving struct {
	*throttled
	t   *testing.T
	lib string
}

func newProving(t *testing.T) *proving {
	t.Helper()
	const control = "/sys/fs/cgroup/blkio"
	if os.Geteuid() != 0 || !exists(control+"/blkio.throttle.read_iops_device") || !onPath("fio") || !onPath("losetup") || !onPath("mkfs.ext4") || !onPath("unshare") {
		t.Skip("NOT TESTED: settings are not proved on a real device: that needs root, the blkio controller of cgroup v1, fio, losetup, mkfs.ext4 and unshare")
	}
	p := &proving{throttled: throttle(t, control, 2000), t: t, lib: t.TempDir()}
	// Settings stay with a loop device when its file goes.
	names := []string{"max_sectors_kb", "rq_affinity", "rotational", "scheduler", "nr_requests", "read_ahead_kb"} // the last one is set anew with the first
	before := map[string]string{}
	for _, name := range names {
		before[name] = tune.Chosen(p.get(name))
	}
	t.Cleanup(func() {
		for _, name := range names {
			if err := os.WriteFile(p.queue(name), []byte(before[name]), 0o644); err != nil {
				t.Error(err)
			}
		}
	})
	return p
}

func (p *proving) queue(name string) string { return "/sys/block/" + p.device + "/queue/" + name }

func (p *proving) get(name string) string {
	p.t.Helper()
	raw, err := os.ReadFile(p.queue(name))
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimSpace(string(raw))
}

func (p *proving) set(name, value string) {
	p.t.Helper()
	if err := os.WriteFile(p.queue(name), []byte(value), 0o644); err != nil {
		p.t.Skipf("NOT TESTED: settings are not proved on a real device: %v", err)
	}
}

// tune is `stowage tune` with these arguments, in the group, with the journal in lib.
func (p *proving) tune(args ...string) *exec.Cmd {
	p.t.Helper()
	cmd := p.command(append([]string{"-C", p.t.TempDir(), "tune"}, args...)...)
	cmd.Args = append([]string{"unshare", "--mount", "sh", "-c", `mount --bind "$0" /var/lib && exec "$@"`, p.lib}, cmd.Args...)
	var err error
	if cmd.Path, err = exec.LookPath("unshare"); err != nil {
		p.t.Fatal(err)
	}
	return cmd
}

// proof runs --prove to its end and returns its JSON.
func (p *proving) proof(args ...string) (out farmtest.ProofAnswer, code int, said string) {
	p.t.Helper()
	cmd := p.tune(append([]string{"--json", "--size", "32MiB", "--runtime", "300ms", "--prove"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // the exit code tells
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
		p.t.Fatalf("exit code %d, %v: %s\n%s", cmd.ProcessState.ExitCode(), err, stdout.String(), stderr.String())
	}
	return out, cmd.ProcessState.ExitCode(), stdout.String() + stderr.String()
}

func (p *proving) journal() string {
	raw, _ := os.ReadFile(filepath.Join(p.lib, "stowage/tune.journal")) // "" when there is none
	return string(raw)
}

// nothingLeft: no files of the benchmark.
func (p *proving) nothingLeft() {
	p.t.Helper()
	if exists(p.dir + "/.stowage-bench") {
		p.t.Error("files of the benchmark are left behind")
	}
}

// TestProveKeepsWhatHelps, on a device that does so many requests a second and no more: requests of 1 MiB that are cut into thirty-two are slower.
func TestProveKeepsWhatHelps(t *testing.T) {
	t.Parallel()
	p := newProving(t)
	p.set("max_sectors_kb", "32")
	out, code, said := p.proof("BLK-MICRO", p.dir)
	if code != farmtest.ExitFine || len(out.Proofs) != 1 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	x := out.Proofs[0]
	if x.Step != "SEQ1M-R-Q8T1" || !x.Kept || x.Verdict != stat.Better || x.Compared.Ratio < 3 {
		t.Errorf("%s: kept %v, %s, %+v: %s", x.Step, x.Kept, x.Verdict, x.Compared, x.Why)
	}
	if d := x.Comparison.Differs; len(d) != 1 || d[0].What != "queue/max_sectors_kb" || d[0].A != "32" || d[0].B != "1280" {
		t.Errorf("the two differ in %+v", d)
	}
	if j := p.journal(); strings.Count(j, "\n") != 1 || !strings.Contains(j, "max_sectors_kb") || strings.Contains(j, "on_trial") || p.get("max_sectors_kb") != "1280" {
		t.Errorf("max_sectors_kb is %s, the journal has %s", p.get("max_sectors_kb"), j)
	}
	p.nothingLeft()
	if text, err := p.tune("--revert").CombinedOutput(); err != nil || p.get("max_sectors_kb") != "32" {
		t.Errorf("taken back: %v, %s\n%s", err, p.get("max_sectors_kb"), text)
	}
}

// TestProvePutsBackTheRest: which processor completes a request makes no difference on such a device.
func TestProvePutsBackTheRest(t *testing.T) {
	t.Parallel()
	p := newProving(t)
	p.set("rq_affinity", "0")
	out, code, said := p.proof("BLK-MICRO", "--max-runs", "6", p.dir)
	if code != farmtest.ExitFindings || len(out.Proofs) != 1 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	x := out.Proofs[0]
	if x.Step != "RND16K-R-Q32T4" || x.Kept || x.Verdict != stat.Same && x.Verdict != stat.Inconclusive || x.Why == "" {
		t.Errorf("%s: kept %v, %s, %+v", x.Step, x.Kept, x.Verdict, x.Compared)
	}
	if p.get("rq_affinity") != "0" || p.journal() != "" {
		t.Errorf("rq_affinity is %s, the journal has %s", p.get("rq_affinity"), p.journal())
	}
	p.nothingLeft()
}

// TestProveIsCutShort while it measures with the setting. After a kill -9, --revert puts it back, and so does the next proof, of whatever rule;
// after Ctrl-C nothing is left to put back. With it comes the queue depth that went along with the scheduler.
func TestProveIsCutShort(t *testing.T) {
	t.Parallel()
	p := newProving(t)
	p.set("rotational", "0")
	for _, tt := range []struct {
		name   string
		signal syscall.Signal
		code   int
		then   []string
		say    string
	}{
		{"kill -9, then --revert", syscall.SIGKILL, -1, []string{"--revert"}, "put back"},
		{"kill -9, then the next proof", syscall.SIGKILL, -1, []string{"--prove", "BLK-MICRO", p.dir}, "left by a proof that was killed"},
		{"Ctrl-C", syscall.SIGINT, farmtest.ExitInterrupted, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p.t = t
			p.set("scheduler", "mq-deadline")
			p.set("nr_requests", "64")
			first := p.tune("--prove", "BLK-SCHED", p.dir, "--size", "32MiB", "--runtime", "2s")
			var said strings.Builder
			first.Stderr = &said
			if err := first.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = first.Process.Kill()
				_ = first.Wait() // again, or nobody has yet: what it said is whole afterwards
				if t.Failed() {
					t.Logf("it said:\n%s", said.String())
				}
			})
			waitUntil(t, "it is set", func() bool { return strings.Contains(p.get("scheduler"), "[none]") })
			waitUntil(t, "it measures", func() bool { return changes(p.dir + "/.stowage-bench/data") })
			if err := first.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			_ = first.Wait() // the exit code tells
			if code := first.ProcessState.ExitCode(); code != tt.code {
				t.Errorf("exit code %d, want %d: %s", code, tt.code, said.String())
			}
			if tt.then != nil {
				if !strings.Contains(p.get("scheduler"), "[none]") || !strings.Contains(p.journal(), "on_trial") {
					t.Errorf("scheduler %s, journal %s: nothing was left to put back", p.get("scheduler"), p.journal())
				}
				text, err := p.tune(tt.then...).CombinedOutput()
				if err != nil || !strings.Contains(string(text), tt.say) {
					t.Errorf("%v: %v\n%s", tt.then, err, text)
				}
			} else {
				p.nothingLeft()
			}
			if !strings.Contains(p.get("scheduler"), "[mq-deadline]") || p.get("nr_requests") != "64" || p.journal() != "" {
				t.Errorf("afterwards: scheduler %s, nr_requests %s, journal %q", p.get("scheduler"), p.get("nr_requests"), p.journal())
			}
		})
	}
}

// inGroup is a shell script in the group whose reads are held back; $1 is the directory.
func (p *proving) inGroup(script string) string {
	p.t.Helper()
	out, err := exec.Command("sh", "-c", `echo $$ >"$0/cgroup.procs" && `+script, p.group, p.dir).CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s: %v: %s", script, err, out)
	}
	return string(out)
}

// scanned is how many MB a second a file gives when it is read from its beginning, by hand, through the page cache, again and again for
// two seconds: a throttle of the kernel lets 0.1 s worth of requests pass at once, and with read-ahead the whole file is less than that.
func (p *proving) scanned() float64 {
	p.t.Helper()
	began, read := time.Now(), 0
	for time.Since(began) < 2*time.Second {
		p.inGroup(`dd if="$1/by-hand" iflag=nocache count=0 status=none && exec dd if="$1/by-hand" of=/dev/null bs=16k`)
		read += 16
	}
	return float64(read) / time.Since(began).Seconds()
}

// mixed is how many reads and writes a second fio does by hand.
func (p *proving) mixed() float64 {
	p.t.Helper()
	var out struct {
		Jobs []struct{ Read, Write struct{ IOPS float64 } }
	}
	text := p.inGroup(`exec fio --name=x --filename="$1/by-hand" --direct=1 --ioengine=libaio --rw=randrw --rwmixread=70 --bs=16k --iodepth=32 --numjobs=4 --group_reporting --time_based --runtime=2 --output-format=json`)
	if _, rest, ok := strings.Cut(text, "{"); !ok || json.Unmarshal([]byte("{"+rest), &out) != nil || len(out.Jobs) != 1 {
		p.t.Fatalf("fio: %s", text)
	}
	return out.Jobs[0].Read.IOPS + out.Jobs[0].Write.IOPS
}

// byTurns is how many times as much a load gives with a setting, by hand: without, with, with, without.
func byTurns(set func(with bool), load func() float64) float64 {
	sum := map[bool]float64{}
	for _, with := range []bool{false, true, true, false} {
		set(with)
		sum[with] += load()
	}
	return sum[true] / sum[false]
}

// bad are settings of the device that rules here do not agree with; read-ahead comes last, because the kernel sets it anew with the others.
func (p *proving) bad() {
	p.set("scheduler", "bfq")
	p.set("max_sectors_kb", "32")
	p.set("read_ahead_kb", "0")
}

func (p *proving) isBad() bool {
	return tune.Chosen(p.get("scheduler")) == "bfq" && p.get("max_sectors_kb") == "32" && p.get("read_ahead_kb") == "0"
}

// newBad is a device with bad settings, whose times of access are always written, and a file of 16 MiB on it.
func newBad(t *testing.T) *proving {
	t.Helper()
	p := newProving(t)
	if !strings.Contains(p.get("scheduler"), "bfq") {
		t.Skip("NOT TESTED: all settings together on a real device: this kernel has no bfq")
	}
	if err := os.WriteFile(filepath.Join(p.dir, "by-hand"), bytes.Repeat([]byte("stowage."), 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-o", "remount,strictatime", p.dir).CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: all settings together on a real device: %v: %s", err, out)
	}
	p.set("rotational", "0")
	p.bad()
	return p
}

// TestProveAll on a device with a bad scheduler, no read-ahead, requests that are cut small, and times of access that are always written: each
// setting alone and all together, beside a run by hand; everything is put back.
func TestProveAll(t *testing.T) {
	t.Parallel()
	p := newBad(t)
	hand := map[string]float64{
		"BLK-RA":    byTurns(func(with bool) { p.set("read_ahead_kb", map[bool]string{true: "128", false: "0"}[with]) }, p.scanned),
		"BLK-SCHED": byTurns(func(with bool) { p.set("scheduler", map[bool]string{true: "none", false: "bfq"}[with]) }, p.mixed),
	}
	hand["all"] = byTurns(func(with bool) {
		p.bad()
		if with {
			p.set("scheduler", "none")
			p.set("max_sectors_kb", "1280")
			p.set("read_ahead_kb", "128")
		}
	}, p.scanned)
	p.bad()
	cmd := p.tune("--json", "--size", "16MiB", "--runtime", "300ms", "--max-runs", "6", "--prove", "all", p.dir)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var out struct{ Proofs, Whole []prove.Proof }
	if err != nil || json.Unmarshal(stdout.Bytes(), &out) != nil {
		t.Fatalf("%v: %s\n%s", err, stdout.String(), stderr.String())
	}
	if !p.isBad() || p.journal() != "" {
		t.Errorf("left behind: scheduler %s, read-ahead %s, requests of %s KiB, journal %s", p.get("scheduler"), p.get("read_ahead_kb"), p.get("max_sectors_kb"), p.journal())
	}
	p.nothingLeft()
	seen := map[string]bool{}
	for _, x := range append(out.Proofs, out.Whole...) {
		if x.Compared == nil || x.Compared.CI == nil {
			continue // no room for a server on so small a device: it says so
		}
		c := x.Compared
		seen[x.Rule+" "+x.Step] = true
		t.Logf("%s by %s: %.2f times (%.2f to %.2f), %s", x.Rule, x.Step, c.Ratio, c.CI.Low, c.CI.High, c.Verdict)
		by := hand[x.Rule]
		if by == 0 || x.Rule == "all" && x.Step != "SCAN16K-R" {
			continue
		}
		t.Logf("  by hand %.2f times", by)
		// By hand with a program that starts, in another minute of a machine that has other work: a quarter to either side.
		if by < c.CI.Low/1.25 || by > c.CI.High*1.25 {
			t.Errorf("%s by %s: %.2f times (%.2f to %.2f), by hand %.2f", x.Rule, x.Step, c.Ratio, c.CI.Low, c.CI.High, by)
		}
	}
	for _, want := range []string{"BLK-RA SCAN16K-R", "BLK-SCHED RND16K-RW70-Q32T4", "BLK-MICRO SEQ1M-R-Q8T1", "FS-ATIME FILES4K-R", "all SCAN16K-R", "all SEQ1M-R-Q8T1"} {
		if !seen[want] {
			t.Errorf("%s was not measured:\n%s", want, stdout.String())
		}
	}
}

// TestProveAllIsCutShort while everything is set at once: --revert puts all of it back after a kill -9, and Ctrl-C leaves nothing to put back.
func TestProveAllIsCutShort(t *testing.T) {
	t.Parallel()
	p := newBad(t)
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			p.t = t
			depth := p.get("nr_requests")
			cmd := p.tune("--size", "16MiB", "--runtime", "300ms", "--max-runs", "2", "--prove", "all", p.dir)
			var said strings.Builder
			cmd.Stderr = &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			waitUntil(t, "everything is set at once", func() bool {
				return p.get("max_sectors_kb") == "1280" && p.get("read_ahead_kb") == "128" && strings.Contains(p.get("scheduler"), "[none]")
			})
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // the exit code tells
			if signal == syscall.SIGKILL {
				if p.isBad() || !strings.Contains(p.journal(), "on_trial") {
					t.Errorf("nothing was left to put back; journal %s", p.journal())
				}
				if text, err := p.tune("--revert").CombinedOutput(); err != nil {
					t.Errorf("--revert: %v\n%s", err, text)
				}
			} else if code := cmd.ProcessState.ExitCode(); code != farmtest.ExitInterrupted {
				t.Errorf("exit code %d: %s", code, said.String())
			}
			if !p.isBad() || p.get("nr_requests") != depth || p.journal() != "" {
				t.Errorf("afterwards: scheduler %s, nr_requests %s (before: %s), read-ahead %s, requests of %s KiB, journal %s\n%s", p.get("scheduler"), p.get("nr_requests"), depth,
					p.get("read_ahead_kb"), p.get("max_sectors_kb"), p.journal(), said.String())
			}
		})
	}
}

// TestProveAMountIsCutShort: what a mount does with times of access comes back after a kill -9, too. One mount namespace lives through all of it.
func TestProveAMountIsCutShort(t *testing.T) {
	t.Parallel()
	p := newProving(t)
	holder := exec.Command("unshare", "--mount", "sh", "-c", `mount --bind "$0" /var/lib && mount -o remount,strictatime "$1" && echo ready && exec sleep 600`, p.lib, p.dir)
	ready, err := holder.StdoutPipe()
	if err == nil {
		err = holder.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = holder.Process.Kill()
		_ = holder.Wait()
	})
	if _, err := ready.Read(make([]byte, 5)); err != nil {
		t.Skipf("NOT TESTED: whether a mount comes back: %v", err)
	}
	within := func(args ...string) *exec.Cmd {
		return exec.Command("nsenter", append([]string{"--mount", "--target", strconv.Itoa(holder.Process.Pid)}, args...)...)
	}
	options := func() string {
		raw, _ := within("findmnt", "-n", "-o", "OPTIONS", p.dir).Output() // "" when it fails
		return string(raw)
	}
	command := within(p.program, "-C", t.TempDir(), "tune", "--prove", "FS-ATIME", p.dir, "--runtime", "2s")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() })
	waitUntil(t, "it is mounted with noatime", func() bool { return strings.Contains(options(), "noatime") })
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // it was killed
	if !strings.Contains(p.journal(), "on_trial") || !strings.Contains(options(), "noatime") {
		t.Errorf("journal %s, options %s: nothing was left to put back", p.journal(), options())
	}
	text, err := within(p.program, "-C", t.TempDir(), "tune", "--revert").CombinedOutput()
	if got := options(); err != nil || strings.Contains(got, "atime") || p.journal() != "" {
		t.Errorf("%v, options %s, journal %s\n%s", err, got, p.journal(), text)
	}
}
