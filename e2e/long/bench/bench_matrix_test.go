package bench

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"stowage/bench/matrix"
	"stowage/bench/result"
	"stowage/e2e/farmtest"
)

// canStand skips, loudly, where file systems cannot be made on loop devices.
func canStand(t *testing.T) {
	t.Helper()
	for _, need := range []struct {
		is   bool
		what string
	}{
		{os.Geteuid() == 0, "root"},
		{exists("/dev/loop-control"), "loop devices"},
		{onPath("fio") && onPath("mkfs.ext4") && onPath("mkfs.xfs"), "fio, mkfs.ext4 and mkfs.xfs (scripts/setup.sh test installs them)"},
	} {
		if !need.is {
			t.Skipf("NOT TESTED: a matrix on loop devices: that needs %s", need.what)
		}
	}
}

// matrixFile is a small matrix in a directory of its own.
func matrixFile(t *testing.T, text string) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	path = filepath.Join(dir, "matrix.yaml")
	if err := os.WriteFile(path, []byte("directory: .\nloops: {size: 340MiB}\nruntime: 300ms\n"+text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir, path
}

// leftOf are loop devices over files in a directory, and what a matrix has there.
func leftOf(t *testing.T, dir string) (left []string) {
	t.Helper()
	found, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if raw, err := os.ReadFile(f); err == nil && strings.HasPrefix(string(raw), dir+"/") {
			left = append(left, f)
		}
	}
	if exists(filepath.Join(dir, ".stowage-stand")) {
		left = append(left, ".stowage-stand")
	}
	return left
}

