package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"stowage/bench/result"
	"stowage/bench/stat"
	"stowage/e2e/farmtest"
)

// TestThrottledDevicesAreRanked is the positive control: two loop devices that the kernel lets do 1,500 and 500 reads a second
// are distinguished, with the right factor within 5 %. It needs root and the blkio controller of cgroup v1.
func TestThrottledDevicesAreRanked(t *testing.T) {
	control := "/sys/fs/cgroup/blkio"
	for _, need := range []struct {
		is   bool
		what string
	}{
		{os.Geteuid() == 0, "root"},
		{exists(control + "/blkio.throttle.read_iops_device"), "the blkio controller of cgroup v1"},
		{onPath("fio") && onPath("losetup") && onPath("mkfs.ext4"), "fio, losetup and mkfs.ext4"},
	} {
		if !need.is {
			t.Skipf("NOT TESTED: whether throttled devices are ranked: that needs %s", need.what)
		}
	}
	speeds := []int{1500, 500}
	results := make([]string, len(speeds))
	dirs := make([]*throttled, len(speeds))
	for i, speed := range speeds {
		dirs[i] = throttle(t, control, speed)
		results[i] = filepath.Join(t.TempDir(), "result.json")
	}
	var both sync.WaitGroup
	for i, d := range dirs {
		both.Go(func() {
			out, err := d.run("bench", "run", d.dir, "--size", "32MiB", "--runtime", "1s", "--min-runs", "3", "--max-runs", "3", "--steps", "RND16K-R-Q8T1", "--save", results[i])
			if err != nil {
				t.Errorf("bench run on %d IOPS: %v\n%s", speeds[i], err, out)
			}
		})
	}
	both.Wait()
	if t.Failed() {
		return
	}
	for i, path := range results {
		r, err := savedResult(path)
		if err != nil {
			t.Fatal(err)
		}
		if s := r.Steps[0]; math.Abs(s.IOPS/float64(speeds[i])-1) > 0.05 || !r.Valid {
			t.Errorf("%d IOPS were measured as %.0f (%.0f to %.0f), valid %v %q", speeds[i], s.IOPS, s.CI.Low, s.CI.High, r.Valid, r.InvalidBecause)
		}
	}
	out, err := dirs[0].run("bench", "compare", results[0], results[1], "--json")
	var c result.Comparison
	if bad := json.Unmarshal(out, &c); bad != nil || len(c.Steps) == 0 {
		t.Fatalf("%v, %v\n%s", err, bad, out)
	}
	s := c.Steps[0]
	if err == nil || s.Verdict != stat.Worse || math.Abs(s.Ratio*3-1) > 0.05 {
		t.Errorf("compare: %v, %s, ratio %.4f (%+v), want worse and 1/3; drift %.3f", err, s.Verdict, s.Ratio, s.CI, c.Drift)
	}
}

func savedResult(path string) (r *result.Result, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return r, json.Unmarshal(raw, &r)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func onPath(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// throttled is a mounted file system on a loop device, and a group whose processes read from it at a limited rate.
type throttled struct{ dir, group, device, program string }

func throttle(t *testing.T, control string, speed int) *throttled {
	t.Helper()
	base := t.TempDir()
	image, dir := filepath.Join(base, "image"), filepath.Join(base, "mnt")
	must := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		if err != nil {
			t.Skipf("NOT TESTED: whether throttled devices are ranked: %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	must("truncate", "-s", "128M", image)
	must("mkfs.ext4", "-q", "-F", image)
	device := must("losetup", "--find", "--show", image)
	t.Cleanup(func() { _ = exec.Command("losetup", "--detach", device).Run() })
	must("mount", device, dir)
	t.Cleanup(func() { _ = exec.Command("umount", dir).Run() })
	var st unix.Stat_t
	if err := unix.Stat(device, &st); err != nil {
		t.Fatal(err)
	}
	d := &throttled{program: farmtest.LiveProgram(t), dir: dir, device: filepath.Base(device), group: fmt.Sprintf("%s/stowage-test-%d-%s", control, os.Getpid(), filepath.Base(device))}
	if err := os.Mkdir(d.group, 0o755); err != nil {
		t.Skipf("NOT TESTED: whether throttled devices are ranked: %v", err)
	}
	t.Cleanup(func() { _ = os.Remove(d.group) })
	rule := fmt.Sprintf("%d:%d %d", unix.Major(st.Rdev), unix.Minor(st.Rdev), speed)
	if err := os.WriteFile(d.group+"/blkio.throttle.read_iops_device", []byte(rule), 0o644); err != nil {
		t.Skipf("NOT TESTED: whether throttled devices are ranked: %v", err)
	}
	return d
}

// command is the program in the group.
func (d *throttled) command(args ...string) *exec.Cmd {
	return exec.Command("sh", append([]string{"-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, d.group, d.program}, args...)...)
}

// run runs the program in the group and returns what it said on standard output, or all it said when it failed.
func (d *throttled) run(args ...string) ([]byte, error) {
	cmd := d.command(args...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil && len(out) == 0 {
		out = []byte(said.String())
	}
	return out, err
}