// TestMatrix is the positive control on real file systems: a mount that loses commits is told from one that does not, a mount that cannot be is a
// result, and the same command continues with more rounds.
func TestMatrix(t *testing.T) {
	canStand(t)
	t.Parallel()
	dir, path := matrixFile(t, `rounds: 1
steps: [LOG4K-FDS-Q1T1]
axes:
  filesystem: [ext4, xfs]
  mount: [noatime, "noatime,nobarrier"]
  size: 16MiB
`)
	saved := filepath.Join(dir, "matrix.json")
	p := farmtest.RunAlone(t, "", "bench", "matrix", path, "--save", saved, "--seed", "7")
	if p.Code != farmtest.ExitFine {
		t.Fatalf("exit code %d\n%s", p.Code, p.Stderr)
	}
	if hours, writing := strings.Index(p.Stderr, "5 cells (one of them twice) x 1 round = 5 visits of 1 step"), strings.Index(p.Stderr, "writing loop-0"); hours < 0 || writing < hours {
		t.Errorf("the hours do not come first:\n%s", p.Stderr)
	}
	if left := leftOf(t, dir); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if p = farmtest.RunAlone(t, "", "bench", "matrix", path, "--save", saved); p.Code != farmtest.ExitRefused || !strings.Contains(p.Stderr, "whole result already") {
		t.Errorf("a whole result: exit code %d\n%s", p.Code, p.Stderr)
	}
	raw, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(raw), "rounds: 1", "rounds: 2", 1)), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	p = farmtest.RunAlone(t, "", "bench", "matrix", path, "--save", saved)
	if p.Code != farmtest.ExitFine || !strings.Contains(p.Stderr, "continuing with the matrix") || !strings.Contains(p.Stderr, "visit 4 of 4") {
		t.Fatalf("more rounds: exit code %d\n%s", p.Code, p.Stderr)
	}
	for _, want := range []string{
		"xfs noatime,nobarrier: mount refused: xfs: Unknown parameter 'nobarrier'.", "NOT DURABLE: ext4 noatime,nobarrier, LOG4K-FDS-Q1T1:", "Transfer/s  Requests/s  Avg/Request  95%/Request  99%/Request",
	} {
		if !strings.Contains(p.Stdout, want) {
			t.Errorf("the table lacks %q:\n%s", want, p.Stdout)
		}
	}
	d := readDocument(t, saved)
	if !d.Complete || len(d.Sessions) != 2 || len(d.AA) != 1 || d.Seed != 7 {
		t.Errorf("complete %v, %d sessions, %d steps A/A, seed %d", d.Complete, len(d.Sessions), len(d.AA), d.Seed)
	}
	for _, c := range d.Cells {
		if c.Refused != "" {
			continue
		}
		s := c.Result.Steps[0]
		if isUndurable := strings.Contains(c.Mount, "nobarrier"); c.Result.Steps[0].Undurable != isUndurable || s.Runs != 2 || s.Samples[1].Round != 2 || !c.Result.Valid || s.Flushes == nil {
			t.Errorf("%s: undurable %v, %d runs, valid %v %q", c.Name, s.Undurable, s.Runs, c.Result.Valid, c.Result.InvalidBecause)
		}
	}
	cellsAreResults(t, saved)
	if left := leftOf(t, dir); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func readDocument(t *testing.T, path string) *matrix.Document {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d, err := matrix.Read(raw)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// cellsAreResults: a cell is to csv and compare what a result is.
func cellsAreResults(t *testing.T, saved string) {
	t.Helper()
	p := farmtest.RunAlone(t, "", "bench", "csv", saved)
	rows, err := csv.NewReader(strings.NewReader(p.Stdout)).ReadAll()
	if err != nil || len(rows) != 1+4*2 || rows[0][len(rows[0])-1] != "Cell" || rows[3][len(rows[3])-1] != "ext4 noatime (A/A)" {
		t.Errorf("csv of all: %v, %d rows\n%s", err, len(rows), p.Stderr)
	}
	if p = farmtest.RunAlone(t, "", "bench", "csv", saved+"#xfs noatime"); strings.Count(p.Stdout, "\nLOG4K-FDS-Q1T1,") != 2 {
		t.Errorf("csv of one:\n%s%s", p.Stdout, p.Stderr)
	}
	page := filepath.Join(t.TempDir(), "matrix.html")
	p = farmtest.RunAlone(t, "", "bench", "show", saved, "--html", page)
	if raw, err := os.ReadFile(page); err != nil || !strings.Contains(string(raw), "ext4 noatime,nobarrier against A") || !strings.Contains(string(raw), "NOT DURABLE") || !strings.Contains(string(raw), "(A/A)") {
		t.Errorf("charts: %v, %s", err, p.Stderr)
	}
	if p = farmtest.RunAlone(t, "", "bench", "show", saved); !strings.Contains(p.Stdout, "Transfer/s  Requests/s") {
		t.Errorf("shown:\n%s", p.Stdout)
	}
	p = farmtest.RunAlone(t, "", "bench", "compare", saved+"#ext4 noatime", saved+"#ext4 noatime,nobarrier", "--json")
	var c result.Comparison
	if err := json.Unmarshal([]byte(p.Stdout), &c); err != nil || len(c.Steps) != 1 || !strings.Contains(c.Steps[0].Note, "B is not durable") {
		t.Errorf("compare: %v\n%s%s", err, p.Stdout, p.Stderr)
	}
	for name, want := range map[string]string{saved: "one result is needed here", saved + "#zfs": "there is no such cell", saved + "#xfs noatime,nobarrier": "was not measured: mount refused"} {
		if p = farmtest.RunAlone(t, "", "bench", "compare", name, name); p.Code != farmtest.ExitUsage || !strings.Contains(p.Stderr, want) || !strings.Contains(p.Stderr, "its cells are") {
			t.Errorf("%s: exit code %d\n%s", name, p.Code, p.Stderr)
		}
	}
}

// TestMatrixKilled: kill -9 while fio is at work leaves a loop device and files; the next start undoes them and goes on, and so does clean.
func TestMatrixKilled(t *testing.T) {
	canStand(t)
	t.Parallel()
	dir, path := matrixFile(t, "rounds: 1\nsteps: [RND16K-W-Q8T1]\naxes: {filesystem: ext4, queue: [defaults, {scheduler: mq-deadline}], size: 16MiB}\n")
	saved := filepath.Join(dir, "matrix.json")
	p := farmtest.RunAlone(t, "stowage @ testbed undo mount", "bench", "matrix", path, "--save", saved)
	if p.Code != -1 || len(leftOf(t, dir)) < 2 {
		t.Fatalf("it was to be killed and to leave something: exit code %d, left %q\n%s", p.Code, leftOf(t, dir), p.Stderr)
	}
	p = farmtest.RunAlone(t, "stowage @ testbed mount done", "bench", "matrix", path, "--save", saved)
	if p.Code != -1 || !strings.Contains(p.Stderr, "a killed run left") || !strings.Contains(p.Stderr, "continuing with the matrix") {
		t.Fatalf("killed again: exit code %d\n%s", p.Code, p.Stderr)
	}
	if p = farmtest.RunAlone(t, "", "bench", "clean", dir); p.Code != farmtest.ExitFine || !strings.Contains(p.Stdout, "nothing is left") || len(leftOf(t, dir)) > 0 {
		t.Errorf("clean: exit code %d, left %q\n%s%s", p.Code, leftOf(t, dir), p.Stdout, p.Stderr)
	}
	p = farmtest.RunAlone(t, "", "bench", "matrix", path, "--save", saved)
	if p.Code != farmtest.ExitFine || len(leftOf(t, dir)) > 0 {
		t.Fatalf("to the end: exit code %d, left %q\n%s", p.Code, leftOf(t, dir), p.Stderr)
	}
	d := readDocument(t, saved)
	for _, c := range d.Cells {
		if c.Result == nil || c.Result.Steps[0].Runs != 1 {
			t.Errorf("%s: %+v", c.Name, c)
		}
	}
	if !d.Complete || len(d.Sessions) != 2 { // the one that was killed before its first run has kept nothing
		t.Errorf("complete %v, %d sessions", d.Complete, len(d.Sessions))
	}
}

// TestMatrixCutShort in the middle of a run: Ctrl-C takes everything away at once, after a kill -9 clean does.
func TestMatrixCutShort(t *testing.T) {
	canStand(t)
	t.Parallel()
	for _, with := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		dir, path := matrixFile(t, "rounds: 1\nsteps: [RND16K-W-Q8T1]\naxes: {filesystem: ext4, size: 16MiB}\n")
		raw, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, bytes.Replace(raw, []byte("300ms"), []byte("5m"), 1), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(farmtest.LiveProgram(t), "bench", "matrix", path, "--save", filepath.Join(dir, "m.json"))
		var said strings.Builder
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		loop, from := "", int64(0)
		waitUntil(t, "fio writes to a loop device of ours", func() bool {
			for _, left := range leftOf(t, dir) {
				if loop == "" && strings.HasPrefix(left, "/sys/block/") {
					loop = strings.Split(left, "/")[3]
					from = writes(loop)
				}
			}
			return loop != "" && writes(loop)-from > 100<<20 // more than mkfs and the layout of the files
		})
		if err := cmd.Process.Signal(with); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // the exit code tells
		code, left := cmd.ProcessState.ExitCode(), leftOf(t, dir)
		switch {
		case with == syscall.SIGINT && (code != farmtest.ExitInterrupted || len(left) > 0 || !strings.Contains(said.String(), "the same command goes on")):
			t.Errorf("Ctrl-C: exit code %d, left %q\n%s", code, left, said.String())
		case with == syscall.SIGKILL && (code != -1 || len(left) < 2):
			t.Errorf("kill -9: exit code %d, left %q\n%s", code, left, said.String())
		}
		if p := farmtest.RunAlone(t, "", "bench", "clean", dir); p.Code != farmtest.ExitFine || len(leftOf(t, dir)) > 0 {
			t.Errorf("%v: clean: exit code %d, left %q\n%s%s", with, p.Code, leftOf(t, dir), p.Stdout, p.Stderr)
		}
	}
}

// writes is how many bytes a device has written.
func writes(device string) int64 {
	raw, _ := os.ReadFile("/sys/block/" + device + "/stat") // one that is gone has written nothing
	f := strings.Fields(string(raw))
	if len(f) < 7 {
		return 0
	}
	n, _ := strconv.ParseInt(f[6], 10, 64) // the kernel writes numbers
	return n * 512
}

// TestBenchDevice: a device is measured without a file system, its flushes counted, and only when it was named twice.
func TestBenchDevice(t *testing.T) {
	canStand(t)
	t.Parallel()
	image := filepath.Join(t.TempDir(), "image")
	f, err := os.Create(image)
	if err == nil {
		err = f.Truncate(64 << 20)
	}
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("losetup", "--direct-io=on", "--find", "--show", image).Output()
	if err != nil {
		t.Skipf("NOT TESTED: a bench of a device: losetup: %v", err)
	}
	device := strings.TrimSpace(string(out))
	t.Cleanup(func() { _ = exec.Command("losetup", "--detach", device).Run() })
	args := func(more ...string) []string {
		return append([]string{"bench", "run", "--device", device, "--size", "16MiB", "--runtime", "300ms", "--min-runs", "1", "--max-runs", "1", "--json"}, more...)
	}
	for _, again := range []string{"", device, image + "x"} {
		if p := farmtest.RunAlone(t, "", args("--destroy-data", again)...); p.Code != farmtest.ExitRefused || !strings.Contains(p.Stderr, "--destroy-data "+image) {
			t.Errorf("confirmed with %q: exit code %d\n%s", again, p.Code, p.Stderr)
		}
	}
	p := farmtest.RunAlone(t, "", args("--destroy-data", image, "--steps", "LOG4K-FDS-Q1T1,MIX")...)
	var r result.Result
	if err := json.Unmarshal([]byte(p.Stdout), &r); err != nil || p.Code != farmtest.ExitFine {
		t.Fatalf("exit code %d, %v\n%s", p.Code, err, p.Stderr)
	}
	e := r.Environment
	if !r.Valid || e.Filesystem != "none" || e.Directory != device || e.MountSource != fmt.Sprintf("%s over %s", device, image) || e.Device == nil || "/dev/"+e.Device.Name != device {
		t.Errorf("valid %v %q, %+v", r.Valid, r.InvalidBecause, e)
	}
	if s := r.Steps[0]; s.Undurable || s.Flushes == nil || *s.Flushes < 0.9 || s.Samples[0].Check.Written < s.Samples[0].Check.FioWritten {
		t.Errorf("%s: %v flushes for each fdatasync, check %+v", s.ID, s.Flushes, s.Samples[0].Check)
	}
	if !strings.Contains(strings.Join(r.Labels, "\n"), "the device itself was measured") || exists("/run/stowage-bench/"+e.Device.Name) {
		t.Errorf("%q", r.Labels)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", device).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if p := farmtest.RunAlone(t, "", args("--destroy-data", image)...); p.Code != farmtest.ExitRefused || !strings.Contains(p.Stderr, "there is an ext file system on it") || !strings.Contains(p.Stderr, "--overwrite") {
		t.Errorf("with a file system on it: exit code %d\n%s", p.Code, p.Stderr)
	}
	if p := farmtest.RunAlone(t, "", args("--destroy-data", image, "--overwrite", "--steps", "RND16K-R-Q8T1")...); p.Code != farmtest.ExitFine {
		t.Errorf("--overwrite: exit code %d\n%s", p.Code, p.Stderr)
	}
}
